// The page: its controls, what is chosen, and the time.

const SPEEDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];

/** Kinds of events to step through. */
const STEPS = {
  "any event": (run, row) => run.layer(row) !== "mobility",
  "event of the flow": (run, row, page) => run.flow(row) === page.flow,
  "event at the node": (run, row, page) => run.layer(row) !== "mobility" && run.rows.node[row] === page.nodeOf(run),
  drop: (run, row) => run.event(row) === "dropped",
  "drop of data": (run, row) => run.event(row) === "dropped" && ["tcp-data", "udp"].includes(run.kind(row)),
  "end of a second copy": (run, row) => run.isEndOfCopy(row),
  "link failure": (run, row) => /link-failure$/.test(run.event(row)),
  "route lost or found": (run, row) => /^route-/.test(run.event(row)),
  timeout: (run, row, page) => run.event(row) === "timeout" && run.flow(row) === page.flow,
  "TCP or aid of the flow": (run, row, page) => ["tcp", "aid"].includes(run.layer(row)) && run.flow(row) === page.flow,
  "frame on the air": (run, row) => run.layer(row) === "air",
  fault: (run, row) => run.layer(row) === "fault",
};

const byId = (id) => document.getElementById(id);

class Page {
  constructor(runs) {
    this.runs = runs;
    this.flow = 0;
    this.node = null;
    this.row = null;
    this.rowRun = null;
    this.packet = null;
    this.filter = "all events";
    this.speed = 1;
    this.isPlaying = false;
    this.nextFrame = 0;
    this.isDue = false;
    [this.start, this.end] = [Math.min(...runs.map((run) => run.fromNs)), Math.max(...runs.map((run) => run.toNs))];
    this.time = this.start;
    this.readColours();
    this.buildMaps();
    this.plots = new Plots(this, byId("plots"));
    this.buildControls();
    this.readAddress();
    this.nodeTable = new NodeTable(this, byId("nodes"));
    this.plots.build();
    this.redraw();
  }

  readColours() {
    const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.colours = isDark
      ? { isDark, back: "#161616", text: "#ececec", muted: "#a5a5a5", faint: "#3a3a3a", bad: "#ff8f70", node: "#3b3b3b", end: "#56b4e9", sending: "#e69f00", queue: "#e29cc4", chosen: "#f0e442", route: "rgba(86,180,233,.3)", range: "rgba(255,255,255,.05)", data: "#56b4e9", warm: "#e69f00", green: "#2fc79d", pink: "#e29cc4", fault: "rgba(213,94,0,.35)", noRoute: "rgba(160,160,160,.25)", states: ["rgba(86,180,233,.4)", "rgba(230,159,0,.45)", "rgba(47,199,157,.4)", "rgba(226,156,196,.45)", "rgba(240,228,66,.35)", "rgba(255,138,60,.45)"] }
      : { isDark, back: "#ffffff", text: "#1c1c1c", muted: "#666666", faint: "#d5d5d5", bad: "#c0392b", node: "#ffffff", end: "#0072b2", sending: "#e69f00", queue: "#a0487d", chosen: "#8a4a00", route: "rgba(0,114,178,.2)", range: "rgba(0,0,0,.04)", data: "#0072b2", warm: "#b35900", green: "#00795a", pink: "#a0487d", fault: "rgba(213,94,0,.3)", noRoute: "rgba(120,120,120,.22)", states: ["rgba(86,180,233,.45)", "rgba(230,159,0,.45)", "rgba(0,158,115,.4)", "rgba(204,121,167,.45)", "rgba(240,228,66,.6)", "rgba(213,94,0,.4)"] };
  }

  buildMaps() {
    this.maps = [];
    this.lists = [];
    byId("top").classList.toggle("several", this.runs.length > 1);
    for (const run of this.runs) {
      const canvas = element("canvas");
      canvas.setAttribute("role", "img");
      const figure = element("figure", {}, canvas);
      if (this.runs.length > 1) figure.prepend(element("figcaption", { textContent: `${run.label}: ${run.name}, seed ${run.seed}` }));
      byId("maps").append(figure);
      this.maps.push(new MapView(run, canvas, this));
      const list = element("ol", { className: "rows" });
      list.setAttribute("aria-label", `Events around the instant${run.label ? `, ${run.label}` : ""}`);
      const name = this.runs.length > 1 ? [element("p", { textContent: run.label })] : [];
      byId("lists").append(element("div", {}, ...name, list));
      this.lists.push(new EventList(run, this, list));
    }
    // The second map halves the width of the first.
    this.maps.forEach((map) => map.resize());
    const symbol = ({ light, dark, dash }) => {
      const stroke = this.colours.isDark ? dark : light;
      return `<svg width="34" height="8"><line x1="1" x2="33" y1="4" y2="4" stroke="${stroke}" stroke-width="3" stroke-dasharray="${dash.join(" ")}"/></svg>`;
    };
    byId("legend").innerHTML = Object.values(FRAME_STYLES)
      .map((style) => `<span>${symbol(style)}${style.label}</span>`)
      .join("") + "<span>rings: a broadcast</span><span>wide band: route of the flow</span><span>fine dots: way of the chosen packet</span><span>orange node: sends</span><span>bar: queue</span><span>✕: loss</span>";
  }

  buildControls() {
    const fill = (select, entries) => select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
    const [run] = this.runs;
    fill(byId("kind"), Object.keys(STEPS).map((name) => [name, name]));
    fill(byId("filter"), Object.keys(FILTERS).map((name) => [name, name]));
    fill(byId("speed"), SPEEDS.map((speed) => [speed, speed < 1 ? `1/${Math.round(1 / speed)}` : `${speed}×`]));
    fill(byId("flow"), run.flows.map((flow, index) => [index, `${index}: ${flow.name}`]));
    fill(byId("node"), [["", "source of the flow"], ...run.nodes.map((name, node) => [node, name])]);
    byId("speed").value = "1";
    byId("play").onclick = () => this.play(!this.isPlaying);
    byId("back").onclick = () => this.step(-1);
    byId("forth").onclick = () => this.step(1);
    byId("speed").onchange = (event) => (this.speed = Number(event.target.value));
    byId("time").onchange = (event) => {
      const at = Number(event.target.value.replace(",", "."));
      if (Number.isFinite(at)) {
        this.say(at * 1e9 < this.start || at * 1e9 > this.end ? `The run is shown from ${seconds(this.start)} s to ${seconds(this.end)} s.` : "");
        this.seek(at * 1e9);
      } else this.say(`“${event.target.value}” is no time in seconds.`);
    };
    byId("flow").onchange = (event) => this.chooseFlow(Number(event.target.value));
    byId("node").onchange = (event) => this.chooseNode(event.target.value === "" ? null : Number(event.target.value));
    byId("filter").onchange = (event) => {
      this.filter = event.target.value;
      this.redraw();
    };
    byId("trails").onchange = () => this.redraw();
    byId("slider").oninput = (event) => this.seek(this.start + (this.end - this.start) * (event.target.value / 1e6));
    byId("search").onsubmit = (event) => {
      event.preventDefault();
      this.search(1);
    };
    byId("earlier").onclick = () => this.search(-1);
    // Enter changes the text, too.
    byId("part").onsubmit = (event) => event.preventDefault();
    byId("range").onchange = (event) => this.readRange(event.target.value);
    byId("whole").onclick = () => this.plots.setRange(...this.plots.whole);
    document.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => {
      this.maps.forEach((map) => map.resize());
      this.plots.resize();
      this.redraw();
    }).observe(document.body);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.readColours();
      this.plots.build();
      this.redraw();
    });
    window.addEventListener("hashchange", () => this.readAddress());
    if (this.runs.length > 1) this.buildDifferences();
  }

  buildDifferences() {
    byId("differences").hidden = false;
    for (const { name, text, time } of differences(this.runs)) {
      const said = element("dd", { textContent: text });
      if (time !== null && Number.isFinite(time)) {
        const go = element("button", { type: "button", textContent: "show" });
        go.onclick = () => this.seek(time);
        said.append(" ", go);
      }
      byId("differences").querySelector("dl").append(element("dt", { textContent: name }), said);
    }
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const name = event.target.tagName;
    if (name === "INPUT" && event.target.type !== "range" && event.target.type !== "checkbox") return;
    if (name === "SELECT" && event.key !== "Escape") return;
    if (event.key === " " && name === "BUTTON") return;
    const [from, to] = this.plots.range;
    const speed = SPEEDS.indexOf(this.speed);
    const actions = {
      " ": () => this.play(!this.isPlaying),
      ArrowRight: () => (event.shiftKey ? this.seek(this.time + (to - from) * 1e7) : this.step(1)),
      ArrowLeft: () => (event.shiftKey ? this.seek(this.time - (to - from) * 1e7) : this.step(-1)),
      "+": () => this.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, speed + 1)]),
      "-": () => this.setSpeed(SPEEDS[Math.max(0, speed - 1)]),
      Home: () => this.seek(this.start),
      End: () => this.seek(this.end),
      Escape: () => this.chooseNothing(),
      "/": () => byId("query").focus(),
      "?": () => (byId("help").open = !byId("help").open),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  setSpeed(speed) {
    this.speed = speed;
    byId("speed").value = String(speed);
  }

  play(on) {
    this.isPlaying = on;
    byId("play").textContent = on ? "‖ Pause" : "▶ Play";
    // To play again before the next frame is not to play twice as fast.
    cancelAnimationFrame(this.nextFrame);
    if (!on) return this.writeAddress();
    if (this.time >= this.end) this.time = this.start;
    let last = performance.now();
    const advance = (now) => {
      this.time = Math.min(this.end, this.time + (now - last) * 1e6 * this.speed);
      last = now;
      this.draw();
      if (this.time >= this.end) this.play(false);
      else this.nextFrame = requestAnimationFrame(advance);
    };
    this.nextFrame = requestAnimationFrame(advance);
  }

  seek(time) {
    this.time = Math.round(Math.min(this.end, Math.max(this.start, time)));
    this.plots.follow(this.time);
    this.writeAddress();
    this.redraw();
  }

  /** Shows a row: the instant at which it is, its meaning and the way of its packet. */
  chooseRow(run, row) {
    [this.rowRun, this.row] = [run, row];
    const label = this.runs.length > 1 ? `${run.label}, ` : "";
    this.say(`${label}${seconds(run.rows.time[row])} s: ${sentence(run, row)}`);
    const header = run.rows.header[row];
    // Without a number all messages of a node would be one.
    const hasWay = header !== NONE && run.header(row).source !== NONE && run.header(row).packet !== null;
    this.packet = hasWay && !run.isBroadcast(header) ? header : null;
    byId("packet").hidden = false;
    byId("meaning").textContent = `${label}${seconds(run.rows.time[row], 9)} s: ${sentence(run, row)}. ${meaning(run, row)} ${windowReason(run, row)}`;
    byId("way").replaceChildren(...(hasWay ? packetWay(run, header, this) : waiting(run, row, this)));
    this.seek(run.rows.time[row]);
  }

  /** Shows no event and no packet. */
  chooseNothing() {
    [this.rowRun, this.row, this.packet] = [null, null, null];
    byId("packet").hidden = true;
    this.say("");
    this.redraw();
  }

  /** The chosen node, or the source of the flow. */
  nodeOf(run) {
    return this.node ?? run.flows[this.flow]?.source ?? 0;
  }

  chooseNode(node) {
    this.node = node;
    byId("node").value = node === null ? "" : String(node);
    this.plots.build();
    this.redraw();
  }

  chooseFlow(flow) {
    this.flow = flow;
    byId("flow").value = String(flow);
    this.plots.build();
    this.writeAddress();
    this.redraw();
  }

  /** Shows a part of the time line that is typed: two times in seconds, in any notation. */
  readRange(text) {
    const [from, to, ...more] = (text.replaceAll(",", ".").match(/\d+(\.\d*)?|\.\d+/g) ?? []).map(Number);
    const [start, end] = this.plots.whole;
    let message = "";
    if (to === undefined || more.length > 0) message = `“${text}” is no part of the run: two times in seconds, such as ${+start.toFixed(1)}–${+((start + end) / 2).toFixed(1)}.`;
    else if (from >= to) message = `${from} s is not before ${to} s.`;
    else if (from >= end || to <= start) message = `The run is shown from ${+start.toFixed(6)} s to ${+end.toFixed(6)} s.`;
    else this.plots.setRange(Math.max(from, start), Math.min(to, end));
    byId("rangeMessage").textContent = message;
  }

  /** Writes the part that the plots show, unless another one is being typed. */
  showRange([from, to]) {
    if (document.activeElement === byId("range")) return;
    const digits = Math.min(9, Math.max(0, Math.ceil(3 - Math.log10(to - from))));
    byId("range").value = `${+from.toFixed(digits)}–${+to.toFixed(digits)}`;
  }

  /** The row from which a step goes on: the chosen one if the time is still its time. */
  currentRow(run) {
    if (this.rowRun === run && this.row !== null && run.rows.time[this.row] === this.time) return this.row;
    return null;
  }

  find(step, admits, what) {
    this.play(false);
    let best = null;
    for (const run of this.runs) {
      const current = this.currentRow(run);
      const from = current ?? (step > 0 ? run.countUpTo(this.time) - 1 : countUpTo(run.rows.time, this.time - 1, run.rows.count));
      const row = findRow(run, from, step, (of, at) => admits(of, at, this));
      if (row === null) continue;
      if (best === null || step * (run.rows.time[row] - best.run.rows.time[best.row]) < 0) best = { run, row };
    }
    if (best === null) {
      this.say(`No ${what} ${step > 0 ? "after" : "before"} ${seconds(this.time)} s.`);
      return;
    }
    const { run, row } = best;
    this.chooseRow(run, row);
  }

  step(direction) {
    const kind = byId("kind").value;
    this.find(direction, STEPS[kind], kind);
  }

  search(direction) {
    const text = byId("query").value || byId("query").placeholder;
    const { error, isBackward, admits, count } = searchIn(this.runs, text);
    if (error) return this.say(error);
    this.find(isBackward ? -direction : direction, admits, `“${text}”`);
    this.say(`${byId("message").textContent} (${count} in all)`);
  }

  say(text) {
    byId("message").textContent = text;
  }

  /** The instant and the flow are in the address, so that it can be copied. In the frame of a notebook there is none. */
  writeAddress() {
    if (location.protocol === "about:") return;
    const at = `#t=${+(this.time / 1e9).toFixed(9)}&flow=${this.flow}`;
    if (at !== location.hash) history.replaceState(null, "", at);
  }

  readAddress() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const flow = Number(fields.get("flow"));
    if (fields.has("flow") && this.runs[0].flows[flow] && flow !== this.flow) {
      this.flow = flow;
      byId("flow").value = String(flow);
      if (this.plots.range) this.plots.build();
    }
    const at = Number(fields.get("t"));
    if (fields.has("t") && Number.isFinite(at)) {
      this.time = Math.round(Math.min(this.end, Math.max(this.start, at * 1e9)));
      if (this.plots.range) this.plots.follow(this.time);
      this.redraw();
    }
  }

  redraw() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  draw() {
    const { time, flow, node } = this;
    const trails = byId("trails").checked;
    for (const map of this.maps) {
      const packet = this.rowRun === map.run && map.run.isNear(this.packet, time) ? this.packet : null;
      map.draw(time, { flow, node, packet, trails, speed: this.isPlaying ? this.speed : 0 });
    }
    if (this.isPlaying) this.plots.follow(time);
    this.plots.drawTime();
    const now = performance.now();
    // A hundred rows of text a frame would cost more than the map.
    if (this.isPlaying && now - (this.textAt ?? 0) < 150) return;
    this.textAt = now;
    this.drawText();
  }

  drawText() {
    const { time } = this;
    this.lists.forEach((list) => list.draw(time));
    if (document.activeElement !== byId("time")) byId("time").value = seconds(time);
    byId("slider").value = String(((time - this.start) / Math.max(1, this.end - this.start)) * 1e6);
    this.drawState();
    for (const { run, canvas } of this.maps) {
      const frames = run.framesAt(time);
      const drops = run.dropsAt(time);
      const says = (of) => `${run.nodeName(of.from)} to ${of.to === null ? "all" : run.nodeName(of.to)}: ${kindName(of.kind)}`;
      canvas.setAttribute("aria-label", `Map of ${run.nodes.length} nodes at ${seconds(time, 3)} s. ${frames.length} frames: ${frames.slice(0, 6).map(says).join(", ")}. ${drops.length} drops in the last second.`);
    }
  }

  /** The table of the chosen flow, one row for each run. */
  drawState() {
    const number = (value, digits = 0) => (value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: digits }));
    const rows = this.runs.map((run) => {
      const of = run.flowAt(this.flow, this.time);
      const route = run.routeAt(this.flow, this.time);
      const ssthresh = of.ssthresh_bytes === null || of.ssthresh_bytes > 5e8 ? "∞" : number(of.ssthresh_bytes);
      return [
        run.label || run.flowName(this.flow), number(of.cwnd_bytes), of.cwnd_bytes === null ? "–" : ssthresh, number(of.rtt_s, 4), number(of.rto_s, 3),
        number(of.sent_bytes - of.acked_bytes), number(of.delivered_bytes), of.timeouts, of.retransmissions, of.aid ?? "–",
        route ? route.nodes.map((node) => run.nodeName(node)).join("–") || "none" : "–",
      ];
    });
    // With a first word, since in a narrow window the columns are rows, which an empty one would shift.
    const heads = ["flow", "cwnd (B)", "ssthresh (B)", "RTT (s)", "RTO (s)", "not acknowledged (B)", "delivered (B)", "timeouts", "retransmissions", "aid", "route"];
    const key = JSON.stringify(rows);
    if (key === this.stateKey) return;
    this.stateKey = key;
    byId("state").replaceChildren(
      element("tr", {}, ...heads.map((text) => element("th", { scope: "col", textContent: text }))),
      ...rows.map((cells) => element("tr", {}, ...cells.map((text) => element("td", { textContent: String(text) })))),
    );
  }
}

async function main() {
  const data = JSON.parse(byId("data").textContent);
  const runs = [];
  for (const [index, description] of data.runs.entries()) {
    const rows = await decode(byId(`columns-${index}`).textContent, description.encoding);
    byId(`columns-${index}`).remove();
    runs.push(new Run(description, rows, data.meanings));
  }
  const [run] = runs;
  const events = runs.reduce((sum, of) => sum + of.rows.count, 0).toLocaleString("en");
  byId("about").textContent = `${runs.length > 1 ? `${runs.length} runs, ` : `Seed ${run.seed}, `}${+run.fromS.toFixed(3)} s to ${+run.toS.toFixed(3)} s of ${+run.durationS.toFixed(3)} s, ${run.nodes.length} nodes, ${events} events; driftway ${data.version}.`;
  const thinned = runs.filter((of) => of.thinning);
  byId("thinned").hidden = thinned.length === 0;
  byId("thinned").textContent = [...new Set(thinned.map((of) => of.thinning))].join(" ") + " A part in full: driftway replay … --from 470s --to 485s.";
  byId("loading").remove();
  byId("main").hidden = false;
  const page = new Page(runs);
  window.driftwayReplay = { at: (seconds, index = 0) => runs[index].at(seconds), page, runs };
}

main().catch((error) => {
  byId("loading").textContent = `The page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`;
  console.error(error);
});
