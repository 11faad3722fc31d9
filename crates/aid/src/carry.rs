//! carry: what `driftway shim` does for the connections of a host unless it is told otherwise.
//!
//! It carries a connection over losses and outages with a window that is what it was. Two papers stand
//! behind it, and ECN. As in liu-singh-2001 §III-A a loss is no reason to send less unless the
//! network speaks of congestion; but where ATCP keeps the loss from TCP, which then stands still
//! until it is repaired, carry lets TCP repair it and takes back the reduction ([`Act::Undo`], the
//! response to RFC 3522 that RFC 4015 describes). As in chandran-1998 §4 nothing is sent while there
//! is no path, and everything goes on from what it was; but the end of an outage is found by probing,
//! as by ATCP, because hardly a router tells of it.
//!
//! - *Losses.* What TCP sends again begins a loss. The acknowledgment that covers it undoes what TCP
//!   did, unless congestion was echoed since before the loss, until all that was out then is
//!   acknowledged. Only where ECN is in use: nothing would tell congestion from other losses else.
//!   That both ends have agreed on ECN says nothing of the routers, though: until one has marked, what
//!   looks like congestion is taken for it: a queue that may be full, or the loss of much.
//! - *Outages* begin with a signal from a router or of the own host. What was on its way back then may
//!   still arrive for a round trip and says nothing. Whatever arrives later says that there is a path,
//!   and so does a route that is restored. Whoever was wrong about that once is believed only if the
//!   peer is silent, too (`doubt`).
//! - *Silence* is suspicious if the connection's losses do not explain it (`silence.rs`). It may be
//!   congestion, so TCP goes on by itself, and probes take little of what the connection carried. The
//!   answer decides whether there was an outage.
//! - *What TCP is left with* ([`Cwnd`]): what it had, or, if the path may be another one, one
//!   segment, as liu-singh-2001 §III-C wants it. A reduction for congestion from just before the
//!   outage stays.
//!
//! It drops nothing, changes nothing and makes nothing up. It needs from its driver: a hold with
//! probes, that sends again what was out when it ends; signals of this connection only
//! ([`Signal::concerns`]). A driver without leaves TCP on its own.

mod loss_estimate;
mod options;
mod queue_estimate;
mod signal_trust;
mod state;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, ActResult, Assign, Duration, Instant, Known, ProbeSpacing, Release, Seq, SeqRange, Signal,
    SignalKind, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::Verdict;
use crate::kit::{Context, DEFAULT_RTO, Machine, Protocol, resume};
use crate::options::AidOptions;
use loss_estimate::{DeliveryEstimate, LossEstimate};
pub use options::{CarryOptions, CwndAfterOutage};
use queue_estimate::QueueEstimate;
use signal_trust::SignalTrust;
pub use state::{State, Transition};

/// The round trip before the first measurement: not shorter than most.
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The data of a segment, where nobody says how much that is (bytes).
const ASSUMED_MSS: u32 = 1460;

/// Heavy is the loss of more than one byte in so many, and of more than so many segments.
const HEAVY_LOSS_DIVISOR: u32 = 8;
const HEAVY_LOSS_MIN_SEGMENTS: u32 = 3;

/// What TCP has sent again, until all is acknowledged that was out when it began. TCP has reduced its
/// window for it once.
#[derive(Clone, Copy, Debug)]
struct LossEpisode {
    started_at: Instant,
    /// One past what was out when it began, and how much that was (bytes).
    until: Seq,
    flight_size: u32,
    /// From the first to the last number that was sent again and is not acknowledged.
    resent_range: SeqRange,
    /// What was sent again (bytes; segments).
    resent_bytes: u32,
    resent_segments: u32,
    /// The queue may have been full.
    queue_may_be_full: bool,
}

impl LossEpisode {
    /// Does it look like congestion? So it does if the queue may have been full, or if more was lost
    /// than the few of a hundred that a radio link loses.
    fn looks_congested(&self) -> bool {
        self.queue_may_be_full
            || self.resent_segments > HEAVY_LOSS_MIN_SEGMENTS
                && self.resent_bytes > self.flight_size / HEAVY_LOSS_DIVISOR
    }
}

/// carry to one connection. Its timer says when the peer is suspected to be out of reach, when the
/// next probe is due, or when probes become rare, by state.
#[derive(Clone, Debug)]
pub struct Carry {
    options: CarryOptions,
    queue: QueueEstimate,
    loss: Option<LossEpisode>,
    /// Congestion was echoed at least once, so that there is a router on this path that marks before
    /// it drops.
    path_marks_ecn: bool,
    /// Congestion was echoed; what is lost before this number is acknowledged, is lost to it.
    congestion_recovery_point: Option<Seq>,
    loss_estimate: LossEstimate,
    delivery_estimate: DeliveryEstimate,
    /// What was sent again since the peer was last heard, and of that the oldest segment.
    unacked_resends: u64,
    oldest_resends: u32,
    last_heard: Instant,
    /// Congestion window and threshold when the peer was last heard, where the view has them.
    last_cwnd_ssthresh: Option<(u32, u32)>,
    /// The timestamp of the last retransmission that should have been answered before the peer was
    /// suspected to be out of reach.
    suspicion_timestamp: Option<u32>,
    /// Until then what arrives may have been on its way before the outage.
    stragglers_until: Instant,
    signal_trust: SignalTrust,
    /// One past what was out when the path was back.
    until: Seq,
}

impl Carry {
    /// To a new connection.
    pub fn new(options: CarryOptions) -> Machine<Self> {
        let probe_min = options.probe_min.max(CarryOptions::MIN_SPAN);
        let probe_max = options.probe_max.max(probe_min);
        Machine::new(Self {
            options: CarryOptions { probe_min, probe_max, ..options },
            queue: QueueEstimate::default(),
            loss: None,
            path_marks_ecn: false,
            congestion_recovery_point: None,
            loss_estimate: LossEstimate::default(),
            delivery_estimate: DeliveryEstimate::default(),
            unacked_resends: 0,
            oldest_resends: 0,
            last_heard: Instant::ZERO,
            last_cwnd_ssthresh: None,
            suspicion_timestamp: None,
            stragglers_until: Instant::ZERO,
            signal_trust: SignalTrust::default(),
            until: Seq(0),
        })
    }

    fn disconnect(&mut self, cx: &mut Context<'_, State>, cause: Transition) {
        let Context { now, view, .. } = *cx;
        // Of what was on its way at the cut, nothing arrives later because a probe had no way.
        let on_its_way = cause == Transition::PathLost && !is_held(view);
        let srtt = round_trip(view);
        self.stragglers_until = if on_its_way { now + srtt } else { now };
        *cx.timer = Some(now + self.options.probe_fast);
        // What was lost since the peer was last heard is the outage's own.
        let undoes = |loss: &LossEpisode| loss.started_at > self.last_heard || self.may_undo(view);
        if self.options.cwnd == CwndAfterOutage::Keep && self.loss.as_ref().is_some_and(undoes) {
            cx.request(Act::Undo);
        }
        cx.request(hold(self.min_probe_gap()));
    }

    /// Between probes. One in a round trip of an empty path: what is new to the peer arrives within two
    /// and a half after the path is back, also where it had the oldest segment already.
    fn min_probe_gap(&self) -> Duration {
        self.queue.min_rtt().unwrap_or(DEFAULT_RTT).max(self.options.probe_min)
    }

    /// A router, or the own host, has no way; `lost` begins what it could not deliver, if known.
    fn on_path_lost(&mut self, cx: &mut Context<'_, State>, lost: Option<Seq>) {
        let Context { now, view, .. } = *cx;
        let (srtt, rto) = (round_trip(view), view.rto.value().unwrap_or(DEFAULT_RTO));
        if cx.state() == State::Disconnected || !self.signal_trust.on_path_lost(now, srtt, rto) {
            return;
        }
        self.transition(cx, Transition::PathLost);
        // Of a link nobody says what it has lost: the last, if anything.
        let lost = lost.or(view.outstanding().map(|outstanding| outstanding.end - 1));
        let answered = self.min_probe_gap() + self.queue.min_rtt().unwrap_or(DEFAULT_RTT);
        self.signal_trust.on_accepted(lost, now + srtt.max(answered));
    }

    /// When the oldest segment, sent at `sent`, may be sent once more to look for a path; `None` if
    /// the connection has carried nothing that this could be a small share of.
    fn probe_at(&self, sent: Instant, view: &TcpView) -> Option<Instant> {
        let gap = self.delivery_estimate.probe_interval(oldest_segment(view)?.len())?;
        let long = sent.since(self.last_heard) >= self.options.probe_fast;
        let rare = if long { self.options.probe_max } else { Duration::ZERO };
        Some(sent + gap.max(self.min_probe_gap()).max(rare))
    }

    /// Sends the oldest segment again.
    fn probe(&self, cx: &mut Context<'_, State>) {
        *cx.timer = self.probe_at(cx.now, cx.view);
        if let Some(range) = oldest_segment(cx.view) {
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }

    /// Does the first answer show that there was an outage? Not if it may be that to an original, or to
    /// a retransmission which should have been answered long ago: then the path was slow. It is that
    /// to a later one if it echoes its timestamp, or reports it as a duplicate (RFC 2883) of an
    /// original of which only the acknowledgment was lost.
    fn was_outage(&self, answer: &TcpSegment, view: &TcpView) -> bool {
        let echo = answer.options.timestamps.map(|timestamps| timestamps.echo);
        let fresh = echo
            .zip(self.suspicion_timestamp)
            .is_some_and(|(echo, stamp)| !Seq(echo).before(Seq(stamp)));
        let duplicate = answer.options.sack.as_slice().first().is_some_and(|block| {
            view.snd_una.value() == Some(block.start) && block.end.at_or_before(answer.ack)
        });
        (fresh || duplicate) && self.congestion_recovery_point.is_none()
    }

    /// There was an outage, as the answer to a probe shows. TCP was not held, and has reduced its
    /// window; now it is to go back over all that was out.
    fn resume_suspected(&mut self, cx: &mut Context<'_, State>) {
        cx.request(hold(self.min_probe_gap()));
        self.resume(cx);
        self.loss = None;
        if let (Some((cwnd, ssthresh)), CwndAfterOutage::Keep) =
            (self.last_cwnd_ssthresh, self.options.cwnd)
        {
            let (cwnd, ssthresh) = (Assign::Value(cwnd), Assign::Value(ssthresh));
            cx.request(Act::Resume { cwnd, ssthresh, rto: Assign::Keep });
        }
    }

    fn resume(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = None;
        self.signal_trust.on_path_restored();
        self.until = cx.view.snd_max.value().unwrap_or(self.until);
        let cwnd = match self.options.cwnd {
            CwndAfterOutage::Keep => Assign::Keep,
            CwndAfterOutage::Reset => Assign::Initial,
        };
        // The routers of a new path may be others.
        self.path_marks_ecn &= self.options.cwnd == CwndAfterOutage::Keep;
        cx.request(resume(cwnd));
    }

    /// Would congestion have been told, and was it not?
    fn may_undo(&self, view: &TcpView) -> bool {
        let heavy = self.loss_estimate.exceeds(HEAVY_LOSS_MIN_SEGMENTS, HEAVY_LOSS_DIVISOR);
        let congested = |loss: LossEpisode| heavy || loss.looks_congested();
        let known = self.path_marks_ecn || !self.loss.is_some_and(congested);
        let told = view.is_ecn_negotiated.value() == Some(true)
            && self.congestion_recovery_point.is_none();
        self.options.undo_losses && told && known
    }

    /// TCP sends again what is between these.
    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_, State>,
        range: SeqRange,
        stamp: Option<u32>,
    ) {
        let Context { now, view, .. } = *cx;
        let outstanding = view.outstanding().unwrap_or(range);
        let srtt = view.srtt.value().flatten();
        let mut loss = match self.loss {
            Some(loss) => loss,
            None => LossEpisode {
                started_at: now,
                until: outstanding.end,
                flight_size: outstanding.len(),
                resent_range: range,
                resent_bytes: 0,
                resent_segments: 0,
                queue_may_be_full: self.queue.on_loss(srtt),
            },
        };
        let hull = loss.resent_range;
        loss.resent_range = SeqRange::new(hull.start.min(range.start), hull.end.max(range.end));
        loss.resent_bytes = loss.resent_bytes.saturating_add(range.len());
        loss.resent_segments = loss.resent_segments.saturating_add(1);
        self.loss = Some(loss);
        self.unacked_resends = self.unacked_resends.saturating_add(1);
        if range.contains(outstanding.start) {
            self.oldest_resends = self.oldest_resends.saturating_add(1);
            match cx.state() {
                State::Open if self.should_suspect() => {
                    // Not before it should have been answered, too.
                    let answered = now + view.rto.value().unwrap_or(DEFAULT_RTT);
                    *cx.timer = self.probe_at(now, view).map(|at| at.max(answered));
                    self.suspicion_timestamp = self.suspicion_timestamp.or(stamp);
                }
                State::Suspecting => *cx.timer = self.probe_at(now, view),
                _ => {}
            }
        }
    }

    /// If what was sent again is not answered either?
    fn should_suspect(&self) -> bool {
        self.options.suspect_after < CarryOptions::NEVER
            && self.oldest_resends >= self.options.suspect_after.max(1)
            && self.loss_estimate.is_run_unlikely(self.oldest_resends)
    }

    /// The peer acknowledges everything before `ack`, which is news.
    fn on_acknowledged(&mut self, cx: &mut Context<'_, State>, ack: Seq) {
        let Context { now, view, .. } = *cx;
        let una = view.snd_una.value().unwrap_or(ack);
        self.delivery_estimate.on_acknowledged(now, ack.since(una));
        self.queue.on_acknowledged(ack.since(una), view.srtt.value().flatten());
        // What is left behind with the old path is not to come back.
        let anew = cx.state() == State::Resuming && self.options.cwnd == CwndAfterOutage::Reset;
        let covered = self.loss.is_some_and(|loss| ack.after(loss.resent_range.start));
        if covered && !anew && self.may_undo(view) {
            cx.request(Act::Undo);
        }
        self.loss = self.loss.filter(|loss| ack.before(loss.until));
        if let Some(loss) = &mut self.loss {
            let start = loss.resent_range.start.max(ack);
            loss.resent_range = SeqRange::new(start, loss.resent_range.end.max(start));
        }
        self.congestion_recovery_point =
            self.congestion_recovery_point.filter(|point| ack.before(*point));
    }

    fn record_round_trip(&mut self, view: &TcpView) {
        if let Some(srtt) = view.srtt.value().flatten() {
            self.queue.on_round_trip(srtt);
        }
    }
}

fn hold(gap: Duration) -> Act {
    Act::Hold {
        probe: Some(ProbeSpacing::new(gap, gap)),
        // All that was out is lost, as far as one knows: it goes first, and in order.
        rewind_snd_nxt: true,
        freeze_timers: true,
        cwnd: Assign::Keep,
        release: Release::Resume,
    }
}

fn round_trip(view: &TcpView) -> Duration {
    view.srtt.value().flatten().unwrap_or(DEFAULT_RTT)
}

/// TCP is held, by us or by a driver that has found no path again by itself.
fn is_held(view: &TcpView) -> bool {
    view.is_persisting == Known::Exact(true)
}

/// The oldest segment.
fn oldest_segment(view: &TcpView) -> Option<SeqRange> {
    let outstanding = view.outstanding()?;
    let mss = view.mss.value().unwrap_or(u32::MAX).min(outstanding.len());
    Some(SeqRange::new(outstanding.start, outstanding.start + mss))
}

impl Protocol for Carry {
    type State = State;
    const NAME: &'static str = CarryOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, cause: Transition) {
        match (from, cx.state()) {
            (_, State::Suspecting) => self.probe(cx),
            (_, State::Disconnected) => self.disconnect(cx, cause),
            (State::Suspecting, State::Resuming) => self.resume_suspected(cx),
            (_, State::Resuming) => self.resume(cx),
            // What was lost may have been lost to congestion.
            (State::Suspecting, State::Open) => (*cx.timer, self.loss) = (None, None),
            (_, State::Open) => *cx.timer = None,
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let view = cx.view;
        self.record_round_trip(view);
        let Some(outstanding) = view.outstanding() else { return Verdict::Pass };
        let start = segment.seq.max(outstanding.start);
        let again = SeqRange::new(start, segment.end().min(outstanding.end).max(start));
        // A TCP that goes back over what the outage has taken believes nothing lost.
        let goes_back = cx.state() == State::Resuming && view.snd_nxt.value() == Some(segment.seq);
        let probes = cx.state() == State::Disconnected && again.len() == 1;
        if !again.is_empty() && !goes_back && !probes {
            let stamp = segment.options.timestamps.map(|timestamps| timestamps.value);
            self.on_retransmission(cx, again, stamp);
        }
        Verdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let Context { now, view, .. } = *cx;
        self.record_round_trip(view);
        // On SYNs, ECE speaks of what the peer can do (RFC 3168 §6.1.1). Resets are TCP's to judge.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) || !segment.flags.contains(TcpFlags::ACK) {
            return Verdict::Pass;
        }
        // RFC 3168 §6.1.2: one reaction to what is out at the first echo. Those that follow until the
        // peer has seen the reaction (CWR) are echoes of the same.
        if view.is_ecn_negotiated.value() == Some(true) && segment.flags.contains(TcpFlags::ECE) {
            let known =
                self.congestion_recovery_point.filter(|point| segment.ack.at_or_before(*point));
            self.congestion_recovery_point = known.or(view.snd_max.value());
            self.path_marks_ecn = true;
        }
        self.signal_trust.on_acknowledgment(now, segment.ack);
        if cx.state() == State::Disconnected && now >= self.stragglers_until {
            self.transition(cx, Transition::PathRestored);
        }
        let outstanding = view.outstanding();
        let advances = outstanding
            .is_some_and(|out| segment.ack.after(out.start) && segment.ack.at_or_before(out.end));
        match cx.state() {
            State::Open => *cx.timer = None,
            State::Suspecting if advances => {
                let cause = if self.was_outage(segment, view) {
                    Transition::PathRestored
                } else {
                    Transition::LateAnswer
                };
                self.transition(cx, cause);
            }
            // There seems to be a path: it is time to look, once.
            State::Suspecting if self.oldest_resends > 0 => self.probe(cx),
            _ => {}
        }
        if advances {
            self.on_acknowledged(cx, segment.ack);
        }
        if cx.state() == State::Resuming && segment.ack.at_or_after(self.until) {
            self.transition(cx, Transition::Repaired);
        }
        // Each retransmission is for a loss. What nobody has acknowledged may be lost, and is no evidence.
        let acknowledged = outstanding.filter(|_| advances).map_or(0, |out| {
            let mss = view.mss.value().unwrap_or(ASSUMED_MSS).max(1);
            u64::from(segment.ack.since(out.start).div_ceil(mss))
        });
        self.loss_estimate.on_sent(acknowledged + self.unacked_resends, self.unacked_resends);
        (self.last_heard, self.unacked_resends, self.oldest_resends) = (now, 0, 0);
        if cx.state() != State::Suspecting {
            self.last_cwnd_ssthresh = view.cwnd.value().zip(view.ssthresh.value());
            self.suspicion_timestamp = None;
        }
        Verdict::Pass
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        self.record_round_trip(cx.view);
        match signal.kind {
            SignalKind::Unreachable(_) | SignalKind::RouteFailed => {
                self.on_path_lost(cx, signal.details.seq);
            }
            SignalKind::RouteRestored if cx.state() == State::Resuming && is_held(cx.view) => {
                self.resume(cx);
            }
            SignalKind::RouteRestored if cx.state() == State::Suspecting => self.probe(cx),
            SignalKind::RouteRestored => {
                self.signal_trust.on_path_restored();
                self.transition(cx, Transition::PathRestored);
            }
            // RFC 6633; what the peer echoes is seen as it comes; what is lost is sent again by TCP.
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        self.record_round_trip(cx.view);
        if self.signal_trust.is_confirmed(cx.now, cx.view.outstanding().is_some()) {
            self.transition(cx, Transition::PathLost);
        }
        if !cx.take_expired_timer() {
            return;
        }
        match cx.state() {
            State::Open => self.transition(cx, Transition::Silence),
            State::Suspecting => self.probe(cx),
            State::Disconnected => cx.request(hold(self.options.probe_max)),
            State::Resuming => {}
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            (Act::Hold { .. }, ActResult::Unsupported) => {
                self.transition(cx, Transition::Unsupported);
                (*cx.timer, self.signal_trust) = (None, SignalTrust::default());
            }
            // TCP looks by itself.
            (Act::Resend { .. }, ActResult::Unsupported) => *cx.timer = None,
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        self.loss = None;
        self.signal_trust = SignalTrust::default();
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.signal_trust.next_timeout()
    }
}
