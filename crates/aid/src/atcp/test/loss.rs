//! Normal → loss → normal: liu-singh-2001 §III-A "Lossy Channel", §IV, Figs. 4, 5 and 7.

use driftway_base::Known;

use super::*;

#[test]
fn the_third_duplicate_is_dropped_and_the_first_segment_retransmitted() {
    let mut line = ten_sent(options());
    let duplicate = line.peer_ack(nth(0));
    line.receive(duplicate);
    line.receive(duplicate);
    assert_eq!(line.take_events(), [Event::Delivered(duplicate), Event::Delivered(duplicate)]);
    line.receive(duplicate);
    let record = line.take_events();
    assert_eq!(record[0], Event::Entered("loss"));
    assert_eq!(record[1], Event::Requested(hold_in_loss(), ActResult::Done));
    assert_eq!(record[2], Event::Requested(resend(nth(0), nth(1)), ActResult::Done));
    assert!(matches!(record[3], Event::Resent { segment, ahead_of_queue: true }
        if segment.seq == nth(0) && segment.payload == Payload::new(0, 0, 100)));
    assert_eq!(record[4..], [Event::Dropped(duplicate)]);
    assert!(line.tcp.is_persisting());
    assert_eq!((line.tcp.cwnd(), line.tcp.deadline()), (1_000, None));
}

#[test]
fn duplicates_are_those_of_rfc_5681() {
    type Other = fn(TcpSegment) -> TcpSegment;
    let not_duplicates: [(&str, Other); 6] = [
        ("data", |ack| TcpSegment { payload: Payload::new(1, 0, 10), ..ack }),
        ("FIN", |ack| TcpSegment { flags: ack.flags.with(TcpFlags::FIN), ..ack }),
        ("SYN", |ack| TcpSegment { flags: ack.flags.with(TcpFlags::SYN), ..ack }),
        ("old", |ack| TcpSegment { ack: ack.ack - 100, ..ack }),
        ("of unsent data", |ack| TcpSegment { ack: ack.ack + 5_000, ..ack }),
        ("no ACK", |ack| TcpSegment { flags: TcpFlags::PSH, window: 1, ..ack }),
    ];
    for (what, other) in not_duplicates {
        let mut line = ten_sent(options());
        line.duplicates(2);
        let other = other(line.peer_ack(nth(0)));
        for _ in 0..5 {
            line.receive(other);
        }
        assert_eq!(line.aid.state, State::Normal, "{what}");
        // Nor do they reset the count.
        line.duplicates(1);
        assert_eq!(line.aid.state, State::Loss, "{what}");
    }
}

#[test]
fn a_window_update_is_not_a_duplicate() {
    let mut line = ten_sent(options());
    for window in [900, 901, 902, 903, 904] {
        line.receive(TcpSegment { window, ..line.peer_ack(nth(0)) });
    }
    // The first one has no previous window to compare with.
    assert_eq!(
        (line.aid.state, line.aid.protocol.duplicates.count_for(nth(0))),
        (State::Normal, 1)
    );
}

#[test]
fn with_nothing_outstanding_there_are_no_duplicates() {
    let mut line = ten_sent(options());
    line.receive_ack(nth(10));
    line.duplicates(10);
    assert_eq!(line.aid.state, State::Normal);
    assert!(line.asked().is_empty());
}

#[test]
fn duplicates_of_another_number_restart_the_count() {
    let mut line = ten_sent(options());
    line.duplicates(2);
    line.receive_ack(nth(1));
    line.duplicates(2);
    assert_eq!(line.aid.state, State::Normal);
    line.duplicates(1);
    assert_eq!(line.aid.state, State::Loss);
}

#[test]
fn a_tcp_in_persist_mode_by_itself_is_not_held() {
    let mut line = ten_sent(options());
    line.write(1_000);
    let closed = TcpSegment { window: 0, ..line.peer_ack(nth(5)) };
    line.receive(closed);
    line.advance(Duration::from_secs(30));
    for _ in 0..10 {
        line.receive(closed);
    }
    assert_eq!(line.aid.state, State::Normal);
    assert!(line.asked().is_empty());
}

#[test]
fn a_new_ack_resumes_tcp_before_it_is_delivered() {
    let mut line = in_loss(options());
    line.write(100);
    assert!(line.sent().is_empty(), "held");
    let new = line.peer_ack(nth(10));
    line.receive(new);
    let record = line.take_events();
    assert_eq!(record[0], Event::Entered("normal"));
    assert_eq!(record[1], Event::Requested(resume(Assign::Keep), ActResult::Done));
    // A full window was outstanding, so TCP could not send before it received the segment.
    assert_eq!(record[2], Event::Delivered(new));
    assert!(matches!(record[3], Event::Sent(segment) if segment.seq == nth(10)));
    assert_eq!(line.tcp.cwnd(), 1_100);
}

#[test]
fn full_and_partial_acks_end_the_loss_state() {
    for ack in [nth(0) + 1, nth(1), nth(7), nth(10)] {
        let mut line = in_loss(options());
        line.receive_ack(ack);
        assert_eq!((line.aid.state, line.tcp.una()), (State::Normal, ack));
    }
}

#[test]
fn an_ack_of_unsent_data_does_not_end_the_loss_state() {
    let mut line = in_loss(options());
    let beyond = line.peer_ack(nth(10) + 1);
    line.receive(beyond);
    // RFC 9293 §3.10.7.4: TCP responds with an acknowledgment.
    assert_eq!(line.take_events(), [Event::Delivered(beyond), Event::Sent(line.pure_ack())]);
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Loss, true));
}

#[test]
fn with_nothing_outstanding_no_timeout_is_imminent() {
    let mut line = ten_sent(options());
    line.receive_ack(nth(10));
    // Not even with a running timer.
    let retransmission_deadline = Known::Exact(Some(at_ms(600)));
    let view = TcpView { retransmission_deadline, ..line.tcp.view() };
    line.aid.on_timeout(at_ms(500), &view);
    assert_eq!(line.aid.state, State::Normal);
}

#[test]
fn the_larger_window_is_restored() {
    for (meanwhile, set) in
        [(400, Assign::Value(1_000)), (1_000, Assign::Keep), (3_000, Assign::Keep)]
    {
        let mut line = in_loss(options());
        line.tcp.set_cwnd(meanwhile);
        line.receive_ack(nth(4));
        assert_eq!(line.asked(), [resume(set)]);
        assert_eq!(line.tcp.cwnd(), meanwhile.max(1_000) + 100);
    }
}

#[test]
fn further_duplicates_are_dropped() {
    let mut line = in_loss(options());
    let duplicate = line.peer_ack(nth(0));
    line.duplicates(6);
    assert_eq!(line.take_events(), [Event::Dropped(duplicate); 6]);
    line.receive_ack(nth(1));
    line.duplicates(2);
    assert_eq!(line.aid.state, State::Normal);
    assert!(line.responses().is_empty());
}

#[test]
fn with_third_only_further_duplicates_pass_uncounted() {
    let mut line = in_loss(AtcpOptions { duplicates: WithheldDuplicates::Third, ..options() });
    let duplicate = line.peer_ack(nth(0));
    line.duplicates(6);
    assert_eq!(line.take_events(), [Event::Delivered(duplicate); 6]);
    line.receive_ack(nth(1));
    line.duplicates(2);
    assert_eq!(line.aid.state, State::Normal);
    assert!(line.responses().is_empty());
}

/// TCP's response to the acknowledgment that ends the loss state precedes the restored window.
#[test]
fn the_window_may_be_restored_after_the_acknowledgment() {
    let mut line = in_loss(AtcpOptions { restore: CwndRestoreTime::After, ..options() });
    line.tcp.set_cwnd(400);
    line.receive_ack(nth(4));
    assert_eq!(line.asked(), [resume(Assign::Keep), resume(Assign::Value(1_000))]);
    assert_eq!(line.tcp.cwnd(), 1_000);
    // Only once.
    line.tcp.set_cwnd(400);
    line.receive_ack(nth(5));
    assert!(line.asked().is_empty());
}

#[test]
fn tcp_responds_to_loss_only_without_atcp() {
    let mut line = ten_sent(options());
    line.duplicates(9);
    line.advance(Duration::from_secs(20));
    assert!(line.responses().is_empty());
    // The same without ATCP: RFC 5681 §3.2, RFC 6298 §5.
    let mut line = ten_sent(options());
    line.refuses = |_| true;
    line.duplicates(9);
    line.advance(Duration::from_secs(20));
    assert_eq!(line.responses()[..2], [Response::FastRetransmit, Response::Timeout]);
}

#[test]
fn a_timeout_before_the_next_tick_is_imminent() {
    // A check at 1.0 s; the next is at 1.5 s, when ATCP precedes TCP.
    for (deadline, imminent) in [(1_000, true), (1_001, true), (1_499, true), (1_500, false)] {
        let mut line = ScriptedDriver::new(Atcp::new(options()));
        line.run_until(at_ms(deadline - 1_000));
        line.write(1_000);
        assert_eq!(line.tcp.deadline(), Some(at_ms(deadline)));
        line.run_until(at_ms(999));
        assert_eq!(line.aid.state == State::Loss, deadline < 1_000, "{deadline}");
        line.run_until(at_ms(1_000));
        assert_eq!(line.aid.state == State::Loss, imminent, "{deadline}");
        line.run_until(at_ms(1_500));
        assert_eq!(line.asked(), [hold_in_loss(), resend(nth(0), nth(1))]);
        assert!(line.responses().is_empty());
    }
}

#[test]
fn ticks_start_at_the_phase() {
    let options = AtcpOptions { tick: ms(200), tick_phase: ms(150), ..options() };
    let mut line = ten_sent(options);
    let mut looks = Vec::new();
    while let Some(look) = line.aid.next_timeout().filter(|at| *at < at_ms(900)) {
        looks.push(look.as_millis());
        line.run_until(look);
    }
    // TCP's deadline is 1.1 s.
    assert_eq!(looks, [150, 350, 550, 750]);
    line.run_until(at_ms(949));
    assert_eq!(line.aid.state, State::Normal);
    line.run_until(at_ms(950));
    assert_eq!(line.aid.state, State::Loss);
}

#[test]
fn an_idle_connection_has_no_ticks() {
    let mut line = ten_sent(options());
    line.receive_ack(nth(10));
    line.run_until(at_ms(500));
    assert_eq!(line.aid.next_timeout(), None);
    line.write(100);
    assert_eq!(line.aid.next_timeout(), Some(at_ms(1_000)));
}

#[test]
fn the_retransmission_timeout_doubles_up_to_64_s() {
    let mut line = in_loss(options());
    line.run_until(Instant::from_secs(260));
    // 0.1 s + RTO = 1.1 s, rounded down to a tick, as a count of ticks is; then 2, 4, … 64 s, and 64 s again.
    let seconds: Vec<_> = line.resent().iter().map(|(at, ..)| at.as_millis() / 1_000).collect();
    assert_eq!(seconds, [1, 3, 7, 15, 31, 63, 127, 191, 255]);
    assert!(line.resent().iter().all(|(_, seq, len)| (*seq, *len) == (nth(0), 100)));
    assert!(line.sent().is_empty() && line.responses().is_empty());
}

#[test]
fn without_backoff_the_retransmission_timeout_is_constant() {
    let mut line = in_loss(AtcpOptions { backoff: false, ..options() });
    line.run_until(Instant::from_secs(6));
    let at: Vec<_> = line.resent().iter().map(|(at, ..)| at.as_millis()).collect();
    assert_eq!(at, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]);
}

#[test]
fn an_imminent_timeout_counts_for_the_backoff() {
    let seconds = |backoff| {
        let mut line = ten_sent(AtcpOptions { backoff, ..options() });
        line.run_until(Instant::from_secs(8));
        line.resent().iter().map(|(at, ..)| at.as_millis() / 1_000).collect::<Vec<_>>()
    };
    assert_eq!(seconds(true), [1, 3, 7]);
    assert_eq!(seconds(false), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn new_data_ends_loss_only_with_ack_or_data() {
    let mut line = in_loss(options());
    line.data_from_peer(50);
    assert_eq!(line.aid.state, State::Loss);
    assert!(
        matches!(line.take_events()[..], [Event::Delivered(_), Event::Sent(ack)]
        if ack.sequence_len() == 0),
        "TCP acknowledges while it is held"
    );

    let mut line = in_loss(AtcpOptions { leave_loss: LossExit::AckOrData, ..options() });
    let new = TcpSegment { payload: Payload::new(1, 0, 50), ..line.peer_ack(nth(0)) };
    line.receive(TcpSegment { seq: new.seq - 50, ..new });
    assert_eq!(line.aid.state, State::Loss, "no new data");
    line.take_events();
    line.receive(new);
    assert_eq!(line.asked(), [resume(Assign::Keep)]);
    // TCP has counted two duplicates; the next would be its third.
    line.duplicates(1);
    assert_eq!(line.aid.state, State::Loss);
}

#[test]
fn with_all_everything_within_asnd_cwnd_is_retransmitted() {
    let all = AtcpOptions { resend: LossRetransmission::All, ..options() };
    let mut line = in_loss(all);
    line.run_until(at_ms(1_000));
    let numbers: Vec<_> = line.resent().iter().map(|(_, seq, len)| (*seq, *len)).collect();
    assert_eq!(numbers, (0..10).map(|n| (nth(n), 100)).collect::<Vec<_>>());

    for (cwnd, end) in [(250, nth(2) + 50), (0, nth(1)), (5_000, nth(10))] {
        let mut line = ten_sent(all);
        line.tcp.set_cwnd(cwnd);
        line.duplicates(3);
        assert_eq!(line.asked()[1], resend(nth(0), end));
    }
}

#[test]
fn with_behind_retransmissions_are_queued_last() {
    let mut line = ten_sent(AtcpOptions { retransmission: QueuePosition::Behind, ..options() });
    line.duplicates(3);
    assert!(
        line.take_events()
            .iter()
            .any(|event| matches!(event, Event::Resent { ahead_of_queue: false, .. }))
    );
}

#[test]
fn a_fin_is_retransmitted_like_data() {
    let mut line = ten_sent(options());
    line.receive_ack(nth(10));
    line.close();
    line.take_events();
    line.run_until(Instant::from_secs(2));
    assert_eq!(line.asked()[..2], [hold_in_loss(), resend(nth(10), nth(10) + 1)]);
    line.receive_ack(nth(10) + 1);
    assert_eq!((line.aid.state, line.tcp.outstanding().len()), (State::Normal, 0));

    // In one segment with the last data.
    let mut line = ScriptedDriver::new(Atcp::new(options()));
    line.write_last(30);
    line.run_until(Instant::from_secs(1));
    assert!(line.record.iter().any(|(_, event)| matches!(event, Event::Resent { segment, .. }
        if segment.flags.contains(TcpFlags::FIN) && segment.sequence_len() == 31)));
}

#[test]
fn numbers_wrap() {
    let mut line = ScriptedDriver::from(Seq(u32::MAX - 49), Atcp::new(options()));
    line.write(1_000);
    line.duplicates(3);
    assert_eq!(line.asked()[1], resend(Seq(u32::MAX - 49), Seq(50)));
    line.receive_ack(Seq(950));
    assert_eq!((line.aid.state, line.tcp.una()), (State::Normal, Seq(950)));
}

#[test]
fn probes_are_discarded_where_the_driver_cannot_suppress_them() {
    let mut line = in_loss(options());
    let pure_ack = line.pure_ack();
    let of = |seq, len| TcpSegment { seq, payload: Payload::new(0, 0, len), ..pure_ack };
    let (bsd, linux, data) = (of(nth(0), 1), of(nth(0) - 1, 0), of(nth(0), 2));
    let reset = TcpSegment { flags: TcpFlags::RST, ..linux };
    for segment in [bsd, linux, data, pure_ack, reset] {
        line.send(segment);
    }
    let swallowed = [Event::DroppedOutgoing(bsd), Event::DroppedOutgoing(linux)];
    let sent = [Event::Sent(data), Event::Sent(pure_ack), Event::Sent(reset)];
    assert_eq!(line.take_events(), [&swallowed[..], &sent[..]].concat());
}

#[test]
fn loss_ends_if_all_was_acknowledged_unseen() {
    let mut line = in_loss(options());
    let all = line.peer_ack(nth(10));
    line.tcp.on_segment(line.now(), &all);
    line.run_until(Instant::from_secs(1));
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Normal, false));
}

#[test]
fn resets_pass_and_end_the_loss_state() {
    let mut line = in_loss(options());
    let reset = TcpSegment { flags: TcpFlags::RST.with(TcpFlags::ACK), ..line.peer_ack(nth(10)) };
    line.receive(reset);
    assert_eq!(line.take_events(), [Event::Delivered(reset)]);
    line.advance(Duration::from_secs(100));
    assert_eq!((line.aid.state, line.aid.next_timeout()), (State::Normal, None));
    line.unreachable();
    line.duplicates(5);
    assert!(line.asked().is_empty());

    let mut line = in_loss(options());
    let reset = TcpSegment { flags: TcpFlags::RST, ..line.pure_ack() };
    line.send(reset);
    assert_eq!(line.take_events(), [Event::Sent(reset)]);
}

#[test]
fn before_the_connection_is_synchronized_nothing_happens() {
    let mut line = ScriptedDriver::opening(Atcp::new(options()));
    line.duplicates(5);
    line.unreachable();
    line.receive(marked(line.peer_ack(nth(0))));
    line.advance(Duration::from_secs(10));
    assert_eq!(line.aid.state, State::Normal);
    assert!(line.asked().is_empty());
}

#[test]
fn without_the_acts_tcp_runs_unassisted() {
    let mut line = ten_sent(options());
    line.refuses = |act| matches!(act, Act::Hold { .. });
    line.duplicates(3);
    assert_eq!(line.aid.state, State::Normal);
    line.duplicates(1);
    assert_eq!(line.responses(), [Response::FastRetransmit]);
    assert!(line.resent().is_empty(), "left to TCP");

    let mut line = ten_sent(options());
    line.refuses = |act| matches!(act, Act::Resend { .. });
    line.duplicates(3);
    assert!(!line.tcp.is_persisting());
    // The short hold reset TCP's count of two, and the third was dropped.
    line.duplicates(3);
    assert_eq!(line.responses(), [Response::FastRetransmit]);
    line.unreachable();
    assert_eq!(line.aid.state, State::Normal);
}

#[test]
fn without_a_second_hold_tcp_is_resumed() {
    let mut line = in_loss(options());
    line.refuses = |act| matches!(act, Act::Hold { .. });
    line.unreachable();
    assert_eq!((line.aid.state, line.tcp.is_persisting()), (State::Normal, false));
}
