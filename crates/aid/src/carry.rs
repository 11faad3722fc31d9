//! carry: the default aid of `driftway shim` for the connections of a host.
//!
//! It preserves the congestion window over losses and outages. It combines two papers with ECN. As in
//! liu-singh-2001 §III-A, a loss does not reduce the window unless the network signals congestion. ATCP hides
//! the loss from TCP, which then sends nothing until the loss is repaired; carry lets TCP repair it and
//! undoes the reduction ([`Act::Undo`], the Eifel response of RFC 4015). As in chandran-1998 §4, nothing is
//! sent while there is no path, and everything continues from its previous state; but the end of an outage is
//! detected by probing, as in ATCP, because few routers report it.
//!
//! - *Losses.* A retransmission begins a loss episode. What is not known to be another loss is congestion. The
//!   acknowledgment that covers the retransmission (without SACK: all data of the episode) undoes TCP's
//!   response only on a connection that has negotiated ECN, and only if congestion was not echoed since before the loss; an echo counts until all
//!   data outstanding at that time is acknowledged. Negotiated ECN does not imply that the routers mark:
//!   until one has marked, a loss while a queue is visible (`queue_delay`), or of many segments, is
//!   congestion, and for any other a trial has to show that losses do not become more frequent when
//!   reductions are undone (`loss_trial`).
//! - *Outages* begin with a signal from a router or the local host. Segments then in flight towards the host
//!   may still arrive within a round-trip time and do not count. Later arrivals, or a restored route, show
//!   that there is a path. After a false signal, a further one is accepted only if the peer is silent as well
//!   (`signal_trust`). While the host's own link is down probes are rare: the host reports that it is up.
//! - *Silence* is suspicious if the losses of the connection do not explain it (`loss_estimate`). It may be
//!   caused by congestion, so TCP continues unchanged, and probes use a small share of the previous
//!   throughput and become rarer. Their answer decides whether there was an outage.
//! - *Congestion window after an outage* ([`CwndAfterOutage`]): the previous window, or, if the path may have
//!   changed, one segment as in liu-singh-2001 §III-C. A reduction for congestion shortly before the outage
//!   is kept. Without SACK half of the window is sent again at once, or one segment after an outage of the
//!   host's own link, and slow start adds the rest.
//!
//! carry neither drops, changes nor creates segments. Driver requirements: a hold with probes that
//! retransmits outstanding data at its end, and signals of this connection only ([`Signal::concerns`]).
//! Without a hold TCP runs unassisted.

mod description;
mod loss_estimate;
mod loss_trial;
mod options;
mod queue_delay;
mod signal_trust;
mod state;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, Instant, Known, ProbeSpacing, Release, Seq,
    SeqRange, Signal, SignalKind, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::{Context, DEFAULT_RTO, Machine, Protocol};
use crate::options::AidOptions;
use crate::{LossDecisions, SegmentVerdict};
use loss_estimate::{DeliveryEstimate, LossEstimate};
use loss_trial::{LossTrial, TrialVerdict, UNDONE_MAX};
pub use options::{CarryOptions, CwndAfterOutage};
use queue_delay::{ObservedQueue, QueueDelay};
use signal_trust::SignalTrust;
pub use state::{State, Transition};

/// RTT assumed before the first measurement: longer than most.
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// MSS assumed if it is unknown (bytes).
const ASSUMED_MSS: u32 = 1460;

/// Heavy loss: more than one byte in `HEAVY_LOSS_DIVISOR`, and more than `HEAVY_LOSS_MIN_SEGMENTS` segments.
const HEAVY_LOSS_DIVISOR: u32 = 8;
const HEAVY_LOSS_MIN_SEGMENTS: u32 = 3;

/// Probes of a suspected outage are sent at intervals of at least the silence so far over this, so that their
/// number grows with its logarithm, and its end is found at most that much later.
const PROBES_PER_SILENCE: u64 = 16;

/// Probes of a suspected outage are no rarer.
const RAREST_PROBES: Duration = Duration::from_millis(500);

/// A loss episode: retransmissions until all data outstanding at its beginning is acknowledged. TCP has
/// reduced its window once for it.
#[derive(Clone, Copy, Debug)]
struct LossEpisode {
    started_at: Instant,
    /// One past the data outstanding at the beginning, and its amount (bytes).
    until: Seq,
    flight_size: u32,
    /// Range from the first to the last retransmitted and unacknowledged sequence number.
    resent_range: SeqRange,
    /// Retransmitted data (bytes; segments).
    resent_bytes: u32,
    resent_segments: u32,
    /// Congestion that the path showed at the beginning.
    congestion: Option<Congestion>,
    /// The peer was silent until TCP has retransmitted.
    has_timed_out: bool,
    /// The decision has been counted.
    is_counted: bool,
}

/// Reason for which a loss counts as congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Congestion {
    /// A router has marked.
    Echoed,
    /// A queue was visible.
    QueueDelay,
    /// More was lost than the few percent that a radio link loses, or more often than with reductions.
    LossRate,
    /// Losses were more frequent without reductions, and no queue was visible.
    ShortQueue,
    /// Nothing shows that it is another loss.
    Unknown,
}

impl LossEpisode {
    /// Returns true if more was lost than the few percent that a radio link loses.
    fn is_heavy(&self) -> bool {
        self.resent_segments > HEAVY_LOSS_MIN_SEGMENTS
            && self.resent_bytes > self.flight_size / HEAVY_LOSS_DIVISOR
    }
}

/// carry for one connection. Its timer is, by state, the time at which an outage is suspected, of the next
/// probe, or from which probes are rare.
#[derive(Clone, Debug)]
pub struct Carry {
    options: CarryOptions,
    queue: QueueDelay,
    trial: LossTrial,
    decisions: LossDecisions,
    loss: Option<LossEpisode>,
    /// Reductions undone since congestion was echoed; `None`: it never was.
    undone_since_echo: Option<u32>,
    /// Congestion was echoed; losses are attributed to it until this number is acknowledged.
    congestion_recovery_point: Option<Seq>,
    loss_estimate: LossEstimate,
    delivery_estimate: DeliveryEstimate,
    /// Retransmissions since the peer was last heard, and those of the oldest segment among them.
    unacked_resends: u64,
    oldest_resends: u32,
    last_heard: Instant,
    /// cwnd and ssthresh when the peer was last heard, if known.
    last_cwnd_ssthresh: Option<(u32, u32)>,
    /// Timestamp of the last retransmission whose answer was due before an outage was suspected.
    suspicion_timestamp: Option<u32>,
    /// The time until which arriving segments may have been in flight before the outage.
    stragglers_until: Instant,
    signal_trust: SignalTrust,
    /// SND.MAX when the path was restored.
    until: Seq,
    /// An end of the connection does not have SACK.
    lacks_sack: bool,
    /// The outage is, or was, of the host's own link.
    is_own_link: bool,
}

impl Carry {
    /// Creates the aid for a new connection.
    pub fn new(options: CarryOptions) -> Machine<Self> {
        let probe_min = options.probe_min.max(CarryOptions::MIN_SPAN);
        let probe_max = options.probe_max.max(probe_min);
        Machine::new(Self {
            options: CarryOptions { probe_min, probe_max, ..options },
            queue: QueueDelay::default(),
            trial: LossTrial::default(),
            decisions: LossDecisions::default(),
            loss: None,
            undone_since_echo: None,
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
            lacks_sack: false,
            is_own_link: false,
        })
    }

    fn disconnect(&mut self, cx: &mut Context<'_, State>, transition: Transition) {
        let Context { now, view, .. } = *cx;
        // After a signal caused by a probe, no segments are in flight any more.
        let srtt = round_trip(view);
        self.stragglers_until = if is_held(view) { now } else { now + srtt };
        // The host itself reports the end of an outage of its own link.
        self.is_own_link = transition == Transition::LinkDown;
        *cx.timer = (!self.is_own_link).then(|| now + self.options.probe_fast);
        self.queue.forget_in_flight();
        // Losses since the peer was last heard belong to the outage.
        let undoes = |loss: &LossEpisode| {
            loss.started_at > self.last_heard
                || self.options.undo_losses && self.congestion_of(loss, view).is_none()
        };
        if self.options.cwnd == CwndAfterOutage::Keep && self.loss.as_ref().is_some_and(undoes) {
            cx.request(Act::Undo);
        }
        cx.request(hold(if self.is_own_link {
            self.options.probe_max
        } else {
            self.min_probe_gap()
        }));
    }

    /// Minimum probe interval: one RTT of an empty path. New data reaches the peer within two and a half RTTs
    /// after the path is restored, even if the peer already has the oldest segment.
    fn min_probe_gap(&self) -> Duration {
        self.queue.min_rtt().unwrap_or(DEFAULT_RTT).max(self.options.probe_min)
    }

    /// A router or the local host has no route; `lost` is the first sequence number of the undeliverable
    /// packet, if known.
    fn on_path_lost(&mut self, cx: &mut Context<'_, State>, lost: Option<Seq>) {
        let Context { now, view, .. } = *cx;
        let (srtt, rto) = (round_trip(view), view.rto.value().unwrap_or(DEFAULT_RTO));
        if cx.state() == State::Disconnected || !self.signal_trust.on_path_lost(now, srtt, rto) {
            return;
        }
        self.transition(cx, Transition::PathLost);
        // A link failure does not identify the lost packet: assume the last one.
        let lost = lost.or(view.outstanding().map(|outstanding| outstanding.end - 1));
        let answered = self.min_probe_gap() + self.queue.min_rtt().unwrap_or(DEFAULT_RTT);
        self.signal_trust.on_accepted(lost, now + srtt.max(answered));
    }

    /// The host's own link is up. Its queue may have kept what was sent before, and would drop the window that
    /// is sent again behind that; an answer shows what has arrived.
    fn on_link_up(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = Some(cx.now + self.options.probe_fast);
        cx.request(hold(self.min_probe_gap()));
        if let Some(range) = oldest_segment(cx.view) {
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }

    /// Time at which the oldest segment, sent at `sent`, may be sent again as a probe; `None` if the
    /// connection has delivered no data to derive a rate from.
    fn probe_at(&self, sent: Instant, view: &TcpView) -> Option<Instant> {
        let share = self.delivery_estimate.probe_interval(oldest_segment(view)?.len())?;
        // A router that searches for a route keeps what arrives. If it kept fifty probes, they would leave at
        // once when the path is restored, and fill the queue that the answer has to pass.
        let silence = sent.since(self.last_heard);
        let rare = silence.over(PROBES_PER_SILENCE).min(RAREST_PROBES).min(self.options.probe_max);
        Some(sent + share.max(self.min_probe_gap()).max(rare))
    }

    /// Sends the oldest segment as a probe.
    fn probe(&self, cx: &mut Context<'_, State>) {
        *cx.timer = self.probe_at(cx.now, cx.view);
        if let Some(range) = oldest_segment(cx.view) {
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }

    /// Returns true if the first answer shows that there was an outage. An answer to an original or to a
    /// retransmission sent much earlier shows a slow path instead. The answer is for a recent retransmission
    /// if it echoes a recent timestamp, or reports a duplicate (D-SACK, RFC 2883) of an original whose
    /// acknowledgment was lost.
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

    /// Resumes after an outage that the answer to a probe has shown. TCP was not held and has reduced its
    /// window; it is to retransmit all outstanding data.
    fn resume_suspected(&mut self, cx: &mut Context<'_, State>) {
        self.is_own_link = false;
        cx.request(hold(self.min_probe_gap()));
        self.resume(cx);
        self.loss = None;
        if let (Some((cwnd, ssthresh)), CwndAfterOutage::Keep) =
            (self.last_cwnd_ssthresh, self.options.cwnd)
        {
            let (cwnd, ssthresh) =
                self.restored_without_sack(cx.view, cwnd, ssthresh).unwrap_or((cwnd, ssthresh));
            let (cwnd, ssthresh) = (Assign::Value(cwnd), Assign::Value(ssthresh));
            cx.request(Act::Resume { cwnd, ssthresh, rto: Assign::Keep });
        }
    }

    fn resume(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = None;
        self.signal_trust.on_path_restored();
        self.until = cx.view.snd_max.value().unwrap_or(self.until);
        let window = cx.view.cwnd.value().zip(cx.view.ssthresh.value());
        let restored =
            window.and_then(|(cwnd, ssthresh)| self.restored_without_sack(cx.view, cwnd, ssthresh));
        let (cwnd, ssthresh) = match (self.options.cwnd, restored) {
            (CwndAfterOutage::Reset, _) => (Assign::Initial, Assign::Keep),
            (CwndAfterOutage::Keep, Some((cwnd, ssthresh))) => {
                (Assign::Value(cwnd), Assign::Value(ssthresh))
            }
            (CwndAfterOutage::Keep, None) => (Assign::Keep, Assign::Keep),
        };
        // A new path has other routers and other losses.
        if self.options.cwnd == CwndAfterOutage::Reset {
            (self.undone_since_echo, self.trial) = (None, LossTrial::default());
        }
        cx.request(Act::Resume { cwnd, ssthresh, rto: Assign::Keep });
    }

    /// Window after an outage, and the threshold up to which slow start brings it; `None` with SACK: both as they were.
    ///
    /// A whole window that is sent again at once overflows a queue that is shorter. With SACK that is repaired within
    /// a round trip; without it TCP waits for a timeout. Half of the window passes where the queue has room for a
    /// bandwidth-delay product. The queue of the host's own link may have kept the whole window: one segment.
    fn restored_without_sack(
        &self,
        view: &TcpView,
        cwnd: u32,
        ssthresh: u32,
    ) -> Option<(u32, u32)> {
        let mss = view.mss.value().unwrap_or(ASSUMED_MSS);
        let first = if self.is_own_link { mss } else { mss.max(cwnd / 2) };
        self.lacks_sack.then_some((first, ssthresh.max(cwnd)))
    }

    /// Reason for which the loss counts as congestion; `None` if it is another loss.
    fn congestion_of(&self, loss: &LossEpisode, view: &TcpView) -> Option<Congestion> {
        if view.is_ecn_negotiated.value() != Some(true) {
            return Some(Congestion::Unknown);
        }
        if self.congestion_recovery_point.is_some() {
            return Some(Congestion::Echoed);
        }
        if self.path_marks() {
            return None;
        }
        let heavy = self.loss_estimate.exceeds(HEAVY_LOSS_MIN_SEGMENTS, HEAVY_LOSS_DIVISOR);
        if heavy || loss.is_heavy() {
            return Some(Congestion::LossRate);
        }
        loss.congestion.filter(|_| !self.options.queues_mark)
    }

    /// A loss episode begins with so much data in flight (bytes): what the path shows of congestion.
    fn on_episode(&mut self, flight_size: u32) -> Option<Congestion> {
        let Some(queue) = self.queue.observed() else { return Some(Congestion::Unknown) };
        let verdict = self.trial.on_episode(flight_size, queue >= ObservedQueue::Visible);
        let limit =
            if self.trial.is_proven() { ObservedQueue::Long } else { ObservedQueue::Visible };
        match verdict {
            _ if queue >= limit => Some(Congestion::QueueDelay),
            TrialVerdict::Undo => None,
            TrialVerdict::MoreLosses => Some(Congestion::LossRate),
            TrialVerdict::ShortQueue => Some(Congestion::ShortQueue),
            TrialVerdict::Unknown => Some(Congestion::Unknown),
        }
    }

    /// The peer acknowledges a retransmission: TCP's reduction is undone, unless the loss is congestion.
    fn decide(&mut self, cx: &mut Context<'_, State>) {
        let Some(mut loss) = self.loss else { return };
        let congestion = self.congestion_of(&loss, cx.view);
        if congestion.is_none() {
            cx.request(Act::Undo);
        }
        if loss.is_counted {
            return;
        }
        loss.is_counted = true;
        self.loss = Some(loss);
        let count = match congestion {
            None => {
                self.trial.on_undone();
                self.undone_since_echo =
                    self.undone_since_echo.map(|undone| undone.saturating_add(1));
                &mut self.decisions.undone
            }
            Some(Congestion::Echoed) => &mut self.decisions.ce,
            Some(Congestion::QueueDelay) => &mut self.decisions.delay,
            Some(Congestion::LossRate) => &mut self.decisions.rate,
            Some(Congestion::ShortQueue) => &mut self.decisions.short_queue,
            Some(Congestion::Unknown) => &mut self.decisions.unknown,
        };
        *count += 1;
    }

    /// Returns true if a router on this path was seen to mark before it drops, not long ago.
    fn path_marks(&self) -> bool {
        self.options.queues_mark || self.undone_since_echo.is_some_and(|undone| undone < UNDONE_MAX)
    }

    /// TCP has retransmitted `range`.
    fn on_retransmission(
        &mut self,
        cx: &mut Context<'_, State>,
        range: SeqRange,
        stamp: Option<u32>,
    ) {
        let Context { now, view, .. } = *cx;
        let outstanding = view.outstanding().unwrap_or(range);
        self.queue.on_resent(range.start);
        let timeout = view.rto.value().unwrap_or(DEFAULT_RTO);
        let mut loss = match self.loss {
            Some(mut loss) => {
                // After a timeout all that is outstanding is retransmitted.
                loss.has_timed_out |= now.since(self.last_heard) >= timeout.over(2);
                if !loss.has_timed_out && self.trial.on_further_loss(loss.resent_segments + 1) {
                    loss.congestion = loss.congestion.or(Some(Congestion::LossRate));
                }
                loss
            }
            None => LossEpisode {
                started_at: now,
                until: outstanding.end,
                flight_size: outstanding.len(),
                resent_range: range,
                resent_bytes: 0,
                resent_segments: 0,
                congestion: self.on_episode(outstanding.len()),
                has_timed_out: now.since(self.last_heard) >= timeout.over(2),
                is_counted: false,
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
                    // Not before its answer is due.
                    let answered = now + view.rto.value().unwrap_or(DEFAULT_RTT);
                    *cx.timer = self.probe_at(now, view).map(|at| at.max(answered));
                    self.suspicion_timestamp = self.suspicion_timestamp.or(stamp);
                }
                State::Suspecting => *cx.timer = self.probe_at(now, view),
                _ => {}
            }
        }
    }

    /// Returns true if an outage is to be suspected when this retransmission remains unanswered.
    fn should_suspect(&self) -> bool {
        self.options.suspect_after < CarryOptions::NEVER
            && self.oldest_resends >= self.options.suspect_after.max(1)
            && self.loss_estimate.is_run_unlikely(self.oldest_resends)
    }

    /// The peer acknowledges new data up to `ack`.
    fn on_acknowledged(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) {
        let Context { now, view, .. } = *cx;
        let ack = segment.ack;
        let una = view.snd_una.value().unwrap_or(ack);
        self.delivery_estimate.on_acknowledged(now, ack.since(una));
        let mss = view.mss.value().unwrap_or(ASSUMED_MSS).max(1);
        let segments = u64::from(ack.since(una).div_ceil(mss));
        let is_evident = self.queue.observed() >= Some(ObservedQueue::Evident);
        self.trial.on_acknowledged(segments, is_evident);
        // State of the old path is not restored.
        let anew = cx.state() == State::Resuming && self.options.cwnd == CwndAfterOutage::Reset;
        // Without SACK, TCP repairs one loss per round-trip time (RFC 6582): a window that is restored before
        // the last one is repaired only adds losses, until there are too few duplicates for the next.
        let is_repaired = |loss: &LossEpisode| {
            ack.at_or_after(loss.until) || !segment.options.sack.as_slice().is_empty()
        };
        let covered =
            self.loss.is_some_and(|loss| ack.after(loss.resent_range.start) && is_repaired(&loss));
        if covered && !anew && self.options.undo_losses {
            self.decide(cx);
        }
        self.loss = self.loss.filter(|loss| ack.before(loss.until));
        if let Some(loss) = &mut self.loss {
            let start = loss.resent_range.start.max(ack);
            loss.resent_range = SeqRange::new(start, loss.resent_range.end.max(start));
        }
        self.congestion_recovery_point =
            self.congestion_recovery_point.filter(|point| ack.before(*point));
    }

    /// The peer reports what has arrived.
    fn record_arrival(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) {
        let blocks = segment.options.sack.as_slice();
        let sent = |end: &Seq| view.snd_max.value().is_some_and(|max| end.at_or_before(max));
        let arrived = blocks.iter().map(|block| block.end).filter(sent).fold(segment.ack, Seq::max);
        let acked = view.snd_una.value().map_or(0, |una| segment.ack.since(una));
        let single = acked <= view.mss.value().unwrap_or(ASSUMED_MSS);
        self.queue.on_arrived(now, arrived, single && blocks.is_empty());
    }

    fn record_round_trip(&mut self, view: &TcpView) {
        if let Some(srtt) = view.srtt.value().flatten() {
            self.queue.on_smoothed(srtt);
        }
    }
}

fn hold(gap: Duration) -> Act {
    Act::Hold {
        probe: Some(ProbeSpacing::new(gap, gap)),
        // All outstanding data is presumed lost: it is retransmitted first, in order.
        rewind_snd_nxt: true,
        timers: HeldTimers::Freeze,
        cwnd: Assign::Keep,
        release: Release::Resume,
    }
}

fn round_trip(view: &TcpView) -> Duration {
    view.srtt.value().flatten().unwrap_or(DEFAULT_RTT)
}

/// TCP is held, by this aid or by a driver that has found no path.
fn is_held(view: &TcpView) -> bool {
    view.is_persisting == Known::Exact(true)
}

/// The oldest unacknowledged segment.
fn oldest_segment(view: &TcpView) -> Option<SeqRange> {
    let outstanding = view.outstanding()?;
    let mss = view.mss.value().unwrap_or(u32::MAX).min(outstanding.len());
    Some(SeqRange::new(outstanding.start, outstanding.start + mss))
}

impl Protocol for Carry {
    type State = State;
    const NAME: &'static str = CarryOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, transition: Transition) {
        match (from, cx.state()) {
            (_, State::Suspecting) => self.probe(cx),
            (_, State::Disconnected) => self.disconnect(cx, transition),
            (State::Suspecting, State::Resuming) => self.resume_suspected(cx),
            (_, State::Resuming) => self.resume(cx),
            // The losses may be due to congestion.
            (State::Suspecting, State::Open) => (*cx.timer, self.loss) = (None, None),
            (_, State::Open) => *cx.timer = None,
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let view = cx.view;
        self.record_round_trip(view);
        if !segment.payload.is_empty() && view.snd_max.value() == Some(segment.seq) {
            self.queue.on_sent(cx.now, segment.end());
        }
        let Some(outstanding) = view.outstanding() else { return SegmentVerdict::Pass };
        let start = segment.seq.max(outstanding.start);
        let again = SeqRange::new(start, segment.end().min(outstanding.end).max(start));
        // A go-back after an outage does not indicate a loss.
        let goes_back = cx.state() == State::Resuming && view.snd_nxt.value() == Some(segment.seq);
        let probes = cx.state() == State::Disconnected && again.len() == 1;
        if !again.is_empty() && !goes_back && !probes {
            let stamp = segment.options.timestamps.map(|timestamps| timestamps.value);
            self.on_retransmission(cx, again, stamp);
        }
        SegmentVerdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let Context { now, view, .. } = *cx;
        self.record_round_trip(view);
        // On SYNs, ECE announces ECN capability (RFC 3168 §6.1.1). Resets are left to TCP.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) || !segment.flags.contains(TcpFlags::ACK) {
            return SegmentVerdict::Pass;
        }
        // RFC 3168 §6.1.2: one reaction per window of data. Echoes that follow before the peer has received
        // CWR refer to the same congestion.
        if view.is_ecn_negotiated.value() == Some(true) && segment.flags.contains(TcpFlags::ECE) {
            let known =
                self.congestion_recovery_point.filter(|point| segment.ack.at_or_before(*point));
            self.congestion_recovery_point = known.or(view.snd_max.value());
            self.undone_since_echo = Some(0);
        }
        self.record_arrival(now, segment, view);
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
                let transition = if self.was_outage(segment, view) {
                    Transition::PathRestored
                } else {
                    Transition::LateAnswer
                };
                self.transition(cx, transition);
            }
            // There may be a path: probe once now.
            State::Suspecting if self.oldest_resends > 0 => self.probe(cx),
            _ => {}
        }
        if advances {
            self.on_acknowledged(cx, segment);
        }
        if cx.state() == State::Resuming && segment.ack.at_or_after(self.until) {
            self.transition(cx, Transition::Repaired);
        }
        // Each retransmission stands for one loss. Unacknowledged data may be lost and does not count.
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
        SegmentVerdict::Pass
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        self.record_round_trip(cx.view);
        match signal.kind {
            SignalKind::Unreachable(_) | SignalKind::RouteFailed => {
                self.on_path_lost(cx, signal.details.seq);
            }
            SignalKind::LinkDown if cx.state() == State::Disconnected => {
                (*cx.timer, self.is_own_link) = (None, true);
                cx.request(hold(self.options.probe_max));
            }
            SignalKind::LinkDown => self.transition(cx, Transition::LinkDown),
            SignalKind::RouteRestored | SignalKind::LinkUp
                if cx.state() == State::Resuming && is_held(cx.view) =>
            {
                self.resume(cx);
            }
            SignalKind::RouteRestored | SignalKind::LinkUp if cx.state() == State::Suspecting => {
                self.probe(cx);
            }
            SignalKind::LinkUp
                if cx.state() == State::Disconnected && cx.view.outstanding().is_some() =>
            {
                self.on_link_up(cx);
            }
            SignalKind::RouteRestored | SignalKind::LinkUp => {
                self.signal_trust.on_path_restored();
                self.transition(cx, Transition::PathRestored);
            }
            // Source quench is ignored (RFC 6633); ECN echoes are seen in segments, and TCP retransmits lost
            // packets.
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
            // TCP's own retransmissions serve as probes.
            (Act::Resend { .. }, ActResult::Unsupported) => *cx.timer = None,
            _ => {}
        }
    }

    /// Both SYNs have to permit SACK (RFC 2018 §2).
    fn on_syn(&mut self, syn: &TcpSegment) {
        self.lacks_sack |= !syn.options.sack_permitted;
    }

    fn on_closed(&mut self) {
        self.loss = None;
        self.signal_trust = SignalTrust::default();
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.signal_trust.next_timeout()
    }

    fn only_watches(&self, state: State, view: &TcpView) -> bool {
        let undoes = |loss: &LossEpisode| {
            self.options.undo_losses && self.congestion_of(loss, view).is_none()
        };
        state == State::Open && !self.loss.as_ref().is_some_and(undoes)
    }

    fn loss_decisions(&self) -> LossDecisions {
        self.decisions
    }
}
