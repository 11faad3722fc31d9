// The reason why TCP waited: what became of the oldest data that is not acknowledged.

/** The fate of a packet up to an instant, as words; `null` if neither delivered nor dropped by then. */
function fate(run, header, time) {
  const rows = run.rowsOfPacket(header);
  const at = (row) => `${run.nodeName(run.rows.node[row])} at ${seconds(run.rows.time[row])} s`;
  const is = (event, layer) => (row) => run.event(row) === event && (!layer || run.layer(row) === layer);
  const end = rows.find(is("delivered", "routing"));
  if (end !== undefined && run.rows.time[end] <= time) return { row: end, text: `was delivered to ${at(end)}`, isDelivered: true };
  const drop = rows.findLast(is("dropped"));
  const late = (row) => (run.rows.time[row] > time ? ", which was later" : "");
  if (drop !== undefined) return { row: drop, text: `was dropped at ${at(drop)} (${run.reason(drop)})${late(drop)}` };
  if (end !== undefined) return { row: end, text: `was on its way: it was delivered to ${at(end)}${late(end)}` };
  const last = rows.findLast((row) => run.rows.time[row] <= time);
  return { row: last ?? rows[0], text: `was neither delivered nor dropped: the last that is known of it is “${sentence(run, last ?? rows[0])}”` };
}

/** The first packet of a flow and a kind, sent from a row on, that a condition admits; `null`: none up to an instant. */
function packetFrom(run, row, time, flow, kind, admits) {
  for (let at = row; at < run.rows.count && run.rows.time[at] <= time; at++) {
    const header = run.header(at);
    const isFirst = () => run.rowsOfPacket(run.rows.header[at])[0] === at;
    if (header && header.flow === flow && header.kind === kind && admits(header) && isFirst()) return run.rows.header[at];
  }
  return null;
}

/** The row in which the data at `offset` was sent last before a row; `null`: it is not in what is shown. */
function lastSent(run, before, flow, offset) {
  for (let row = before - 1; row >= 0; row--) {
    const own = run.own(row);
    if (!own || own.flow !== flow || run.layer(row) !== "tcp") continue;
    if (!["sent", "retransmitted"].includes(run.event(row))) continue;
    if (own.offset <= offset && offset < own.offset + Math.max(1, run.rows.bytes[row])) return row;
  }
  return null;
}

/**
 * Why the congestion window in a row of TCP is smaller than in the one before, and what an aid means that is not in its
 * first state; empty for other rows.
 */
function windowReason(run, row) {
  const own = run.own(row);
  if (run.layer(row) !== "tcp" || !own || own.cwnd === NONE) return "";
  const { flow } = own;
  const at = (of) => `at ${seconds(run.rows.time[of])} s`;
  const says = [];
  const reasons = [];
  let before = row - 1;
  for (; before >= 0; before--) {
    if (!["tcp", "aid"].includes(run.layer(before)) || run.flow(before) !== flow) continue;
    const event = run.event(before);
    if (event === "timeout") reasons.unshift(`a retransmission timeout ${at(before)}`);
    else if (event === "fast-retransmit") reasons.unshift(`the begin of loss recovery ${at(before)}`);
    else if (event === "state") reasons.unshift(`the aid entered “${run.reason(before)}” ${at(before)}`);
    else if (["sent", "retransmitted"].includes(event) && run.own(before).cwnd !== NONE) break;
  }
  const last = before < 0 ? null : run.own(before).cwnd;
  if (last !== null && own.cwnd < last) {
    says.push(`cwnd fell from ${last} to ${own.cwnd} bytes since ${seconds(run.rows.time[before])} s. In between: ${reasons.join(", ") || "no timeout, no loss recovery and no state of an aid"}.`);
  }
  const state = run.tcp[flow]?.aid.at(run.rows.time[row]) ?? null;
  const isFirst = state === null || state === run.flows[flow]?.aidStates[0]?.[0];
  const text = isFirst ? "" : stateMeaning(run, flow, state);
  if (text) says.push(`The aid is in “${state}”: ${text}`);
  return says.join(" ");
}

/** The parts of the time between two instants in which something held (s). */
function shareOf(periods, from, to) {
  return periods.reduce((sum, { start, end }) => sum + Math.max(0, Math.min(end, to) - Math.max(start, from)), 0) / 1e9;
}

/** Paragraphs about a timeout, or about a recovery without one: what TCP had waited for. */
function waiting(run, row, page) {
  if (!["timeout", "fast-retransmit"].includes(run.event(row)) || run.layer(row) !== "tcp") return [];
  const flow = run.flow(row);
  const time = run.rows.time[row];
  const offset = run.tcp[flow]?.acked.at(time) ?? 0;
  const sent = lastSent(run, row, flow, offset);
  if (sent === null) return [];
  const start = run.rows.time[sent];
  const duration = (from) => `${((time - from) / 1e9).toFixed(3)} s`;
  const says = [`The oldest data that was not acknowledged, from byte ${offset} on, was sent last at ${seconds(start)} s, ${duration(start)} before.`];
  const shown = [];
  const follow = (header, name, of) => {
    const go = element("button", { type: "button", textContent: `Show ${name}` });
    go.onclick = () => page.chooseRow(run, of);
    shown.push(go);
    return header;
  };
  const from = run.own(sent).offset;
  const data = packetFrom(run, sent, time, flow, "tcp-data", (header) => header.offset === from);
  if (data === null) says.push("This page does not have its packet.");
  else {
    const name = run.rows.headers[data].packet ?? "";
    const found = fate(run, data, time);
    says.push(`Its packet ${name} ${found.text}.`);
    follow(data, "its packet", found.row);
    if (found.isDelivered) {
      says.push("To send the data again was needless.");
      const ack = packetFrom(run, found.row, time, flow, "tcp-ack", (header) => header.source === run.flows[flow].destination);
      if (ack === null) says.push("Up to this instant the receiver sent no acknowledgment after it.");
      else {
        const answer = fate(run, ack, time);
        says.push(`The first acknowledgment sent after it, ${run.rows.headers[ack].packet ?? ""}, ${answer.text}.`);
        follow(ack, "the acknowledgment", answer.row);
        const first = run.firstAnswer(found.row, flow);
        if (first !== null && run.rows.header[first] !== ack) says.push(`Of those sent after it ${run.header(first).packet ?? ""} arrived first, at ${seconds(run.rows.time[first])} s.`);
      }
    }
  }
  const without = shareOf(run.timesWithoutRoute(flow), start, time);
  if (without > 0) says.push(`For ${without.toFixed(3)} s of this time the source had no route.`);
  for (const kind of new Set(run.faults.map((of) => of.kind))) {
    const held = shareOf(run.faults.filter((of) => of.kind === kind), start, time);
    if (held > 0) says.push(`For ${held.toFixed(3)} s of it there was a fault: ${kind}.`);
  }
  return [element("p", { textContent: says.join(" ") }), ...shown];
}
