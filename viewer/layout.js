// Places of nodes on the map. Nodes with radios are to scale; others have no position, and are placed so that
// wires are seen: a chain in a row, hosts behind wires beside the plane.

class Places {
  constructor(run) {
    this.run = run;
    this.fixed = new Map();
    const bounds = this.boundsOfRadios();
    if (bounds) this.placeBeside(bounds);
    else this.placeChain();
  }

  boundsOfRadios() {
    const { positions } = this.run;
    let found = null;
    positions.forEach(({ x, y }) => {
      for (let index = 0; index < x.length; index++) {
        found ??= { left: x[index], right: x[index], bottom: y[index], top: y[index] };
        found.left = Math.min(found.left, x[index]);
        found.right = Math.max(found.right, x[index]);
        found.bottom = Math.min(found.bottom, y[index]);
        found.top = Math.max(found.top, y[index]);
      }
    });
    if (!found) return null;
    if (this.run.area) {
      found.left = Math.min(found.left, 0);
      found.bottom = Math.min(found.bottom, 0);
      found.right = Math.max(found.right, this.run.area[0]);
      found.top = Math.max(found.top, this.run.area[1]);
    }
    this.isToScale = true;
    return found;
  }

  /** Nodes without a position in a row, above the plane, in the order of their distance over wires from it. */
  placeBeside({ left, right, bottom, top }) {
    const { run } = this;
    const step = Math.max(right - left, top - bottom, 1) / 7;
    const hops = new Map();
    let front = run.nodes.map((_, node) => node).filter((node) => run.positions[node].times.length > 0);
    front.forEach((node) => hops.set(node, 0));
    for (let depth = 1; front.length > 0; depth++) {
      const next = [];
      for (const { between: [a, b] } of run.wires) {
        for (const [from, to] of [[a, b], [b, a]]) {
          if (front.includes(from) && !hops.has(to)) {
            hops.set(to, depth);
            next.push(to);
          }
        }
      }
      front = next;
    }
    const rows = new Map();
    run.nodes.forEach((_, node) => {
      if (run.positions[node].times.length > 0) return;
      const depth = hops.get(node) ?? 1;
      rows.set(depth, [...(rows.get(depth) ?? []), node]);
    });
    let highest = top;
    for (const [depth, nodes] of rows) {
      nodes.forEach((node, index) => {
        const x = left + ((index + 1) * (right - left)) / (nodes.length + 1);
        this.fixed.set(node, { x, y: top + depth * step });
      });
      highest = Math.max(highest, top + depth * step);
    }
    this.bounds = { left, right, bottom, top: highest };
    this.plane = { left, right, bottom, top };
  }

  /** A chain in a row; parallel routes in rows below it; else a circle. */
  placeChain() {
    const { run } = this;
    this.isToScale = false;
    this.plane = null;
    const wires = run.wires;
    const isChain = wires.length > 0 && wires[0].between[0] === 0 && wires[0].between[1] === 1;
    let row = 0;
    if (isChain) {
      this.fixed.set(0, { x: 0, y: 0 });
      let pending = [];
      for (const { between: [from, to] } of wires) {
        if (this.fixed.has(to)) {
          // The end of a parallel route, whose nodes lie between its ends.
          const start = this.fixed.get(pending[0]?.from ?? from);
          const end = this.fixed.get(to);
          row -= pending.length > 0 ? 1 : 0;
          pending.forEach(({ node }, index) => {
            const part = (index + 1) / (pending.length + 1);
            this.fixed.set(node, { x: start.x + (end.x - start.x) * part, y: row });
          });
          pending = [];
        } else if (pending.length === 0 && to === from + 1 && row === 0 && this.fixed.has(from) && from === this.fixed.size - 1) {
          this.fixed.set(to, { x: to, y: 0 });
        } else {
          pending.push({ from: pending[0]?.from ?? from, node: to });
        }
      }
    }
    const missing = run.nodes.map((_, node) => node).filter((node) => !this.fixed.has(node));
    missing.forEach((node, index) => {
      const angle = (2 * Math.PI * index) / missing.length;
      this.fixed.set(node, { x: 2 * Math.cos(angle), y: 2 * Math.sin(angle) });
    });
    const all = [...this.fixed.values()];
    const range = (values) => [Math.min(...values), Math.max(...values)];
    const [left, right] = range(all.map(({ x }) => x));
    const [bottom, top] = range(all.map(({ y }) => y));
    this.bounds = { left, right, bottom, top };
  }

  /** The place of a node at an instant, in the units of the map. */
  at(node, time) {
    return this.run.position(node, time) ?? this.fixed.get(node) ?? { x: 0, y: 0 };
  }
}
