// A run: its rows, indices of them, and what holds at an instant.

/** Time for which a drop is shown (ns). */
const DROP_SHOWN = 1e9;

/** The number of elements of a sorted array that are at most `value`. */
function countUpTo(sorted, value, length = sorted.length) {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Values over time: the last one counts until the next. */
class Steps {
  constructor() {
    this.times = [];
    this.values = [];
  }
  add(time, value) {
    this.times.push(time);
    this.values.push(value);
  }
  /** The value at an instant; `null` before the first. */
  at(time) {
    const count = countUpTo(this.times, time);
    return count === 0 ? null : this.values[count - 1];
  }
}

/** The values of a flow over time. */
const flowSteps = () => ({
  cwnd: new Steps(), ssthresh: new Steps(), rto: new Steps(), rtt: new Steps(), sent: new Steps(),
  acked: new Steps(), delivered: new Steps(), aid: new Steps(), timeouts: [], retransmissions: [],
  fast: [], deliveredPackets: [], sourceRoute: new Steps(),
});

/** Those of a flow that only the other run has. */
const NO_FLOW = flowSteps();

class Run {
  constructor(description, rows, meanings) {
    Object.assign(this, description);
    this.rows = rows;
    this.classes = description.encoding.classes;
    this.words = description.encoding.words;
    this.routes = description.encoding.routes.map((route) => route.split("-").map(Number));
    this.meanings = new Map(meanings.map((of) => [`${of.layer} ${of.event}`, of]));
    this.fromNs = description.fromS * 1e9;
    this.toNs = description.toS * 1e9;
    this.indexRows();
    this.indexPackets();
  }

  layer(row) {
    return this.classes[this.rows.class[row]].layer;
  }
  event(row) {
    return this.classes[this.rows.class[row]].event;
  }
  kind(row) {
    return this.classes[this.rows.class[row]].kind;
  }
  reason(row) {
    return this.words[this.rows.reason[row]];
  }
  header(row) {
    return this.rows.headers[this.rows.header[row]];
  }
  own(row) {
    return this.rows.owns[this.rows.own[row]];
  }
  /** The flow of a row, or -1. */
  flow(row) {
    const header = this.header(row);
    if (header) return header.flow;
    const own = this.own(row);
    return own ? own.flow : NONE;
  }
  nodeName(node) {
    return this.nodes[node] ?? String(node);
  }
  flowName(flow) {
    return this.flows[flow]?.name ?? `flow ${flow}`;
  }

  /** The number of rows up to an instant. */
  countUpTo(time) {
    return countUpTo(this.rows.time, time, this.rows.count);
  }

  /** The airtime of a frame (ns). */
  airtime(row) {
    const air = this.airs[Math.max(0, this.rows.air[row])];
    if (!air) return 0;
    const isControl = ["rts", "cts", "ack"].includes(this.kind(row));
    const rate = isControl || this.rows.neighbour[row] === NONE ? air.basicRate : air.dataRate;
    return rate ? air.preambleNs + Math.ceil((this.rows.bytes[row] * 8e9) / rate) : 0;
  }

  indexRows() {
    const { rows } = this;
    const perNode = (make) => this.nodes.map(make);
    this.positions = perNode(() => ({ times: [], x: [], y: [] }));
    this.queues = perNode(() => new Map());
    this.queueTotals = perNode(() => new Steps());
    this.tcp = this.flows.map(flowSteps);
    this.known = new Map();
    this.drops = [];
    this.dropTimes = [];
    this.frames = [];
    this.frameTimes = [];
    this.faults = [];
    this.transmissions = [];
    this.longestFrame = 0;
    this.longestTransmission = 0;
    const open = new Map();
    const sentOnce = this.flows.map(() => new Map());
    const openFaults = new Map();
    for (let row = 0; row < rows.count; row++) {
      const time = rows.time[row];
      const { layer, event, kind } = this.classes[rows.class[row]];
      const node = rows.node[row];
      if (event === "dropped") {
        this.drops.push(row);
        this.dropTimes.push(time);
      }
      if (rows.queue[row] !== NONE) {
        const lengths = this.queues[node];
        lengths.set(layer === "link" ? `w${rows.wire[row]}` : `a${rows.air[row]}`, rows.queue[row]);
        let total = 0;
        for (const length of lengths.values()) total += length;
        this.queueTotals[node].add(time, total);
      }
      // A node that salvages a packet gives it a route of its own.
      if (rows.route[row] !== NONE && (kind === "tcp-data" || kind === "udp") && this.flows[this.flow(row)]?.source === node) {
        this.tcp[this.flow(row)]?.sourceRoute.add(time, rows.route[row]);
      }
      if (layer === "air") {
        const end = time + this.airtime(row);
        this.longestFrame = Math.max(this.longestFrame, end - time);
        this.frames.push(row);
        this.frameTimes.push(time);
      } else if (layer === "link") {
        const key = `${rows.wire[row]} ${node} ${rows.header[row]}`;
        if (event === "sent") {
          // Until it arrives or is dropped, which some rows of a cut run do not show.
          const sent = { row, start: time, end: Infinity };
          this.transmissions.push(sent);
          open.set(key, sent);
        } else if (open.has(key) && (event === "delivered" || event === "dropped")) {
          const sent = open.get(key);
          sent.end = time;
          sent.outcome = event === "dropped" ? this.reason(row) : "received";
          this.longestTransmission = Math.max(this.longestTransmission, time - sent.start);
          open.delete(key);
        }
      } else if (layer === "mobility") {
        const [own, place] = [this.own(row), this.positions[node]];
        place.times.push(time);
        place.x.push(own.x / 100);
        place.y.push(own.y / 100);
      } else if (event === "route-found" || event === "route-lost") {
        const key = `${node} ${this.own(row).destination}`;
        if (!this.known.has(key)) this.known.set(key, new Steps());
        this.known.get(key).add(time, event === "route-found");
      } else if (layer === "fault") {
        const key = `${node} ${this.reason(row)}`;
        if (event === "begins") {
          const fault = { row, node, kind: this.reason(row), start: time, end: this.toNs };
          openFaults.set(key, fault);
          this.faults.push(fault);
        } else if (openFaults.has(key)) {
          openFaults.get(key).end = time;
          openFaults.delete(key);
        }
      } else if (layer === "routing" && event === "delivered" && (kind === "tcp-data" || kind === "udp")) {
        this.tcp[this.flow(row)]?.deliveredPackets.push(row);
      } else if (layer === "tcp" || layer === "udp" || layer === "aid") {
        this.indexFlow(row, layer, event, time, sentOnce);
      }
    }
    // A packet still on a wire at the end.
    for (const sent of open.values()) sent.end = Math.min(this.toNs, sent.start + (this.longestTransmission || 1e9));
    this.transmissionTimes = this.transmissions.map((sent) => sent.start);
    this.frameTimes = Float64Array.from(this.frameTimes);
    this.frames = Int32Array.from(this.frames);
  }

  indexFlow(row, layer, event, time, sentOnce) {
    const own = this.own(row);
    const tcp = own && this.tcp[own.flow];
    if (!tcp) return;
    if (layer === "aid") tcp.aid.add(time, this.reason(row));
    else if (event === "sent" || event === "retransmitted") {
      const end = own.offset + Math.max(0, this.rows.bytes[row]);
      tcp.sent.add(time, Math.max(end, tcp.sent.values.at(-1) ?? 0));
      if (own.cwnd !== NONE) tcp.cwnd.add(time, own.cwnd);
      if (own.ssthresh !== NONE) tcp.ssthresh.add(time, own.ssthresh);
      if (own.rto !== NONE) tcp.rto.add(time, own.rto / 1e9);
      if (event === "retransmitted") {
        tcp.retransmissions.push(time);
        // Karn: the round-trip time of what was sent twice is ambiguous.
        sentOnce[own.flow].clear();
      } else sentOnce[own.flow].set(end, time);
    } else if (event === "acked") {
      tcp.acked.add(time, own.offset);
      const waiting = sentOnce[own.flow];
      const sent = waiting.get(own.offset);
      if (sent !== undefined) tcp.rtt.add(time, (time - sent) / 1e9);
      for (const end of waiting.keys()) {
        if (end > own.offset) break;
        waiting.delete(end);
      }
    } else if (event === "delivered") {
      const total = layer === "udp" ? (tcp.delivered.values.at(-1) ?? 0) + this.rows.bytes[row] : own.offset;
      tcp.delivered.add(time, total);
    } else if (event === "timeout") tcp.timeouts.push(time);
    else if (event === "fast-retransmit") tcp.fast.push(time);
  }

  /** The rows of each header, one list after the other. */
  indexPackets() {
    const { rows } = this;
    const starts = new Int32Array(rows.headers.length + 1);
    for (let row = 0; row < rows.count; row++) if (rows.header[row] !== NONE) starts[rows.header[row] + 1]++;
    for (let header = 0; header < rows.headers.length; header++) starts[header + 1] += starts[header];
    const next = starts.slice();
    const all = new Int32Array(starts.at(-1));
    for (let row = 0; row < rows.count; row++) if (rows.header[row] !== NONE) all[next[rows.header[row]]++] = row;
    this.packetRows = { starts, all };
  }

  /** The rows of a packet, in order of time. */
  rowsOfPacket(header) {
    return this.packetRows.all.subarray(this.packetRows.starts[header], this.packetRows.starts[header + 1]);
  }

  /** The position of a node (m), between two rows of the log on a line; `null` if the log has none. */
  position(node, time) {
    const { times, x, y } = this.positions[node];
    if (times.length === 0) return null;
    const after = countUpTo(times, time);
    if (after === 0) return { x: x[0], y: y[0] };
    const last = after - 1;
    if (after === times.length || times[last] === time) return { x: x[last], y: y[last] };
    const part = (time - times[last]) / (times[after] - times[last]);
    return { x: x[last] + (x[after] - x[last]) * part, y: y[last] + (y[after] - y[last]) * part };
  }

  /** The frames in the air and the packets on wires at an instant. */
  framesAt(time) {
    const { rows } = this;
    const found = [];
    for (let index = countUpTo(this.frameTimes, time) - 1; index >= 0; index--) {
      if (this.frameTimes[index] < time - this.longestFrame) break;
      const row = this.frames[index];
      const end = this.frameTimes[index] + this.airtime(row);
      if (end > time) found.push(this.frame(row, "air", rows.air[row], end, this.reason(row)));
    }
    for (let index = countUpTo(this.transmissionTimes, time) - 1; index >= 0; index--) {
      const { row, start, end, outcome } = this.transmissions[index];
      if (start < time - this.longestTransmission) break;
      if (end > time) found.push(this.frame(row, "wire", rows.wire[row], end, outcome ?? ""));
    }
    return found.sort((a, b) => a.row - b.row);
  }

  frame(row, medium, number, end, outcome) {
    const header = this.header(row);
    const to = this.rows.neighbour[row];
    return {
      row, medium, number, from: this.rows.node[row], to: to === NONE ? null : to, kind: this.kind(row),
      packet: header?.packet ?? null, flow: header && header.flow !== NONE ? header.flow : null,
      start_s: this.rows.time[row] / 1e9, end_s: end / 1e9, outcome,
    };
  }

  /** The drops of the time `shown` before an instant (ns). */
  dropsAt(time, shown = DROP_SHOWN) {
    const found = [];
    for (let index = countUpTo(this.dropTimes, time) - 1; index >= 0; index--) {
      if (this.dropTimes[index] <= time - shown) break;
      const row = this.drops[index];
      const header = this.header(row);
      const to = this.rows.neighbour[row];
      found.push({
        row, time_s: this.dropTimes[index] / 1e9, node: this.rows.node[row], to: to === NONE ? null : to,
        reason: this.reason(row), kind: this.kind(row), packet: header?.packet ?? null,
        flow: header && header.flow !== NONE ? header.flow : null,
      });
    }
    return found.reverse();
  }

  flowAt(flow, time) {
    const tcp = this.tcp[flow] ?? NO_FLOW;
    return {
      flow, cwnd_bytes: tcp.cwnd.at(time), ssthresh_bytes: tcp.ssthresh.at(time), rto_s: tcp.rto.at(time),
      rtt_s: tcp.rtt.at(time), sent_bytes: tcp.sent.at(time) ?? 0, acked_bytes: tcp.acked.at(time) ?? 0,
      delivered_bytes: tcp.delivered.at(time) ?? 0, timeouts: countUpTo(tcp.timeouts, time),
      retransmissions: countUpTo(tcp.retransmissions, time), aid: tcp.aid.at(time),
    };
  }

  /** What holds at an instant (s). */
  at(seconds) {
    const time = Math.round(seconds * 1e9);
    return {
      nodes: this.nodes.map((name, node) => {
        const place = this.position(node, time);
        return { node, name, x_m: place?.x ?? null, y_m: place?.y ?? null, queue: this.queueTotals[node].at(time) ?? 0 };
      }),
      frames: this.framesAt(time),
      drops: this.dropsAt(time),
      flows: this.flows.map((_, flow) => this.flowAt(flow, time)),
    };
  }

  /** True for a packet that all who hear it receive, and some send on: a route request, a hello message. */
  isBroadcast(header) {
    const of = this.rows.headers[header];
    return of.destination === NONE || of.kind.endsWith("rreq");
  }

  /** The nodes that have received a packet over the air, in order. */
  hearers(header) {
    const received = [...this.rowsOfPacket(header)].filter((row) => this.layer(row) === "air" && this.event(row) === "received");
    return [...new Set(received.map((row) => this.rows.node[row]))];
  }

  /** The row in which an acknowledgment that the receiver of a flow sent after a row arrives first; `null`: none in what is shown. */
  firstAnswer(row, flow) {
    const { source } = this.flows[flow];
    for (let at = row + 1; at < this.rows.count; at++) {
      if (this.rows.node[at] !== source || this.layer(at) !== "routing" || this.event(at) !== "delivered") continue;
      const of = this.header(at);
      if (of?.flow === flow && of.kind === "tcp-ack" && this.rowsOfPacket(this.rows.header[at])[0] > row) return at;
    }
    return null;
  }

  /**
   * The ways of a packet and of its copies, in the order of their ends: the nodes of each, and the row in which it is
   * delivered or dropped, `null` if it is neither. A copy arises where a node sends a packet to a second neighbour
   * although the first has received it.
   */
  ways(header) {
    // The visits of nodes; each knows from which visit the packet came.
    const visits = [];
    const latest = new Map();
    const visit = (node, from) => {
      latest.set(node, visits.length);
      visits.push({ node, from, hasLeft: false, end: null });
      if (from !== null) visits[from].hasLeft = true;
    };
    for (const row of this.rowsOfPacket(header)) {
      const [node, other] = [this.rows.node[row], this.rows.neighbour[row]];
      const place = `${this.layer(row)} ${this.event(row)}`;
      const isOnWire = place === "link delivered";
      if (isOnWire || place === "routing received") {
        const [from, to] = isOnWire ? [node, other] : [other, node];
        if (!latest.has(from)) visit(from, null);
        visit(to, latest.get(from));
        continue;
      }
      if (!latest.has(node) && (visits.length === 0 || this.layer(row) !== "air")) visit(node, null);
      const at = visits[latest.get(node)];
      if (at && (place === "routing delivered" || this.event(row) === "dropped")) at.end = row;
    }
    const ends = visits.filter((at) => !at.hasLeft || at.end !== null);
    return ends.map((last) => {
      const nodes = [];
      for (let at = last; at; at = at.from === null ? null : visits[at.from]) nodes.push(at.node);
      return { nodes: nodes.reverse(), end: last.end };
    }).sort((one, other) => (one.end ?? Infinity) - (other.end ?? Infinity));
  }

  /** True for the row in which another copy of a packet is delivered or dropped after a first one was. */
  isEndOfCopy(row) {
    const isEnd = this.event(row) === "dropped" || (this.event(row) === "delivered" && this.layer(row) === "routing");
    const header = this.rows.header[row];
    if (!isEnd || header === NONE || !this.rows.headers[header].packet || this.isBroadcast(header)) return false;
    return this.ways(header).findIndex(({ end }) => end === row) > 0;
  }

  /** True while a packet is under way, and a second before and after. */
  isNear(header, time) {
    if (header === null) return false;
    const rows = this.rowsOfPacket(header);
    return this.rows.time[rows[0]] - DROP_SHOWN <= time && time <= this.rows.time[rows.at(-1)] + DROP_SHOWN;
  }

  /** The nodes of the way on which a packet was delivered first, or of the way of its first copy. */
  way(header) {
    const ways = this.ways(header);
    const delivered = ways.find(({ end }) => end !== null && this.event(end) === "delivered");
    return (delivered ?? ways[0])?.nodes ?? [];
  }

  /** The route of a flow at an instant: the last source route, else the way of the last delivered packet; empty while its source has none. */
  routeAt(flow, time) {
    const tcp = this.tcp[flow];
    if (!tcp) return null;
    if (this.timesWithoutRoute(flow).some(({ start, end }) => start <= time && time < end)) return { nodes: [], from: "the source has no route" };
    const route = tcp.sourceRoute.at(time);
    if (route !== null) return { nodes: this.routes[route], from: "source route of the last packet" };
    const { time: times } = this.rows;
    let [low, high] = [0, tcp.deliveredPackets.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[tcp.deliveredPackets[middle]] <= time) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return null;
    const row = tcp.deliveredPackets[low - 1];
    return { nodes: this.way(this.rows.header[row]), from: `way of the packet delivered at ${seconds(times[row])} s` };
  }

  /** Times at which the source of a flow over the air has no route, in order. */
  timesWithoutRoute(flow) {
    this.withoutRoute ??= new Map();
    if (!this.withoutRoute.has(flow)) this.withoutRoute.set(flow, this.findTimesWithoutRoute(flow));
    return this.withoutRoute.get(flow);
  }

  findTimesWithoutRoute(flow) {
    const of = this.flows[flow];
    const known = of && this.known.get(`${of.source} ${of.destination}`);
    if (!known) return [];
    const found = [];
    known.times.forEach((start, index) => {
      if (known.values[index]) return;
      let next = index + 1;
      while (next < known.times.length && !known.values[next]) next++;
      const end = known.times[next] ?? this.toNs;
      if (found.length === 0 || found.at(-1).end < end) found.push({ start, end });
    });
    return found;
  }
}
