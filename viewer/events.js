// The list of events around the instant, and the way of the chosen packet.

/** Rows shown before and after the instant. */
const ROWS_AROUND = 18;

/** What the list can be limited to. */
const FILTERS = {
  "all events": () => true,
  "the flow": (run, row, page) => run.flow(row) === page.flow,
  "the node": (run, row, page) => [run.rows.node[row], run.rows.neighbour[row]].includes(page.nodeOf(run)),
  "TCP and aid": (run, row) => ["tcp", "udp", "aid"].includes(run.layer(row)),
  "routing": (run, row) => run.layer(row) === "routing" || /^(aodv|dsr)/.test(run.kind(row)),
  "the air": (run, row) => run.layer(row) === "air",
  "the air at the node": (run, row, page) => run.layer(row) === "air" && isHeard(run, row, page.nodeOf(run)),
  "losses": (run, row) => LOSSES.has(run.event(row)) || FAILED.has(run.reason(row)),
};

/** True if a frame was within the sense range of a node; where no range is known, if it was the node's. */
function isHeard(run, row, node) {
  const [from, to] = [run.rows.node[row], run.rows.neighbour[row]];
  if (from === node || to === node) return true;
  const range = run.airs[Math.max(0, run.rows.air[row])]?.senseRange;
  const [one, other] = [from, node].map((at) => run.position(at, run.rows.time[row]));
  return Boolean(range && one && other) && Math.hypot(one.x - other.x, one.y - other.y) <= range;
}

const LOSSES = new Set(["dropped", "link-failure", "false-link-failure", "timeout", "fast-retransmit", "route-lost", "retransmitted"]);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

/**
 * Clicks on an element, of which a double click undoes what its first click has done: `before` returns what is chosen
 * before a click, which `double` gets.
 */
function onClicks(on, { before, click, double }) {
  let state = null;
  on.addEventListener("click", (event) => {
    if (event.detail <= 1) state = before();
    click(event);
  });
  on.addEventListener("dblclick", () => double(state));
}

class EventList {
  constructor(run, page, list) {
    Object.assign(this, { run, page, list });
    this.shown = "";
    list.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-row]");
      if (button) page.chooseRow(run, Number(button.dataset.row));
    });
  }

  /** The rows around an instant that the filter admits. */
  around(time) {
    const { run, page } = this;
    const admits = FILTERS[page.filter];
    const start = run.countUpTo(time);
    const before = [];
    // Positions are on the map; they would fill the list each second.
    const isWanted = (row) => run.layer(row) !== "mobility" && admits(run, row, page);
    for (let row = start - 1, looked = 0; row >= 0 && before.length < ROWS_AROUND && looked < 200000; row--, looked++) {
      if (isWanted(row)) before.push(row);
    }
    const after = [];
    for (let row = start, looked = 0; row < run.rows.count && after.length < ROWS_AROUND && looked < 200000; row++, looked++) {
      if (isWanted(row)) after.push(row);
    }
    return { before: before.reverse(), after };
  }

  draw(time) {
    const { run, page } = this;
    const { before, after } = this.around(time);
    const key = [before[0], before.at(-1), after[0], page.filter, page.row, page.flow, page.node].join();
    if (key === this.shown) return;
    this.shown = key;
    const item = (row) => {
      const button = element("button", { type: "button" });
      button.dataset.row = row;
      if (row === page.row && run === page.rowRun) button.setAttribute("aria-current", "true");
      const line = element("span", { textContent: sentence(run, row) });
      if (LOSSES.has(run.event(row)) || FAILED.has(run.reason(row))) line.className = "loss";
      button.append(element("time", { textContent: seconds(run.rows.time[row]) }), line);
      button.title = meaning(run, row);
      return element("li", {}, button);
    };
    const now = element("li", { className: "now", textContent: `▲ before · ${seconds(time)} s · after ▼` });
    this.list.replaceChildren(...before.map(item), now, ...after.map(item));
    const chosen = this.list.querySelector("[aria-current]")?.parentElement;
    // Many events can have the same instant.
    const middle = chosen ? Math.max(chosen.offsetTop, now.offsetTop - this.list.clientHeight + chosen.offsetHeight * 3) : now.offsetTop;
    this.list.scrollTop = Math.min(middle, chosen?.offsetTop ?? middle) - this.list.clientHeight / 2;
  }
}

/** The number of hops of a way. */
function hops(nodes) {
  const count = Math.max(0, nodes.length - 1);
  return `${count} hop${count === 1 ? "" : "s"}`;
}

/** The way of a packet as a list: each event with the time since the one before. */
function packetWay(run, header, page) {
  const rows = [...run.rowsOfPacket(header)];
  const of = run.rows.headers[header];
  const parts = [];
  const first = rows[0];
  const retries = rows.filter((row) => run.layer(row) === "air" && run.event(row) === "retransmitted").length;
  const end = rows.find((row) => run.event(row) === "delivered" && run.layer(row) === "routing");
  const drop = rows.findLast((row) => run.event(row) === "dropped");
  const time = (row) => seconds(run.rows.time[row]);
  // Messages of routing end where they are read, without a row of their own.
  const open = of.flow === NONE ? "no further row" : "neither delivered nor dropped in what is shown";
  let outcome = open;
  if (end !== undefined) outcome = `delivered at ${time(end)} s, after ${seconds(run.rows.time[end] - run.rows.time[first])} s`;
  if (drop !== undefined) outcome += `${end === undefined ? "" : ", and a copy"} dropped at ${run.nodeName(run.rows.node[drop])} at ${time(drop)} s: ${dropReason(run, drop)}`;
  if (drop !== undefined && end === undefined) outcome = outcome.replace(open, "");
  const name = `${kindName(of.kind)} ${of.packet ?? ""}`.trim();
  const ends = of.source === NONE ? "" : ` from ${run.nodeName(of.source)} to ${of.destination === NONE ? "all" : run.nodeName(of.destination)}`;
  const names = (nodes, between) => nodes.map((node) => run.nodeName(node)).join(between);
  const ways = run.isBroadcast(header) ? [] : run.ways(header);
  const where = run.isBroadcast(header)
    ? `Received by ${names(run.hearers(header), ", ") || "nobody"}`
    : `${ways.length > 1 ? `${ways.length} copies` : `Way: ${names(ways[0]?.nodes ?? [], " → ")}, ${hops(ways[0]?.nodes ?? [])}`}`;
  parts.push(element("p", { textContent: `${name}${ends}: ${outcome.trim()}. ${where}. ${retries} frames sent again, not counting RTS.` }));
  if (ways.length > 1) {
    const fate = (end) => (end === null ? open : `${run.event(end) === "delivered" ? "delivered" : `dropped (${dropReason(run, end)})`} at ${time(end)} s`);
    const lines = ways.map(({ nodes, end }) => element("li", { textContent: `${names(nodes, " → ")}: ${fate(end)}, ${hops(nodes)}` }));
    parts.push(element("ol", { className: "ways" }, ...lines));
  }
  const list = element("ol", { className: "rows" });
  let last = first;
  for (const row of rows.slice(0, 400)) {
    const button = element("button", { type: "button" });
    const since = (run.rows.time[row] - run.rows.time[last]) / 1e6;
    button.append(element("time", { textContent: time(row) }), element("span", { textContent: `${sentence(run, row)}${since > 0 ? ` · +${since.toFixed(3)} ms` : ""}` }));
    button.addEventListener("click", () => page.chooseRow(run, row));
    if (row === page.row) button.setAttribute("aria-current", "true");
    list.append(element("li", {}, button));
    last = row;
  }
  parts.push(list);
  if (rows.length > 400) parts.push(element("p", { textContent: `${rows.length - 400} more rows are not listed.` }));
  return parts;
}
