// Search in plain words: "next timeout of flow 2", "drops at node 7", "previous RREQ from 3", or in those of the list of
// events.

/** Words with the events that they mean. */
const EVENT_WORDS = [
  [/\b(drop|drops|dropped|loss|losses|lost packet)\b/, (run, row) => run.event(row) === "dropped"],
  [/\btimeouts?\b|\brto\b/, (run, row) => run.event(row) === "timeout"],
  [/\bfast[- ]retransmits?\b|\brecover(y|ies)\b/, (run, row) => run.event(row) === "fast-retransmit"],
  [/\bretransmi(t|ts|tted|ssion|ssions)\b/, (run, row) => run.layer(row) === "tcp" && run.event(row) === "retransmitted"],
  [/\bfalse link failures?\b/, (run, row) => run.event(row) === "false-link-failure"],
  [/\blink failures?\b|\blinks? (broke|broken|breaks?|failed)\b|\bbroken links?\b/, (run, row) => /link-failure$/.test(run.event(row))],
  [/\broutes? lost\b|\blost (its )?routes?\b/, (run, row) => run.event(row) === "route-lost"],
  [/\broutes? found\b/, (run, row) => run.event(row) === "route-found"],
  [/\bcollisions?\b/, (run, row) => run.reason(row) === "collision"],
  [/\bfaults?\b|\bpartitions?\b|\boutages?\b/, (run, row) => run.layer(row) === "fault"],
  [/\baid\b|\bstates?\b/, (run, row) => run.layer(row) === "aid"],
  [/\backed\b|\backnowledg/, (run, row) => run.event(row) === "acked"],
  [/\bdeliver(y|ies|ed)\b/, (run, row) => run.event(row) === "delivered" && run.layer(row) !== "link"],
  [/\brreqs?\b|\broute requests?\b/, (run, row) => run.kind(row).endsWith("rreq")],
  [/\brreps?\b|\broute repl(y|ies)\b/, (run, row) => run.kind(row).endsWith("rrep")],
  [/\brerrs?\b|\broute errors?\b/, (run, row) => run.kind(row).endsWith("rerr")],
  [/\brts\b/, (run, row) => run.kind(row) === "rts"],
  [/\bcts\b/, (run, row) => run.kind(row) === "cts"],
  [/\barp\b/, (run, row) => run.kind(row) === "arp"],
  [/\bicmp\b/, (run, row) => run.kind(row) === "icmp"],
  [/\bdata\b/, (run, row) => run.kind(row) === "tcp-data"],
];

/**
 * The search that a text means, with the number of rows in all runs, or the reason why it means none. What is not in
 * the words of a search is looked for in the sentences of the list of events.
 */
function searchIn(runs, text) {
  const counted = (search) => ({ ...search, count: runs.reduce((sum, run) => sum + countRows(run, search.admits), 0) });
  const parsed = parseSearch(runs[0], text);
  const found = parsed.error ? parsed : counted(parsed);
  if (found.count > 0) return found;
  const said = counted(sentenceSearch(text));
  return said.count > 0 ? said : found;
}

/** The rows whose sentence has all words of a text. */
function sentenceSearch(text) {
  const wordsOf = (of) => of.toLowerCase().match(/[\p{L}\p{N}]+([:.-][\p{L}\p{N}]+)*/gu) ?? [];
  // What is copied from the list begins with its time.
  const wanted = wordsOf(text.replace(/^\s*\d+\.\d+( s:)?\s/, ""));
  const isBackward = BACKWARD.test(wanted[0]);
  if (isBackward || wanted[0] === "next") wanted.shift();
  const admits = (run, row) => {
    if (wanted.length === 0 || run.layer(row) === "mobility") return false;
    const said = sentence(run, row).toLowerCase();
    // The first test is the quick one.
    if (!wanted.every((word) => said.includes(word))) return false;
    const words = new Set(wordsOf(said));
    return wanted.every((word) => words.has(word));
  };
  return { isBackward, admits };
}

/** Words of searches, as an example. */
const TRY = "timeout, drop, link failure, route lost, RREQ, collision, recovery, fault, delivered, flow 0, node 3, packet 0:117";

/** The word among `known` from which a mistyped one differs least, by at most two letters; `null`: none. */
function nearest(word, known) {
  let [best, least] = [null, Math.min(3, word.length - 1)];
  for (const other of known) {
    const distance = editDistance(word, other.toLowerCase());
    if (distance < least) [best, least] = [other, distance];
  }
  return best;
}

/** The number of letters to insert, remove or replace between two words. */
function editDistance(one, other) {
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 1; at <= one.length; at++) {
    const row = [at];
    for (let index = 1; index <= other.length; index++) {
      const replaced = last[index - 1] + (one[at - 1] === other[index - 1] ? 0 : 1);
      row.push(Math.min(replaced, last[index] + 1, row[index - 1] + 1));
    }
    last = row;
  }
  return last.at(-1);
}

const BACKWARD = /\b(previous|prev|last|before)\b/;

/** The search that the words of a text mean, or the reason why they mean none. */
function parseSearch(run, text) {
  let words = text.toLowerCase().replace(/[?!,.]+(\s|$)/g, " ").trim();
  const conditions = [];
  const parts = [];
  const isBackward = BACKWARD.test(words);
  let match = /\bflow (\d+)\b/.exec(words);
  if (match) {
    const flow = Number(match[1]);
    if (!run.flows[flow]) return { error: `There is no flow ${flow}; the last one is ${run.flows.length - 1}.` };
    conditions.push((of, row) => of.flow(row) === flow);
    parts.push(`flow ${flow}`);
    words = words.replace(match[0], " ");
  }
  match = /(?:\bpackets? )?\b(\d+:\d+)\b/.exec(words);
  if (match) {
    const packet = match[1];
    conditions.push((of, row) => of.header(row)?.packet === packet);
    parts.push(`packet ${packet}`);
    words = words.replace(match[0], " ");
  }
  match = /\b(at|from|node|between) (node )?([\w-]+)( and ([\w-]+))?/.exec(words);
  if (match) {
    const number = (name) => {
      const named = run.nodes.findIndex((node) => node.toLowerCase() === name);
      return named >= 0 ? named : /^\d+$/.test(name) && Number(name) < run.nodes.length ? Number(name) : null;
    };
    const [node, other] = [number(match[3]), match[5] ? number(match[5]) : undefined];
    if (node === null || other === null) return { error: `There is no node ${node === null ? match[3] : match[5]}.` };
    conditions.push((of, row) => {
      const [at, to] = [of.rows.node[row], of.rows.neighbour[row]];
      return other === undefined ? at === node : (at === node && to === other) || (at === other && to === node);
    });
    parts.push(match[0]);
    words = words.replace(match[0], " ");
  }
  const events = EVENT_WORDS.filter(([pattern]) => {
    const found = pattern.test(words);
    if (found) words = words.replace(pattern, " ");
    return found;
  });
  if (events.length > 0) conditions.push((of, row) => events.every(([, admits]) => admits(of, row)));
  const rest = words.split(/\s+/).filter((word) => word && !/^(the|next|previous|prev|last|before|of|at|a|an|for|with|all|any|by|in|on|to|why|when|where|which|what|who|how|is|was|were|did|does|has|had|packets?)$/.test(word));
  for (const word of rest) {
    // Any reason or kind of the log.
    if (!run.words.some((of) => of.includes(word))) {
      const near = nearest(word, [...TRY.match(/\w{4,}/g), ...run.words]);
      return { error: `“${word}” is no event, kind or reason here.${near ? ` Did you mean “${near}”?` : ""} Try: ${TRY}.` };
    }
    conditions.push((of, row) => of.reason(row).includes(word) || of.kind(row).includes(word));
  }
  if (conditions.length === 0) return { error: "Try: next timeout of flow 0; drops at node 7; link failure between 3 and 4; packet 0:117." };
  return { isBackward, admits: (of, row) => of.layer(row) !== "mobility" && conditions.every((condition) => condition(of, row)) };
}

/** The next row after (or before) `row` that a condition admits; `null`: none. */
function findRow(run, row, step, admits) {
  for (let at = row + step; at >= 0 && at < run.rows.count; at += step) {
    if (admits(run, at)) return at;
  }
  return null;
}

/** The number of rows that a condition admits. */
function countRows(run, admits) {
  let count = 0;
  for (let row = 0; row < run.rows.count; row++) if (admits(run, row)) count++;
  return count;
}
