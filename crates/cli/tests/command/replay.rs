//! `driftway replay`: what it refuses, and what its page shows, compared with the event log.

use std::collections::BTreeMap;
use std::fs::File;

use driftway_sim::log::{Entry, Event, EventLog, Layer};
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::json;

use crate::captures::CHAIN;
use crate::chromium::Chromium;
use crate::*;

/// Two wires, of which the second is cut for some time.
pub const PATH: &str = r#"
name = "a wire that is cut"
duration = "11 s"

[network]
kind = "path"
hops = 2
link = { rate = "100 kbit/s", delay = "100 ms" }

[[network.fault]]
kind = "partition"
hop = 2
every = "6 s"
lasts = "2 s"
signal = "icmp-unreachable"

[[flow]]
from = 0
to = 2
application = "ftp"
tcp = { recovery = "reno", mss = "500 B", window = 8 }
"#;

pub fn events_of(bench: &TestDir, name: &str, text: &str) -> Vec<Entry> {
    bench.file("scenario.toml", text);
    bench.stdout(&["run", "scenario.toml", "--out", name, "--events"]);
    let log = File::open(bench.path(&format!("{name}/events-seed-1.csv"))).unwrap();
    EventLog::read(log).map(Result::unwrap).collect()
}

#[test]
fn a_directory_without_events_is_refused() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--out", "plain"]);
    let refused = |arguments: &[&str], message: &str| {
        let refused = bench.driftway(arguments).assert().code(2);
        refused.stderr(contains(message));
        assert!(!bench.path("replay.html").exists());
    };
    refused(&["replay", "plain"], "plain: no event log");
    refused(&["replay", "plain"], "--events");
    refused(&["replay", "plain", "--seed", "7"], "no event log of seed 7");
    fs::create_dir(bench.path("empty")).unwrap();
    fs::create_dir(bench.path("broken")).unwrap();
    refused(&["replay", "empty"], "no results.json in empty");
    refused(&["replay", "missing.toml"], "missing.toml");
    refused(&["replay", "s.toml", "--from", "9 s", "--to", "9 s"], "--to is not after --from");
    refused(&["replay", "s.toml", "--from", "9000 s"], "--from 9000 s: the run ends at");
    refused(&["replay", "s.toml", "--out", "plain"], "--out plain: is a directory");
    refused(&["replay", "s.toml", "--out", "no/replay.html"], "no directory no");
    refused(&["replay", "s.toml", "s.toml", "s.toml"], "'s.toml'");
    bench.file("broken/results.json", "{}");
    refused(&["replay", "broken"], "broken/results.json");
    bench.stdout(&["run", "s.toml", "--out", "log", "--events"]);
    bench.file("log/events-seed-1.csv", "time_s,node\n1,2\n");
    refused(&["replay", "log"], "log/events-seed-1.csv");
}

#[test]
fn a_scenario_is_run_and_a_report_has_its_replay_beside_it() {
    let bench = TestDir::new();
    let out = bench.stdout(&["replay", "s.toml", "--out", "one.html"]);
    assert!(out.starts_with("Written to one.html: "), "{out}");
    bench.stdout(&["replay", "s.toml", "--seed", "2", "--out", "two.html"]);
    let [one, two] = ["one.html", "two.html"].map(|name| fs::read(bench.path(name)).unwrap());
    assert!(one != two && one.len() < 400_000);
    bench.stdout(&["run", "s.toml", "--out", "log", "--events"]);
    bench.stdout(&["replay", "log", "--out", "three.html"]);
    assert!(fs::read(bench.path("three.html")).unwrap() == one, "a run and its log differ");
    bench.stdout(&["report", "log"]);
    let report = fs::read_to_string(bench.path("log/index.html")).unwrap();
    assert!(report.contains("<h2>Replay</h2>") && report.contains("href=\"replay.html\""));
    assert!(bench.path("log/replay.html").is_file());
    bench.stdout(&["run", "s.toml", "--out", "plain"]);
    bench.stdout(&["report", "plain"]);
    let report = fs::read_to_string(bench.path("plain/index.html")).unwrap();
    assert!(!report.contains("Replay") && !bench.path("plain/replay.html").exists());
}

/// The state at an instant by the log, in the form in which the page has it.
struct Expected<'a> {
    entries: &'a [Entry],
    /// Time of the instant (ns).
    at: u64,
    nodes: u32,
    rates: Option<(u64, u64, u64)>,
}

impl Expected<'_> {
    fn before(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.time_s.as_nanos() <= self.at)
    }

    fn queues(&self) -> Vec<u64> {
        let mut lengths = BTreeMap::new();
        for entry in self.before() {
            if let Some(length) = entry.queue_length {
                lengths.insert((entry.node, entry.wire, entry.air), u64::from(length));
            }
        }
        let of = |node| lengths.iter().filter(move |((at, ..), _)| *at == node).map(|(_, q)| q);
        (0..self.nodes).map(|node| of(node).sum()).collect()
    }

    /// The position of a node: of the last row, or between it and the next one.
    fn position(&self, node: u32) -> Option<(f64, f64)> {
        let of = |entry: &&Entry| entry.layer == Layer::Mobility && entry.node == node;
        let place =
            |entry: &Entry| (entry.time_s.as_secs_f64(), entry.x_m.unwrap(), entry.y_m.unwrap());
        let (start, x, y) = place(self.before().rfind(of)?);
        let next = self.entries.iter().filter(of).map(place).find(|(time, ..)| *time > start);
        let (end, x1, y1) = next.unwrap_or((start + 1.0, x, y));
        let part = (self.at as f64 / 1e9 - start) / (end - start);
        Some((x + (x1 - x) * part, y + (y1 - y) * part))
    }

    /// Sender, receiver and kind of each frame in the air and each packet on a wire.
    fn frames(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let start = entry.time_s.as_nanos();
            let end = match (entry.layer, entry.event, self.rates) {
                (Layer::Air, _, Some((preamble, data, basic))) => {
                    let is_control = matches!(&*entry.kind, "rts" | "cts" | "ack");
                    let is_slow = is_control || entry.neighbour.is_none();
                    let rate = if is_slow { basic } else { data };
                    start
                        + preamble
                        + (u64::from(entry.bytes.unwrap()) * 8_000_000_000).div_ceil(rate)
                }
                (Layer::Link, Event::Sent, _) => {
                    let same = |other: &&Entry| {
                        (other.layer, other.node, other.wire)
                            == (entry.layer, entry.node, entry.wire)
                            && (other.packet, &other.kind, other.offset_bytes)
                                == (entry.packet, &entry.kind, entry.offset_bytes)
                            && matches!(other.event, Event::Delivered | Event::Dropped)
                    };
                    let end = self.entries[index..].iter().find(same);
                    end.map_or(u64::MAX, |end| end.time_s.as_nanos())
                }
                _ => continue,
            };
            if start <= self.at && self.at < end {
                found.push(json!([entry.node, entry.neighbour, entry.kind, start as f64 / 1e9]));
            }
        }
        found
    }

    fn drops(&self) -> Vec<Value> {
        let is_recent = |entry: &&Entry| {
            entry.event == Event::Dropped && entry.time_s.as_nanos() + 1_000_000_000 > self.at
        };
        let drop = |entry: &Entry| {
            let packet = entry.packet.map(|packet| packet.to_string());
            json!([entry.time_s.as_secs_f64(), entry.node, entry.reason, entry.kind, packet])
        };
        self.before().filter(is_recent).map(drop).collect()
    }

    fn flow(&self) -> Value {
        let of = |layer, events: &'static [Event]| {
            let is_one = move |entry: &&Entry| {
                entry.layer == layer && events.contains(&entry.event) && entry.flow == Some(0)
            };
            self.before().filter(is_one)
        };
        let sent: Vec<&Entry> = of(Layer::Tcp, &[Event::Sent, Event::Retransmitted]).collect();
        let offset =
            |events| of(Layer::Tcp, events).next_back().map_or(0, |of| of.offset_bytes.unwrap());
        let end = |entry: &&Entry| entry.offset_bytes.unwrap() + u64::from(entry.bytes.unwrap());
        json!({
            "cwnd": sent.last().and_then(|entry| entry.cwnd_bytes),
            "ssthresh": sent.last().and_then(|entry| entry.ssthresh_bytes),
            "rto": sent.last().and_then(|entry| entry.rto_s).map(|rto| rto.as_secs_f64()),
            "sent": sent.iter().map(end).max().unwrap_or(0),
            "acked": offset(&[Event::Acked]),
            "delivered": offset(&[Event::Delivered]),
            "timeouts": of(Layer::Tcp, &[Event::Timeout]).count(),
            "retransmissions": of(Layer::Tcp, &[Event::Retransmitted]).count(),
        })
    }
}

/// A value whose numbers are all floating-point: JavaScript has no others, and writes 6.0 as 6.
fn as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.iter().map(as_floats).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), as_floats(value))).collect()
        }
        other => other.clone(),
    }
}

/// Compares the page with the log at an instant.
fn assert_same(browser: &mut Chromium, expected: &Expected<'_>) {
    let at = format!("{:.9}", expected.at as f64 / 1e9);
    let seen = browser.evaluate(&format!(
        "(() => {{ const {{ nodes, frames, drops, flows: [f] }} = window.driftwayReplay.at({at}); return {{ \
         queues: nodes.map((n) => n.queue), places: nodes.map((n) => [n.x_m, n.y_m]), \
         frames: frames.map((f) => [f.from, f.to, f.kind, f.start_s]), \
         drops: drops.map((d) => [d.time_s, d.node, d.reason, d.kind, d.packet]), \
         flow: {{ cwnd: f.cwnd_bytes, ssthresh: f.ssthresh_bytes, rto: f.rto_s, sent: f.sent_bytes, \
         acked: f.acked_bytes, delivered: f.delivered_bytes, timeouts: f.timeouts, \
         retransmissions: f.retransmissions }} }}; }})()"
    ));
    let same = |name: &str, expected: Value| {
        assert_eq!(as_floats(&seen[name]), as_floats(&expected), "{name} at {at} s");
    };
    same("queues", json!(expected.queues()));
    same("frames", json!(expected.frames()));
    same("drops", json!(expected.drops()));
    same("flow", expected.flow());
    for node in 0..expected.nodes {
        let place = &seen["places"][node as usize];
        match expected.position(node) {
            None => assert_eq!(*place, json!([null, null])),
            Some((x, y)) => {
                let near = |seen: &Value, value: f64| (seen.as_f64().unwrap() - value).abs() < 0.02;
                assert!(near(&place[0], x) && near(&place[1], y), "{at} {node} {place} {x} {y}");
            }
        }
    }
}

/// Instants at which something is on the air or on a wire, and some at which a packet was just dropped.
fn instants(entries: &[Entry]) -> Vec<u64> {
    let is_frame = |entry: &&Entry| {
        entry.layer == Layer::Air || entry.layer == Layer::Link && entry.event == Event::Sent
    };
    let frames: Vec<&Entry> = entries.iter().filter(is_frame).collect();
    let sampled = frames.iter().step_by(frames.len() / 7).map(|entry| entry.time_s.as_nanos());
    let dropped = entries.iter().filter(|entry| entry.event == Event::Dropped);
    let dropped = dropped.take(3).map(|entry| entry.time_s.as_nanos());
    sampled.map(|start| start + 60_000).chain(dropped).take(10).collect()
}

/// The colour at a place of the map, in CSS pixels.
fn colour_at(browser: &mut Chromium, place: &str) -> Value {
    browser.evaluate(&format!(
        "(() => {{ const map = driftwayReplay.page.maps[0]; const {{ x, y }} = {place}; \
         const [r, g, b] = map.canvas.getContext('2d').getImageData(Math.round(x), Math.round(y), 1, 1).data; \
         return '#' + [r, g, b].map((v) => v.toString(16).padStart(2, '0')).join(''); }})()"
    ))
}

/// The text about a timeout names the data that was waited for, when it was sent last, and what became of it.
fn assert_says_why_tcp_waited(browser: &mut Chromium, entries: &[Entry], timeout: &Entry) {
    let before = |entry: &&Entry| entry.time_s <= timeout.time_s;
    let tcp = |entry: &&Entry| entry.layer == Layer::Tcp;
    let is = |events: &'static [Event]| move |entry: &&Entry| events.contains(&entry.event);
    let earlier: Vec<&Entry> = entries.iter().take_while(|entry| *entry != timeout).collect();
    let rows = || earlier.iter().copied().filter(before);
    let acked = rows().filter(tcp).rfind(is(&[Event::Acked])).unwrap().offset_bytes;
    let of_data = |entry: &&Entry| entry.offset_bytes == acked;
    let mut sent = rows().filter(tcp).filter(is(&[Event::Sent, Event::Retransmitted]));
    let sent = sent.rfind(of_data).unwrap();
    let packet = entries.iter().find(|entry| {
        entry.time_s >= sent.time_s && entry.kind == "tcp-data" && entry.offset_bytes == acked
    });
    let packet = packet.unwrap().packet;
    let drop = entries.iter().find(|entry| entry.packet == packet && entry.event == Event::Dropped);
    let drop = drop.expect("the chain breaks, and the packet is dropped");
    let text = browser.evaluate("document.getElementById('way').innerText");
    let text = text.as_str().unwrap();
    let seconds = |entry: &Entry| format!("{:.6} s", entry.time_s.as_secs_f64());
    for part in [
        format!("from byte {} on, was sent last at {}", acked.unwrap(), seconds(sent)),
        format!("Its packet {}", packet.unwrap()),
        format!("was dropped at {} at {} ({})", drop.node, seconds(drop), drop.reason),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    // A click shows that packet.
    browser.evaluate("document.querySelector('#way button').click()");
    let shown = browser.evaluate("driftwayReplay.page.time");
    assert_eq!(shown, json!(drop.time_s.as_nanos()));
}

/// The list of the air at a node has its frames and those within its sense range, and no others.
fn assert_lists_the_air_at_a_node(browser: &mut Chromium) {
    let senders = browser.evaluate(
        "(() => { const { page, runs: [run] } = driftwayReplay; page.chooseNode(3); page.seek(1e9); \
         const select = document.getElementById('filter'); select.value = 'the air at the node'; \
         select.dispatchEvent(new Event('change')); \
         const { before, after } = page.lists[0].around(page.time); \
         const far = (row) => { const [a, b] = [run.rows.node[row], 3].map((n) => run.position(n, run.rows.time[row])); \
         return Math.hypot(a.x - b.x, a.y - b.y); }; \
         const rows = [...before, ...after]; page.chooseNode(null); select.value = 'all events'; \
         select.dispatchEvent(new Event('change')); \
         return [rows.length, Math.max(...rows.map(far)), new Set(rows.map((r) => run.rows.node[r])).size]; })()",
    );
    let [count, farthest, nodes] = [0, 1, 2].map(|index| senders[index].as_f64().unwrap());
    // The sense range is 550 m: node 0 is 600 m away.
    assert!(count > 10.0 && nodes > 1.0 && farthest <= 550.0, "{senders}");
}

#[test]
fn a_page_in_a_frame_of_a_notebook_plays() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    bench.file("path.toml", PATH);
    bench.stdout(&["replay", "path.toml"]);
    let page = fs::read_to_string(bench.path("replay.html")).unwrap();
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    bench.file(
        "notebook.html",
        &format!(
            "<!doctype html><title>A notebook</title><iframe style='width:100%;height:800px' srcdoc=\"{quoted}\"></iframe>\
             <script>addEventListener('load', () => {{ const look = () => {{ window.driftwayReplay = \
             frames[0].driftwayReplay; if (!window.driftwayReplay) setTimeout(look, 50); }}; look(); }})</script>"
        ),
    );
    browser.open(&bench.path("notebook.html"), "", (1200, 900), "light");
    browser.evaluate("driftwayReplay.page.seek(5e9)");
    // To pause and play at once does not play twice as fast.
    let advanced = browser.evaluate(
        "new Promise((done) => { const { page } = driftwayReplay; \
         for (let n = 0; n < 4; n++) { page.play(true); page.play(false); } page.play(true); \
         const [start, from] = [performance.now(), page.time]; \
         setTimeout(() => { page.play(false); done((page.time - from) / 1e6 / (performance.now() - start)); }, 1500); })",
    );
    let speed = advanced.as_f64().unwrap();
    assert!(speed > 0.1 && speed < 1.3, "{speed} times real time");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_page_shows_the_log_of_an_ad_hoc_network() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    let text = CHAIN.replace(
        "routing =",
        "mac = { kind = \"dcf\", data_rate = \"2 Mbit/s\", basic_rate = \"1 Mbit/s\", preamble = \"192 us\" }\nrouting =",
    );
    let entries = events_of(&bench, "out", &text);
    bench.stdout(&["replay", "out"]);
    let page = bench.path("replay.html");
    browser.open(&page, "#t=0.5&flow=0", (1200, 900), "light");
    let rates = Some((192_000, 2_000_000, 1_000_000));
    let instants = instants(&entries);
    assert_eq!(instants.len(), 10);
    for &at in &instants {
        assert_same(&mut browser, &Expected { entries: &entries, at, nodes: 4, rates });
    }
    assert_eq!(browser.evaluate("driftwayReplay.page.time"), json!(500_000_000_u64));

    // The map draws the nodes where they are: the ends of the flow in their colour, others in theirs.
    let node = |node: u32| format!("map.toScreen(map.places.at({node}, driftwayReplay.page.time))");
    assert_eq!(colour_at(&mut browser, &node(0)), json!("#0072b2"));
    assert_eq!(colour_at(&mut browser, &node(2)), json!("#ffffff"));
    let [a, b] = [1, 2].map(|n| {
        browser.evaluate(&format!(
            "(() => {{ const map = driftwayReplay.page.maps[0]; return {}; }})()",
            node(n)
        ))
    });
    let distance = b["x"].as_f64().unwrap() - a["x"].as_f64().unwrap();
    let factor = browser.evaluate("driftwayReplay.page.maps[0].fit").as_f64().unwrap();
    assert!((distance / factor - 200.0).abs() < 0.1, "not to scale");

    // Keys step from drop to drop; the map crosses it out.
    let drop = entries.iter().find(|entry| entry.event == Event::Dropped).unwrap();
    browser.evaluate("document.getElementById('kind').value = 'drop'; driftwayReplay.page.seek(0)");
    browser.press("ArrowRight");
    let time = browser.evaluate("driftwayReplay.page.time");
    assert_eq!(time, json!(drop.time_s.as_nanos()));
    let node =
        format!("(() => {{ const p = {}; return {{ x: p.x, y: p.y + 18 }}; }})()", node(drop.node));
    assert_eq!(colour_at(&mut browser, &node), json!("#c0392b"));
    let meaning = browser.evaluate("document.getElementById('meaning').textContent");
    assert!(meaning.as_str().unwrap().contains(&*drop.reason), "{meaning}");

    // Search.
    let timeout = entries.iter().find(|entry| entry.event == Event::Timeout).unwrap();
    browser.evaluate(
        "(() => { const { page } = driftwayReplay; page.seek(0); \
         document.getElementById('query').value = 'next timeout of flow 0'; page.search(1); })()",
    );
    let time = browser.evaluate("driftwayReplay.page.time");
    assert_eq!(time, json!(timeout.time_s.as_nanos()));
    assert_says_why_tcp_waited(&mut browser, &entries, timeout);
    assert_lists_the_air_at_a_node(&mut browser);
    browser.evaluate(
        "document.getElementById('query').value = 'node 9'; driftwayReplay.page.search(1)",
    );
    let message = browser.evaluate("document.getElementById('message').textContent");
    assert!(message.as_str().unwrap().contains("There is no node 9"), "{message}");

    assert_draws_no_way_of_a_broadcast(&mut browser);
    assert_finds_the_first_answer(&mut browser, &entries);
    assert_keeps_copies_apart(&mut browser);
    assert_counts_what_nodes_did(&mut browser, &entries);
    assert_plots_the_longest_queue(&mut browser, &entries);
    // Where the source has no route, none is drawn.
    let empty = browser.evaluate(
        "(() => { const [run] = driftwayReplay.runs; const found = run.timesWithoutRoute(0); \
         return found.length > 0 && found.every(({ start }) => run.routeAt(0, start).nodes.length === 0); })()",
    );
    assert_eq!(empty, json!(true));

    // Every event of the log has a sentence, and its text alternatives are there.
    let said = browser.evaluate(
        "(() => { const [run] = driftwayReplay.runs; const { page } = driftwayReplay; let rows = 0; \
         for (let row = 0; row < run.rows.count; row += 7) { page.chooseRow(run, row); rows++; } \
         return rows; })()",
    );
    assert!(said.as_u64().unwrap() > 100);
    let alternative =
        browser.evaluate("document.querySelector('canvas').getAttribute('aria-label')");
    assert!(alternative.as_str().unwrap().starts_with("Map of 4 nodes at"), "{alternative}");

    // A narrow window has no horizontal bar, light or dark.
    for (width, scheme) in [(500, "light"), (500, "dark"), (1200, "dark")] {
        browser.open(&page, "#t=4", (width, 900), scheme);
        let needed = browser.evaluate("document.documentElement.scrollWidth");
        assert!(needed.as_u64().unwrap() <= width.into(), "{needed} of {width}");
    }
    assert_eq!(colour_at(&mut browser, "map.toScreen(map.places.at(0, 4e9))"), json!("#56b4e9"));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Of the acknowledgments sent after data arrived, that which arrives first is the first answer.
fn assert_finds_the_first_answer(browser: &mut Chromium, entries: &[Entry]) {
    let is_end = |entry: &Entry, kind: &str| {
        entry.layer == Layer::Routing && entry.event == Event::Delivered && entry.kind == kind
    };
    let data = entries.iter().position(|entry| is_end(entry, "tcp-data")).unwrap();
    let answer = entries.iter().skip(data).find(|entry| {
        let sent = entries.iter().position(|other| other.packet == entry.packet);
        is_end(entry, "tcp-ack") && sent > Some(data)
    });
    let found = browser.evaluate(
        "(() => { const [run] = driftwayReplay.runs; \
         for (let row = 0; row < run.rows.count; row++) { \
           if (run.layer(row) !== 'routing' || run.event(row) !== 'delivered') continue; \
           if (run.kind(row) === 'tcp-data') return run.rows.time[run.firstAnswer(row, 0)]; \
         } return null; })()",
    );
    assert_eq!(found, json!(answer.unwrap().time_s.as_nanos()));
}

/// Two copies of a packet, which arise because an acknowledgment of the link layer was lost, have a way each.
fn assert_keeps_copies_apart(browser: &mut Chromium) {
    let ways = browser.evaluate(
        "(() => { const classes = ['routing received', 'routing delivered', 'routing dropped', 'queue enqueued'] \
           .map((text) => ({ layer: text.split(' ')[0], event: text.split(' ')[1] })); \
         const run = Object.create(Object.getPrototypeOf(driftwayReplay.runs[0])); \
         const [node, neighbour, kinds] = [[0, 1, 1, 1, 2, 3, 3], [1, 0, 2, 2, 1, 1, -1], [3, 0, 3, 2, 0, 0, 1]]; \
         Object.assign(run, { classes, rows: { class: kinds, node, neighbour, headers: [{}] }, \
           packetRows: { starts: [0, 7], all: Int32Array.from([0, 1, 2, 3, 4, 5, 6]) } }); \
         return [run.ways(0), run.way(0)]; })()",
    );
    // A step to the end of a copy finds packets with several only.
    let ends = browser.evaluate(
        "(() => { const [run] = driftwayReplay.runs; let wrong = 0; \
         for (let row = 0; row < run.rows.count; row++) { \
           if (run.isEndOfCopy(row) && run.ways(run.rows.header[row]).length < 2) wrong++; } \
         return wrong; })()",
    );
    assert_eq!(ends, json!(0));
    // Node 1 gets no acknowledgment from 2, which has the packet, drops its copy for 2 and sends one to 3.
    let expected = json!([
        [
            { "nodes": [0, 1], "end": 3 },
            { "nodes": [0, 1, 3], "end": 6 },
            { "nodes": [0, 1, 2], "end": null },
        ],
        [0, 1, 3],
    ]);
    assert_eq!(ways, expected);
}

/// The table of nodes counts the frames and the drops of what the plots show.
fn assert_counts_what_nodes_did(browser: &mut Chromium, entries: &[Entry]) {
    let (from, to) = (2.0, 5.0);
    let shown = browser.evaluate(&format!(
        "(() => {{ const {{ page }} = driftwayReplay; document.getElementById('nodes').open = true; \
         page.plots.range = [{from}, {to}]; page.nodeTable.draw(); \
         const lines = [...document.querySelectorAll('#nodes tr')].slice(1); \
         const cells = lines.map((line) => [...line.children].map((cell) => Number(cell.textContent))); \
         page.plots.range = page.plots.whole; document.getElementById('nodes').open = false; \
         return cells.sort((a, b) => a[0] - b[0]).map((of) => [of[0], of[1], of[6]]); }})()",
    ));
    let within = |entry: &&Entry| (from..=to).contains(&entry.time_s.as_secs_f64());
    let count = |node: u32, layer: Option<Layer>, events: &[Event]| {
        let rows = entries.iter().filter(within).filter(|entry| entry.node == node);
        rows.filter(|entry| {
            layer.is_none_or(|of| of == entry.layer) && events.contains(&entry.event)
        })
        .count()
    };
    let of = |node| {
        let frames = count(node, Some(Layer::Air), &[Event::Sent, Event::Retransmitted]);
        json!([node, frames, count(node, None, &[Event::Dropped])])
    };
    assert_eq!(shown, json!((0..4).map(of).collect::<Vec<_>>()));
}

/// The plot of a queue has its longest length, however short that was.
fn assert_plots_the_longest_queue(browser: &mut Chromium, entries: &[Entry]) {
    let longest = entries.iter().filter(|entry| entry.node == 0).filter_map(|of| of.queue_length);
    let shown = browser.evaluate(
        "(() => { const { plots } = driftwayReplay.page; const times = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]; \
         return Math.max(...plots.charts.at(-1).replaySeries[0].values(times)); })()",
    );
    assert_eq!(shown, json!(longest.max()));
}

/// A route request reaches many nodes in no order; nothing chosen leaves no way.
fn assert_draws_no_way_of_a_broadcast(browser: &mut Chromium) {
    let found = browser.evaluate(
        "(() => { const [run] = driftwayReplay.runs; const { page } = driftwayReplay; \
         for (let row = 0; row < run.rows.count; row++) { \
           const header = run.header(row); \
           if (!header || !header.kind.endsWith('rreq') || run.event(row) !== 'received') continue; \
           page.chooseRow(run, row); \
           const shown = [page.packet, document.getElementById('way').textContent.includes('Way:')]; \
           page.chooseNothing(); \
           return [...shown, page.row, document.getElementById('packet').hidden]; \
         } return 'no route request'; })()",
    );
    assert_eq!(found, json!([null, false, null, true]));
}

#[test]
fn the_page_shows_the_log_of_a_path_and_two_runs_beside_each_other() {
    let Some(mut browser) = Chromium::start() else { return };
    let bench = TestDir::new();
    let entries = events_of(&bench, "plain", PATH);
    events_of(&bench, "aided", &format!("{PATH}aid = \"atcp\"\n"));
    bench.stdout(&["replay", "plain", "aided"]);
    browser.open(&bench.path("replay.html"), "", (1200, 900), "light");
    let instants = instants(&entries);
    assert_eq!(instants.len(), 10);
    for &at in &instants {
        assert_same(&mut browser, &Expected { entries: &entries, at, nodes: 3, rates: None });
    }
    assert_eq!(browser.evaluate("driftwayReplay.runs.length"), json!(2));
    let differences = browser.evaluate("document.getElementById('differences').innerText");
    let differences = differences.as_str().unwrap();
    assert!(differences.contains("plain: ") && differences.contains("aided: "), "{differences}");
    // While the wire is cut, it has the colour of what is wrong.
    browser.evaluate("driftwayReplay.page.seek(7e9)");
    browser.press("Shift");
    let cut = browser.evaluate("driftwayReplay.runs[0].faults.map((f) => [f.start, f.end])");
    assert_eq!(as_floats(&cut), json!([[6e9, 8e9]]));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// Its results have the scenario as a file has it, in which the only air has no name.
#[test]
fn results_of_a_mixed_network_are_read_back() {
    let bench = TestDir::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/adhoc-gateway.toml");
    bench.stdout(&["run", file, "--set", "duration=12 s", "--out", "out", "--events"]);
    bench.stdout(&["replay", "out"]);
    let page = fs::read_to_string(bench.path("replay.html")).unwrap();
    assert!(predicate::str::contains("\"host\",\"gateway\",\"n1\"").eval(&page));
    bench.stdout(&["report", "out"]);
    let log = File::open(bench.path("out/events-seed-1.csv")).unwrap();
    let entries: Vec<Entry> = EventLog::read(log).map(Result::unwrap).collect();
    let Some(mut browser) = Chromium::start() else { return };
    browser.open(&bench.path("out/replay.html"), "", (1200, 900), "dark");
    let rates = Some((192_000, 2_000_000, 1_000_000));
    for &at in &instants(&entries) {
        assert_same(&mut browser, &Expected { entries: &entries, at, nodes: 13, rates });
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_part_of_a_run_has_its_window_and_no_more() {
    let bench = TestDir::new();
    bench.file("path.toml", PATH);
    bench.stdout(&["replay", "path.toml", "--from", "5 s", "--to", "8 s"]);
    let page = fs::read_to_string(bench.path("replay.html")).unwrap();
    assert!(predicate::str::contains("\"fromS\":5.0,\"toS\":8.0").eval(&page));
}
