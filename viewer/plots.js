// The plots below the map: cwnd, times, queue and throughput, on the time line of the map.

const POINTS = 1200;

/** Values at `times`: the last one before each, where there is one. */
function stepValues(steps, times, factor = 1, most = Infinity) {
  const values = new Array(times.length);
  let index = 0;
  for (let at = 0; at < times.length; at++) {
    const time = times[at] * 1e9;
    while (index < steps.times.length && steps.times[index] <= time) index++;
    const value = index === 0 ? null : steps.values[index - 1];
    values[at] = value === null || value > most ? null : value * factor;
  }
  return values;
}

/** The largest value in each step of `times`; a step without a value has none. */
function largestValues(steps, times) {
  const values = new Array(times.length).fill(null);
  if (times.length < 2) return values;
  const step = (times[1] - times[0]) * 1e9;
  const start = times[0] * 1e9;
  for (let index = countUpTo(steps.times, start); index < steps.times.length; index++) {
    const at = Math.ceil((steps.times[index] - start) / step);
    if (at >= times.length) break;
    values[at] = Math.max(values[at] ?? 0, steps.values[index]);
  }
  return values;
}

/** The largest value that holds in each step of `times`, so that no peak is lost between two of them. */
function peaks(steps, times) {
  const held = stepValues(steps, times);
  const largest = largestValues(steps, times);
  return held.map((value, index) => (largest[index] === null ? value : Math.max(largest[index], held[Math.max(0, index - 1)] ?? 0)));
}

/** The rate of a count over a window that ends at each time (kbit/s). */
function rates(steps, times, fromNs) {
  const step = times.length > 1 ? times[1] - times[0] : 1;
  const width = Math.max(1, 3 * step);
  const before = times.map((time) => time - width);
  const [now, then] = [stepValues(steps, times), stepValues(steps, before)];
  return times.map((time, index) => {
    const duration = Math.min(width, time - fromNs / 1e9);
    return duration <= 0 ? 0 : (((now[index] ?? 0) - (then[index] ?? 0)) * 8) / duration / 1000;
  });
}

/** The states that an aid had, in the order in which they came first. */
function aidStates(aid) {
  return [...new Set(aid.values)];
}

class Plots {
  constructor(page, element) {
    Object.assign(this, { page, element });
    this.range = null;
    this.charts = [];
    // Work that waits for the next frame, so that a wheel does not draw a hundred times.
    this.isDue = false;
  }

  /** The whole of the time line (s). */
  get whole() {
    const { runs } = this.page;
    return [Math.min(...runs.map((run) => run.fromS)), Math.max(...runs.map((run) => run.toS))];
  }

  setRange(from, to) {
    const [start, end] = this.whole;
    const width = Math.min(end - start, Math.max(to - from, 1e-5));
    const left = Math.min(Math.max(from, start), end - width);
    this.range = [left, left + width];
    this.page.showRange(this.range);
    this.update();
  }

  /** Moves the range so that an instant is in it. */
  follow(time) {
    const [from, to] = this.range;
    const at = time / 1e9;
    if (at >= from && at <= to) return;
    this.setRange(at - (to - from) * 0.3, at + (to - from) * 0.7);
  }

  build() {
    this.charts.forEach((chart) => chart.destroy());
    this.element.replaceChildren();
    this.range ??= this.whole;
    this.page.showRange(this.range);
    this.built = 0;
    this.charts = this.definitions().map((definition) => this.chart(definition));
    this.resize();
    this.update();
  }

  definitions() {
    const { page } = this;
    const { colours, runs, flow } = page;
    const several = runs.length > 1;
    const of = (run, name) => (several ? `${name}, ${run.label}` : name);
    const series = (name, colour, values, more = {}) =>
      runs.map((run, index) => ({
        label: index === 0 ? of(run, name) : `${of(run, name)} (dashed)`, stroke: colour, width: index === 0 ? 1.8 : 1.4, dash: index === 0 ? more.dash : [6, 4],
        values: (times) => values(run, times), ...more.style, scale: more.scale,
      }));
    const tcp = (run) => run.tcp[flow] ?? NO_FLOW;
    const isTcp = runs.some((run) => run.flows[flow]?.transport === "tcp");
    const node = page.node ?? runs[0].flows[flow]?.source ?? 0;
    // No line: a time without samples would look like one with samples between.
    const points = { style: { paths: () => null, points: { show: true, size: 4 } } };
    const definitions = [];
    if (isTcp) {
      definitions.push({
        title: "Congestion window (kB)", series: [
          ...series("cwnd", colours.data, (run, times) => stepValues(tcp(run).cwnd, times, 1e-3)),
          ...series("ssthresh", colours.warm, (run, times) => stepValues(tcp(run).ssthresh, times, 1e-3, 5e8), { dash: [3, 3] }),
        ],
      }, {
        title: "Round-trip time and RTO (s)", series: [
          ...series("RTT", colours.green, (run, times) => largestValues(tcp(run).rtt, times), points),
          ...series("RTO", colours.warm, (run, times) => stepValues(tcp(run).rto, times), { dash: [3, 3] }),
        ],
      });
    }
    definitions.push({
      title: "Throughput (kbit/s)",
      series: series("delivered", colours.data, (run, times) => rates(tcp(run).delivered, times, run.fromNs)),
    }, {
      title: `Queue at ${runs[0].nodeName(node)} (packets)`,
      series: series("queue", colours.pink, (run, times) => peaks(run.queueTotals[node] ?? new Steps(), times)),
    });
    return definitions;
  }

  /** The colours of the aid's states, for the caption of the first plot. */
  aidLegend() {
    const { runs, flow, colours } = this.page;
    const aid = runs.length === 1 && runs[0].tcp[flow]?.aid;
    if (!aid || aid.times.length === 0) return [];
    const swatch = (colour) => {
      const made = element("span", { className: "swatch" });
      made.style.background = colour;
      return made;
    };
    return [" · aid:", ...aidStates(aid).flatMap((name, at) => [" ", swatch(colours.states[at % colours.states.length]), ` ${name}`])];
  }

  chart({ title, series }) {
    const { colours } = this.page;
    const holder = document.createElement("figure");
    holder.setAttribute("aria-label", `${title} over time. The table of the flow has the values at the chosen instant.`);
    const caption = document.createElement("figcaption");
    caption.textContent = title;
    caption.append(...(this.built++ === 0 ? this.aidLegend() : []));
    holder.append(caption);
    this.element.append(holder);
    const axis = { stroke: colours.text, grid: { stroke: colours.faint, width: 1 }, ticks: { stroke: colours.faint }, font: "11px system-ui" };
    const chart = new uPlot({
      width: Math.max(200, holder.clientWidth), height: 128,
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [{ ...axis, size: 26, values: (_, ticks) => ticks.map((tick) => `${+tick.toFixed(6)} s`) }, { ...axis, size: 48 }],
      series: [{ label: "time", value: (_, at) => (at === null ? "" : `${at.toFixed(3)} s`) },
        ...series.map((of) => ({ label: of.label, stroke: of.stroke, width: of.width, dash: of.dash, ...(of.paths ? { paths: of.paths } : {}), points: of.points ?? { show: false }, value: (_, value) => (value === null || value === undefined ? "–" : String(+value.toPrecision(5))) }))],
      cursor: { sync: { key: "replay" }, drag: { x: true, y: false, setScale: false } },
      legend: { show: series.length > 1, live: true },
      hooks: {
        drawClear: [(u) => this.drawBands(u)],
        draw: [(u) => this.drawMarks(u)],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          this.setRange(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    }, [[0], ...series.map(() => [null])], holder);
    chart.replaySeries = series;
    chart.instant = element("div", { className: "instant" });
    chart.over.append(chart.instant);
    onClicks(chart.over, {
      before: () => this.page.time,
      click: (event) => this.page.seek(chart.posToVal(event.offsetX, "x") * 1e9),
      double: (time) => {
        this.setRange(...this.whole);
        this.page.seek(time);
      },
    });
    chart.over.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [from, to] = this.range;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const shift = ((event.deltaX || event.deltaY) / 500) * (to - from);
        this.setRange(from + shift, to + shift);
        return;
      }
      const at = chart.posToVal(event.offsetX, "x");
      const factor = Math.exp(event.deltaY * 0.002);
      this.setRange(at - (at - from) * factor, at + (to - at) * factor);
    }, { passive: false });
    return chart;
  }

  /** Draws with the next frame. */
  update() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  draw() {
    const [from, to] = this.range;
    const times = Array.from({ length: POINTS + 1 }, (_, index) => from + ((to - from) * index) / POINTS);
    for (const chart of this.charts) {
      chart.batch(() => {
        chart.setData([times, ...chart.replaySeries.map((of) => of.values(times))], false);
        chart.setScale("x", { min: from, max: to });
        chart.setScale("y", { min: null, max: null });
      });
    }
    this.drawTime();
    this.page.nodeTable?.draw();
  }

  /** Moves the mark of the instant, an element of its own: nothing is drawn anew. */
  drawTime() {
    const [from, to] = this.range;
    const at = this.page.time / 1e9;
    const isVisible = at >= from && at <= to;
    for (const { instant } of this.charts) {
      instant.style.visibility = isVisible ? "" : "hidden";
      instant.style.left = `${((at - from) / (to - from)) * 100}%`;
    }
  }

  resize() {
    for (const chart of this.charts) {
      const width = chart.root.parentElement.clientWidth;
      if (width > 0 && width !== chart.width) chart.setSize({ width, height: 128 });
    }
  }

  /** Bands of faults, and of times without a route at the source. */
  drawBands(u) {
    const { page } = this;
    const { left, top, width, height } = u.bbox;
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    const share = height / page.runs.length;
    page.runs.forEach((run, index) => {
      const bands = [
        ...run.timesWithoutRoute(page.flow).map((of) => [of, page.colours.noRoute]),
        ...run.faults.map((of) => [of, page.colours.fault]),
      ];
      for (const [{ start, end }, colour] of bands) {
        const [x0, x1] = [start, end].map((time) => u.valToPos(time / 1e9, "x", true));
        if (x1 < left || x0 > left + width) continue;
        c.fillStyle = colour;
        c.fillRect(x0, top + index * share, Math.max(1, x1 - x0), share);
      }
    });
    c.restore();
  }

  /** Timeouts, recoveries and states of the aid. */
  drawMarks(u) {
    const { page } = this;
    const { left, top, width, height } = u.bbox;
    const c = u.ctx;
    const scale = window.devicePixelRatio || 1;
    c.save();
    c.beginPath();
    c.rect(left, top, width, height);
    c.clip();
    c.setLineDash([]);
    c.textAlign = "left";
    c.lineWidth = 1.5 * scale;
    c.font = `${11 * scale}px system-ui, sans-serif`;
    page.runs.forEach((run, index) => {
      const tcp = run.tcp[page.flow];
      if (!tcp) return;
      const base = top + height - index * 12 * scale;
      const mark = (times, colour, letter) => {
        c.fillStyle = c.strokeStyle = colour;
        let last = -Infinity;
        for (const time of times) {
          const x = u.valToPos(time / 1e9, "x", true);
          if (x < left || x > left + width || x - last < 1) continue;
          c.beginPath();
          c.moveTo(x, base);
          c.lineTo(x, base - 12 * scale);
          c.stroke();
          if (x - last > 9 * scale) c.fillText(letter, x + 3 * scale, base - 2 * scale);
          last = x;
        }
      };
      mark(tcp.timeouts, page.colours.bad, "T");
      mark(tcp.fast, page.colours.warm, "R");
      if (u === this.charts[0] && page.runs.length === 1) this.drawAidStates(u, run, tcp.aid);
    });
    c.restore();
  }

  /** A strip with the states of the aid: each has a colour, which the caption names, and its name where that fits. */
  drawAidStates(u, run, aid) {
    const { left, top, width } = u.bbox;
    const c = u.ctx;
    const scale = window.devicePixelRatio || 1;
    const states = aidStates(aid);
    aid.times.forEach((time, at) => {
      const [start, end] = [time, aid.times[at + 1] ?? run.toNs].map((of) => u.valToPos(of / 1e9, "x", true));
      const [x0, x1] = [Math.max(left, start), Math.min(left + width, end)];
      if (x1 <= x0) return;
      const name = aid.values[at];
      c.fillStyle = this.page.colours.states[states.indexOf(name) % this.page.colours.states.length];
      c.fillRect(x0, top, Math.max(1, x1 - x0), 13 * scale);
      c.fillStyle = this.page.colours.text;
      const text = [name, name[0]].find((of) => c.measureText(of).width + 4 * scale < x1 - x0);
      if (text) c.fillText(text, x0 + 2 * scale, top + 10 * scale);
    });
  }
}
