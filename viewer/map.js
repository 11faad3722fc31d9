// The map: nodes, wires, frames, drops and the route of the chosen flow at an instant.

/** Colours of Okabe and Ito, which the colour-blind can distinguish; each kind also has a dash or a letter. */
const FRAME_STYLES = {
  data: { light: "#0072b2", dark: "#56b4e9", dash: [], label: "data" },
  acknowledgment: { light: "#009e73", dark: "#2fc79d", dash: [8, 3], label: "TCP ACK" },
  request: { light: "#b37700", dark: "#e69f00", dash: [2, 3], label: "RREQ" },
  reply: { light: "#a0487d", dark: "#e29cc4", dash: [10, 3, 2, 3], label: "RREP" },
  error: { light: "#d55e00", dark: "#ff8a3c", dash: [4, 4], label: "RERR" },
  control: { light: "#777777", dark: "#a9a9a9", dash: [1, 2], label: "RTS, CTS, ACK frame" },
  other: { light: "#6b5b00", dark: "#f0e442", dash: [12, 4], label: "other" },
};

function frameStyle(kind) {
  if (kind === "rts" || kind === "cts" || kind === "ack") return FRAME_STYLES.control;
  if (kind === "tcp-data" || kind === "udp" || kind === "data") return FRAME_STYLES.data;
  if (kind.startsWith("tcp")) return FRAME_STYLES.acknowledgment;
  if (kind.endsWith("rreq")) return FRAME_STYLES.request;
  if (kind.endsWith("rrep") || kind.endsWith("rrep-ack")) return FRAME_STYLES.reply;
  if (kind.endsWith("rerr") || kind.endsWith("losses")) return FRAME_STYLES.error;
  return FRAME_STYLES.other;
}

const FAILED = new Set(["collision", "out-of-range", "bit-error", "transmitting", "refused"]);

class MapView {
  constructor(run, canvas, page) {
    Object.assign(this, { run, canvas, page });
    this.places = new Places(run);
    this.shown = run.nodes.map(() => null);
    this.pointed = null;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.resize();
    canvas.addEventListener("pointermove", (event) => this.onPointer(event));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    let [drag, moved] = [null, 0];
    onClicks(canvas, {
      before: () => this.page.node,
      // What ends a drag chooses nothing.
      click: (event) => moved < 4 && this.onClick(event),
      double: (node) => {
        if (node !== this.page.node) this.page.chooseNode(node);
        this.view = { x: 0, y: 0, zoom: 1 };
        this.page.redraw();
      },
    });
    canvas.addEventListener("pointerdown", (event) => ([drag, moved] = [{ x: event.offsetX, y: event.offsetY }, 0]));
    window.addEventListener("pointerup", () => (drag = null));
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const [x, y] = [event.offsetX - drag.x, event.offsetY - drag.y];
      moved += Math.hypot(x, y);
      this.view.x += x;
      this.view.y += y;
      drag = { x: event.offsetX, y: event.offsetY };
      this.page.redraw();
    });
  }

  /** The canvas has as many pixels as the screen shows. */
  resize() {
    const { canvas } = this;
    const width = canvas.clientWidth;
    const { left, right, bottom, top } = this.places.bounds;
    const ratio = (top - bottom) / Math.max(right - left, 1e-9);
    const height = Math.round(Math.min(Math.max(width * ratio + 76, 170), Math.max(320, window.innerHeight * 0.55)));
    canvas.style.height = `${height}px`;
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const margin = 38;
    const fit = Math.min(
      (width - 2 * margin) / Math.max(right - left, 1e-9),
      (height - 2 * margin) / Math.max(top - bottom, 1e-9),
    );
    this.size = { width, height, scale };
    this.fit = Number.isFinite(fit) && fit > 0 ? fit : 1;
    this.middle = { x: (left + right) / 2, y: (bottom + top) / 2 };
  }

  /** The place on the canvas (CSS pixels) of a place on the map; y is upwards. */
  toScreen({ x, y }) {
    const { width, height } = this.size;
    const factor = this.fit * this.view.zoom;
    return {
      x: width / 2 + (x - this.middle.x) * factor + this.view.x,
      y: height / 2 - (y - this.middle.y) * factor + this.view.y,
    };
  }

  nodeAt(x, y) {
    let [best, nearest] = [null, 18];
    this.run.nodes.forEach((_, node) => {
      const place = this.toScreen(this.places.at(node, this.page.time));
      const distance = Math.hypot(place.x - x, place.y - y);
      if (distance < nearest) [best, nearest] = [node, distance];
    });
    return best;
  }

  onPointer(event) {
    this.point(this.nodeAt(event.offsetX, event.offsetY));
  }
  point(node) {
    if (node === this.pointed) return;
    this.pointed = node;
    this.canvas.style.cursor = node === null ? "" : "pointer";
    this.page.redraw();
  }
  onClick(event) {
    const node = this.nodeAt(event.offsetX, event.offsetY);
    if (node !== null) this.page.chooseNode(node);
  }
  onWheel(event) {
    event.preventDefault();
    const factor = Math.exp(-event.deltaY * 0.0015);
    const zoom = Math.min(40, Math.max(1, this.view.zoom * factor));
    const part = zoom / this.view.zoom;
    const [x, y] = [event.offsetX - this.size.width / 2, event.offsetY - this.size.height / 2];
    this.view.x = zoom === 1 ? 0 : x - (x - this.view.x) * part;
    this.view.y = zoom === 1 ? 0 : y - (y - this.view.y) * part;
    this.view.zoom = zoom;
    this.page.redraw();
  }

  draw(time, { flow, node: chosenNode, packet, trails, speed }) {
    const { run, canvas, places } = this;
    const c = canvas.getContext("2d");
    const colours = this.page.colours;
    c.setTransform(this.size.scale, 0, 0, this.size.scale, 0, 0);
    c.clearRect(0, 0, this.size.width, this.size.height);
    c.font = "12px system-ui, sans-serif";
    c.lineCap = "round";
    // Each node is looked up once a frame, though nodes, frames, routes and labels all ask.
    this.shown.fill(null);
    const at = (node) => (this.shown[node] ??= this.toScreen(places.at(node, time)));
    const labels = (this.labels = new Labels(c, this.size));
    this.drawPlane(c, colours);
    this.drawRange(c, colours, time, this.pointed ?? chosenNode);
    if (trails) this.drawTrails(c, colours, time);
    this.drawWires(c, colours, time, at);
    this.drawRoute(c, colours, run.routeAt(flow, time), at);
    if (packet !== null) this.drawWay(c, colours, packet, at);
    const sending = new Set();
    for (const frame of run.framesAt(time)) {
      if (frame.medium === "air") sending.add(frame.from);
      this.drawFrame(c, colours, frame, time, at);
    }
    this.drawNodes(c, colours, time, at, { sending, flow, chosenNode });
    this.drawDrops(c, colours, time, at, Math.max(DROP_SHOWN, 5e8 * speed));
    this.drawScale(c, colours);
    labels.draw(colours);
  }

  drawPlane(c, colours) {
    if (!this.places.plane) return;
    const { left, right, bottom, top } = this.places.plane;
    const [a, b] = [this.toScreen({ x: left, y: top }), this.toScreen({ x: right, y: bottom })];
    c.strokeStyle = colours.faint;
    c.lineWidth = 1;
    c.setLineDash([]);
    c.strokeRect(a.x, a.y, b.x - a.x, b.y - a.y);
  }

  drawScale(c, colours) {
    if (!this.places.isToScale) return;
    const factor = this.fit * this.view.zoom;
    const length = [5000, 2000, 1000, 500, 200, 100, 50, 20, 10, 5, 2, 1].find((m) => m * factor < 140) ?? 1;
    const y = this.size.height - 10;
    c.strokeStyle = c.fillStyle = colours.text;
    c.lineWidth = 2;
    c.setLineDash([]);
    c.beginPath();
    c.moveTo(10, y);
    c.lineTo(10 + length * factor, y);
    c.stroke();
    c.textAlign = "left";
    const [left, text] = [16 + length * factor, `${length} m`];
    c.fillText(text, left, y + 4);
    this.labels.avoidBox({ left: 10, right: left + widthOf(c, text), top: y - 7, bottom: y + 6 });
  }

  drawRange(c, colours, time, node) {
    const air = this.run.airs[0];
    if (node === null || !air || !this.run.positions[node]?.times.length) return;
    const centre = this.toScreen(this.places.at(node, time));
    for (const [range, dash, name] of [[air.receiveRange, [], "range"], [air.senseRange, [3, 5], "sense range"]]) {
      if (range === null) continue;
      const radius = range * this.fit * this.view.zoom;
      c.beginPath();
      c.arc(centre.x, centre.y, radius, 0, 2 * Math.PI);
      if (dash.length === 0) {
        c.fillStyle = colours.range;
        c.fill();
      }
      c.setLineDash(dash);
      c.strokeStyle = colours.muted;
      c.lineWidth = 1;
      c.stroke();
      const colour = colours.muted;
      this.labels.add(`${name} ${range} m`, centre.x, centre.y - radius, { radius: 0, colour, below: true });
    }
  }

  drawTrails(c, colours, time) {
    c.setLineDash([]);
    c.lineWidth = 1.5;
    c.strokeStyle = colours.faint;
    for (const [node, { times }] of this.run.positions.entries()) {
      const end = countUpTo(times, time);
      const start = Math.max(0, countUpTo(times, time - 30e9));
      if (end - start < 2) continue;
      c.beginPath();
      for (let index = start; index < end; index++) {
        const place = this.toScreen({ x: this.run.positions[node].x[index], y: this.run.positions[node].y[index] });
        if (index === start) c.moveTo(place.x, place.y);
        else c.lineTo(place.x, place.y);
      }
      const now = this.toScreen(this.places.at(node, time));
      c.lineTo(now.x, now.y);
      c.stroke();
    }
  }

  drawWires(c, colours, time, at) {
    const { run } = this;
    run.wires.forEach(({ between: [a, b] }, index) => {
      const fault = run.faults.find(
        (of) => of.kind !== "radio-down" && of.kind !== "fading" && of.node === index + 1 && of.start <= time && time < of.end,
      );
      const [from, to] = [at(a), at(b)];
      c.beginPath();
      c.moveTo(from.x, from.y);
      c.lineTo(to.x, to.y);
      c.strokeStyle = fault ? colours.bad : colours.muted;
      c.lineWidth = fault ? 3 : 2;
      c.setLineDash(fault ? [6, 6] : []);
      c.stroke();
      const middle = [(from.x + to.x) / 2, (from.y + to.y) / 2];
      if (fault) this.labels.add(fault.kind, ...middle, { radius: 9, rank: 4, colour: colours.bad, needed: true, below: true });
    });
  }

  line(c, nodes, at) {
    c.beginPath();
    nodes.forEach((node, index) => {
      const place = at(node);
      if (index === 0) c.moveTo(place.x, place.y);
      else c.lineTo(place.x, place.y);
    });
    c.stroke();
  }

  drawRoute(c, colours, route, at) {
    if (!route || route.nodes.length < 2) return;
    c.strokeStyle = colours.route;
    c.lineWidth = 9;
    c.setLineDash([]);
    this.line(c, route.nodes, at);
  }

  drawWay(c, colours, packet, at) {
    c.strokeStyle = colours.chosen;
    c.lineWidth = 3;
    c.setLineDash([2, 5]);
    for (const { nodes } of this.run.ways(packet)) this.line(c, nodes, at);
  }

  drawFrame(c, colours, frame, time, at) {
    const style = frameStyle(frame.kind);
    const colour = colours.isDark ? style.dark : style.light;
    const from = at(frame.from);
    c.strokeStyle = c.fillStyle = colour;
    c.lineWidth = 2.5;
    if (frame.to === null) {
      c.setLineDash(style.dash);
      for (const radius of [14, 22, 30]) {
        c.beginPath();
        c.arc(from.x, from.y, radius, 0, 2 * Math.PI);
        c.stroke();
      }
      return;
    }
    const to = at(frame.to);
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    if (frame.medium === "wire") {
      const part = Math.min(1, Math.max(0, (time / 1e9 - frame.start_s) / (frame.end_s - frame.start_s || 1)));
      // Packets of the two directions pass each other on their own sides.
      const [x, y] = [from.x + (to.x - from.x) * part - uy * 7, from.y + (to.y - from.y) * part + ux * 7];
      c.beginPath();
      if (style === FRAME_STYLES.data) c.arc(x, y, 4.5, 0, 2 * Math.PI);
      else c.rect(x - 3.5, y - 3.5, 7, 7);
      c.fill();
      return;
    }
    c.setLineDash(style.dash);
    c.beginPath();
    c.moveTo(from.x + ux * 9, from.y + uy * 9);
    c.lineTo(to.x - ux * 12, to.y - uy * 12);
    c.stroke();
    c.setLineDash([]);
    const tip = { x: to.x - ux * 9, y: to.y - uy * 9 };
    c.beginPath();
    c.moveTo(tip.x, tip.y);
    c.lineTo(tip.x - ux * 10 - uy * 5, tip.y - uy * 10 + ux * 5);
    c.lineTo(tip.x - ux * 10 + uy * 5, tip.y - uy * 10 - ux * 5);
    c.fill();
    if (FAILED.has(frame.outcome)) {
      const middle = [(from.x + to.x) / 2, (from.y + to.y) / 2];
      this.labels.add(`✕ ${frame.outcome}`, ...middle, { radius: 2, rank: 2, colour: colours.bad, needed: true });
    }
  }

  drawNodes(c, colours, time, at, { sending, flow, chosenNode }) {
    const { run } = this;
    const ends = run.flows[flow] ? [run.flows[flow].source, run.flows[flow].destination] : [];
    c.setLineDash([]);
    const isSmall = run.nodes.length > 150;
    const radius = isSmall ? 4 : 7;
    const down = new Set(run.faults.filter((of) => of.kind === "radio-down" && of.start <= time && time < of.end).map((of) => of.node));
    const isOutside = (x, y) => x < -60 || y < -60 || x > this.size.width + 60 || y > this.size.height + 60;
    run.nodes.forEach((name, node) => {
      const { x, y } = at(node);
      if (isOutside(x, y)) return;
      const isDown = down.has(node);
      const queue = run.queueTotals[node].at(time) ?? 0;
      const isEnd = ends.includes(node);
      if (isSmall && !isDown && !isEnd && queue === 0 && node !== chosenNode && node !== this.pointed && !sending.has(node)) {
        // Hundreds of circles take longer than a frame may.
        c.fillStyle = colours.muted;
        c.fillRect(x - 2.5, y - 2.5, 5, 5);
        return;
      }
      this.labels.avoid(x, y, radius);
      c.beginPath();
      c.arc(x, y, radius, 0, 2 * Math.PI);
      c.fillStyle = isDown ? colours.bad : isEnd ? colours.end : sending.has(node) ? colours.sending : colours.node;
      c.fill();
      c.lineWidth = node === chosenNode ? 3.5 : 1.5;
      c.strokeStyle = node === chosenNode ? colours.chosen : colours.text;
      c.stroke();
      if (queue > 0) {
        // A bar of the queue; its number says what the bar cannot.
        const height = Math.min(26, 3 + queue * 0.8);
        c.fillStyle = colours.queue;
        c.fillRect(x + radius + 3, y + radius - height, 5, height);
        this.labels.avoid(x + radius + 5, y + radius - height / 2, 3);
        if (!isSmall) this.labels.add(String(queue), x + radius + 6, y + radius - 7, { radius: 3, rank: -1, colour: colours.queue });
      }
      const needed = isEnd || node === chosenNode || node === this.pointed;
      if (!isSmall || needed) {
        const text = isEnd ? `${name} ${node === ends[0] ? "(source)" : "(destination)"}` : name;
        this.labels.add(text, x, y, { radius, rank: needed ? 3 : 0, needed });
      }
    });
  }

  drawDrops(c, colours, time, at, shown) {
    const last = new Map();
    for (const drop of this.run.dropsAt(time, shown)) {
      const count = (last.get(drop.node)?.count ?? 0) + 1;
      last.set(drop.node, { reason: drop.reason, to: drop.to, count });
    }
    c.strokeStyle = c.fillStyle = colours.bad;
    c.setLineDash([]);
    for (const [node, { reason, count }] of last) {
      const { x, y } = at(node);
      c.lineWidth = 3;
      c.beginPath();
      c.moveTo(x - 10, y + 8);
      c.lineTo(x + 10, y + 28);
      c.moveTo(x + 10, y + 8);
      c.lineTo(x - 10, y + 28);
      c.stroke();
      const text = count > 1 ? `${count} dropped: ${reason}` : `dropped: ${reason}`;
      this.labels.add(text, x, y + 18, { radius: 11, rank: 4, colour: colours.bad, needed: true, below: true });
    }
  }
}
