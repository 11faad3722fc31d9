//! Tests of the mobile host's aid: each rule of singh-iyer-2002 §III, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Duration, Seq, SignalKind};
use driftway_wire::{Payload, TcpSegment};

use super::*;
use crate::kit;
use crate::liveness::{self, TCP_MAX_RTO, random_duration, random_flag};
use crate::scripted::{Event, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<MobileHost>>;

const FIRST: MobileHostOptions = MobileHostOptions {
    resend: Resend::FirstUnacknowledged,
    ssthresh: SsthreshAfterTimeout::Cwnd,
    ack_delay: Duration::from_millis(200),
    probe_min: Duration::from_secs(60),
    probe_max: Duration::from_secs(60),
};
/// The paper's listing.
const LISTING: MobileHostOptions =
    MobileHostOptions { resend: Resend::LastSent, ssthresh: SsthreshAfterTimeout::Max, ..FIRST };

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

/// Segments of 100 bytes at 0 ms; the window has ten, and the RTO is 1 s.
fn sent_at_start(options: MobileHostOptions, segments: u32) -> Line {
    let mut line = ScriptedDriver::new(MobileHost::new(options));
    line.write(100 * segments);
    line.take_events();
    line
}

fn disconnect(line: &mut Line) {
    line.signal(Signal::new(SignalKind::LinkDown));
}

fn connect(line: &mut Line) {
    line.signal(Signal::new(SignalKind::LinkUp));
}

/// The data sent since the last call: time (ms) and first sequence number.
fn sent(line: &mut Line) -> Vec<(u64, Seq)> {
    let sent =
        core::mem::take(&mut line.record).into_iter().filter_map(|(at, event)| match event {
            Event::Sent(segment) | Event::Resent { segment, .. } => {
                (segment.sequence_len() > 0).then_some((at.as_millis(), segment.seq))
            }
            _ => None,
        });
    sent.collect()
}

fn from_to(at: u64, first: u32, end: u32) -> Vec<(u64, Seq)> {
    (first..end).map(|n| (at, nth(n))).collect()
}

#[test]
fn an_idle_host_buffers_data_while_disconnected() {
    let mut line = sent_at_start(FIRST, 0);
    disconnect(&mut line);
    assert_eq!(line.aid.state, State::Idle);
    line.write(500);
    line.run_until(at_ms(59_999));
    assert_eq!(sent(&mut line), []);
    connect(&mut line);
    assert_eq!(sent(&mut line), from_to(59_999, 0, 5));
}

#[test]
fn with_an_open_window_the_timer_stops_and_sending_continues() {
    for (options, again) in [(FIRST, 0), (LISTING, 3)] {
        let mut line = sent_at_start(options, 4);
        line.advance(ms(400));
        disconnect(&mut line);
        assert_eq!((line.aid.state, line.tcp.deadline()), (State::Sending, None));
        line.write(1_000);
        line.run_until(at_ms(5_000));
        assert_eq!(sent(&mut line), [], "nothing is sent while disconnected");
        connect(&mut line);
        let mut expected = from_to(5_000, again, again + 1);
        expected.extend(from_to(5_000, 4, 10));
        assert_eq!(sent(&mut line), expected, "segment {again}");
        assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (1_000, 64_000));
        assert_eq!(line.tcp.deadline(), Some(at_ms(6_000)), "a new timer");
    }
}

#[test]
fn with_a_closed_window_the_timer_keeps_running() {
    for (options, again) in [(FIRST, 0), (LISTING, 9)] {
        let mut line = sent_at_start(options, 30);
        line.advance(ms(400));
        disconnect(&mut line);
        assert_eq!(line.aid.state, State::Waiting);
        line.run_until(at_ms(700));
        connect(&mut line);
        assert_eq!(sent(&mut line), [], "no timeout yet: no action");
        assert_eq!(line.tcp.deadline(), Some(at_ms(1_000)));
        line.run_until(at_ms(1_500));
        assert_eq!(sent(&mut line), [(1_000, nth(again))], "segment {again}");
        assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (1_000, 64_000));
        assert_eq!(line.tcp.rto(), ms(1_000));
        assert_eq!(line.tcp.deadline(), Some(at_ms(2_000)), "the RTO is not doubled");
        // Only the first timeout is special.
        line.run_until(at_ms(2_100));
        assert_eq!((line.tcp.cwnd(), line.tcp.deadline()), (100, Some(at_ms(4_000))));
    }
}

#[test]
fn a_new_acknowledgment_makes_the_next_timeout_an_ordinary_one() {
    let mut line = sent_at_start(FIRST, 30);
    disconnect(&mut line);
    connect(&mut line);
    line.receive_ack(nth(1));
    line.run_until(at_ms(1_100));
    assert_eq!(line.tcp.cwnd(), 100);
}

#[test]
fn after_a_timeout_while_disconnected_the_text_slow_starts_to_the_old_window() {
    let mut line = sent_at_start(FIRST, 30);
    disconnect(&mut line);
    line.run_until(at_ms(9_000));
    assert_eq!(sent(&mut line), [], "one timeout, and nothing is sent");
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh(), line.tcp.rto()), (100, 1_000, ms(1_000)));
    connect(&mut line);
    assert_eq!(sent(&mut line), [(9_000, nth(0))]);
    line.advance(ms(10));
    line.receive_ack(nth(1));
    assert_eq!(sent(&mut line), from_to(9_010, 1, 3), "slow start");
}

#[test]
fn after_a_timeout_while_disconnected_the_listing_sends_the_last_packet() {
    let mut line = sent_at_start(LISTING, 30);
    line.tcp.set_ssthresh(700);
    disconnect(&mut line);
    line.run_until(at_ms(9_000));
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (100, 16_000), "the peer's window");
    connect(&mut line);
    assert_eq!(sent(&mut line), [(9_000, nth(9))]);
    // All had arrived, and the acknowledgments were lost: it acknowledges everything.
    line.receive_ack(nth(10));
    assert_eq!(sent(&mut line), from_to(9_000, 10, 12));
}

#[test]
fn a_segment_that_arrives_shows_that_the_host_is_connected() {
    let mut line = sent_at_start(FIRST, 4);
    disconnect(&mut line);
    line.advance(ms(100));
    line.receive_ack(nth(2));
    assert_eq!(line.aid.state, State::Connected);
}

#[test]
fn without_a_connection_signal_probes_are_sent() {
    let mut line = sent_at_start(FIRST, 4);
    disconnect(&mut line);
    line.run_until(at_ms(125_000));
    assert_eq!(sent(&mut line), [(60_000, nth(0)), (120_000, nth(0))]);
    line.receive_ack(nth(4));
    assert!(!line.tcp.is_persisting());
}

#[test]
fn a_driver_without_holds_lets_tcp_run() {
    let mut line = sent_at_start(FIRST, 4);
    line.refuses = |act| matches!(act, Act::Hold { .. });
    disconnect(&mut line);
    assert_eq!(line.aid.state, State::Connected);
    line.run_until(at_ms(1_500));
    assert_eq!(sent(&mut line), [(1_000, nth(0))]);
}

// --- The receiver.

/// Segment `n` of the peer's data, of 1000 bytes.
fn data(line: &Line, n: u32) -> TcpSegment {
    let payload = Payload::new(1, u64::from(n) * 1_000, 1_000);
    TcpSegment { seq: Seq(7_000) + 1_000 * n, payload, ..line.peer_ack(Tcp::START) }
}

/// The acknowledgments sent since the last call: time (ms), bytes of the peer, window. Retransmitted data,
/// which this driver sends before the acknowledgments of the same event, does not count.
fn acks(line: &mut Line) -> Vec<(u64, u32, bool)> {
    let sent =
        core::mem::take(&mut line.record).into_iter().filter_map(|(at, event)| match event {
            Event::Resent { segment, .. } if segment.sequence_len() > 0 => None,
            Event::Sent(segment) | Event::Resent { segment, .. } => {
                Some((at.as_millis(), segment.ack.since(Seq(7_000)), segment.window > 0))
            }
            _ => None,
        });
    sent.collect()
}

/// A receiver that has sent the acknowledgment of the handshake.
fn receiver() -> Line {
    let mut line = ScriptedDriver::new(MobileHost::new(FIRST));
    let handshake = line.pure_ack();
    line.send(handshake);
    line.take_events();
    line
}

fn receive(line: &mut Line, n: u32) {
    let segment = data(line, n);
    line.receive(segment);
}

#[test]
fn the_acknowledgment_of_the_last_two_bytes_is_delayed() {
    let mut line = receiver();
    receive(&mut line, 0);
    line.advance(ms(50));
    receive(&mut line, 1);
    line.run_until(at_ms(1_000));
    assert_eq!(acks(&mut line), [(0, 998, true), (50, 1_998, true), (250, 2_000, true)]);
}

#[test]
fn an_arrival_that_does_not_advance_is_acknowledged_at_once_and_twice() {
    let mut line = receiver();
    receive(&mut line, 0);
    receive(&mut line, 2);
    receive(&mut line, 3);
    line.run_until(at_ms(1_000));
    let all = [(0, 998, true), (0, 1_000, true), (0, 1_000, true), (0, 1_000, true)];
    assert_eq!(acks(&mut line), all, "two for the first, one for the second");
    receive(&mut line, 1);
    assert_eq!(acks(&mut line), [(1_000, 3_998, true)]);
}

#[test]
fn at_the_connection_a_closed_and_an_open_window_are_advertised() {
    let mut line = receiver();
    receive(&mut line, 0);
    line.advance(ms(100));
    disconnect(&mut line);
    line.run_until(at_ms(5_000));
    assert_eq!(acks(&mut line), [(0, 998, true)], "it stays pending");
    connect(&mut line);
    assert_eq!(acks(&mut line), [(5_000, 999, false), (5_000, 1_000, true)]);
    line.run_until(at_ms(9_000));
    connect(&mut line);
    assert_eq!(acks(&mut line), [], "once");
}

#[test]
fn without_a_pending_acknowledgment_nothing_is_sent_at_the_connection() {
    let mut line = receiver();
    receive(&mut line, 0);
    line.run_until(at_ms(1_000));
    line.take_events();
    disconnect(&mut line);
    connect(&mut line);
    assert_eq!(acks(&mut line), []);
}

#[test]
fn the_end_of_the_stream_is_not_delayed() {
    let mut line = receiver();
    let fin = TcpFlags::ACK.with(TcpFlags::FIN);
    receive(&mut line, 0);
    let last = TcpSegment { flags: fin, ..data(&line, 1) };
    line.receive(last);
    assert_eq!(acks(&mut line), [(0, 998, true), (0, 2_001, true)]);
    line.run_until(at_ms(1_000));
    assert_eq!(acks(&mut line), []);
}

#[test]
fn data_carries_delayed_acknowledgments() {
    let mut line = receiver();
    receive(&mut line, 0);
    line.write(100);
    line.run_until(at_ms(400));
    assert_eq!(acks(&mut line), [(0, 998, true), (0, 998, true), (200, 1_000, true)]);
}

/// Acknowledgments to the peer never decrease, and exceed nothing that has arrived.
#[test]
fn acknowledgments_are_in_order() {
    for seed in 0..60 {
        let mut random = driftway_base::RandomStream::new(seed, "held acknowledgment", 0);
        let mut line = receiver();
        let (mut next, mut last) = (0, 0);
        for _ in 0..200 {
            match random.uniform_below(8) {
                0 => disconnect(&mut line),
                1 => connect(&mut line),
                2 => line.write(50),
                3 => receive(&mut line, next + 1),
                4 => receive(&mut line, next.saturating_sub(1)),
                5 => line.advance(random_duration(&mut random, 0, 400)),
                _ => receive(&mut line, next),
            }
            next = line.tcp.rcv_nxt().since(Seq(7_000)) / 1_000;
            for (_, ack, _) in acks(&mut line) {
                assert!(ack >= last && ack <= 1_000 * next, "seed {seed}: {last} {ack} {next}");
                last = ack;
            }
        }
        connect(&mut line);
        line.advance(ms(500));
        let acknowledged = acks(&mut line).last().map_or(last, |(_, ack, _)| *ack);
        assert_eq!(
            acknowledged,
            1_000 * next,
            "seed {seed}: everything is acknowledged in the end"
        );
    }
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = MobileHostOptions {
            // With the listing's, each segment of a lost window can take two timeouts.
            resend: Resend::FirstUnacknowledged,
            ssthresh: if random_flag(random) {
                SsthreshAfterTimeout::Cwnd
            } else {
                SsthreshAfterTimeout::Max
            },
            ack_delay: random_duration(random, 1, 500),
            probe_min: random_duration(random, 100, 1_000),
            probe_max: random_duration(random, 1_000, 10_000),
        };
        let longest = options.probe_max.times(2) + TCP_MAX_RTO;
        (MobileHost::new(options), longest)
    });
}

#[test]
fn states_follow_the_listing() {
    kit::assert_transitions::<State>(
        &[
            (State::Connected, Transition::DisconnectedIdle, State::Idle),
            (State::Connected, Transition::DisconnectedSending, State::Sending),
            (State::Connected, Transition::DisconnectedWaiting, State::Waiting),
            (State::Idle, Transition::Connection, State::Connected),
            (State::Sending, Transition::Connection, State::Connected),
            (State::Waiting, Transition::Connection, State::Connected),
        ],
        &[Transition::Unsupported, Transition::Closed],
    );
}

#[test]
fn the_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("mobile_host");
}

/// Segments that were on their way to a foreign kernel when its link failed.
#[test]
fn arrivals_right_after_the_disconnection_change_nothing() {
    let mut line = sent_at_start(FIRST, 30);
    disconnect(&mut line);
    line.advance(ms(50));
    line.receive_ack(nth(1));
    assert_eq!((line.aid.state, line.tcp.ssthresh()), (State::Waiting, 64_000));
    line.run_until(at_ms(9_000));
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (100, 1_000), "the aid's response");
    let mut line = receiver();
    receive(&mut line, 0);
    disconnect(&mut line);
    receive(&mut line, 2);
    assert_eq!(acks(&mut line), [(0, 998, true), (0, 998, true)], "it stays pending");
    line.run_until(at_ms(5_000));
    connect(&mut line);
    assert_eq!(acks(&mut line), [(5_000, 999, false), (5_000, 1_000, true)]);
}

#[test]
fn an_update_of_the_window_is_no_arrival() {
    let mut line = receiver();
    receive(&mut line, 0);
    let update = TcpSegment { window: 10_000, ..line.pure_ack() };
    line.send(update);
    line.run_until(at_ms(1_000));
    assert_eq!(acks(&mut line), [(0, 998, true), (0, 998, true), (200, 1_000, true)]);
}
