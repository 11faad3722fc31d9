use std::sync::{Arc, Mutex};

use driftway_base::{FlowId, NodeId};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, RoutedPacket, TcpSegment, UnreachableCode,
};
use proptest::prelude::*;

use super::*;
use crate::sockets::flow_port;
use crate::test::address;

/// The output of a log.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(fill: impl FnOnce(&mut EventLog)) -> String {
    let kept = SharedBuffer::default();
    let mut log = EventLog::new(Box::new(kept.clone()));
    fill(&mut log);
    log.finish().unwrap();
    String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
}

fn read(text: &str) -> Vec<Entry> {
    EventLog::read(text.as_bytes()).collect::<Result<_, _>>().unwrap()
}

fn segment() -> RoutedPacket {
    let segment = TcpSegment {
        source_port: flow_port(FlowId::new(3)),
        destination_port: flow_port(FlowId::new(3)),
        payload: Payload::new(6, 2920, 1460),
        ..TcpSegment::default()
    };
    let ip = IpHeader { identification: 117, ..IpHeader::new(address(4), address(9)) };
    RoutedPacket::plain(Packet { ip, body: Body::Tcp(segment) })
}

fn at(millis: u64, event: Event) -> Entry {
    Entry::new(Instant::from_millis(millis), 7, Layer::Queue, event)
}

#[test]
fn every_column_round_trips_through_csv() {
    let full = Entry {
        time_s: Instant::from_nanos(12_000_000_001),
        neighbour: Some(8),
        hops: Some(3),
        queue_length: Some(50),
        cwnd_bytes: Some(2920),
        ssthresh_bytes: Some(u32::MAX),
        rto_s: Some(Duration::from_millis(1500)),
        x_m: Some(0.1 + 0.2),
        y_m: Some(-1e-9),
        source_route: Some("4-7-8-9".into()),
        wire: Some(2),
        air: Some(1),
        ..at(0, Event::Dropped).with_reason("queue-overflow").with_packet(&segment())
    };
    let bare = at(12_001, Event::FalseLinkFailure);
    let text = logged(|log| {
        log.record(full.clone());
        log.record(bare.clone());
    });
    assert_eq!(read(&text), [full, bare]);
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "time_s,node,layer,event,reason,kind,flow,packet,source,destination,neighbour,bytes,\
         offset_bytes,hops,queue_length,cwnd_bytes,ssthresh_bytes,rto_s,x_m,y_m,source_route,\
         wire,air"
    );
    let start = "12.000000001,7,queue,dropped,queue-overflow,tcp-data,3,4:117,4,9,8,1500,2920,";
    assert!(lines.next().unwrap().starts_with(start), "{text}");
    assert_eq!(lines.next().unwrap(), "12.001000000,7,queue,false-link-failure,,,,,,,,,,,,,,,,,,,");
}

#[test]
fn an_icmp_error_belongs_to_the_flow_of_the_quoted_packet() {
    let unreachable = |quoted| IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted };
    let error = Packet::icmp_error(address(5), &segment().packet, unreachable).unwrap();
    let entry = at(0, Event::Received).with_packet(&RoutedPacket::plain(error));
    assert_eq!((entry.kind.as_ref(), entry.flow), ("icmp", Some(3)));
    assert_eq!((entry.source, entry.destination), (Some(5), Some(4)));
}

#[test]
fn rows_are_in_order_although_frames_are_recorded_late() {
    let times = |text: &str| -> Vec<u64> {
        read(text).iter().map(|entry| entry.time_s.as_millis()).collect()
    };
    let text = logged(|log| {
        log.expect_frames(1);
        log.record(at(1, Event::Enqueued));
        log.record(at(5, Event::Dequeued));
        log.record(at(9, Event::Received));
        log.record_frame(at(4, Event::Sent));
        log.record_frame(at(5, Event::Sent));
        log.record(at(12, Event::Received));
    });
    assert_eq!(times(&text), [1, 4, 5, 5, 9, 12]);
    assert_eq!(read(&text)[2].event, Event::Dequeued);
}

#[test]
fn an_unchanged_state_leaves_one_row() {
    let text = logged(|log| {
        for (second, state) in ["normal", "normal", "loss", "loss", "normal"].iter().enumerate() {
            let (node, flow) = (NodeId::new(0), FlowId::new(2));
            let now = Instant::from_secs(second as u64);
            log.record_aid_state(FlowContext { now, node, flow }, state);
        }
    });
    let states: Vec<_> =
        read(&text).iter().map(|e| (e.time_s.as_millis(), e.reason.to_string())).collect();
    let expected = [(0, "normal"), (2000, "loss"), (4000, "normal")];
    assert_eq!(states, expected.map(|(at, state)| (at, state.to_owned())));
}

#[test]
fn positions_are_due_at_each_whole_second() {
    let due_by = |log: &mut EventLog, millis| {
        let now = Instant::from_millis(millis);
        std::iter::from_fn(|| log.take_positions_due(now)).collect::<Vec<_>>()
    };
    let mut log = EventLog::new(Box::new(io::sink()));
    for (millis, seconds) in [(0, 0..1), (0, 0..0), (999, 0..0), (1000, 1..2), (4200, 2..5)] {
        let expected: Vec<_> = seconds.map(Instant::from_secs).collect();
        assert_eq!(due_by(&mut log, millis), expected, "by {millis} ms");
    }
    assert_eq!(log.next_positions(), Instant::from_secs(5));
    let mut log = log.with_positions(None);
    assert_eq!((due_by(&mut log, 9000), log.next_positions()), (vec![], Instant::FAR_FUTURE));
}

#[test]
fn a_malformed_log_is_rejected_with_its_line() {
    let good = logged(|log| log.record(at(1, Event::Enqueued)));
    for (from, to) in
        [("0.001000000", "0.001"), ("queue", "pigeon"), ("enqueued", "eaten"), (",7,", ",x,")]
    {
        let error = EventLog::read(good.replace(from, to).as_bytes()).next().unwrap().unwrap_err();
        assert!(error.to_string().contains("line: 2"), "{error}");
    }
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let layer = prop::sample::select(vec![Layer::Air, Layer::Queue, Layer::Tcp, Layer::Mobility]);
    let event = prop::sample::select(vec![Event::Sent, Event::RouteLost, Event::FastRetransmit]);
    let words = prop::sample::select(vec!["", "queue-overflow", "with,comma", "\"quoted\"\nline"]);
    let number = prop::option::of(any::<u32>());
    let place = prop::option::of(-1e9_f64..1e9);
    let name = prop::option::of((any::<u32>(), any::<u16>()));
    (
        (any::<u64>(), any::<u32>(), layer, event, words.clone(), words),
        (number.clone(), name, number.clone(), number.clone(), prop::option::of(any::<u64>())),
        (number.clone(), number, prop::option::of(any::<u64>()), place.clone(), place),
    )
        .prop_map(|(what, who, much)| {
            let (nanos, node, layer, event, reason, kind) = what;
            let (flow, name, neighbour, bytes, offset_bytes) = who;
            let (hops, waiting, rto, x_m, y_m) = much;
            let entry = Entry::new(Instant::from_nanos(nanos), node, layer, event);
            Entry {
                kind: kind.into(),
                flow,
                packet: name.map(|(source, identification)| IpPacketId { source, identification }),
                neighbour,
                bytes,
                offset_bytes,
                hops,
                queue_length: waiting,
                rto_s: rto.map(Duration::from_nanos),
                x_m,
                y_m,
                ..entry.with_reason(reason)
            }
        })
}

proptest! {
    #[test]
    fn any_entry_round_trips_through_csv(entries in prop::collection::vec(any_entry(), 1..9)) {
        let text = logged(|log| entries.iter().for_each(|entry| log.record(entry.clone())));
        prop_assert_eq!(read(&text), entries);
    }

    /// A damaged log gives errors or entries, and never a panic.
    #[test]
    fn a_damaged_log_never_panics(
        entry in any_entry(),
        at in any::<prop::sample::Index>(),
        with in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = logged(|log| log.record(entry)).into_bytes();
        let at = at.index(bytes.len());
        let end = bytes.len().min(at + with.len());
        bytes.splice(at..end, with);
        let read: Vec<_> = EventLog::read(bytes.as_slice()).collect();
        prop_assert!(read.len() <= 20);
    }
}
