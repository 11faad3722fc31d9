//! Tests of partial ATCP: westin-2003 §3.2.1, §4.1.2, §4.3 and §4.8, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Instant, Seq, SignalDetails, UnreachableScope};

use super::*;
use crate::kit::{self, States};
use crate::liveness::{self, TCP_MAX_RTO, random_flag};
use crate::scripted::{Event, Response, ScriptedDriver, Tcp};

type Line = ScriptedDriver<Machine<AtcpPartial>>;

fn nth(n: u32) -> Seq {
    Tcp::START + 100 * n
}

/// Ten segments of 100 bytes are sent, and more data waits.
fn ten_sent(options: AtcpPartialOptions) -> Line {
    let mut line = ScriptedDriver::new(AtcpPartial::new(options));
    line.write(5_000);
    assert_eq!(sent(&mut line), (0..10).map(nth).collect::<Vec<_>>());
    line
}

/// The segments sent since the last call.
fn sent(line: &mut Line) -> Vec<Seq> {
    let sent = line.take_events().into_iter().filter_map(|event| match event {
        Event::Sent(segment) | Event::Resent { segment, .. } => Some(segment.seq),
        _ => None,
    });
    sent.collect()
}

fn responses(line: &Line) -> Vec<Response> {
    let responses = line.record.iter().filter_map(|(_, event)| match event {
        Event::Responded(response) => Some(*response),
        _ => None,
    });
    responses.collect()
}

fn unreachable(line: &mut Line) {
    let kind = SignalKind::Unreachable(UnreachableScope::Host);
    line.signal(Signal {
        kind,
        details: SignalDetails { seq: Some(line.tcp.una()), ..SignalDetails::default() },
    });
}

fn duplicates(line: &mut Line, copies: u32) {
    for _ in 0..copies {
        line.receive_ack(line.tcp.una());
    }
}

#[test]
fn tcp_responds_to_duplicates_and_the_window_is_restored() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    line.receive_ack(nth(1));
    let (cwnd, una) = (line.tcp.cwnd(), line.tcp.una());
    assert_eq!(cwnd, 1_100);
    line.take_events();
    duplicates(&mut line, 3);
    assert_eq!((line.aid.state(), responses(&line)), ("loss", [Response::FastRetransmit].to_vec()));
    assert_eq!(sent(&mut line), [una], "once");
    duplicates(&mut line, 6);
    assert_eq!(sent(&mut line), [], "persist mode: fast recovery sends nothing");
    line.receive_ack(nth(12));
    assert_eq!(line.aid.state(), "normal");
    assert_eq!(line.tcp.cwnd(), cwnd);
    assert!(line.tcp.ssthresh() < cwnd, "reduced by TCP");
    assert_eq!(sent(&mut line).len(), 11, "at the previous rate");
}

#[test]
fn persist_mode_sends_a_segment_per_timeout() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    duplicates(&mut line, 3);
    line.take_events();
    line.run_until(Instant::from_secs(8));
    let times: Vec<_> = line.record.iter().map(|(at, event)| (at.as_millis(), *event)).collect();
    let at = |n: usize, millis, len| matches!(times[n], (at, Event::Sent(s)) if (at, s.seq, s.payload.len) == (millis, nth(0), len));
    assert!(
        times.len() == 3 && at(0, 1_000, 100) && at(1, 3_000, 100) && at(2, 7_000, 100),
        "{times:?}"
    );
    assert_eq!(line.aid.state(), "loss");
}

#[test]
fn a_timeout_is_left_to_tcp() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    line.run_until(Instant::from_secs(1));
    assert_eq!((line.aid.state(), responses(&line)), ("loss", [Response::Timeout].to_vec()));
    assert_eq!((sent(&mut line), line.tcp.cwnd()), ([nth(0)].to_vec(), 100));
    line.receive_ack(nth(1));
    assert_eq!((line.aid.state(), line.tcp.cwnd()), ("normal", 200));
    // As without the aid.
    assert!(line.record.iter().all(|(_, event)| !matches!(event, Event::Requested(..))));
}

#[test]
fn a_congestion_mark_prevents_the_loss_state() {
    for (ecn, state) in [(EcnResponse::Normal, "normal"), (EcnResponse::Congested, "congested")] {
        let options = AtcpPartialOptions { ecn, ..AtcpPartialOptions::default() };
        let mut line = ten_sent(options);
        let marked = |line: &Line| {
            let ack = line.peer_ack(line.tcp.una());
            TcpSegment { flags: ack.flags.with(TcpFlags::ECE), ..ack }
        };
        for _ in 0..3 {
            let ack = marked(&line);
            line.receive(ack);
        }
        assert_eq!(line.aid.state(), state);
        let mut line = ten_sent(options);
        duplicates(&mut line, 3);
        let ack = marked(&line);
        line.receive(ack);
        assert_eq!(line.aid.state(), state, "leaves the loss state");
        assert!(!line.tcp.is_persisting());
        line.receive_ack(nth(10));
        assert_eq!(line.aid.state(), "normal", "new data was sent");
        assert!(line.tcp.cwnd() < 1_000, "not restored");
    }
}

/// §4.8.1: SND.NXT is set back, a probe is sent per timeout, and any arrival ends the state.
#[test]
fn disconnected_rewinds_and_ends_with_any_arrival() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    line.receive_ack(nth(1));
    line.take_events();
    unreachable(&mut line);
    assert_eq!((line.aid.state(), line.tcp.cwnd()), ("disconnected", 100));
    assert_eq!((line.tcp.nxt(), sent(&mut line)), (nth(1), [].to_vec()));
    unreachable(&mut line);
    assert_eq!(line.take_events(), [], "a second one changes nothing");
    duplicates(&mut line, 1);
    assert_eq!((line.aid.state(), line.tcp.cwnd()), ("normal", 100));
    assert_eq!(sent(&mut line), [nth(1)], "from SND.UNA");
    line.receive_ack(nth(2));
    assert_eq!(sent(&mut line), [nth(2), nth(3)], "slow start");
}

/// §4.8.3: TCP pauses and continues at the same sequence number.
#[test]
fn without_step_back_tcp_continues_at_snd_nxt() {
    let options = AtcpPartialOptions { step_back: false, ..AtcpPartialOptions::default() };
    let mut line = ten_sent(options);
    unreachable(&mut line);
    assert_eq!(line.tcp.nxt(), nth(10));
    for n in 1..10 {
        line.receive_ack(nth(n));
    }
    assert_eq!((line.aid.state(), line.tcp.cwnd()), ("normal", 1_000));
    let sent = sent(&mut line);
    assert!(sent.iter().all(|seq| !seq.before(nth(10))) && !sent.is_empty(), "{sent:?}");
}

/// §4.8.3, over AODV.
#[test]
fn a_segment_is_retransmitted_at_once_if_enabled() {
    let options = AtcpPartialOptions { retransmit: true, ..AtcpPartialOptions::default() };
    let mut line = ten_sent(options);
    unreachable(&mut line);
    assert_eq!(sent(&mut line), [nth(0)]);
    line.receive_ack(nth(1));
    assert_eq!(line.aid.state(), "normal");
    assert_eq!(sent(&mut line), [nth(1), nth(2)]);
}

#[test]
fn an_answered_probe_ends_the_disconnected_state() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    unreachable(&mut line);
    line.run_until(Instant::from_secs(1));
    assert_eq!(sent(&mut line), [nth(0)]);
    line.receive_ack(nth(1));
    assert_eq!((line.aid.state(), line.tcp.is_persisting()), ("normal", false));
}

#[test]
fn without_hold_tcp_runs_unassisted() {
    let mut line = ten_sent(AtcpPartialOptions::default());
    line.refuses = |act| matches!(act, Act::Hold { .. });
    unreachable(&mut line);
    assert_eq!(line.aid.state(), "normal");
    line.take_events();
    duplicates(&mut line, 3);
    assert_eq!(responses(&line), [Response::FastRetransmit]);
    assert!(line.record.iter().all(|(_, event)| !matches!(event, Event::Requested(..))));
}

#[test]
fn transitions_are_those_of_the_thesis() {
    use State::*;
    use Transition::*;
    kit::assert_transitions::<State>(
        &[
            (Normal, ThirdDuplicate, Loss),
            (Normal, Timeout, Loss),
            (Loss, NewAck, Normal),
            (Normal, CongestionEcho, Congested),
            (Loss, CongestionEcho, Congested),
            (Loss, EchoToNormal, Normal),
            (Congested, TcpSends, Normal),
            (Normal, Unreachable, Disconnected),
            (Congested, Unreachable, Disconnected),
            (Loss, Unreachable, Disconnected),
            (Disconnected, PacketArrival, Normal),
        ],
        &[Unsupported, State::CLOSED],
    );
}

#[test]
fn the_committed_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("atcp_partial");
}

#[test]
fn every_state_recovers() {
    liveness::check_recovery(|random| {
        let ecn = if random_flag(random) { EcnResponse::Normal } else { EcnResponse::Congested };
        let options = AtcpPartialOptions {
            ecn,
            step_back: random_flag(random),
            retransmit: random_flag(random),
        };
        (AtcpPartial::new(options), MAX_PROBE_INTERVAL.max(TCP_MAX_RTO))
    });
}
