// Sentences about events, in the words of the field.

/** Nanoseconds as seconds, with as many digits as are needed. */
function seconds(time, digits = 6) {
  return (time / 1e9).toFixed(digits);
}

const KINDS = {
  "tcp-data": "TCP data", "tcp-ack": "TCP ACK", "tcp-syn": "TCP SYN", "tcp-fin": "TCP FIN", "tcp-rst": "TCP RST",
  udp: "datagram", icmp: "ICMP message", arp: "ARP message", rts: "RTS", cts: "CTS", ack: "ACK frame", data: "data frame",
};

function kindName(kind) {
  if (KINDS[kind]) return KINDS[kind];
  const match = /^(aodv|dsr)-(.*)$/.exec(kind);
  if (match) return `${match[2].toUpperCase()} (${match[1].toUpperCase()})`;
  return kind.toUpperCase() || "packet";
}

/** The subject of a row: the packet, with its identifier and its place in the stream. */
function subject(run, row) {
  const header = run.header(row);
  const kind = kindName(run.kind(row));
  if (!header) return kind;
  const parts = [kind];
  if (header.packet) parts.push(header.packet);
  if (header.flow !== NONE) parts.push(`of flow ${header.flow}`);
  if (header.offset !== NONE && header.flow !== NONE) parts.push(`from byte ${header.offset}`);
  return parts.join(" ");
}

/** Why a packet was dropped in a row; of a failed link with the neighbour. */
function dropReason(run, row) {
  const other = run.rows.neighbour[row];
  const isLink = run.layer(row) === "routing" && other !== NONE;
  return `${run.reason(row)}${isLink ? ` to ${run.nodeName(other)}` : ""}`;
}

/** What a row says, without its time. */
function sentence(run, row) {
  const { rows } = run;
  const [layer, event, reason] = [run.layer(row), run.event(row), run.reason(row)];
  const name = (node) => (node === NONE ? "all neighbours" : run.nodeName(node));
  // Names of nodes are numbers in most networks, and times stand before them.
  const node = `${/^\d+$/.test(name(rows.node[row])) ? "node " : ""}${name(rows.node[row])}`;
  const other = name(rows.neighbour[row]);
  const own = run.own(row);
  const packet = subject(run, row);
  const queue = rows.queue[row] === NONE ? "" : ` (queue: ${rows.queue[row]})`;
  const route = rows.route[row] === NONE ? "" : `, route ${run.routes[rows.route[row]].map(name).join("–")}`;
  const outcome = reason === "" || reason === "received" ? "" : `: ${reason}`;
  switch (`${layer} ${event}`) {
    case "air sent": return `${node} → ${other}: ${packet} on the air${outcome}${route}`;
    case "air retransmitted": return `${node} → ${other}: ${packet} on the air again${outcome}${route}`;
    case "queue enqueued": return `${node}: ${packet} for ${other} enters the interface queue${queue}`;
    case "queue dequeued": return `${node}: ${packet} for ${other} goes to the MAC${queue}`;
    case "link enqueued": return `${node}: ${packet} enters the queue of wire ${rows.wire[row]} to ${other}${queue}`;
    case "link sent": return `${node} → ${other}: ${packet} on wire ${rows.wire[row]}${queue}`;
    case "link delivered": return `${/^\d+$/.test(other) ? "node " : ""}${other}: ${packet} arrives over wire ${rows.wire[row]} from ${node}`;
    case "link dropped": return `${node}: ${packet} dropped on wire ${rows.wire[row]} to ${other}: ${reason}`;
    case "queue dropped": return `${node}: ${packet} for ${other} dropped by the queue: ${reason}`;
    case "routing dropped": return `${node}: ${packet} dropped: ${dropReason(run, row)}`;
    case "routing received": return `${node}: ${packet} received from ${other}`;
    case "routing delivered": return `${node}: ${packet} delivered (hops by its time to live: ${rows.hops[row]})`;
    case "routing route-found": return `${node}: route to ${name(own?.destination ?? NONE)} found`;
    case "routing route-lost": return `${node}: route to ${name(own?.destination ?? NONE)} lost`;
    case "routing link-failure": return `${node}: link to ${other} failed (${reason}), it is out of range: ${packet}`;
    case "routing false-link-failure": return `${node}: link to ${other} failed (${reason}) although it is in range: ${packet}`;
    case "routing link-retry": return `${node}: link layer gets ${packet} for ${other} again (${reason})`;
    case "tcp sent":
    case "tcp retransmitted": {
      const again = event === "sent" ? "sends" : "retransmits";
      const range = `bytes ${own.offset}–${own.offset + Math.max(0, rows.bytes[row])}`;
      const window = own.cwnd === NONE ? "" : ` (cwnd ${own.cwnd}, RTO ${seconds(own.rto, 3)} s)`;
      return `flow ${own.flow}: TCP at ${node} ${again} ${range}${window}`;
    }
    case "tcp acked": return `flow ${own.flow}: acknowledged up to byte ${own.offset}`;
    case "tcp delivered": return `flow ${own.flow}: application at ${node} has read up to byte ${own.offset}`;
    case "tcp timeout": return `flow ${own.flow}: retransmission timeout`;
    case "tcp fast-retransmit": return `flow ${own.flow}: loss recovery begins without a timeout`;
    case "tcp unreachable": return `flow ${own.flow}: destination reported unreachable`;
    case "udp sent": return `flow ${own.flow}: application at ${node} sends a datagram`;
    case "udp delivered": return `flow ${own.flow}: application at ${node} receives a datagram`;
    case "aid state": return `flow ${own.flow}: the aid enters “${reason}”`;
    case "mobility position": return `${node} is at ${(own.x / 100).toFixed(1)} m, ${(own.y / 100).toFixed(1)} m`;
    case "fault begins":
    case "fault ends": {
      const place = reason === "radio-down" || reason === "fading" ? `node ${node}` : `wire ${rows.node[row]}`;
      return `${reason} ${event}: ${place}`;
    }
    default: return `${node}: ${layer} ${event} ${reason}`.trim();
  }
}

/** What a state of a flow's aid means, as the reference has it; that of an aid of one's own has no text. */
function stateMeaning(run, flow, state) {
  const [, text = ""] = run.flows[flow]?.aidStates.find(([name]) => name === state) ?? [];
  return text;
}

/** The meaning of an event and of its reason, as the reference of the log has it. */
function meaning(run, row) {
  const of = run.meanings.get(`${run.layer(row)} ${run.event(row)}`);
  if (!of) return "";
  if (run.layer(row) === "aid") return `${of.meaning.replaceAll("`", "")} ${stateMeaning(run, run.flow(row), run.reason(row))}`.trim();
  const reason = of.reasons.find(([word]) => word === run.reason(row));
  const said = reason && reason[1] ? ` “${reason[0] || "no outcome"}”: ${reason[1].replace(/\.$/, "")}.` : "";
  return of.meaning.replaceAll("`", "") + said;
}
