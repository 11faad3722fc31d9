//! Tests of Freeze-TCP, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Instant, Seq, SignalKind};
use driftway_wire::Payload;

use super::*;
use crate::kit;
use crate::liveness::{self, random_duration};
use crate::scripted::{Event, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<FreezeTcp>>;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn signal(line: &mut Line, kind: SignalKind) {
    line.signal(Signal::new(kind));
}

fn warn(line: &mut Line, lead: u64) {
    signal(line, SignalKind::LinkFading { expected_lifetime: ms(lead) });
}

/// A host that has received 500 bytes.
fn receiver() -> Line {
    let mut line = ScriptedDriver::new(FreezeTcp::new(FreezeTcpOptions::default()));
    receive_data(&mut line, 0);
    line.take_events();
    line
}

fn receive_data(line: &mut Line, n: u32) {
    let peer = line.peer_ack(Tcp::START);
    let payload = Payload::new(1, u64::from(n) * 500, 500);
    line.receive(TcpSegment { seq: Seq(7_000) + n * 500, payload, ..peer });
}

/// The segments sent since the last call: time (ms), acknowledgment, and whether the window is open.
fn acks(line: &mut Line) -> Vec<(u64, u32, bool)> {
    let sent =
        core::mem::take(&mut line.record).into_iter().filter_map(|(at, event)| match event {
            Event::Sent(segment) | Event::Resent { segment, .. } => {
                Some((at.as_millis(), segment.ack.since(Seq(7_000)), segment.window > 0))
            }
            _ => None,
        });
    sent.collect()
}

#[test]
fn the_window_is_closed_from_the_warning_to_the_connection() {
    let mut line = receiver();
    warn(&mut line, 100);
    assert_eq!(acks(&mut line), [(0, 500, false)]);
    receive_data(&mut line, 1);
    assert_eq!(acks(&mut line), [(0, 1_000, false)], "data in flight is accepted");
    line.advance(ms(100));
    signal(&mut line, SignalKind::LinkDown);
    line.run_until(Instant::from_millis(4_000));
    assert_eq!(acks(&mut line), []);
    signal(&mut line, SignalKind::LinkUp);
    assert_eq!(acks(&mut line), [(4_000, 1_000, true); 3]);
    receive_data(&mut line, 2);
    assert_eq!(acks(&mut line), [(4_000, 1_500, true)]);
}

#[test]
fn without_a_warning_there_are_three_acknowledgments() {
    let mut line = receiver();
    signal(&mut line, SignalKind::LinkDown);
    line.advance(ms(300));
    assert_eq!(acks(&mut line), []);
    signal(&mut line, SignalKind::LinkUp);
    assert_eq!(acks(&mut line), [(300, 500, true); 3]);
}

#[test]
fn a_false_warning_ends_by_itself() {
    let mut line = receiver();
    warn(&mut line, 200);
    line.take_events();
    line.run_until(Instant::from_millis(9_000));
    assert_eq!(acks(&mut line), [(1_200, 500, true); 3]);
    assert_eq!(line.aid.state, State::Active);
}

#[test]
fn a_segment_after_the_disconnection_shows_that_the_host_is_connected() {
    let mut line = receiver();
    warn(&mut line, 200);
    signal(&mut line, SignalKind::LinkDown);
    line.take_events();
    line.advance(ms(5_000));
    receive_data(&mut line, 1);
    assert_eq!(line.aid.state, State::Active);
    assert!(acks(&mut line).iter().all(|(_, _, open)| *open));
}

#[test]
fn a_sender_freezes_with_its_timers() {
    let probe_min = FreezeTcpOptions::default().probe_max;
    let options = FreezeTcpOptions { probe_min, ..FreezeTcpOptions::default() };
    let mut line = ScriptedDriver::new(FreezeTcp::new(options));
    line.write(3_000);
    line.advance(ms(400));
    line.take_events();
    warn(&mut line, 100);
    line.advance(ms(50));
    line.receive_ack(Tcp::START + 500);
    assert_eq!(acks(&mut line), [], "acknowledged, but nothing is sent");
    line.advance(ms(50));
    signal(&mut line, SignalKind::LinkDown);
    line.run_until(Instant::from_millis(9_000));
    assert_eq!((acks(&mut line), line.tcp.cwnd()), (std::vec![], 1_000));
    signal(&mut line, SignalKind::LinkUp);
    assert_eq!(acks(&mut line).len(), 5, "the old window");
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = FreezeTcpOptions {
            copies: 1 + random.uniform_below(9) as u32,
            false_alarm_after: random_duration(random, 100, 3_000),
            probe_min: random_duration(random, 100, 1_000),
            probe_max: random_duration(random, 1_000, 10_000),
        };
        let longest = options.probe_max.times(2) + options.false_alarm_after;
        (FreezeTcp::new(options), longest + liveness::TCP_MAX_RTO)
    });
}

#[test]
fn the_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("freeze_tcp");
}

#[test]
fn routes_are_probed_from_the_disconnection_on() {
    let probes = |line: &Line| {
        let requested = line.record.iter().filter(|(_, event)| {
            matches!(event, Event::Requested(Act::ProbeRoute(RouteProbe::Repeated), _))
        });
        requested.count()
    };
    for warned in [false, true] {
        let mut line = ScriptedDriver::new(FreezeTcp::new(FreezeTcpOptions::default()));
        line.write(3_000);
        if warned {
            warn(&mut line, 100);
            assert_eq!(probes(&line), 0);
        }
        signal(&mut line, SignalKind::LinkDown);
        assert_eq!(probes(&line), 1, "{warned}");
    }
}
