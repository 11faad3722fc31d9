//! Encoding against the log, row by row; thinning; the page.

use std::collections::BTreeMap;

use driftway_base::{Duration, Instant};
use driftway_scenario::Scenario;
use driftway_sim::Observers;
use driftway_sim::log::{EVENTS, Entry, Event, EventLog, IpPacketId, Layer};
use driftway_sim::results::RunResult;
use proptest::prelude::*;

use super::decode::decode;
use super::encode::encode;
use super::fit::fit;
use super::page::encoded_bytes;
use super::rows::{Row, Rows, centimetres};
use super::thin::{Choice, Thinning};
use super::{Replay, TimeWindow, page};

/// Four nodes in a row, of which the third moves away.
const CHAIN: &str = r#"
name = "a chain </script> that breaks"
duration = "12 s"

[network]
kind = "adhoc"
area = ["2 km", "1 km"]
mobility = { model = "constant-velocity", positions = [["0 m", "100 m"], ["200 m", "100 m"], ["400 m", "100 m"], ["600 m", "100 m"]], velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"], ["0 m/s", "0 m/s"]] }
routing = { protocol = "dsr" }

[[flow]]
from = 0
to = 3
start = "1 s"
application = "ftp"
tcp = { recovery = "reno", mss = "1000 B", window = 8 }
"#;

/// A run with its event log.
fn run() -> (Scenario, RunResult, Vec<u8>) {
    run_with(&[])
}

fn run_with(set: &[(&str, &str)]) -> (Scenario, RunResult, Vec<u8>) {
    let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let scenario = Scenario::parse("chain.toml", CHAIN, &set).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut log = EventLog::new(Box::new(file.reopen().unwrap()));
    let observers = Observers { log: Some(&mut log), ..Observers::default() };
    let result = driftway_sim::run(&scenario, 1, observers).unwrap();
    log.finish().unwrap();
    (scenario, result, std::fs::read(file.path()).unwrap())
}

/// The entry that a row stands for; positions are rounded.
fn entry(rows: &Rows, row: &Row) -> Entry {
    let class = rows.classes[row.class as usize];
    let mut entry = Entry::new(Instant::from_nanos(row.time), row.node, class.layer, class.event);
    let word = |index: u32| rows.words[index as usize].clone().into();
    entry.reason = word(row.reason);
    entry.kind = word(class.kind);
    if let Some(header) = row.header {
        let header = rows.headers[header as usize];
        assert_eq!(header.kind, class.kind);
        entry.flow = header.flow;
        entry.packet =
            header.packet.map(|(source, identification)| IpPacketId { source, identification });
        entry.source = header.source;
        entry.destination = header.destination;
        entry.offset_bytes = header.offset;
    }
    if let Some(own) = row.own.as_deref() {
        entry.flow = entry.flow.or(own.flow);
        entry.destination = entry.destination.or(own.destination);
        entry.offset_bytes = entry.offset_bytes.or(own.offset);
        entry.cwnd_bytes = own.cwnd;
        entry.ssthresh_bytes = own.ssthresh;
        entry.rto_s = own.rto.map(Duration::from_nanos);
        entry.x_m = own.x.map(|x| x as f64 / 100.0);
        entry.y_m = own.y.map(|y| y as f64 / 100.0);
    }
    entry.neighbour = row.neighbour;
    entry.bytes = row.bytes;
    entry.hops = row.hops;
    entry.queue_length = row.queue;
    entry.source_route = row.route.map(|route| rows.routes[route as usize].clone());
    entry.wire = row.wire;
    entry.air = row.air;
    entry
}

fn rounded(entry: &Entry) -> Entry {
    let round = |metres: f64| centimetres(metres) as f64 / 100.0;
    Entry { x_m: entry.x_m.map(round), y_m: entry.y_m.map(round), ..entry.clone() }
}

/// Encodes and decodes.
fn again(rows: &Rows, keep: impl Fn(usize, &Row) -> bool) -> Vec<Entry> {
    let encoded = encode(rows, keep).unwrap();
    let decoded = decode(&encoded, &rows.classes);
    decoded.rows.iter().map(|row| entry(&decoded, row)).collect()
}

#[test]
fn the_page_has_every_row_of_the_log() {
    let (_, _, log) = run();
    let entries: Vec<Entry> = EventLog::read(&log[..]).map(Result::unwrap).collect();
    let rows = Rows::read(&log[..], TimeWindow::default()).unwrap();
    let seen = again(&rows, |_, _| true);
    assert_eq!(seen.len(), entries.len());
    for (seen, entry) in seen.iter().zip(&entries) {
        assert_eq!(*seen, rounded(entry));
    }
    // A tenth of the log, and less.
    let bytes = encode(&rows, |_, _| true).unwrap().gzip.len();
    assert!(bytes * 15 < log.len(), "{bytes} of {}", log.len());
}

#[test]
fn thinning_leaves_out_no_drop_and_no_row_of_tcp() {
    let (_, _, log) = run();
    let rows = Rows::read(&log[..], TimeWindow::default()).unwrap();
    let all = again(&rows, |_, _| true);
    let is_kept = |entry: &&Entry| {
        entry.event == Event::Dropped
            || matches!(entry.layer, Layer::Tcp | Layer::Aid | Layer::Mobility | Layer::Fault)
            || matches!(entry.event, Event::RouteFound | Event::RouteLost | Event::LinkFailure)
    };
    let wanted: Vec<&Entry> = all.iter().filter(is_kept).collect();
    assert!(wanted.iter().any(|entry| entry.event == Event::Dropped));
    let mut last = all.len() + 1;
    for thinning in &Thinning::ALL[..7] {
        let thinning = *thinning;
        let choice = Choice::new(&rows, thinning);
        let thinned = again(&rows, |index, row| choice.keeps(index, row));
        // Its frames are without RTS, so that two degrees are alike.
        assert!(thinned.len() < last || thinning.one_in == 1, "{thinning:?}");
        last = thinned.len();
        assert_eq!(thinned.iter().filter(is_kept).collect::<Vec<_>>(), wanted, "{thinning:?}");
        // Packets that were dropped keep their whole way.
        let of_packets = |entries: &[Entry]| {
            let mut rows: BTreeMap<_, usize> = BTreeMap::new();
            for entry in entries {
                if let Some(packet) = entry.packet {
                    let key = (packet.to_string(), entry.kind.clone(), entry.offset_bytes);
                    *rows.entry(key).or_default() += 1;
                }
            }
            rows
        };
        let (before, after) = (of_packets(&all), of_packets(&thinned));
        for entry in all.iter().filter(|entry| entry.event == Event::Dropped) {
            if let Some(packet) = entry.packet {
                let key = (packet.to_string(), entry.kind.clone(), entry.offset_bytes);
                assert_eq!(before[&key], after[&key], "{key:?} {thinning:?}");
            }
        }
        assert_eq!(thinning.sentence().is_none(), thinning == Thinning::ALL[0]);
    }
}

#[test]
fn a_long_run_fits_after_few_encodings_and_is_thinned_no_more_than_it_must() {
    // The chain breaks later.
    let velocities =
        "[['0 m/s', '0 m/s'], ['0 m/s', '0 m/s'], ['0 m/s', '3 m/s'], ['0 m/s', '0 m/s']]";
    let set = [("duration", "60 s"), ("network.mobility.velocities", velocities)];
    let (_, _, log) = run_with(&set);
    let rows = Rows::read(&log[..], TimeWindow::default()).unwrap();
    let sizes: Vec<usize> = Thinning::ALL
        .iter()
        .map(|thinning| {
            let choice = Choice::new(&rows, *thinning);
            encoded_bytes(&encode(&rows, |index, row| choice.keeps(index, row)).unwrap()).unwrap()
        })
        .collect();
    assert!(sizes.windows(2).all(|of| of[1] <= of[0]) && sizes[14] * 2 < sizes[0], "{sizes:?}");
    for max in (sizes[14] - 1000..sizes[0] + 2000).step_by(1 + sizes[0] / 60) {
        let fitted = fit(&rows, max).unwrap();
        let degree = Thinning::ALL.iter().position(|of| *of == fitted.thinning).unwrap();
        let best = sizes.iter().position(|size| *size <= max).unwrap_or(14);
        assert_eq!(encoded_bytes(&fitted.encoded).unwrap(), sizes[degree]);
        assert!(sizes[degree] <= max || degree == 14, "{max}: {degree} of {sizes:?}");
        // A degree that barely fits may be missed.
        let is_tight = sizes[best] * 20 > max * 19;
        assert!(degree <= best + 1 || is_tight, "{max}: {degree} and not {best} of {sizes:?}");
        assert!(fitted.encodings <= 3, "{max}: {} encodings", fitted.encodings);
    }
}

#[test]
fn a_part_of_a_run_begins_with_what_holds_there() {
    let (_, _, log) = run();
    let all: Vec<Entry> = EventLog::read(&log[..]).map(Result::unwrap).collect();
    let (from, to) = (Instant::from_millis(6500), Instant::from_secs(8));
    let rows = Rows::read(&log[..], TimeWindow { from, to: Some(to) }).unwrap();
    let part = again(&rows, |_, _| true);
    let inside = |entry: &&Entry| from <= entry.time_s && entry.time_s <= to;
    let rounded: Vec<Entry> = all.iter().filter(inside).map(rounded).collect();
    assert_eq!(part.iter().filter(inside).cloned().collect::<Vec<_>>(), rounded);
    let before: Vec<&Entry> = part.iter().take_while(|entry| entry.time_s < from).collect();
    assert!(part.iter().all(|entry| entry.time_s <= to));
    // The positions at 6 s, one for each node, and the window of the last segment before the part.
    let positions = before.iter().filter(|entry| entry.layer == Layer::Mobility);
    let times: Vec<Instant> = positions.map(|entry| entry.time_s).collect();
    assert_eq!(times, [Instant::from_secs(6); 4]);
    let sent = |entry: &&&Entry| {
        matches!(entry.event, Event::Sent | Event::Retransmitted) && entry.layer == Layer::Tcp
    };
    let last = all.iter().rfind(|entry| entry.time_s < from && sent(&entry)).unwrap();
    assert_eq!(before.iter().filter(sent).copied().collect::<Vec<_>>(), [last]);
}

#[test]
fn no_text_of_a_scenario_ends_the_script_and_a_page_keeps_its_size() {
    let (scenario, result, log) = run();
    let replay = |label: &str| {
        Replay::read(label, (&scenario, &result), &log[..], TimeWindow::default()).unwrap()
    };
    let made = page(&scenario.name, vec![replay("a"), replay("b")], 3_000_000).unwrap();
    assert!(made.thinned.is_empty());
    assert_eq!(made.html.matches("</script>").count(), 5);
    assert!(!made.html.contains("chain </script>") && !made.html.contains("{{"));
    let small = page(&scenario.name, vec![replay("a")], 215_000).unwrap();
    assert!(small.html.len() < 215_000, "{}", small.html.len());
    assert!(small.html.contains("Thinned to keep the page small"));
    assert!(small.thinned[0].contains("one in"), "{:?}", small.thinned);
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let small = 0..40_u32;
    let some = |values: std::ops::Range<u32>| prop::option::of(values);
    (
        (0..EVENTS.len(), small.clone(), some(0..40), 0..3_usize, 0..4_usize),
        (some(0..3), some(0..40), some(0..40), some(0..3000), any::<u16>()),
        (prop::option::of(0..1_u64 << 40), some(0..9), some(0..60), some(0..u32::MAX)),
        (prop::option::of(0..1_u64 << 40), prop::option::of(-1e5..1e5), some(0..5), some(0..2)),
        (0..5_000_000_u64, any::<bool>(), some(0..3)),
    )
        .prop_map(|(first, second, third, fourth, fifth)| {
            let (event, node, neighbour, reason, kind) = first;
            let (flow, source, destination, bytes, identification) = second;
            let (offset_bytes, hops, queue_length, cwnd_bytes) = third;
            let (rto, x, wire, air) = fourth;
            let (time, has_packet, route) = fifth;
            let info = EVENTS[event];
            let kind = ["", "tcp-data", "rts", "dsr-rreq"][kind];
            let other = source.filter(|_| has_packet);
            Entry {
                reason: ["", "collision", "link-failure"][reason].into(),
                kind: kind.into(),
                flow,
                packet: other.map(|source| IpPacketId { source, identification }),
                source,
                destination,
                neighbour,
                bytes,
                offset_bytes,
                hops,
                queue_length,
                cwnd_bytes,
                ssthresh_bytes: cwnd_bytes.map(|cwnd| u32::MAX - cwnd),
                rto_s: rto.map(Duration::from_nanos),
                x_m: x,
                y_m: x.map(|x| -x),
                source_route: route.map(|route| format!("0-{route}-1")),
                wire,
                air,
                ..Entry::new(Instant::from_nanos(time), node, info.layer, info.event)
            }
        })
}

proptest! {
    /// Any rows, also those that no run has, are the same after encoding and decoding.
    #[test]
    fn any_rows_survive(entries in prop::collection::vec(any_entry(), 0..60)) {
        let mut entries = entries;
        entries.sort_by_key(|entry| entry.time_s);
        let mut rows = Rows::default();
        for entry in &entries {
            rows.add(entry);
        }
        let expected: Vec<Entry> = entries.iter().map(rounded).collect();
        prop_assert_eq!(again(&rows, |_, _| true), expected);
    }
}
