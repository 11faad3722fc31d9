//! Tests of carry, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Endpoint, FlowKey, HeldTimers, Ipv4Addr, SignalDetails, UnreachableScope};

use super::*;
use crate::liveness::{self, random_duration, random_flag};
use crate::scripted::{Event, Response, ScriptedDriver, Tcp};
use crate::{Aid, kit};

type Line = ScriptedDriver<Machine<Carry>>;

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

/// Ten segments were sent at 0; the time is 100 ms.
fn ten_sent_with(options: CarryOptions) -> Line {
    sends_ten(ScriptedDriver::new(Carry::new(options)))
}

fn sends_ten(mut line: Line) -> Line {
    line.write(1_000);
    line.advance(ms(100));
    assert_eq!(sent(&line).len(), 10);
    line.take_events();
    line
}

fn ten_sent() -> Line {
    ten_sent_with(CarryOptions::default())
}

/// A router on the path has marked.
fn ten_sent_where_routers_mark() -> Line {
    let mut line = ten_sent();
    line.aid.protocol.undone_since_echo = Some(0);
    line
}

fn ten_sent_where(ecn: bool) -> Line {
    let carry = Carry::new(CarryOptions::default());
    sends_ten(if ecn { ScriptedDriver::new(carry) } else { ScriptedDriver::without_ecn(carry) })
}

fn gone(line: &mut Line) {
    line.signal(Signal::new(SignalKind::Unreachable(UnreachableScope::Host)));
}

fn back(line: &mut Line) {
    line.signal(Signal::new(SignalKind::RouteRestored));
}

fn sent(line: &Line) -> Vec<(u64, Seq, u32)> {
    let sent = line.record.iter().filter_map(|(at, event)| match event {
        Event::Sent(segment) => Some((at.as_millis(), segment.seq, segment.sequence_len())),
        _ => None,
    });
    sent.collect()
}

fn asked(line: &Line) -> Vec<(u64, Act, ActResult)> {
    let asked = line.record.iter().filter_map(|(at, event)| match event {
        Event::Requested(act, done) => Some((at.as_millis(), *act, *done)),
        _ => None,
    });
    asked.collect()
}

fn responses(line: &Line) -> Vec<Response> {
    let responses = line.record.iter().filter_map(|(_, event)| match event {
        Event::Responded(response) => Some(*response),
        _ => None,
    });
    responses.collect()
}

const UNDONE: fn(u64) -> (u64, Act, ActResult) = |at| (at, Act::Undo, ActResult::Done);

fn hold(gap: u64) -> Act {
    Act::Hold {
        probe: Some(ProbeSpacing::new(ms(gap), ms(gap))),
        rewind_snd_nxt: true,
        timers: HeldTimers::Freeze,
        cwnd: Assign::Keep,
        release: Release::Resume,
    }
}

fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}

/// Three duplicates at 100 ms: the first segment is lost and retransmitted.
fn one_lost(line: &mut Line) {
    for _ in 0..3 {
        line.receive_ack(nth(0));
    }
    assert_eq!(responses(line), [Response::FastRetransmit]);
    assert_eq!(sent(line), [(100, nth(0), 100)]);
    // RFC 5681 §3.2, step 3: three segments have left the network.
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (800, 500));
    line.take_events();
}

/// Copies of segments are enough until a loss is to be undone, an outage is suspected, or TCP is held.
#[test]
fn it_only_watches_while_it_would_not_act() {
    let watches = |line: &Line| line.aid.only_watches(&line.tcp.view());
    // Nothing is known of the losses of this connection.
    let mut line = ten_sent();
    assert!(watches(&line));
    one_lost(&mut line);
    assert!(watches(&line));
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
    gone(&mut line);
    assert!(!watches(&line));

    let mut line = ten_sent_where_routers_mark();
    assert!(watches(&line));
    one_lost(&mut line);
    assert!(!watches(&line));
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), [UNDONE(100)]);
    assert!(watches(&line));

    // The first of two timeouts is not suspicious yet. After the second one the timer runs.
    let mut line = clean();
    line.run_until(at_ms(9_300));
    assert!(watches(&line));
    line.run_until(at_ms(9_500));
    assert!(!watches(&line));
    assert_eq!((line.aid.state(), asked(&line).len()), ("open", 0));
}

#[test]
fn the_response_to_a_loss_is_undone_when_repaired() {
    let mut line = ten_sent_where_routers_mark();
    one_lost(&mut line);
    line.advance(ms(100));
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), [UNDONE(200)]);
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (1_100, 64_000), "and it keeps growing");
    // The loss episode is over.
    line.take_events();
    line.write(500);
    line.receive_ack(nth(15));
    assert_eq!(asked(&line), []);
}

#[test]
fn the_response_to_a_timeout_is_undone() {
    let mut line = ten_sent_where_routers_mark();
    line.run_until(at_ms(1_000));
    assert_eq!(responses(&line), [Response::Timeout]);
    line.advance(ms(100));
    line.take_events();
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), [UNDONE(1_100)]);
    assert_eq!(line.tcp.ssthresh(), 64_000);
}

/// RFC 6582: without SACK a partial acknowledgment shows that more is to be repaired.
#[test]
fn a_partial_acknowledgment_without_sack_undoes_nothing_yet() {
    for has_sack in [false, true] {
        let mut line = ten_sent_where_routers_mark();
        one_lost(&mut line);
        let mut partial = line.peer_ack(nth(5));
        if has_sack {
            partial.options.sack.push(SeqRange::new(nth(6), nth(10)));
        }
        line.receive(partial);
        assert_eq!(asked(&line).len(), usize::from(has_sack));
        line.receive_ack(nth(10));
        assert!(asked(&line).iter().any(|(_, act, _)| *act == Act::Undo));
    }
}

#[test]
fn without_retransmissions_nothing_is_undone() {
    let mut line = ten_sent();
    (1..10).for_each(|n| line.receive_ack(nth(n)));
    assert_eq!(asked(&line), []);
}

/// RFC 4015 §3: not after an echo of congestion, nor for data outstanding then.
#[test]
fn a_congestion_echo_prevents_undo_for_outstanding_data() {
    let mut line = ten_sent();
    let marked = line.peer_ack(nth(0));
    line.receive(TcpSegment { flags: marked.flags.with(TcpFlags::ECE), ..marked });
    line.take_events();
    (0..3).for_each(|_| line.receive_ack(nth(0)));
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
    line.write(1_000);
    (0..3).for_each(|_| line.receive_ack(nth(10)));
    line.receive_ack(line.tcp.max());
    assert_eq!(asked(&line), [UNDONE(100)]);
}

#[test]
fn nothing_is_undone_without_ecn_or_if_disabled() {
    let mut line = ten_sent_where(false);
    one_lost(&mut line);
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
    let mut line = ten_sent_with(CarryOptions { undo_losses: false, ..CarryOptions::default() });
    one_lost(&mut line);
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
}

/// Ten segments were sent at 0 and the first is acknowledged after `rtt` (ms); eight losses were respected
/// before.
fn one_acknowledged_after(rtt: u64) -> Line {
    let mut line = ten_sent();
    (0..8).for_each(|n| {
        line.aid.protocol.trial.on_acknowledged(if n % 4 == 0 { 300 } else { 30 }, false);
        line.aid.protocol.trial.on_episode(1_000, false);
    });
    line.aid.protocol.queue.on_smoothed(ms(100));
    line.advance(ms(rtt - 100));
    line.receive_ack(nth(2));
    line
}

fn loses_the_next(line: &mut Line) {
    (0..3).for_each(|_| line.receive_ack(nth(2)));
    line.advance(ms(100));
    line.receive_ack(nth(10));
}

#[test]
fn a_loss_without_a_visible_queue_is_undone_on_trial() {
    for (rtt, undone) in [(100, 1), (112, 1), (113, 0)] {
        let mut line = one_acknowledged_after(rtt);
        loses_the_next(&mut line);
        let acts = asked(&line).iter().filter(|(_, act, _)| *act == Act::Undo).count();
        let decisions = line.aid.loss_decisions();
        assert_eq!((acts as u64, decisions.undone, decisions.delay), (undone, undone, 1 - undone));
    }
}

#[test]
fn a_loss_is_congestion_before_any_trial() {
    let mut line = ten_sent();
    line.receive_ack(nth(2));
    loses_the_next(&mut line);
    assert_eq!(line.aid.loss_decisions(), LossDecisions { unknown: 1, ..Default::default() });
    assert_eq!(asked(&line), []);
}

/// More than three segments, and more than an eighth of the outstanding data, unless a router is known to
/// mark.
#[test]
fn heavy_loss_is_congestion_unless_the_path_is_known_to_mark() {
    for marks in [false, true] {
        let mut line = ten_sent();
        line.aid.protocol.undone_since_echo = marks.then_some(0);
        let again = |line: &Line, n: u32| TcpSegment { seq: nth(n), ..line.peer_ack(nth(0)) };
        for n in 0..4 {
            let payload = driftway_wire::Payload::new(0, 0, 100);
            let segment = TcpSegment { payload, ..again(&line, n) };
            line.send(segment);
        }
        line.take_events();
        line.receive_ack(nth(10));
        let undone = asked(&line).iter().any(|(_, act, _)| *act == Act::Undo);
        assert_eq!(undone, marks);
    }
}

#[test]
fn an_outage_from_beginning_to_end() {
    let mut line = ten_sent();
    gone(&mut line);
    assert_eq!(asked(&line), [(100, hold(200), ActResult::Done)]);
    assert_eq!(line.aid.state(), "disconnected");
    line.take_events();
    line.write(500);
    // In flight before the outage.
    line.receive_ack(nth(1));
    line.run_until(at_ms(999));
    assert_eq!(asked(&line), []);
    assert!(sent(&line).iter().all(|(_, seq, len)| (*seq, *len) == (nth(1), 1)), "probes only");
    assert!(sent(&line).len() >= 3 && responses(&line).is_empty());
    line.take_events();
    line.receive_ack(nth(1) + 1);
    assert_eq!(asked(&line), [(999, resume(Assign::Keep), ActResult::Done)]);
    assert_eq!(line.aid.state(), "resuming");
    // Outstanding data is retransmitted first, in order, without counting as a loss, with the previous
    // window, which has grown by the acknowledged byte.
    let expected: Vec<_> = (1..11).map(|n| (999, nth(n) + 1, 100)).collect();
    assert_eq!(sent(&line), expected);
    assert_eq!((line.tcp.ssthresh(), responses(&line).len()), (64_000, 0));
    line.take_events();
    line.receive_ack(nth(10));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
    assert_eq!(line.tcp.ssthresh(), 64_000);
}

/// RFC 2018 §2: SACK is used if both SYNs permit it.
#[test]
fn without_sack_slow_start_brings_the_window_back() {
    for (has_sack, is_own_link) in [(true, false), (false, false), (false, true)] {
        let mut line = ten_sent();
        let window = line.tcp.cwnd();
        let mut syn = line.peer_ack(nth(0));
        syn.flags = TcpFlags::SYN.with(TcpFlags::ACK);
        syn.options.sack_permitted = has_sack;
        line.receive(syn);
        if is_own_link {
            line.signal(Signal::new(SignalKind::LinkDown));
        } else {
            gone(&mut line);
        }
        line.run_until(at_ms(500));
        line.take_events();
        line.receive_ack(nth(1));
        let first = if is_own_link { 100 } else { window / 2 };
        let restored = Act::Resume {
            cwnd: Assign::Value(first),
            ssthresh: Assign::Value(64_000),
            rto: Assign::Keep,
        };
        let expected = if has_sack { resume(Assign::Keep) } else { restored };
        assert_eq!(asked(&line), [(500, expected, ActResult::Done)]);
        // One more for the segment that is acknowledged.
        let most = if has_sack { 9 } else { first as usize / 100 + 1 };
        assert_eq!(sent(&line).len(), most);
        line.receive_ack(nth(10));
        assert_eq!((line.aid.state(), line.tcp.ssthresh()), ("open", 64_000));
    }
}

#[test]
fn late_arrivals_do_not_end_an_outage_but_a_restored_route_does() {
    let mut line = ten_sent();
    gone(&mut line);
    line.run_until(at_ms(299));
    line.receive_ack(nth(1));
    assert_eq!(line.aid.state(), "disconnected");
    back(&mut line);
    assert_eq!(line.aid.state(), "resuming");
    back(&mut line);
    assert_eq!(line.aid.state(), "resuming");
    // The path is lost again.
    gone(&mut line);
    gone(&mut line);
    assert_eq!(line.aid.state(), "disconnected");
    assert_eq!(asked(&line).iter().filter(|(_, act, _)| *act == hold(200)).count(), 2);
}

#[test]
fn probes_become_rare_in_a_long_outage() {
    let mut line = ten_sent();
    gone(&mut line);
    assert_eq!(line.aid.next_timeout(), Some(at_ms(120_100)));
    line.run_until(at_ms(120_100));
    line.take_events();
    line.run_until(at_ms(124_200));
    let times: Vec<_> = sent(&line).iter().map(|(at, ..)| *at).collect();
    assert_eq!(times, [121_100, 122_100, 123_100, 124_100]);
    assert_eq!(line.aid.next_timeout(), None);
}

#[test]
fn a_new_path_starts_with_initial_state() {
    let mut line =
        ten_sent_with(CarryOptions { cwnd: CwndAfterOutage::Reset, ..CarryOptions::default() });
    line.aid.protocol.undone_since_echo = Some(0);
    one_lost(&mut line);
    gone(&mut line);
    line.run_until(at_ms(500));
    line.take_events();
    line.receive_ack(nth(1));
    assert_eq!(asked(&line), [(500, resume(Assign::Initial), ActResult::Done)]);
    assert!(line.aid.protocol.undone_since_echo.is_none());
}

/// The path is lost during loss recovery.
#[test]
fn non_congestion_losses_before_an_outage_are_undone() {
    for ecn in [true, false] {
        let mut line = ten_sent_where(ecn);
        line.aid.protocol.undone_since_echo = Some(0);
        one_lost(&mut line);
        line.receive_ack(nth(0));
        gone(&mut line);
        let acts: Vec<_> = asked(&line).iter().map(|(_, act, _)| *act).collect();
        match ecn {
            true => assert_eq!(acts, [Act::Undo, hold(200)]),
            false => assert_eq!(acts, [hold(200)]),
        }
        assert_eq!(line.tcp.ssthresh(), if ecn { 64_000 } else { 500 });
    }
}

/// 64 segments were sent at intervals of 100 ms without a loss; at 6,400 ms five more are sent. A twentieth
/// of that rate allows one probe in slightly less than 2 s.
fn clean_with(options: CarryOptions) -> Line {
    sends_sixty_four(ScriptedDriver::new(Carry::new(options)))
}

fn sends_sixty_four(mut line: Line) -> Line {
    for n in 0..64 {
        line.write(100);
        line.advance(ms(100));
        line.receive_ack(nth(n + 1));
    }
    line.write(500);
    line.take_events();
    line
}

fn clean() -> Line {
    clean_with(CarryOptions::default())
}

/// TCP times out at 7,400, 9,400 and 13,400 ms.
fn suspicious() -> Line {
    suspects(clean())
}

fn suspects(mut line: Line) -> Line {
    line.run_until(at_ms(11_400));
    assert_eq!(line.aid.state(), "suspecting");
    line.aid.protocol.suspicion_timestamp = Some(9_400);
    line.take_events();
    line
}

fn probes(line: &Line) -> Vec<(u64, Seq)> {
    let resent = line.record.iter().filter_map(|(at, event)| match event {
        Event::Resent { segment, .. } => Some((at.as_millis(), segment.seq)),
        _ => None,
    });
    resent.collect()
}

fn answer(line: &Line, ack: Seq, echo: u32) -> TcpSegment {
    let mut segment = line.peer_ack(ack);
    segment.options.timestamps = Some(driftway_wire::Timestamps { value: 0, echo });
    segment
}

/// The second retransmission is not answered either. TCP continues unchanged; its retransmissions serve as
/// probes.
#[test]
fn silence_with_few_losses_is_suspicious() {
    let mut line = clean();
    line.run_until(at_ms(11_376));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
    line.run_until(at_ms(18_000));
    assert_eq!(line.aid.state(), "suspecting");
    assert_eq!(probes(&line), [11_377, 13_355, 15_377, 17_355].map(|at| (at, nth(64))));
    let own: Vec<_> = sent(&line).iter().map(|(at, seq, _)| (*at, *seq)).collect();
    assert_eq!(own, [7_400, 9_400, 13_400].map(|at| (at, nth(64))));
    assert!(asked(&line).iter().all(|(_, act, _)| matches!(act, Act::Resend { .. })));
}

/// By its rate the flow may probe every 100 ms; TCP's own retransmissions at 13.4 and 21.4 s count as probes.
#[test]
fn probes_of_a_suspected_outage_become_rarer() {
    let mut line = suspicious();
    let Carry { delivery_estimate, last_heard, .. } = &mut line.aid.protocol;
    (0..10).for_each(|n| delivery_estimate.on_acknowledged(at_ms(6_000 + 40 * n), 1_000_000));
    *last_heard = at_ms(11_000);
    line.receive_ack(nth(64));
    line.aid.protocol.last_heard = at_ms(11_400);
    line.take_events();
    line.run_until(at_ms(31_400));
    let at: Vec<_> = probes(&line).iter().map(|(at, _)| *at).collect();
    // A sixteenth of the silence, which began at 11.4 s, is 100 ms at 13.0 s, and half a second at 19.4 s.
    assert_eq!(at[..8], [1, 2, 3, 4, 5, 6, 7, 8].map(|n| 11_400 + 100 * n));
    let of_the_silence = |pair: &[u64]| {
        let expected = pair[0] + ((pair[0] - 11_400) / 16).clamp(100, 500);
        pair[1].abs_diff(expected) <= 1
    };
    let after = |ms| at.iter().position(|at| *at > ms).unwrap();
    assert!(at[after(13_500)..after(21_400)].windows(2).all(of_the_silence), "{at:?}");
    assert!(at[after(21_500)..].windows(2).all(of_the_silence), "{at:?}");
    assert!(at.len() < 70, "{}", at.len());
}

/// The host reports the end of an outage of its own link. Should it not, probes find it.
#[test]
fn an_outage_of_the_own_link_needs_few_probes() {
    for reported_by_a_router in [false, true] {
        let mut line = ten_sent();
        if reported_by_a_router {
            gone(&mut line);
        }
        line.signal(Signal::new(SignalKind::LinkDown));
        assert_eq!(line.aid.state(), "disconnected");
        line.take_events();
        line.run_until(at_ms(10_000));
        assert!(sent(&line).len() + probes(&line).len() <= 10 && asked(&line).is_empty());
        line.take_events();
        line.signal(Signal::new(SignalKind::LinkUp));
        assert_eq!(
            (line.aid.state(), probes(&line)),
            ("disconnected", [(10_000, nth(0))].to_vec())
        );
        line.receive_ack(nth(3));
        assert_eq!((line.aid.state(), sent(&line).len()), ("resuming", 7));
    }
}

#[test]
fn the_answer_to_a_probe_shows_that_there_was_an_outage() {
    let (cwnd, ssthresh) = {
        let line = clean();
        (line.tcp.cwnd(), line.tcp.ssthresh())
    };
    for duplicate in [false, true] {
        let mut line = suspicious();
        assert_eq!(line.tcp.cwnd(), 100);
        let mut back = answer(&line, nth(65), if duplicate { 6_400 } else { 9_400 });
        if duplicate {
            back.options.sack.push(SeqRange::new(nth(64), nth(65)));
        }
        line.receive(back);
        assert_eq!(line.aid.state(), "resuming");
        let acts: Vec<_> = asked(&line).iter().map(|(_, act, _)| *act).collect();
        let [hold, Act::Resume { cwnd: Assign::Value(window), ssthresh: threshold, .. }] = acts[..]
        else {
            panic!("{acts:?}")
        };
        assert!(matches!(hold, Act::Hold { rewind_snd_nxt: true, .. }));
        assert!(window >= cwnd - 100 && threshold == Assign::Value(ssthresh), "{window}");
        // Outstanding data is retransmitted at once.
        let seqs: Vec<_> = sent(&line).iter().map(|(_, seq, _)| *seq).collect();
        assert_eq!(seqs, [65, 66, 67, 68].map(nth));
    }
}

/// RFC 3522: the answer is for the original. TCP then recovers by itself.
#[test]
fn a_late_answer_shows_a_slow_path() {
    for ecn in [false, true] {
        let carry = Carry::new(CarryOptions::default());
        let line =
            if ecn { ScriptedDriver::new(carry) } else { ScriptedDriver::without_ecn(carry) };
        let mut line = suspects(sends_sixty_four(line));
        let late = answer(&line, nth(65), 9_399);
        line.receive(late);
        assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
        assert_eq!((line.tcp.cwnd(), line.aid.next_timeout()), (200, None));
    }
    let mut line = suspicious();
    let mut marked = answer(&line, nth(65), 9_400);
    marked.flags = marked.flags.with(TcpFlags::ECE);
    line.receive(marked);
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
}

/// With 30 % loss, six successive losses are just unlikely enough.
#[test]
fn silence_with_many_losses_is_not_suspicious() {
    let mut line = clean();
    line.aid.protocol.loss_estimate = LossEstimate::default();
    line.aid.protocol.loss_estimate.on_sent(100, 30);
    line.run_until(at_ms(69_399));
    assert_eq!((line.aid.state(), line.aid.protocol.oldest_resends), ("open", 5));
    line.run_until(at_ms(71_400));
    assert_eq!(line.aid.state(), "suspecting");
}

#[test]
fn nothing_is_suspected_if_disabled_or_without_deliveries() {
    let options = CarryOptions { suspect_after: CarryOptions::NEVER, ..CarryOptions::default() };
    let mut line = clean_with(options);
    line.run_until(at_ms(1_000_000));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
    let mut line = ten_sent();
    line.run_until(at_ms(1_000_000));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
}

/// The peer sends a segment of its own: there may be a path, and one probe is sent at once.
#[test]
fn a_segment_of_the_peer_triggers_a_probe() {
    let mut line = suspicious();
    line.advance(ms(500));
    (0..3).for_each(|_| line.receive_ack(nth(64)));
    assert_eq!(line.aid.state(), "suspecting");
    assert_eq!(probes(&line), [(11_900, nth(64))]);
    line.take_events();
    back(&mut line);
    assert_eq!(probes(&line), [(11_900, nth(64))]);
    gone(&mut line);
    assert_eq!(line.aid.state(), "disconnected");
}

fn gone_for(line: &mut Line, n: u32) {
    let about = SignalDetails { seq: Some(nth(n)), ..SignalDetails::default() };
    line.signal(Signal { kind: SignalKind::Unreachable(UnreachableScope::Host), details: about });
}

/// RFC 5927 §4: a router without a route for a segment has not delivered it. After a false signal, the next
/// is accepted only after the peer was silent for a timeout.
#[test]
fn after_a_false_signal_the_next_needs_silence() {
    let mut line = ten_sent();
    gone_for(&mut line, 3);
    assert_eq!(line.aid.state(), "disconnected");
    line.advance(ms(50));
    line.receive_ack(nth(3));
    line.advance(ms(10));
    line.receive_ack(nth(4));
    line.advance(ms(300));
    line.receive_ack(nth(4) + 1);
    assert_eq!(line.aid.state(), "resuming");
    line.receive_ack(nth(10));
    assert_eq!(line.aid.state(), "open");
    // The peer is heard one RTT later.
    line.write(1_000);
    gone_for(&mut line, 12);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", Some(at_ms(1_460))));
    line.advance(ms(210));
    line.receive_ack(nth(11));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    // The peer is silent for a timeout; repeated signals make no difference.
    gone_for(&mut line, 12);
    line.advance(ms(150));
    line.receive_ack(nth(12));
    gone_for(&mut line, 13);
    line.advance(ms(849));
    assert_eq!(line.aid.state(), "open");
    line.advance(ms(1));
    assert_eq!((line.aid.state(), line.now()), ("disconnected", at_ms(1_670)));
    line.advance(ms(300));
    line.receive_ack(nth(13));
    line.receive_ack(line.tcp.max());
    assert_eq!(line.aid.state(), "open");
    // The signal was true, so that the next one is accepted at once.
    line.write(1_000);
    let next = line.tcp.una();
    line.signal(Signal {
        kind: SignalKind::RouteFailed,
        details: SignalDetails { seq: Some(next), ..SignalDetails::default() },
    });
    assert_eq!(line.aid.state(), "disconnected");
}

/// Silence does not count without outstanding data, and a restored route ends the distrust.
#[test]
fn silence_without_outstanding_data_confirms_nothing() {
    let doubting = || {
        let mut line = ten_sent();
        gone(&mut line);
        line.receive_ack(nth(10));
        back(&mut line);
        assert_eq!(line.aid.state(), "resuming");
        line.receive_ack(nth(10));
        line
    };
    let mut line = doubting();
    gone(&mut line);
    line.advance(ms(5_000));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    let mut line = doubting();
    line.write(1_000);
    gone(&mut line);
    back(&mut line);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
}

#[test]
fn signals_of_other_flows_are_ignored() {
    let mut line = ten_sent();
    let end = |host, port| Endpoint::new(Ipv4Addr::new(10, 0, 0, host), port);
    let mut signal = |kind, ports: (u16, u16), seq| {
        let flow = Some(FlowKey { source: end(1, ports.0), destination: end(2, ports.1) });
        let about = SignalDetails { flow, seq: Some(seq), ..SignalDetails::default() };
        line.signal(Signal { kind, details: about });
        line.aid.state()
    };
    let unreachable = SignalKind::Unreachable(UnreachableScope::Host);
    let ours = (Tcp::PORT, Tcp::PEER_PORT);
    let others = (Tcp::PORT + 1, Tcp::PEER_PORT);
    assert_eq!(signal(SignalKind::RouteFailed, others, nth(0)), "open");
    // RFC 5927 §4.1
    assert_eq!(signal(unreachable, ours, nth(0) - 1), "open");
    assert_eq!(signal(unreachable, ours, nth(10)), "open");
    assert_eq!(signal(SignalKind::RouteFailed, ours, nth(11)), "open");
    assert_eq!(signal(unreachable, ours, nth(9)), "disconnected");
}

#[test]
fn other_signals_are_ignored() {
    let mut line = ten_sent();
    for kind in [SignalKind::SourceQuench, SignalKind::EcnEcho, SignalKind::RouteRestored] {
        line.signal(Signal::new(kind));
    }
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
}

#[test]
fn without_hold_tcp_runs_unassisted() {
    let mut line = ten_sent();
    line.refuses = |_| true;
    gone(&mut line);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    line.take_events();
    line.run_until(at_ms(1_000));
    assert_eq!(sent(&line), [(1_000, nth(0), 100)]);
}

#[test]
fn closing_the_connection_ends_the_outage() {
    let mut line = ten_sent();
    gone(&mut line);
    line.tcp.close_silently();
    line.take_events();
    line.run_until(at_ms(200_000));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    assert_eq!(asked(&line), []);
}

/// The aid neither acknowledges, creates nor drops data (liu-singh-2001 §III-B).
#[test]
fn all_segments_pass_in_every_state() {
    let mut line = ten_sent();
    for step in 0..3 {
        line.receive_ack(nth(step));
        line.send(line.peer_ack(nth(0)));
        match step {
            0 => gone(&mut line),
            _ => back(&mut line),
        }
    }
    let passes = |event: &Event| !matches!(event, Event::DroppedOutgoing(_) | Event::Dropped(_));
    assert!(line.record.iter().all(|(_, event)| passes(event)));
}

#[test]
fn the_committed_diagram_is_up_to_date() {
    kit::assert_diagram_up_to_date::<State>("carry");
}

#[test]
fn data_is_delivered_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = CarryOptions {
            undo_losses: random_flag(random),
            cwnd: if random_flag(random) { CwndAfterOutage::Keep } else { CwndAfterOutage::Reset },
            probe_min: random_duration(random, 1, 500),
            probe_max: random_duration(random, 500, 5_000),
            probe_fast: random_duration(random, 1, 20_000),
            suspect_after: if random_flag(random) { 2 } else { CarryOptions::NEVER },
            // A window that is kept at once lets this Reno lose several segments of one flight, which takes it
            // a timeout each.
            queues_mark: false,
        };
        (Carry::new(options), options.probe_max)
    });
}
