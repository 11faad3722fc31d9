// What differs first between two runs.

/** Everything that a row says, as text: equal for equal events. */
function rowKey(run, row) {
  const { rows } = run;
  const own = run.own(row);
  const header = run.header(row);
  return [
    rows.time[row], run.layer(row), run.event(row), run.kind(row), run.reason(row), rows.node[row], rows.neighbour[row],
    header?.packet, header?.offset, header?.flow, rows.queue[row], own?.flow, own?.offset, own?.cwnd, own?.ssthresh, own?.rto,
    own?.destination, own?.x, own?.y,
  ].join();
}

/** The first rows of two runs that differ, among those that `admits`; `null`: the shorter one is the beginning of the other. */
function firstDifference(one, other, admits) {
  let [a, b] = [0, 0];
  for (;;) {
    while (a < one.rows.count && !admits(one, a)) a++;
    while (b < other.rows.count && !admits(other, b)) b++;
    if (a >= one.rows.count && b >= other.rows.count) return null;
    if (a >= one.rows.count || b >= other.rows.count || rowKey(one, a) !== rowKey(other, b)) {
      return [a < one.rows.count ? a : null, b < other.rows.count ? b : null];
    }
    a++;
    b++;
  }
}

/** Sentences about the first differences of two runs, each with its time. */
function differences([one, other]) {
  const kinds = [
    ["Movement", (run, row) => run.layer(row) === "mobility"],
    ["TCP", (run, row) => ["tcp", "udp"].includes(run.layer(row))],
    ["Drops", (run, row) => run.event(row) === "dropped"],
    // That only one of them has an aid is known.
    ["All events but those of aids", (run, row) => run.layer(row) !== "aid"],
  ];
  return kinds.map(([name, admits]) => {
    const found = firstDifference(one, other, admits);
    if (found === null) return { name, text: "no difference", time: null };
    const say = (run, row) => (row === null ? `${run.label}: nothing more` : `${run.label}: ${seconds(run.rows.time[row])} s, ${sentence(run, row)}`);
    const times = [found[0] === null ? Infinity : one.rows.time[found[0]], found[1] === null ? Infinity : other.rows.time[found[1]]];
    return { name, text: `${say(one, found[0])} — ${say(other, found[1])}`, time: Math.min(...times) };
  });
}
