// The table of nodes: who was busy in the part that the plots show.

/** The columns: a heading, what it means, and digits after the point. */
const NODE_COLUMNS = [
  ["frames", "frames sent over the air, and packets sent on wires", 0],
  ["airtime (ms)", "time for which the node's own frames were on the air", 1],
  ["airtime (%)", "the same of the time that the plots show", 1],
  ["forwarded", "packets of flows that the node received for others", 0],
  ["link failures", "packets that the link layer gave up", 0],
  ["drops", "packets dropped at the node", 0],
  ["largest queue", "packets in all queues of the node", 0],
];

/** What each node did from one instant to another (ns): a row of numbers in the order of `NODE_COLUMNS`. */
function nodeTotals(run, from, to) {
  const totals = run.nodes.map(() => NODE_COLUMNS.map(() => 0));
  const { rows } = run;
  const end = run.countUpTo(to);
  for (let row = countUpTo(rows.time, from - 1, rows.count); row < end; row++) {
    const of = totals[rows.node[row]];
    if (!of) continue;
    const [layer, event] = [run.layer(row), run.event(row)];
    if (layer === "air" && (event === "sent" || event === "retransmitted")) {
      of[0] += 1;
      of[1] += run.airtime(row) / 1e6;
    } else if (layer === "link" && event === "sent") of[0] += 1;
    else if (layer === "routing" && event === "received") of[3] += run.header(row)?.flow >= 0 && run.header(row).destination !== rows.node[row] ? 1 : 0;
    else if (/link-failure$/.test(event)) of[4] += 1;
    else if (event === "dropped") of[5] += 1;
    if (rows.queue[row] !== NONE) of[6] = Math.max(of[6], run.queueTotals[rows.node[row]].at(rows.time[row]) ?? 0);
  }
  const percent = 100 / Math.max(1e-9, (to - from) / 1e6);
  for (const of of totals) of[2] = of[1] * percent;
  return totals;
}

class NodeTable {
  constructor(page, details) {
    Object.assign(this, { page, details });
    this.column = 0;
    this.shown = "";
    details.addEventListener("toggle", () => this.draw());
  }

  /** Draws the table anew if it is open and shows another part, or is sorted otherwise. */
  draw() {
    const { page, details } = this;
    const [from, to] = page.plots.range;
    const key = [from, to, this.column, page.node].join();
    if (!details.open || key === this.shown) return;
    this.shown = key;
    details.querySelector("div").replaceChildren(...page.runs.map((run) => this.table(run, from * 1e9, to * 1e9)));
  }

  table(run, from, to) {
    const totals = nodeTotals(run, from, to);
    const order = run.nodes.map((_, node) => node).sort((a, b) => totals[b][this.column] - totals[a][this.column] || a - b);
    const heads = NODE_COLUMNS.map(([text, title], column) => {
      const button = element("button", { type: "button", textContent: column === this.column ? `${text} ▾` : text, title });
      button.addEventListener("click", () => {
        this.column = column;
        this.draw();
      });
      return element("th", { scope: "col", ariaSort: column === this.column ? "descending" : "none" }, button);
    });
    const line = (node) => {
      const button = element("button", { type: "button", textContent: run.nodeName(node) });
      button.addEventListener("click", () => this.page.chooseNode(node));
      const cells = totals[node].map((value, column) => element("td", { textContent: value.toFixed(NODE_COLUMNS[column][2]) }));
      return element("tr", {}, element("th", { scope: "row" }, button), ...cells);
    };
    const caption = `${run.label ? `${run.label}, ` : ""}${seconds(from, 3)} s to ${seconds(to, 3)} s`;
    return element("table", {}, element("caption", { textContent: caption }),
      element("tr", {}, element("th", { scope: "col", textContent: "node" }), ...heads), ...order.map(line));
  }
}
