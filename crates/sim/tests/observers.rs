//! Observers of a radio network record all its events, and observing changes nothing.

mod common;

use std::collections::BTreeMap;

use common::SharedBuffer;
use driftway_base::Instant;
use driftway_sim::Observers;
use driftway_sim::capture::Capture;
use driftway_sim::log::{Entry, Event, EventLog, Layer};
use driftway_sim::results::RunResult;
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
    let watch =
        Observers { trace: Some(&mut trace), log: Some(&mut log), capture: Some(&mut capture) };
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
