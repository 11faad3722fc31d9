//! The disconnected state: liu-singh-2001 §III-A "Disconnected", §IV atcp_notify().

use driftway_base::{Endpoint, FlowKey, Ipv4Addr, Known, SignalDetails};

use super::*;

#[test]
fn unreachable_disconnects_from_every_state() {
    for scope in [UnreachableScope::Net, UnreachableScope::Host] {
        let mut congested = ten_sent(options());
        congested.signal(Signal::new(SignalKind::EcnEcho));
        for mut line in [ten_sent(options()), in_loss(options()), congested] {
            line.signal(Signal::new(SignalKind::Unreachable(scope)));
            assert_eq!(line.aid.state, State::Disconnected);
            assert_eq!(
                line.asked(),
                [hold_in_partition(Duration::from_secs(2), Duration::from_secs(60))]
            );
            assert_eq!((line.tcp.cwnd(), line.tcp.nxt(), line.tcp.deadline()), (100, nth(0), None));
        }
    }
}

#[test]
fn probe_intervals_are_2_4_8_up_to_60_s() {
    let mut line = disconnected(options());
    line.run_until(Instant::from_secs(190));
    let seconds: Vec<_> = line.sent().iter().map(|(at, ..)| at.as_millis() / 1_000).collect();
    assert_eq!(seconds, [2, 6, 14, 30, 62, 122, 182]);
    assert!(line.sent().iter().all(|(_, seq, len)| (*seq, *len) == (nth(0), 1)));
    assert_eq!(line.aid.state, State::Disconnected);
    assert!(line.responses().is_empty() && line.resent().is_empty());
}

#[test]
fn probe_intervals_are_configurable() {
    let (persist_min, persist_max) = (Duration::from_secs(5), Duration::from_secs(10));
    let mut line = ten_sent(AtcpOptions { persist_min, persist_max, ..options() });
    line.unreachable();
    assert_eq!(line.asked(), [hold_in_partition(persist_min, persist_max)]);
    // A maximum interval below the first one is raised to it.
    let mut line = ten_sent(AtcpOptions { persist_max: ms(1), ..options() });
    line.unreachable();
    assert_eq!(line.asked(), [hold_in_partition(ms(2_000), ms(2_000))]);
}

#[test]
fn the_answer_to_a_probe_passes_and_slow_start_follows() {
    let mut line = disconnected(options());
    line.run_until(Instant::from_secs(3));
    line.take_events();
    let answer = line.peer_ack(nth(0));
    line.receive(answer);
    let record = line.take_events();
    assert_eq!(record[0], Event::Delivered(answer));
    assert_eq!(record[1], Event::Entered("normal"));
    assert!(matches!(record[2], Event::Sent(segment) if segment.seq == nth(0)
        && segment.payload.len == 100));
    assert_eq!(record.len(), 3, "one segment, and no act");
    line.receive_ack(nth(1));
    assert_eq!(line.sent().len(), 2, "slow start");
}

#[test]
fn a_probe_with_new_data_is_acknowledged() {
    let mut line = disconnected(options());
    line.run_until(Instant::from_secs(3));
    line.take_events();
    line.receive_ack(nth(0) + 1);
    assert_eq!(line.sent()[0].1, nth(0) + 1);
    assert_eq!(line.aid.state, State::Normal);
}

#[test]
fn segments_allowed_in_persist_mode_do_not_end_the_state() {
    let mut line = disconnected(options());
    let pure_ack = line.pure_ack();
    line.send(pure_ack);
    line.send(TcpSegment { flags: TcpFlags::RST, ..pure_ack });
    assert_eq!(line.aid.state, State::Disconnected);
    // After the peer's data has taken TCP out of persist mode, the acknowledgment of it ends the state.
    let mut line = ScriptedDriver::new(Atcp::new(options()));
    line.unreachable();
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Disconnected, true));
    line.data_from_peer(10);
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Normal, false));
}

#[test]
fn if_persist_mode_is_unknown_only_data_ends_the_state() {
    let mut line = disconnected(options());
    let view = TcpView { is_persisting: Known::Unknown, ..line.tcp.view() };
    for (len, state) in [(0, State::Disconnected), (1, State::Disconnected), (2, State::Normal)] {
        let segment = TcpSegment { payload: Payload::new(0, 0, len), ..line.pure_ack() };
        assert_eq!(line.aid.on_down(line.now(), &segment, &view), SegmentVerdict::Pass);
        assert_eq!(line.aid.state, state);
    }
}

#[test]
fn errors_for_probes_do_not_restart_the_probe_interval() {
    let mut line = disconnected(options());
    for second in [3, 7, 15] {
        line.run_until(Instant::from_secs(second));
        line.unreachable();
    }
    assert!(line.take_events().iter().all(|event| matches!(event, Event::Sent(_))));
}

#[test]
fn a_late_acknowledgment_releases_tcp_until_the_next_signal() {
    let mut line = disconnected(options());
    line.receive_ack(nth(3));
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Normal, false));
    line.take_events();
    line.unreachable();
    assert_eq!(line.asked().len(), 1);
    assert_eq!((line.tcp.cwnd(), line.tcp.is_persisting()), (100, true));

    // The same, but the peer acknowledges everything, and TCP sends no segment that would end the state.
    let mut line = disconnected(options());
    line.receive_ack(nth(10));
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Disconnected, false));
    line.take_events();
    line.unreachable();
    assert_eq!(line.asked().len(), 1);
    assert!(line.tcp.is_persisting());
}

#[test]
fn all_incoming_segments_pass() {
    let mut line = disconnected(options());
    let closed = TcpSegment { window: 0, ..line.peer_ack(nth(0)) };
    for segment in [closed, marked(closed), closed, closed, closed] {
        line.receive(segment);
    }
    assert_eq!(line.aid.state, State::Disconnected);
    let expected = |event: &Event| {
        matches!(event, Event::Delivered(_) | Event::Responded(Response::CongestionEcho))
    };
    assert!(line.take_events().iter().all(expected));
}

#[test]
fn signals_of_other_flows_or_numbers_are_ignored() {
    let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
    let flow = |source, destination| {
        Some(FlowKey { source: end(1, source), destination: end(2, destination) })
    };
    let (ours, theirs) = (Tcp::PORT, Tcp::PEER_PORT);
    let elsewhere = Some(FlowKey { source: end(1, ours), destination: end(3, theirs) });
    let about = SignalDetails::default();
    let cases = [
        (SignalDetails { flow: flow(ours, theirs), seq: Some(nth(0)), ..about }, true),
        (SignalDetails { flow: flow(ours, theirs), ..about }, true),
        (SignalDetails { seq: Some(nth(9) + 99), ..about }, true),
        (SignalDetails { flow: flow(ours, theirs + 1), ..about }, false),
        (SignalDetails { flow: flow(ours + 1, theirs), seq: Some(nth(0)), ..about }, false),
        (SignalDetails { flow: flow(theirs, ours), ..about }, false),
        (SignalDetails { flow: elsewhere, ..about }, false),
        (SignalDetails { seq: Some(nth(0) - 1), ..about }, false),
        (SignalDetails { seq: Some(nth(10)), ..about }, false),
    ];
    for kind in [SignalKind::Unreachable(UnreachableScope::Host), SignalKind::SourceQuench] {
        for (details, taken) in cases {
            let mut line = in_loss(options());
            line.signal(Signal { kind, details });
            assert_eq!(line.aid.state != State::Loss, taken, "{kind:?} {details:?}");
        }
    }
}

#[test]
fn the_segment_size_may_be_unknown() {
    let mut line = ten_sent(options());
    let view = TcpView { mss: Known::Unknown, ..line.tcp.view() };
    let signal = Signal::new(SignalKind::Unreachable(UnreachableScope::Net));
    line.aid.on_signal(line.now(), &signal, &view);
    let act = line.aid.poll_act();
    assert!(matches!(act, Some(Act::Hold { cwnd: Assign::Value(536), .. })));
}

#[test]
fn without_pull_back_snd_nxt_is_unchanged() {
    let mut line = ten_sent(AtcpOptions { pull_back: false, ..options() });
    line.unreachable();
    assert_eq!((line.aid.state, line.tcp.nxt()), (State::Disconnected, nth(10)));
}
