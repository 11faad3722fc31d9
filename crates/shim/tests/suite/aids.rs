//! Aids of the registry above a foreign TCP: time lines of their papers, as far as they are
//! possible from below, and unsupported acts.

use std::sync::{Arc, Mutex};

use crate::common::timeline::{
    ACK_HELD, IN_HOLD, IN_REPAIR, OURS, Offers, THEIRS, Timeline, ack, config, data, nth_segment,
};
use driftway_aid::atcp::{Atcp, AtcpOptions};
use driftway_aid::cwnd_limit::{CwndLimit, CwndLimitOptions};
use driftway_aid::tcp_f::{TcpF, TcpFOptions};
use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, Instant, Known, ProbeSpacing, Release,
    Retransmit, RouteProbe, SeqRange, Signal, SignalKind, TcpView,
};
use driftway_shim::{Config, DiscardReason, FlowState, PacketAction, Shim};
use driftway_wire::{TcpFlags, TcpSegment};

const BY_AID: PacketAction = PacketAction::Discarded(DiscardReason::ByAid);
const OFFERS: Offers = Offers { ecn: true, sack: true };

/// Without the shim's own probes, so that those of the papers are visible.
fn line(make: impl Fn() -> Box<dyn Aid> + Send + 'static) -> Timeline {
    let config = Config { probe_max: Duration::from_secs(60), ..config() };
    Timeline::established_with_shim(Shim::with_aid(config, make), OFFERS)
}
fn atcp() -> Timeline {
    line(|| Box::new(Atcp::new(AtcpOptions::default())))
}
fn tcp_f() -> Timeline {
    line(|| Box::new(TcpF::new(TcpFOptions::default())))
}

/// liu-singh-2001 §III-A, "Lossy Channel": the third duplicate acknowledgment does not reach TCP,
/// ATCP retransmits the segment, and TCP is held until new data are acknowledged.
#[test]
fn atcp_repairs_a_loss_hidden_from_tcp() {
    let mut line = atcp();
    line.at(200);
    line.sends(0..5);
    line.at(300);
    for end in [2001, 3001] {
        line.peer_passes(ack(1, 100).sack(&[(1001, end)]));
    }
    assert_eq!((line.status().aid, line.status().aid_state), ("atcp", "normal"));
    assert_eq!(line.peer(ack(1, 100).sack(&[(1001, 4001)])).0, BY_AID);
    assert_eq!((line.status().state, line.status().aid_state), (FlowState::Held, "loss"));
    line.emits(["300 net 1+1000 a1 t200/200"]);
    assert_eq!(line.peer(ack(1, 100).sack(&[(1001, 5001)])).0, BY_AID);
    // The local TCP cannot be stopped from sending; its segments wait, and its timeout has no
    // effect.
    line.stores(nth_segment(5));
    line.at(390);
    assert_eq!(line.local(nth_segment(0).not_capable()), IN_HOLD);
    line.at(400);
    // The original's timestamp: an Eifel sender undoes the timeout.
    line.peer_passes(ack(5001, 200));
    assert_eq!((line.status().state, line.status().aid_state), (FlowState::Open, "normal"));
    line.emits(["400 net 5001+1000 a1 t300/390 ect"]);
    line.at(500);
    line.peer_passes(ack(6001, 300));
    let counts = *line.counts();
    assert_eq!((counts.discarded_by_aid, counts.repaired, counts.outages), (2, 1, 0));
    assert_eq!((line.status().refused, line.shim.memory().0), (0, 0));
}

/// §IV: ATCP's own retransmission timer expires, and doubles.
#[test]
fn atcp_retransmits_when_its_timer_expires() {
    let mut line = atcp();
    line.at(200);
    line.sends(0..5);
    line.at(300);
    (0..2).for_each(|_| line.peer_passes(ack(1, 100)));
    assert_eq!(line.peer(ack(1, 100)).0, BY_AID);
    line.at(4_000);
    let times: Vec<String> =
        line.taken().iter().map(|sent| sent.split(' ').next().unwrap().to_owned()).collect();
    // The RTO is 300 ms, as on Linux; ticks come every 500 ms, and a timer that would expire before
    // the next tick expires now.
    assert_eq!(times, ["300", "500", "1000", "2000", "4000"]);
}

/// §III-A, "Disconnected": TCP is held and probes, and the first acknowledgment ends the hold. On a
/// possibly new route the window is one segment.
#[test]
fn atcp_waits_for_a_route() {
    let mut line = atcp();
    line.at(200);
    line.sends(0..4);
    line.at(250);
    line.cut(0);
    assert_eq!(line.status().aid_state, "disconnected");
    line.at(400);
    line.passes(nth_segment(0).not_capable());
    line.stores(nth_segment(4));
    // Each probe draws one more message, which has no effect.
    line.at(2300);
    line.emits(["2250 net 1+1000 a1 t400/400"]);
    line.cut(0);
    line.at(6300);
    line.emits(["6250 net 1+1000 a1 t400/400"]);
    line.at(6350);
    line.peer_is_held(ack(1001, 200));
    assert_eq!(line.status().state, FlowState::Resuming);
    line.at(6449);
    line.emits(["6350 net 1001+1000 a1 t400/400", "6356 net 2001+1000 a1 t400/400"]);
    line.at(6450);
    line.peer_is_held(ack(2001, 200));
    line.at(6456);
    line.peer_is_held(ack(3001, 200));
    line.at(6470);
    line.emits(["6450 net 3001+1000 a1 t400/400", "6456 net 4001+1000 a1 t400/400 ect"]);
    line.at(6556);
    line.peer_is_held(ack(5001, 400));
    line.emits(["6556 tcp a5001 t6556/6456 w50000"]);
    // TCP's timeout is not undone.
    assert_eq!((line.counts().undone, line.counts().survived), (0, 1));
    line.stores(nth_segment(5));
    line.emits(["6556 net 5001+1000 a1 t6556/6556 ect"]);
    assert_eq!(line.status().aid_state, "normal");
    line.at(6656);
    line.peer_passes(ack(6001, 6556));
}

/// §III-A, "Congested": TCP is not held.
#[test]
fn atcp_leaves_congestion_to_tcp() {
    let mut line = atcp();
    line.at(200);
    line.sends(0..5);
    line.at(300);
    line.peer_passes(ack(1001, 200).with(TcpFlags::ECE));
    assert_eq!(line.status().aid_state, "congested");
    (0..4).for_each(|_| line.peer_passes(ack(1001, 200).with(TcpFlags::ECE)));
    line.passes(nth_segment(1).not_capable());
    line.at(400);
    line.peer_passes(ack(5001, 300).with(TcpFlags::ECE));
    assert_eq!(line.counts().undone, 0);
}

/// chandran-1998 §4: nothing is sent from the RFN to the RRN; then the stored window, with the
/// previous congestion window.
#[test]
fn tcp_f_snoozes_until_the_route_is_back() {
    let mut line = tcp_f();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.signal(&Signal::new(SignalKind::RouteFailed));
    assert_eq!((line.status().state, line.status().aid_state), (FlowState::Disconnected, "snooze"));
    line.at(400);
    line.passes(nth_segment(0).not_capable());
    line.stores(nth_segment(3));
    line.quiet_until(5000);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    assert_eq!((line.status().state, line.status().aid_state), (FlowState::Resuming, "active"));
    line.at(5099);
    line.emits([
        "5000 net 1+1000 a1 t400/400",
        "5006 net 1001+1000 a1 t400/400",
        "5013 net 2001+1000 a1 t400/400",
        "5020 net 3001+1000 a1 t400/400 ect",
    ]);
    line.at(5120);
    assert_eq!(line.local(nth_segment(0).not_capable()), IN_REPAIR);
    assert_eq!(line.peer(ack(4001, 400)).0, ACK_HELD);
    line.emits(["5120 tcp a2 t5120/200 w50000", "5120 tcp a4001 t5120/5020 w50000"]);
    assert_eq!((line.counts().undone, line.status().refused), (1, 0));
}

/// A route whose restoration is not signalled, and one whose restoration is signalled wrongly.
#[test]
fn tcp_f_ends_its_snooze_and_the_shim_probes() {
    let mut line = tcp_f();
    line.at(200);
    line.sends(0..1);
    line.at(250);
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.quiet_until(20_249);
    line.at(20_250);
    assert_eq!(line.status().aid_state, "active");
    line.emits(["20250 net 1+1000 a1 t200/200"]);
    // 600 ms without an answer: probes follow, with a doubling interval.
    line.at(22_500);
    let times: Vec<String> =
        line.taken().iter().map(|sent| sent.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(times, ["20850", "21250", "22050"]);
    line.at(22_600);
    line.peer_is_held(ack(1001, 200));
    line.emits(["22600 tcp a1001 t22600/22500 w50000"]);
}

/// The congestion window belongs to the kernel: the driver refuses, and the aid reduces the
/// advertised window instead.
#[test]
fn a_limit_is_refused_and_replaced() {
    let mut line = line(|| Box::new(CwndLimit::new(CwndLimitOptions { segments: 3 })));
    line.at(200);
    line.sends(0..3);
    assert_eq!((line.counts().refused_limit_cwnd, line.status().refused), (1, 1));
    line.at(300);
    line.peer_becomes(ack(1001, 200), "a1001 t300/200 w4344");
    line.peer_passes(ack(2001, 200).window(1000));
    // This aid does not handle outages: a router's message is passed to TCP.
    let disposition = line.unreachable(nth_segment(2), driftway_wire::UnreachableCode::Host);
    assert_eq!((disposition, line.status().state), (PacketAction::Pass, FlowState::Open));
}

/// Test aid that requests the scripted act on each signal, and records the result and the last
/// view.
#[derive(Default)]
struct AidScript {
    asks: Vec<Act>,
    verdict: Option<SegmentVerdict>,
    came: Vec<ActResult>,
    view: Option<TcpView>,
}

#[derive(Clone, Default)]
struct ScriptedAid(Arc<Mutex<AidScript>>);

impl ScriptedAid {
    fn line(&self) -> Timeline {
        let puppet = self.clone();
        line(move || Box::new(puppet.clone()))
    }
    fn asks(&self, line: &mut Timeline, act: Act) -> ActResult {
        self.0.lock().unwrap().asks.push(act);
        line.signal(&Signal::new(SignalKind::EcnEcho));
        self.0.lock().unwrap().came.pop().expect("the act was performed")
    }
    fn says(&self, verdict: Option<SegmentVerdict>) {
        self.0.lock().unwrap().verdict = verdict;
    }
    fn view(&self) -> TcpView {
        self.0.lock().unwrap().view.expect("the view was recorded")
    }
}

impl Aid for ScriptedAid {
    fn name(&self) -> &'static str {
        "puppet"
    }
    fn state(&self) -> &'static str {
        "only"
    }
    fn on_down(&mut self, _: Instant, _: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        self.0.lock().unwrap().view = Some(*view);
        SegmentVerdict::Pass
    }
    fn on_up(&mut self, _: Instant, _: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        let mut shared = self.0.lock().unwrap();
        shared.view = Some(*view);
        shared.verdict.unwrap_or(SegmentVerdict::Pass)
    }
    fn on_signal(&mut self, _: Instant, _: &Signal, view: &TcpView) {
        self.0.lock().unwrap().view = Some(*view);
    }
    fn on_timeout(&mut self, _: Instant, _: &TcpView) {}
    fn on_done(&mut self, _: Instant, _: &Act, done: ActResult, _: &TcpView) {
        self.0.lock().unwrap().came.push(done);
    }
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_act(&mut self) -> Option<Act> {
        self.0.lock().unwrap().asks.pop()
    }
}

fn hold(probe: Option<ProbeSpacing>, step_back: bool, cwnd: Assign<u32>) -> Act {
    Act::Hold {
        probe,
        rewind_snd_nxt: step_back,
        timers: HeldTimers::Stop,
        cwnd,
        release: Release::Resume,
    }
}
fn resume(cwnd: Assign<u32>) -> Act {
    Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep }
}
fn resend(from: u32, to: u32) -> Act {
    Act::Resend { range: SeqRange::new(OURS + from, OURS + to), ahead_of_queue: true }
}
fn emit(ack: u32, window: u32, copies: u8) -> Act {
    Act::SendAcks { ack: THEIRS + ack, window, copies }
}

#[test]
fn the_view_from_below() {
    let puppet = ScriptedAid::default();
    let mut line = puppet.line();
    line.at(200);
    line.sends(0..2);
    let view = puppet.view();
    // The view before it was sent.
    assert_eq!((view.snd_una, view.snd_max), (Known::Exact(OURS + 1), Known::Exact(OURS + 1001)));
    line.at(300);
    line.peer_passes(ack(1001, 200).window(7000));
    puppet.asks(&mut line, Act::Undo);
    let view = puppet.view();
    assert!(view.is_synchronized);
    assert_eq!(view.mss, Known::Estimated(1448));
    assert_eq!(
        (view.snd_una, view.snd_nxt),
        (Known::Exact(OURS + 1001), Known::Exact(OURS + 2001))
    );
    assert_eq!(view.srtt, Known::Exact(Some(Duration::from_millis(100))));
    assert_eq!(view.rto, Known::Estimated(Duration::from_millis(300)));
    assert_eq!(
        (view.is_ecn_negotiated, view.is_persisting),
        (Known::Exact(true), Known::Estimated(false))
    );
    assert_eq!(view.rcv_nxt, Known::Estimated(THEIRS + 1));
    assert_eq!(view.advertised_window, Known::Exact(60_000));
    assert_eq!(view.peer_window, Known::Estimated(7000));
    assert_eq!((view.cwnd, view.ssthresh), (Known::Unknown, Known::Unknown));
    assert_eq!(view.retransmission_deadline, Known::Unknown);
    puppet.asks(&mut line, hold(None, true, Assign::Keep));
    puppet.asks(&mut line, Act::Undo);
    assert_eq!(puppet.view().is_persisting, Known::Exact(true));
    line.at(301);
}

const SET_TIMER: Act = Act::SetTimeoutResponse {
    keep_rto: true,
    retransmit: Retransmit::LossRecovery,
    cwnd: Assign::Keep,
    ssthresh: Assign::Keep,
};

#[test]
fn unsupported_acts_are_refused_and_counted() {
    let puppet = ScriptedAid::default();
    let mut line = puppet.line();
    line.at(200);
    line.sends(0..2);
    let spacing = ProbeSpacing::new(Duration::from_secs(1), Duration::from_secs(1));
    let refused = [
        SET_TIMER,
        Act::LimitCwnd { cwnd: Some(1000) },
        Act::Undo,
        resume(Assign::Keep),
        resend(2001, 3001),
        emit(2, 1000, 1),
        hold(Some(spacing), true, Assign::Value(20_000)),
        Act::ProbeRoute(RouteProbe::Single),
    ];
    for act in refused {
        assert_eq!(puppet.asks(&mut line, act), ActResult::Unsupported, "{act:?}");
        assert_eq!(line.status().state, FlowState::Open);
    }
    // It resumes, but this window is not supported.
    assert_eq!(puppet.asks(&mut line, hold(None, false, Assign::Value(1448))), ActResult::Done);
    assert_eq!(line.status().state, FlowState::Held);
    assert_eq!(puppet.asks(&mut line, resume(Assign::Value(9000))), ActResult::Unsupported);
    assert_eq!(line.status().state, FlowState::Open);
    let counts = *line.counts();
    let each = [
        counts.refused_set_timeout_response,
        counts.refused_limit_cwnd,
        counts.refused_undo,
        counts.refused_resend,
        counts.refused_send_acks,
        counts.refused_hold,
        counts.refused_route_probe,
    ];
    assert_eq!((each, counts.refused_resume), ([1; 7], 2));
    assert_eq!(line.status().refused, 9);
    for nothing_to_do in [RouteProbe::Repeated, RouteProbe::Off] {
        assert_eq!(puppet.asks(&mut line, Act::ProbeRoute(nothing_to_do)), ActResult::Done);
    }
}

/// Without ECN, ECE would mean nothing to TCP.
#[test]
fn a_window_reduction_is_requested_by_ece() {
    let puppet = ScriptedAid::default();
    let mut line = puppet.line();
    line.at(200);
    line.sends(0..4);
    assert_eq!(puppet.asks(&mut line, Act::ReduceCwnd), ActResult::Done);
    line.at(300);
    line.peer_becomes(ack(1001, 200), "a1001 t300/200 w50000 ECE");
    line.peer_becomes(ack(2001, 200), "a2001 t300/200 w50000 ECE");
    line.passes(nth_segment(4).with(TcpFlags::CWR));
    line.peer_passes(ack(3001, 200));
    // Losses at that time are attributed to congestion.
    assert_eq!(puppet.asks(&mut line, Act::Undo), ActResult::Unsupported);

    let puppet = ScriptedAid::default();
    let aid = puppet.clone();
    let make = move || Box::new(aid.clone()) as Box<dyn Aid>;
    let offers = Offers { ecn: false, sack: true };
    let mut line = Timeline::established_with_shim(Shim::with_aid(config(), make), offers);
    assert_eq!(puppet.asks(&mut line, Act::ReduceCwnd), ActResult::Unsupported);
    assert_eq!(line.counts().refused_reduce_cwnd, 1);
}

#[test]
fn resends_and_synthetic_acknowledgments() {
    let puppet = ScriptedAid::default();
    let mut line = puppet.line();
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 500));
    line.passes(data(1, 0).not_capable().acking(501).window(5000));
    line.sends(0..4);
    line.at(250);
    assert_eq!(puppet.asks(&mut line, resend(1001, 3001)), ActResult::Done);
    line.at(290);
    line.emits(["250 net 1001+1000 a501 t200/200", "256 net 2001+1000 a501 t200/200"]);
    assert_eq!(puppet.asks(&mut line, emit(501, 0, 1)), ActResult::Done);
    assert_eq!(puppet.asks(&mut line, emit(400, 9000, 2)), ActResult::Done);
    // The acknowledgments of one end never decrease.
    line.emits(["290 net a501 t200/200", "290 net a501 t200/200", "290 net a501 t200/200"]);
    assert_eq!(line.counts().acks_sent, 3);
    line.at(400);
    line.peer_passes(ack(4001, 200));
}

/// An aid cannot make the local TCP receive a false acknowledgment.
#[test]
fn an_aid_cannot_acknowledge_data() {
    let puppet = ScriptedAid::default();
    let mut line = puppet.line();
    line.at(200);
    line.sends(0..4);
    line.at(300);
    let lie = TcpSegment { ack: OURS + 4001, ..ack(1001, 200).segment };
    for verdict in [SegmentVerdict::Replace(lie), SegmentVerdict::Hold] {
        puppet.says(Some(verdict));
        line.peer_passes(ack(1001, 200));
    }
    assert_eq!((line.counts().refused_verdict, line.status().refused), (2, 2));
    // An acknowledgment that it dropped is reported when the local TCP retransmits.
    puppet.says(Some(SegmentVerdict::Drop));
    assert_eq!(line.peer(ack(3001, 200)).0, BY_AID);
    line.at(500);
    assert_eq!(line.local(nth_segment(1).not_capable()), IN_REPAIR);
    line.emits(["500 tcp a3001 t500/500 w50000"]);
    puppet.says(None);
    line.at(600);
    line.peer_passes(ack(4001, 200));
}
