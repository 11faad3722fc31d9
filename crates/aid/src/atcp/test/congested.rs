//! The congested state: liu-singh-2001 §III-A "Congested" and "Other Transitions".

use std::vec;

use super::*;

/// Ten segments were sent, and congestion was echoed; the window allows no new segment.
fn congested(options: AtcpOptions) -> Line {
    let mut line = ten_sent(options);
    line.receive(marked(line.peer_ack(nth(1))));
    assert_eq!(line.aid.state, State::Congested);
    line
}

#[test]
fn an_echo_passes_and_tcp_responds() {
    let line = congested(options());
    assert_eq!(line.responses(), [Response::CongestionEcho]);
    assert!(!line.tcp.is_persisting());
}

#[test]
fn all_segments_pass() {
    let mut line = congested(options());
    line.take_events();
    let duplicate = line.peer_ack(nth(1));
    line.receive(duplicate);
    line.receive(duplicate);
    assert_eq!(line.take_events(), [Event::Delivered(duplicate); 2]);
    line.receive(duplicate);
    let record = line.take_events();
    assert_eq!(record[0], Event::Delivered(duplicate));
    assert_eq!(record[1], Event::Responded(Response::FastRetransmit));

    let mut line = congested(options());
    line.run_until(Instant::from_secs(2));
    assert!(line.responses().contains(&Response::Timeout));
    assert!(line.asked().is_empty());
}

#[test]
fn any_outgoing_segment_ends_the_state() {
    let mut line = congested(options());
    line.data_from_peer(10);
    assert_eq!(line.aid.state, State::Normal, "the data was acknowledged");
}

#[test]
fn with_new_data_only_new_data_ends_the_state() {
    let mut line = congested(AtcpOptions { congested_until: CongestedExit::NewData, ..options() });
    line.data_from_peer(10);
    line.duplicates(3);
    assert_eq!(line.responses().last(), Some(&Response::FastRetransmit));
    line.run_until(Instant::from_secs(3));
    assert_eq!(line.responses().last(), Some(&Response::Timeout));
    assert_eq!(line.aid.state, State::Congested);
    line.write(100);
    line.receive_ack(nth(10));
    assert_eq!(line.aid.state, State::Normal);
}

#[test]
fn duplicates_in_the_congested_state_are_counted() {
    // Two duplicates in the congested state, then TCP sends a segment; the next duplicate is TCP's third.
    let mut line = congested(options());
    line.duplicates(2);
    line.data_from_peer(10);
    assert_eq!(line.aid.state, State::Normal);
    line.duplicates(1);
    assert_eq!(line.aid.state, State::Loss);
    assert_eq!(line.responses(), [Response::CongestionEcho]);

    // Three duplicates: TCP has performed a fast retransmit, and the fourth is ignored.
    let mut line = congested(options());
    line.duplicates(3);
    assert_eq!(line.aid.state, State::Normal, "the retransmission was sent");
    line.duplicates(4);
    assert_eq!(line.aid.state, State::Normal);
}

#[test]
fn an_echo_in_loss_ends_persist_mode() {
    let mut line = in_loss(options());
    let echo = marked(line.peer_ack(nth(1)));
    line.receive(echo);
    assert_eq!(
        line.take_events(),
        [
            Event::Entered("congested"),
            Event::Requested(resume(Assign::Keep), ActResult::Done),
            Event::Delivered(echo),
            Event::Responded(Response::CongestionEcho),
        ]
    );
    // RFC 3168 §6.1.2: half of the ten segments outstanding at the echo; the acknowledgment itself does not
    // increase the window.
    assert_eq!(line.tcp.cwnd(), 500, "not restored");
}

#[test]
fn a_marked_duplicate_in_loss_is_left_to_tcp_too() {
    let mut line = in_loss(options());
    line.receive(marked(line.peer_ack(nth(0))));
    assert_eq!(line.responses(), [Response::CongestionEcho]);
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Congested, false));
    // The hold reset TCP's count, so that the next two duplicates make three.
    line.duplicates(2);
    assert_eq!(line.responses(), [Response::CongestionEcho, Response::FastRetransmit]);
    assert_eq!(line.aid.state, State::Normal, "the retransmission was sent");
}

#[test]
fn an_echo_may_be_a_signal() {
    for mut line in [ten_sent(options()), in_loss(options())] {
        line.signal(Signal::new(SignalKind::EcnEcho));
        assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Congested, false));
    }
}

#[test]
fn a_source_quench_counts_in_loss_only() {
    let mut line = in_loss(options());
    line.signal(Signal::new(SignalKind::SourceQuench));
    assert_eq!(line.aid.state, State::Congested);
    assert_eq!(line.asked(), [resume(Assign::Keep)]);

    for (mut line, state) in
        [(ten_sent(options()), State::Normal), (disconnected(options()), State::Disconnected)]
    {
        line.signal(Signal::new(SignalKind::SourceQuench));
        assert_eq!(line.aid.state, state);
        assert!(line.asked().is_empty());
    }
}

#[test]
fn ecn_negotiation_is_not_an_echo() {
    let mut line = ten_sent(options());
    let syn = TcpFlags::SYN.with(TcpFlags::ACK).with(TcpFlags::ECE);
    for flags in [syn, syn.with(TcpFlags::CWR)] {
        let segment = TcpSegment { flags, ..line.peer_ack(nth(0)) };
        line.receive(segment);
        assert_eq!(line.aid.state, State::Normal);
    }
}

/// An acknowledgment ends the loss state and echoes a mark: remaining window of the ten segments.
#[test]
fn an_echo_that_ends_loss_in_each_order() {
    for (echo, restore, asked, cwnd) in [
        // TCP halves its present window in each order.
        (EchoOrder::First, CwndRestoreTime::Before, vec![resume(Assign::Keep)], 500),
        (EchoOrder::AfterAck, CwndRestoreTime::Before, vec![resume(Assign::Keep)], 500),
        (EchoOrder::First, CwndRestoreTime::After, vec![resume(Assign::Keep)], 500),
        // Restoring the window afterwards undoes that.
        (
            EchoOrder::AfterAck,
            CwndRestoreTime::After,
            vec![resume(Assign::Keep), resume(Assign::Value(1_000))],
            1_000,
        ),
    ] {
        let mut line = in_loss(AtcpOptions { echo, restore, ..options() });
        line.receive(marked(line.peer_ack(nth(4))));
        assert_eq!((line.asked(), line.tcp.cwnd()), (asked, cwnd), "{echo:?} {restore:?}");
        assert_eq!(line.aid.state, State::Congested);
    }
    // A duplicate is not a new acknowledgment: its echo ends the loss state in each order.
    let mut line = in_loss(AtcpOptions { echo: EchoOrder::AfterAck, ..options() });
    line.receive(marked(line.peer_ack(nth(0))));
    assert_eq!((line.aid.state, line.asked()), (State::Congested, vec![resume(Assign::Keep)]));
}
