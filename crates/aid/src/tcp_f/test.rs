//! Tests of TCP-F: each rule of chandran-1998 §4, on the scripted driver.

use std::vec::Vec;

use driftway_base::{
    Endpoint, FailedLink, FlowKey, HeldTimers, Instant, Ipv4Addr, Seq, SeqRange, UnreachableScope,
};
use driftway_wire::{Payload, TcpSegment};

use super::*;
use crate::liveness::{self, TCP_MAX_RTO, random_duration, random_flag};
use crate::scripted::{Event, ScriptedDriver, Tcp};
use crate::{Aid, kit};

type Line = ScriptedDriver<Machine<TcpF>>;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at_ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// First sequence number of segment `n` of the transfer (from 0).
fn nth(n: u32) -> Seq {
    Tcp::START + 100 * n
}

/// Transmission continues at SND.NXT, so that only timers act after a snooze.
fn by_timers() -> TcpFOptions {
    TcpFOptions { resume_from: ResumeFrom::Nxt, ..TcpFOptions::default() }
}

/// Ten segments were sent at 0; at 400 ms, 600 ms of the retransmission timer remain.
fn ten_sent() -> Line {
    ten_sent_with(by_timers())
}

fn ten_sent_with(options: TcpFOptions) -> Line {
    let mut line = ScriptedDriver::new(TcpF::new(options));
    line.write(1_000);
    assert_eq!(sent(&line).len(), 10);
    line.take_events();
    line.advance(ms(400));
    line
}

/// Snooze state: a router had no route for the first segment.
fn snoozing() -> Line {
    let mut line = ten_sent();
    rfn(&mut line, nth(0));
    assert_eq!(line.aid.state, State::Snooze);
    line
}

fn rfn(line: &mut Line, seq: Seq) {
    signal(line, SignalKind::RouteFailed, Some((Tcp::PORT, Tcp::PEER_PORT)), Some(seq));
}

fn rrn(line: &mut Line) {
    signal(line, SignalKind::RouteRestored, None, None);
}

fn signal(line: &mut Line, kind: SignalKind, ports: Option<(u16, u16)>, seq: Option<Seq>) {
    let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
    let flow =
        ports.map(|(ours, peers)| FlowKey { source: end(1, ours), destination: end(2, peers) });
    line.signal(Signal { kind, details: SignalDetails { flow, seq, ..SignalDetails::default() } });
}

/// A signal from the router with this number.
fn from_router(line: &mut Line, kind: SignalKind, router: u8) {
    let reporter = Some(Ipv4Addr::new(10, 0, 1, router));
    line.signal(Signal { kind, details: SignalDetails { reporter, ..SignalDetails::default() } });
}

fn sent(line: &Line) -> Vec<(u64, Seq, u32)> {
    let sent = line.record.iter().filter_map(|(at, event)| match event {
        Event::Sent(segment) | Event::Resent { segment, .. } => {
            Some((at.as_millis(), segment.seq, segment.sequence_len()))
        }
        _ => None,
    });
    sent.collect()
}

fn asked(line: &Line) -> Vec<(u64, Act)> {
    let asked = line.record.iter().filter_map(|(at, event)| match event {
        Event::Requested(act, ActResult::Done) => Some((at.as_millis(), *act)),
        _ => None,
    });
    asked.collect()
}

fn responded(line: &Line) -> bool {
    line.record.iter().any(|(_, event)| matches!(event, Event::Responded(_)))
}

const HOLD: Act = Act::Hold {
    probe: None,
    rewind_snd_nxt: false,
    timers: HeldTimers::Freeze,
    cwnd: Assign::Keep,
    release: Release::Resume,
};
const RESUME: Act = Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep };

#[test]
fn the_first_rfn_freezes_tcp() {
    let mut line = ten_sent();
    rfn(&mut line, nth(0));
    assert_eq!(asked(&line), [(400, HOLD)]);
    line.write(2_000);
    line.run_until(at_ms(20_399));
    assert_eq!(sent(&line), [], "neither new data nor retransmissions");
    assert!(!responded(&line), "no timer expires");
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh(), line.tcp.rto()), (1_000, 64_000, secs(1)));
}

#[test]
fn after_the_rrn_timers_continue_from_frozen_values() {
    let mut line = snoozing();
    line.run_until(at_ms(7_000));
    line.take_events();
    rrn(&mut line);
    assert_eq!(asked(&line), [(7_000, RESUME)]);
    assert_eq!(line.aid.state, State::Active);
    assert_eq!(line.tcp.deadline(), Some(at_ms(7_600)), "600 ms of 1 s remained");
}

#[test]
fn after_the_rrn_sending_continues_at_the_previous_rate() {
    let mut line = snoozing();
    line.write(3_000);
    line.run_until(at_ms(7_000));
    rrn(&mut line);
    line.take_events();
    line.receive_ack(nth(5));
    let expected: Vec<_> = (10..16).map(|n| (7_000, nth(n), 100)).collect();
    assert_eq!(sent(&line), expected, "five acknowledged, and growth by one");
}

/// The default: the previous window is sent at once, from SND.UNA on.
#[test]
fn the_stored_window_is_sent_after_the_rrn() {
    let mut line = ScriptedDriver::new(TcpF::new(TcpFOptions::default()));
    line.write(3_000);
    line.advance(ms(400));
    rfn(&mut line, nth(0));
    line.receive_ack(nth(4));
    line.run_until(at_ms(7_000));
    line.take_events();
    rrn(&mut line);
    let expected: Vec<_> = (4..14).map(|n| (7_000, nth(n), 100)).collect();
    assert_eq!(sent(&line), expected, "six retransmissions and four new segments");
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (1_000, 64_000));
    // RFC 6298 §5.3: the acknowledgment restarted the frozen timer.
    assert_eq!(line.tcp.deadline(), Some(at_ms(8_000)));
}

#[test]
fn the_previous_back_off_is_kept() {
    let mut line = ScriptedDriver::new(TcpF::new(by_timers()));
    line.write(100);
    line.run_until(at_ms(3_100)); // timeouts at 1 s and 3 s, the next is due at 7 s
    rfn(&mut line, nth(0));
    line.run_until(at_ms(10_100));
    line.take_events();
    rrn(&mut line);
    line.run_until(at_ms(23_000));
    assert_eq!(sent(&line), [(14_000, nth(0), 100), (22_000, nth(0), 100)]);
}

#[test]
fn the_route_failure_timer_runs_from_the_first_rfn() {
    let mut line = ten_sent();
    for seq in [0, 1, 2] {
        rfn(&mut line, nth(seq));
        line.advance(secs(5));
    }
    assert_eq!(asked(&line), [(400, HOLD)], "further RFNs change nothing");
    assert_eq!(line.aid.next_timeout(), Some(at_ms(20_400)));
}

#[test]
fn when_the_route_failure_timer_expires_congestion_control_takes_over() {
    let mut line = snoozing();
    line.take_events();
    line.run_until(at_ms(21_000));
    assert_eq!(asked(&line), [(20_400, RESUME)], "as after an RRN");
    assert_eq!(line.aid.state, State::Active);
    assert!(responded(&line), "the frozen timer expires after 600 ms");
    assert_eq!(sent(&line), [(21_000, nth(0), 100)]);
    assert_eq!(line.tcp.cwnd(), 100);
}

#[test]
fn the_route_failure_timeout_is_configurable() {
    let options = TcpFOptions { route_failure_timeout: secs(3), ..by_timers() };
    let mut line = ScriptedDriver::new(TcpF::new(options));
    line.write(100);
    rfn(&mut line, nth(0));
    assert_eq!(line.aid.next_timeout(), Some(at_ms(3_000)));
    let none = TcpFOptions { route_failure_timeout: Duration::ZERO, ..by_timers() };
    let mut line = ScriptedDriver::new(TcpF::new(none));
    line.write(100);
    rfn(&mut line, nth(0));
    assert_eq!(line.aid.next_timeout(), Some(at_ms(1)), "minimum timeout");
}

#[test]
fn acknowledgments_are_processed_in_snooze_and_nothing_is_sent() {
    let mut line = snoozing();
    line.write(2_000);
    line.receive_ack(nth(4));
    line.receive_ack(nth(4));
    line.receive_ack(nth(4));
    line.receive_ack(nth(4));
    assert_eq!(line.tcp.una(), nth(4));
    assert_eq!((sent(&line), responded(&line)), (Vec::new(), false));
    assert_eq!(line.tcp.cwnd(), 1_000);
    line.run_until(at_ms(5_000));
    rrn(&mut line);
    assert_eq!(sent(&line).len(), 4, "replacing the four acknowledged segments");
    // RFC 6298 §5.3: each acknowledgment restarts the timer, also a frozen one.
    assert_eq!(line.tcp.deadline(), Some(at_ms(6_000)));
}

#[test]
fn no_timer_remains_if_all_is_acknowledged_in_snooze() {
    let mut line = snoozing();
    line.receive_ack(nth(10));
    line.take_events();
    rrn(&mut line);
    assert_eq!(line.tcp.deadline(), None);
    line.run_until(at_ms(60_000));
    assert!(!responded(&line));
}

#[test]
fn data_from_the_peer_is_acknowledged_in_snooze() {
    let mut line = snoozing();
    line.take_events();
    line.receive(TcpSegment { payload: Payload::new(1, 0, 50), ..line.peer_ack(nth(0)) });
    assert_eq!(sent(&line), [(400, nth(10), 0)]);
}

#[test]
fn data_written_in_snooze_waits_for_the_rrn() {
    let mut line = ScriptedDriver::new(TcpF::new(by_timers()));
    line.write(100);
    rfn(&mut line, nth(0));
    line.take_events();
    line.write(300);
    line.close();
    line.run_until(at_ms(5_000));
    assert_eq!(sent(&line), []);
    rrn(&mut line);
    let lens: Vec<_> = sent(&line).iter().map(|(_, _, len)| *len).collect();
    assert_eq!(lens, [100, 100, 101], "FIN with the last data");
}

#[test]
fn an_rfn_counts_with_nothing_outstanding() {
    // For example, the RFN quotes an acknowledgment.
    let mut line = ScriptedDriver::new(TcpF::new(by_timers()));
    rfn(&mut line, nth(0));
    assert_eq!(line.aid.state, State::Snooze);
    line.write(100);
    assert_eq!(sent(&line), []);
    rrn(&mut line);
    assert_eq!(sent(&line), [(0, nth(0), 100)]);
}

#[test]
fn an_rfn_of_another_flow_or_of_unsent_data_is_ignored() {
    let mut line = ten_sent();
    for ports in [(Tcp::PORT + 1, Tcp::PEER_PORT), (Tcp::PORT, 81)] {
        signal(&mut line, SignalKind::RouteFailed, Some(ports), Some(nth(0)));
    }
    // RFC 5927 §4.1
    for seq in [nth(0) - 1, nth(10) + 1] {
        rfn(&mut line, seq);
    }
    assert_eq!((line.aid.state, asked(&line)), (State::Active, Vec::new()));
    rfn(&mut line, nth(10)); // sequence number of a pure acknowledgment
    assert_eq!(line.aid.state, State::Snooze);
}

#[test]
fn an_rrn_without_an_rfn_is_ignored() {
    let mut line = ten_sent();
    rrn(&mut line);
    assert_eq!((line.aid.state, asked(&line)), (State::Active, Vec::new()));
    assert_eq!(line.tcp.deadline(), Some(at_ms(1_000)));
}

#[test]
fn a_second_failure_snoozes_again_with_a_new_timer() {
    let mut line = snoozing();
    line.run_until(at_ms(5_000));
    rrn(&mut line);
    line.advance(ms(100));
    line.take_events();
    rfn(&mut line, nth(0));
    assert_eq!(asked(&line), [(5_100, HOLD)]);
    assert_eq!(line.aid.next_timeout(), Some(at_ms(25_100)));
    line.run_until(at_ms(9_000));
    rrn(&mut line);
    assert_eq!(line.tcp.deadline(), Some(at_ms(9_500)), "100 of the 600 ms have elapsed");
}

/// chandran-1998 §5.4: several failure points; the second RRN arrives in the active state.
#[test]
fn any_rrn_ends_the_snooze_and_the_next_is_ignored() {
    let mut line = snoozing();
    rfn(&mut line, nth(3));
    line.take_events();
    rrn(&mut line);
    rrn(&mut line);
    assert_eq!(asked(&line), [(400, RESUME)]);
}

/// chandran-1998 §5.4, point 1: the source waits for the RRN of the nearest failure point.
#[test]
fn only_the_failure_point_ends_the_snooze() {
    use SignalKind::{RouteFailed, RouteRestored};
    let options = TcpFOptions { wakes_on: WakeOn::FailurePoint, ..by_timers() };
    let mut line = ten_sent_with(options);
    from_router(&mut line, RouteFailed, 7);
    from_router(&mut line, RouteFailed, 3);
    line.take_events();
    from_router(&mut line, RouteRestored, 7);
    assert_eq!((asked(&line), line.aid.state), (Vec::new(), State::Snooze), "a farther point");
    from_router(&mut line, RouteRestored, 3);
    assert_eq!(asked(&line), [(400, RESUME)]);
    // An RRN from an unknown sender counts.
    from_router(&mut line, RouteFailed, 3);
    rrn(&mut line);
    assert_eq!(line.aid.state, State::Active);
}

/// A router that has received an RFN answers further packets with RFNs of its own: the failure point is that of
/// the link, and not the one that reports it.
#[test]
fn the_failure_point_is_that_of_the_reported_link() {
    use SignalKind::{RouteFailed, RouteRestored};
    let of_link = |kind, router: u8, near: u8| {
        let [from, to, reporter] =
            [near, near + 1, router].map(|node| Ipv4Addr::new(10, 0, 1, node));
        let failed_link = Some(FailedLink { from, to });
        let reporter = Some(reporter);
        Signal {
            kind,
            details: SignalDetails { failed_link, reporter, ..SignalDetails::default() },
        }
    };
    let options = TcpFOptions { wakes_on: WakeOn::FailurePoint, ..by_timers() };
    let mut line = ten_sent_with(options);
    line.signal(of_link(RouteFailed, 3, 3));
    line.signal(of_link(RouteFailed, 1, 3));
    line.signal(of_link(RouteRestored, 1, 7));
    assert_eq!(line.aid.state, State::Snooze, "another failure");
    line.signal(of_link(RouteRestored, 3, 3));
    assert_eq!(line.aid.state, State::Active);
}

/// chandran-1998 §5.4: feedback does not interfere with congestion control.
#[test]
fn other_signals_are_ignored() {
    let mut line = ten_sent();
    for kind in [
        SignalKind::Unreachable(UnreachableScope::Host),
        SignalKind::SourceQuench,
        SignalKind::EcnEcho,
    ] {
        line.signal(Signal::new(kind));
    }
    assert_eq!((line.aid.state, asked(&line)), (State::Active, Vec::new()));
}

#[test]
fn without_hold_tcp_runs_unassisted() {
    let mut line = ten_sent();
    line.refuses = |act| matches!(act, Act::Hold { .. });
    rfn(&mut line, nth(0));
    assert_eq!((line.aid.state, line.aid.next_timeout()), (State::Active, None));
    line.take_events();
    line.run_until(at_ms(1_000));
    assert_eq!((sent(&line), asked(&line)), ([(1_000, nth(0), 100)].to_vec(), Vec::new()));
}

#[test]
fn the_snooze_ends_with_the_connection() {
    let mut line = snoozing();
    line.tcp.close_silently();
    line.take_events();
    line.run_until(at_ms(30_000));
    assert_eq!((line.aid.state, line.aid.next_timeout()), (State::Active, None));
    rfn(&mut line, nth(0));
    assert_eq!((line.aid.state, asked(&line)), (State::Active, Vec::new()));
}

/// The aid neither acknowledges, creates nor drops data (liu-singh-2001 §III-B).
#[test]
fn all_segments_pass_in_both_states() {
    for mut line in [ten_sent(), snoozing()] {
        line.receive_ack(nth(2));
        line.send(line.peer_ack(nth(0)));
        let passes =
            |event: &Event| !matches!(event, Event::DroppedOutgoing(_) | Event::Dropped(_));
        assert!(line.record.iter().all(|(_, event)| passes(event)));
        assert_eq!(line.tcp.outstanding(), SeqRange::new(nth(2), nth(10)));
    }
}

#[test]
fn the_committed_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("tcp_f");
}

#[test]
fn the_transitions_of_the_diagram_are_those_of_the_paper() {
    use Transition::*;
    let arrows = [
        (State::Active, RouteFailed, State::Snooze),
        (State::Snooze, RouteRestored, State::Active),
        (State::Snooze, RouteFailureTimeout, State::Active),
    ];
    kit::assert_transitions(&arrows, &[Unsupported, Closed]);
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = TcpFOptions {
            route_failure_timeout: random_duration(random, 1, 30_000),
            resume_from: if random_flag(random) { ResumeFrom::Una } else { ResumeFrom::Nxt },
            wakes_on: if random_flag(random) { WakeOn::Any } else { WakeOn::FailurePoint },
        };
        // Without retransmission the window waits for TCP's timer, which continues from its frozen value.
        let longest = match options.resume_from {
            ResumeFrom::Una => options.route_failure_timeout,
            ResumeFrom::Nxt => options.route_failure_timeout + TCP_MAX_RTO,
        };
        (TcpF::new(options), longest)
    });
}
