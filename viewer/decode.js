// Reads the columns of a run: the reverse of crates/experiment/src/replay/encode.rs, which explains them.

/** The bytes of base64 text that gzip has compressed. */
async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A column of numbers; one without bytes is all 0. */
class Column {
  constructor(bytes, from, length) {
    this.bytes = bytes;
    this.at = from;
    this.end = from + length;
  }
  next() {
    if (this.at >= this.end) return 0;
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }
}

const signed = (code) => (code % 2 ? -(code + 1) / 2 : code / 2);

/** A table of last values with a default. */
class Last {
  constructor(initial) {
    this.values = new Map();
    this.initial = initial;
  }
  get(key) {
    const value = this.values.get(key);
    return value === undefined ? this.initial : value;
  }
  set(key, value) {
    this.values.set(key, value);
  }
}

const NONE = -1;

/** The columns that only rows without a packet have. */
const OWN_COLUMNS = [11, 12, 13, 14, 15, 16, 17, 18];

/**
 * The rows as typed arrays, one element a row; -1 where a row has no value. `own` is the index of the values that
 * only rows of TCP, UDP, aids, routes and positions have.
 */
async function decode(text, encoding) {
  const bytes = await inflate(text);
  const n = encoding.rows;
  let offset = 0;
  const take = (length) => {
    offset += length;
    return new Column(bytes, offset - length, length);
  };
  const order = take(encoding.orderBytes);
  const headerColumns = encoding.headerBytes.map(take);
  const columns = encoding.classes.map((of) => of.bytes.map(take));
  const int32 = () => new Int32Array(n);
  const rows = {
    count: n,
    time: new Float64Array(n),
    class: new Uint16Array(n),
    node: int32(),
    neighbour: int32(),
    reason: int32(),
    header: int32(),
    bytes: int32(),
    queue: int32(),
    hops: int32(),
    route: int32(),
    wire: int32(),
    air: int32(),
    own: int32(),
  };
  const own = [];
  const headers = [];
  const headerOfClass = new Last(NONE);
  const headerAt = new Last(NONE);
  const sentHeaderAt = new Last(NONE);
  const neighbourOf = columns.map(() => new Last(NONE));
  const bytesOf = new Last(NONE);
  const queueAt = new Last(0);
  const routeOf = new Last(NONE);
  const lastRoute = new Last(NONE);
  const offsetOf = columns.map(() => new Last(0));
  const flows = new Map();
  const places = new Map();
  const identifications = new Last(0);
  const headerOffsets = new Last(0);
  const header = () => {
    const [kind, flow, source, destination, packetSource, identification, at] = headerColumns.map((c) => c.next());
    const of = packetSource === 0 ? NONE : packetSource === 1 ? source - 1 : packetSource - 2;
    let number = NONE;
    if (of !== NONE) {
      number = (identifications.get(of) + signed(identification)) & 0xffff;
      identifications.set(of, number);
    }
    const key = kind * 1e6 + flow;
    let start = NONE;
    if (at > 0) {
      start = headerOffsets.get(key) + signed(at - 1);
      headerOffsets.set(key, start);
    }
    headers.push({
      kind: encoding.words[kind],
      flow: flow - 1,
      source: source - 1,
      destination: destination - 1,
      packet: of === NONE ? null : `${of}:${number}`,
      offset: start,
    });
    return headers.length - 1;
  };
  const keepsHeader = encoding.classes.map((of) => ["queue", "link", "routing"].includes(of.layer));
  const hasOwn = encoding.classes.map((of) => OWN_COLUMNS.some((column) => of.bytes[column] > 0));
  const isDequeued = encoding.classes.map((of) => of.event === "dequeued");
  let [time, lastNode, lastNeighbour] = [0, 0, NONE];
  for (let row = 0; row < n; row++) {
    const of = order.next();
    const c = columns[of];
    time += signed(c[0].next());
    let code = c[1].next();
    const node = code === 0 ? lastNeighbour : code === 1 ? lastNode : code === 2 ? lastNode + 1 : code - 3;
    code = c[2].next();
    let neighbour = NONE;
    if (code === 1) neighbour = lastNode;
    else if (code === 2) neighbour = lastNeighbour;
    else if (code === 3) neighbour = neighbourOf[of].get(node);
    else if (code > 3) neighbour = code - 4;
    rows.time[row] = time;
    rows.class[row] = of;
    rows.node[row] = node;
    rows.neighbour[row] = neighbour;
    rows.reason[row] = c[3].next();
    code = c[4].next();
    let packet = NONE;
    if (code === 1) packet = header();
    else if (code === 2) packet = headerOfClass.get(of);
    else if (code === 3) packet = headerAt.get(node);
    else if (code === 4) packet = headerAt.get(neighbour);
    else if (code === 5) packet = sentHeaderAt.get(node);
    else if (code === 6) packet = sentHeaderAt.get(neighbour);
    else if (code > 6) packet = headers.length - 1 - (code - 7);
    rows.header[row] = packet;
    code = c[5].next();
    rows.bytes[row] = code === 0 ? NONE : code === 1 ? bytesOf.get(of) : code - 2;
    code = c[6].next();
    rows.queue[row] = code === 0 ? NONE : queueAt.get(node) + signed(code - 1);
    rows.hops[row] = c[7].next() - 1;
    code = c[8].next();
    let route = NONE;
    if (code === 1) route = routeOf.get(packet);
    else if (code === 2) route = lastRoute.get(of);
    else if (code > 2) route = code - 3;
    rows.route[row] = route;
    rows.wire[row] = c[9].next() - 1;
    rows.air[row] = c[10].next() - 1;
    const values = hasOwn[of] ? OWN_COLUMNS.map((column) => c[column].next()) : null;
    if (values?.some((value) => value > 0)) {
      const flow = values[0] - 1;
      if (!flows.has(flow)) flows.set(flow, { cwnd: 0, ssthresh: 0, rto: 0 });
      if (!places.has(node)) places.set(node, { x: [0, 0], y: [0, 0] });
      const [tcp, place] = [flows.get(flow), places.get(node)];
      const mine = { flow, destination: values[1] - 1, offset: NONE, cwnd: NONE, ssthresh: NONE, rto: NONE, x: null, y: null };
      if (values[2] > 0) {
        mine.offset = offsetOf[of].get(flow) + signed(values[2] - 1);
        offsetOf[of].set(flow, mine.offset);
      }
      ["cwnd", "ssthresh", "rto"].forEach((name, index) => {
        if (values[3 + index] > 0) mine[name] = tcp[name] += signed(values[3 + index] - 1);
      });
      ["x", "y"].forEach((name, index) => {
        if (values[6 + index] === 0) return;
        const [last, before] = place[name];
        mine[name] = 2 * last - before + signed(values[6 + index] - 1);
        place[name] = [mine[name], last];
      });
      rows.own[row] = own.push(mine) - 1;
    } else {
      rows.own[row] = NONE;
    }
    if (packet !== NONE) {
      headerOfClass.set(of, packet);
      if (keepsHeader[of]) headerAt.set(node, packet);
      if (isDequeued[of]) sentHeaderAt.set(node, packet);
    }
    if (neighbour !== NONE) neighbourOf[of].set(node, neighbour);
    if (rows.bytes[row] !== NONE) bytesOf.set(of, rows.bytes[row]);
    if (rows.queue[row] !== NONE) queueAt.set(node, rows.queue[row]);
    if (route !== NONE) {
      routeOf.set(packet, route);
      lastRoute.set(of, route);
    }
    [lastNode, lastNeighbour] = [node, neighbour];
  }
  return { ...rows, owns: own, headers };
}
