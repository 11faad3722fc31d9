//! carry's time lines, on the scripted driver.

use std::vec::Vec;

use driftway_base::{Endpoint, FlowKey, Ipv4Addr, SignalDetails, UnreachableScope};

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

/// Where the `n`-th segment (from 0) of the transfer begins.
fn nth(n: u32) -> Seq {
    Tcp::START + 100 * n
}

/// Ten segments have left at 0; it is 100 ms later.
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
        freeze_timers: true,
        cwnd: Assign::Keep,
        release: Release::Resume,
    }
}

fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}

/// Three duplicates at 100 ms: the first segment is lost, and sent again.
fn one_lost(line: &mut Line) {
    for _ in 0..3 {
        line.receive_ack(nth(0));
    }
    assert_eq!(responses(line), [Response::FastRetransmit]);
    assert_eq!(sent(line), [(100, nth(0), 100)]);
    // RFC 5681 §3.2, step 3: three have left the network.
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (800, 500));
    line.take_events();
}

#[test]
fn a_loss_is_undone_when_it_is_repaired() {
    let mut line = ten_sent();
    one_lost(&mut line);
    line.advance(ms(100));
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), [UNDONE(200)]);
    assert_eq!((line.tcp.cwnd(), line.tcp.ssthresh()), (1_100, 64_000), "and it grows on");
    // It is over: what follows is another story.
    line.take_events();
    line.write(500);
    line.receive_ack(nth(15));
    assert_eq!(asked(&line), []);
}

#[test]
fn a_timeout_is_undone_too() {
    let mut line = ten_sent();
    line.run_until(at_ms(1_000));
    assert_eq!(responses(&line), [Response::Timeout]);
    line.advance(ms(100));
    line.take_events();
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), [UNDONE(1_100)]);
    assert_eq!(line.tcp.ssthresh(), 64_000);
}

#[test]
fn what_was_never_sent_again_asks_for_nothing() {
    let mut line = ten_sent();
    (1..10).for_each(|n| line.receive_ack(nth(n)));
    assert_eq!(asked(&line), []);
}

/// RFC 4015 §3: not while congestion is echoed, and not for what was out then.
#[test]
fn an_echo_of_congestion_forbids_it_until_what_was_out_is_acknowledged() {
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
fn nothing_is_undone_without_ecn_or_if_told_so() {
    let mut line = ten_sent_where(false);
    one_lost(&mut line);
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
    let mut line = ten_sent_with(CarryOptions { undo_losses: false, ..CarryOptions::default() });
    one_lost(&mut line);
    line.receive_ack(nth(10));
    assert_eq!(asked(&line), []);
}

/// More than three, and more than an eighth of what was out: unless a router is known to mark.
#[test]
fn heavy_loss_is_congestion_unless_the_path_is_known_to_mark() {
    for marks in [false, true] {
        let mut line = ten_sent();
        line.aid.protocol.path_marks_ecn = marks;
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
fn an_outage_from_its_beginning_to_its_end() {
    let mut line = ten_sent();
    gone(&mut line);
    assert_eq!(asked(&line), [(100, hold(200), ActResult::Done)]);
    assert_eq!(line.aid.state(), "disconnected");
    line.take_events();
    line.write(500);
    // On its way before the cut.
    line.receive_ack(nth(1));
    line.run_until(at_ms(999));
    assert_eq!(asked(&line), []);
    assert!(sent(&line).iter().all(|(_, seq, len)| (*seq, *len) == (nth(1), 1)), "probes only");
    assert!(sent(&line).len() >= 3 && responses(&line).is_empty());
    line.take_events();
    line.receive_ack(nth(1) + 1);
    assert_eq!(asked(&line), [(999, resume(Assign::Keep), ActResult::Done)]);
    assert_eq!(line.aid.state(), "resuming");
    // What was out goes first, in order, and is no loss; all of the window of before, which grew by
    // the byte that was acknowledged.
    let expected: Vec<_> = (1..11).map(|n| (999, nth(n) + 1, 100)).collect();
    assert_eq!(sent(&line), expected);
    assert_eq!((line.tcp.ssthresh(), responses(&line).len()), (64_000, 0));
    line.take_events();
    line.receive_ack(nth(10));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
    assert_eq!(line.tcp.ssthresh(), 64_000);
}

#[test]
fn stragglers_are_no_sign_of_a_path_and_a_route_that_is_restored_is_one() {
    let mut line = ten_sent();
    gone(&mut line);
    line.run_until(at_ms(299));
    line.receive_ack(nth(1));
    assert_eq!(line.aid.state(), "disconnected");
    back(&mut line);
    assert_eq!(line.aid.state(), "resuming");
    back(&mut line);
    assert_eq!(line.aid.state(), "resuming");
    // And gone once more.
    gone(&mut line);
    gone(&mut line);
    assert_eq!(line.aid.state(), "disconnected");
    assert_eq!(asked(&line).iter().filter(|(_, act, _)| *act == hold(200)).count(), 2);
}

#[test]
fn in_a_long_outage_probes_become_rare() {
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
fn on_a_new_path_everything_begins_anew() {
    let mut line =
        ten_sent_with(CarryOptions { cwnd: CwndAfterOutage::Reset, ..CarryOptions::default() });
    line.aid.protocol.path_marks_ecn = true;
    one_lost(&mut line);
    gone(&mut line);
    line.run_until(at_ms(500));
    line.take_events();
    line.receive_ack(nth(1));
    assert_eq!(asked(&line), [(500, resume(Assign::Initial), ActResult::Done)]);
    assert!(!line.aid.protocol.path_marks_ecn);
}

/// A loss was being repaired when the path broke.
#[test]
fn what_is_no_congestion_is_undone_before_the_outage_and_congestion_stays() {
    for ecn in [true, false] {
        let mut line = ten_sent_where(ecn);
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

/// So far 64 segments have left, one each 100 ms, and none was lost; at 6,400 ms five more leave.
/// One probe may take what a twentieth of that rate delivers in a little less than 2 s.
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

/// Also of the second retransmission nothing is heard. TCP goes on by itself; what it sends is as good
/// as a probe.
#[test]
fn silence_where_little_is_lost_is_suspicious() {
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
        // What was out goes at once.
        let seqs: Vec<_> = sent(&line).iter().map(|(_, seq, _)| *seq).collect();
        assert_eq!(seqs, [65, 66, 67, 68].map(nth));
    }
}

/// RFC 3522: it was on its way all the time. Then TCP knows best what to do.
#[test]
fn an_answer_that_is_late_shows_a_slow_path() {
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

/// Of a hundred thirty were lost: six in a row are no outage yet, or just.
#[test]
fn silence_where_much_is_lost_is_not() {
    let mut line = clean();
    line.aid.protocol.loss_estimate = LossEstimate::default();
    line.aid.protocol.loss_estimate.on_sent(100, 30);
    line.run_until(at_ms(69_399));
    assert_eq!((line.aid.state(), line.aid.protocol.oldest_resends), ("open", 5));
    line.run_until(at_ms(71_400));
    assert_eq!(line.aid.state(), "suspecting");
}

#[test]
fn nothing_is_suspected_if_told_so_or_if_nothing_was_delivered() {
    let options = CarryOptions { suspect_after: CarryOptions::NEVER, ..CarryOptions::default() };
    let mut line = clean_with(options);
    line.run_until(at_ms(1_000_000));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
    let mut line = ten_sent();
    line.run_until(at_ms(1_000_000));
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
}

/// The peer sends something of its own: there may be a path again, and one probe goes at once.
#[test]
fn a_sign_of_the_peer_is_no_answer_but_reason_to_look() {
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

/// RFC 5927 §4: what a router had no way for is not acknowledged. Whoever says so in vain is not believed
/// again before the peer is silent for a timeout.
#[test]
fn who_was_wrong_once_is_believed_about_silence_only() {
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
    // The peer is heard a round trip later.
    line.write(1_000);
    gone_for(&mut line, 12);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", Some(at_ms(1_460))));
    line.advance(ms(210));
    line.receive_ack(nth(11));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    // It is not, for as long as the timeout, however often that is said.
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
    // That was true, and so the next is believed at once.
    line.write(1_000);
    let next = line.tcp.una();
    line.signal(Signal {
        kind: SignalKind::RouteFailed,
        details: SignalDetails { seq: Some(next), ..SignalDetails::default() },
    });
    assert_eq!(line.aid.state(), "disconnected");
}

/// Where nothing is outstanding, silence is no sign; and a route that is restored ends the doubt.
#[test]
fn silence_without_anything_outstanding_confirms_nothing() {
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
fn signals_of_others_are_ignored() {
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
fn other_signals_mean_nothing_to_it() {
    let mut line = ten_sent();
    for kind in [SignalKind::SourceQuench, SignalKind::EcnEcho, SignalKind::RouteRestored] {
        line.signal(Signal::new(kind));
    }
    assert_eq!((line.aid.state(), asked(&line)), ("open", Vec::new()));
}

#[test]
fn a_driver_that_refuses_leaves_tcp_on_its_own() {
    let mut line = ten_sent();
    line.refuses = |_| true;
    gone(&mut line);
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    line.take_events();
    line.run_until(at_ms(1_000));
    assert_eq!(sent(&line), [(1_000, nth(0), 100)]);
}

#[test]
fn it_ends_with_the_connection() {
    let mut line = ten_sent();
    gone(&mut line);
    line.tcp.close_silently();
    line.take_events();
    line.run_until(at_ms(200_000));
    assert_eq!((line.aid.state(), line.aid.next_timeout()), ("open", None));
    assert_eq!(asked(&line), []);
}

/// No byte is acknowledged, made up or swallowed by it (liu-singh-2001 §III-B).
#[test]
fn all_passes_in_every_state() {
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
fn the_committed_diagram_is_that_of_the_code() {
    kit::assert_diagram_up_to_date::<State>("carry");
}

#[test]
fn data_flow_again_soon_after_the_path_works() {
    liveness::check_recovery(|random| {
        let options = CarryOptions {
            undo_losses: random_flag(random),
            cwnd: if random_flag(random) { CwndAfterOutage::Keep } else { CwndAfterOutage::Reset },
            probe_min: random_duration(random, 1, 500),
            probe_max: random_duration(random, 500, 5_000),
            probe_fast: random_duration(random, 1, 20_000),
            suspect_after: if random_flag(random) { 2 } else { CarryOptions::NEVER },
        };
        (Carry::new(options), options.probe_max)
    });
}
