//! Observers of a network record all its events, and observing changes nothing.

use std::collections::BTreeMap;

use crate::common;
use crate::common::SharedBuffer;
use driftway_base::Instant;
use driftway_sim::Observers;
use driftway_sim::capture::Capture;
use driftway_sim::log::{Entry, Event, EventLog, Layer};
use driftway_sim::results::{Direction, RunResult};
use driftway_sim::samples::Samples;
use driftway_sim::trace::Trace;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

/// Twelve moving nodes; one TCP flow, and more datagrams than a queue holds.
const SCENARIO: &str = r#"
name = "watched"
duration = "30 s"

[network]
kind = "adhoc"
nodes = 12
area = ["700 m", "300 m"]
mobility = { model = "random-waypoint", speed = ["5 m/s", "20 m/s"], pause = "0 s" }
mac = { kind = "dcf", rts_threshold = "0 B" }
queue = { packets = 5 }
routing = { protocol = "aodv" }

[[flow]]
from = 0
to = 4
start = "1 s"
application = "ftp"
tcp = { recovery = "reno", mss = "1000 B", window = 8 }

[[flow]]
from = 3
to = 7
start = "2 s"
transport = "udp"
application = { cbr = { every = "5 ms", size = "900 B" } }
"#;

struct ObservedRun {
    result: RunResult,
    unobserved: RunResult,
    rows: Vec<Entry>,
    capture: Vec<u8>,
    trace: Trace,
}

fn observed_run(protocol: &str) -> ObservedRun {
    // One of the protocols runs over ARP.
    let arp = if protocol == "aodv" { "arp = true\n" } else { "" };
    let text = SCENARIO.replace("\"aodv\"", &format!("{protocol:?}"));
    let text = text.replace("queue = {", &format!("{arp}queue = {{"));
    let scenario = common::parse(&text);
    let (events, frames) = (SharedBuffer::default(), SharedBuffer::default());
    let mut trace = Trace::default();
    let mut log = EventLog::new(Box::new(events.clone()));
    let mut capture = Capture::new(Box::new(frames.clone()), &scenario, 3).unwrap();
    let mut samples = Samples::default();
    let watch = Observers {
        trace: Some(&mut trace),
        samples: Some(&mut samples),
        log: Some(&mut log),
        capture: Some(&mut capture),
    };
    let result = driftway_sim::run(&scenario, 3, watch).unwrap();
    log.finish().unwrap();
    capture.finish().unwrap();
    let rows = EventLog::read(events.bytes().as_slice()).collect::<Result<_, _>>().unwrap();
    let unwatched = driftway_sim::run(&scenario, 3, None).unwrap();
    ObservedRun { result, unobserved: unwatched, rows, capture: frames.bytes(), trace }
}

fn each_protocol(check: impl Fn(&str, &ObservedRun)) {
    for protocol in ["aodv", "dsr"] {
        check(protocol, &observed_run(protocol));
    }
}

#[test]
fn observing_changes_nothing() {
    each_protocol(|protocol, run| assert_eq!(run.result, run.unobserved, "{protocol}"));
}

#[test]
fn every_frame_and_every_drop_is_recorded() {
    each_protocol(|protocol, run| {
        let mac = run.result.mac.unwrap();
        let frames = |kind: &dyn Fn(&Entry) -> bool| {
            let air = run.rows.iter().filter(|row| row.layer == Layer::Air);
            air.filter(|row| kind(row)).count() as u64
        };
        let control = |row: &Entry| matches!(row.kind.as_ref(), "rts" | "cts" | "ack");
        // Frames that are still being transmitted at the end of the run are not recorded.
        let most = |recorded: u64, counted: u64| {
            (counted.saturating_sub(12)..=counted).contains(&recorded)
        };
        assert!(mac.rts > 1000, "{protocol}: {mac:?}");
        assert!(most(frames(&|row| row.kind == "rts"), mac.rts), "{protocol}");
        assert!(most(frames(&|row| row.kind == "cts"), mac.cts), "{protocol}");
        assert!(most(frames(&|row| row.kind == "ack"), mac.ack), "{protocol}");
        let data = |to_one| frames(&|row| !control(row) && row.neighbour.is_some() == to_one);
        assert!(most(data(true), mac.data), "{protocol}");
        assert!(most(data(false), mac.broadcast), "{protocol}");

        let mut drops: BTreeMap<String, u64> = BTreeMap::new();
        for row in run.rows.iter().filter(|row| row.event == Event::Dropped) {
            *drops.entry(row.reason.to_string()).or_default() += 1;
        }
        assert_eq!(drops, run.result.drops, "{protocol}");
        assert!(drops.contains_key("queue-overflow"), "{protocol}: {drops:?}");

        let routing = run.result.routing.unwrap();
        let count = |event| run.rows.iter().filter(|row| row.event == event).count() as u64;
        let (real, false_ones) = (count(Event::LinkFailure), count(Event::FalseLinkFailure));
        let failures = routing.link_failures + routing.arp_failures;
        assert_eq!(real + false_ones, failures, "{protocol}");
        assert_eq!(false_ones, routing.false_link_failures, "{protocol}");
        assert!(count(Event::RouteFound) > 0 && routing.link_failures > 0, "{protocol}");
    });
}

#[test]
fn rows_are_in_order_and_agree_with_the_trace() {
    each_protocol(|protocol, run| {
        assert!(run.rows.is_sorted_by_key(|row| row.time_s), "{protocol}");
        let first = |node| run.rows.iter().find(|row| row.x_m.is_some() && row.node == node);
        assert!((0..12).all(|node| first(node).unwrap().time_s == Instant::ZERO), "{protocol}");
        let of_flow = |event: Event| {
            let rows = run.rows.iter();
            rows.filter(move |row| row.layer == Layer::Tcp && row.event == event).count()
        };
        let tcp = &run.result.flows[0];
        let resent = tcp.retransmissions.unwrap() as usize;
        assert_eq!(of_flow(Event::Retransmitted), resent, "{protocol}");
        assert_eq!(of_flow(Event::Sent) + resent, tcp.segments_sent as usize, "{protocol}");
        assert_eq!(of_flow(Event::Timeout), tcp.timeouts.unwrap() as usize, "{protocol}");
        let traced = run.trace.flows[0].events.len();
        let recorded = run.rows.iter().filter(|row| matches!(row.layer, Layer::Tcp | Layer::Aid));
        assert_eq!(recorded.count(), traced, "{protocol}");
        let delivered: Vec<u32> = run
            .rows
            .iter()
            .filter(|row| row.layer == Layer::Routing && row.event == Event::Delivered)
            .map(|row| row.hops.unwrap())
            .collect();
        // A salvaged packet can take more hops than there are nodes.
        let (least, most) = (delivered.iter().min().unwrap(), delivered.iter().max().unwrap());
        assert!(*least == 1 && (2..64).contains(most), "{protocol}: {least} to {most} hops");
    });
}

#[test]
fn the_capture_has_the_same_frames_and_losses() {
    each_protocol(|protocol, run| {
        let mut reader = PcapNgReader::new(run.capture.as_slice()).unwrap();
        let (mut on_air, mut lost, mut last) = (0, BTreeMap::<String, u64>::new(), 0);
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
            let nanos = packet.timestamp.as_nanos();
            assert!(nanos >= last, "{protocol}: time goes backwards");
            last = nanos;
            let comment = packet.options.iter().find_map(|option| match option {
                EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                _ => None,
            });
            let comment = comment.unwrap_or_default();
            match comment.strip_prefix("dropped at node ") {
                Some(rest) => {
                    let (_, why) = rest.split_once(": ").unwrap();
                    let why = why.split(' ').next().unwrap();
                    *lost.entry(why.to_owned()).or_default() += 1;
                }
                None => on_air += 1,
            }
            assert!(!comment.contains("no bytes"), "{protocol}: {comment}");
        }
        let recorded = run.rows.iter().filter(|row| row.layer == Layer::Air).count();
        assert_eq!(on_air, recorded, "{protocol}");
        assert_eq!(lost, run.result.drops, "{protocol}");
    });
}

/// The runs are the golden ones, which are short.
#[test]
fn every_drop_of_every_example_has_a_row() {
    let mut reasons = BTreeMap::new();
    for name in common::example_names() {
        let scenario = common::short_example(&name);
        let kept = SharedBuffer::default();
        let mut log = EventLog::new(Box::new(kept.clone())).with_positions(None);
        let watch = Observers { log: Some(&mut log), ..Observers::default() };
        let result = driftway_sim::run(&scenario, 1, watch).unwrap();
        log.finish().unwrap();
        let mut drops: BTreeMap<String, u64> = BTreeMap::new();
        for row in String::from_utf8(kept.bytes()).unwrap().lines() {
            let cells: Vec<&str> = row.splitn(6, ',').collect();
            if cells[3] == "dropped" {
                *drops.entry(cells[4].to_owned()).or_default() += 1;
            }
        }
        assert_eq!(drops, result.drops, "{name}");
        reasons.append(&mut drops);
    }
    for reason in ["bit-error", "queue-overflow", "partition", "unreachable", "link-failure"] {
        assert!(reasons.contains_key(reason), "{reason}: {reasons:?}");
    }
}

const PATH: &str = r#"
name = "path"
duration = "20 s"
[network]
kind = "path"
hops = 2
link = { rate = "1 Mbit/s", delay = "10 ms", bit_error_rate = 1e-6, queue = { packets = 5 } }
[[network.fault]]
kind = "partition"
hop = 2
every = "100 s"
first = "4 s"
lasts = "1 s"
[[flow]]
from = 0
to = 2
application = "ftp"
[[flow]]
from = 2
to = 0
transport = "udp"
application = { cbr = { every = "20 ms", size = "500 B" } }
"#;

/// Each packet on a wire is enqueued, sent, and delivered or dropped, and a capture has what was sent.
#[test]
fn packets_on_wires_are_recorded() {
    let scenario = common::parse(PATH);
    let (events, frames) = (SharedBuffer::default(), SharedBuffer::default());
    let mut log = EventLog::new(Box::new(events.clone()));
    let mut capture = Capture::new(Box::new(frames.clone()), &scenario, 3).unwrap();
    let watch =
        Observers { log: Some(&mut log), capture: Some(&mut capture), ..Observers::default() };
    let result = driftway_sim::run(&scenario, 3, watch).unwrap();
    log.finish().unwrap();
    capture.finish().unwrap();
    let rows: Vec<Entry> =
        EventLog::read(events.bytes().as_slice()).collect::<Result<_, _>>().unwrap();
    for (node, neighbour, hop, direction) in [
        (0, 1, 1, Direction::Forward),
        (1, 0, 1, Direction::Backward),
        (1, 2, 2, Direction::Forward),
        (2, 1, 2, Direction::Backward),
    ] {
        let counted = common::link(&result, hop, direction);
        let on_wire = rows.iter().filter(|row| row.layer == Layer::Link);
        let on_wire = on_wire.filter(|row| (row.node, row.neighbour) == (node, Some(neighbour)));
        let count = |event| on_wire.clone().filter(|row| row.event == event).count() as u64;
        assert_eq!(count(Event::Dropped), counted.drops, "hop {hop}, {direction:?}");
        let (sent, delivered) = (count(Event::Sent), count(Event::Delivered));
        // Frames on the link when it was cut, or at the end, have not been sent completely.
        assert!((counted.frames..=counted.frames + 2).contains(&sent), "{sent}: {counted:?}");
        assert!(sent > 100 && delivered > 100 && delivered <= sent, "{delivered} of {sent}");
        assert!(count(Event::Enqueued) >= sent, "hop {hop}, {direction:?}");
    }
    let capture = frames.bytes();
    let mut reader = PcapNgReader::new(capture.as_slice()).unwrap();
    let (mut sent, mut lost) = (0, 0);
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        *(if packet.options.is_empty() { &mut sent } else { &mut lost }) += 1;
    }
    let of = |layer, event| {
        rows.iter().filter(|row| (row.layer, row.event) == (layer, event)).count() as u64
    };
    assert_eq!(sent, of(Layer::Link, Event::Sent));
    assert_eq!(lost, result.drops.values().sum::<u64>());
    let datagrams = &result.flows[1];
    assert_eq!(of(Layer::Udp, Event::Sent), datagrams.segments_sent);
}

/// Nothing is sent in this network for most of the time.
#[test]
fn positions_are_recorded_at_whole_seconds() {
    let text = SCENARIO.replace("start = \"1 s\"", "start = \"29 s\"");
    let scenario = common::parse(&text.replace("start = \"2 s\"", "start = \"29 s\""));
    let (_, rows) = common::logged(&scenario, 1);
    let of_node = rows.iter().filter(|row| row.layer == Layer::Mobility && row.node == 7);
    let times: Vec<Instant> = of_node.map(|row| row.time_s).collect();
    assert_eq!(times, (0..=30).map(Instant::from_secs).collect::<Vec<_>>());
}

#[test]
fn packets_under_dsr_have_their_source_route() {
    let run = observed_run("dsr");
    let routes = run.rows.iter().filter(|row| row.layer == Layer::Air && row.kind == "tcp-data");
    let routes: Vec<&str> = routes.filter_map(|row| row.source_route.as_deref()).collect();
    assert!(routes.iter().any(|route| route.starts_with("0-") && route.ends_with("-4")));
    assert!(observed_run("aodv").rows.iter().all(|row| row.source_route.is_none()));
}
