//! carry: the default aid of `driftway shim` for the connections of a host.
//!
//! It preserves the congestion window over losses and outages. It combines two papers with ECN. As in
//! liu-singh-2001 §III-A, a loss does not reduce the window unless the network signals congestion. ATCP hides
//! the loss from TCP, which then sends nothing until the loss is repaired; carry lets TCP repair it and
//! undoes the reduction ([`Act::Undo`], the Eifel response of RFC 4015). As in chandran-1998 §4, nothing is
//! sent while there is no path, and everything continues from its previous state; but the end of an outage is
//! detected by probing, as in ATCP, because few routers report it.
//!
//! - *Losses.* A retransmission begins a loss episode. The acknowledgment that covers it undoes TCP's
//!   response, unless congestion was echoed since before the loss; an echo counts until all data outstanding
//!   at that time is acknowledged. This requires ECN, without which congestion cannot be distinguished from
//!   other losses. Negotiated ECN does not imply that the routers mark: until a router has marked, losses
//!   that look like congestion (a possibly full queue, or heavy loss) are treated as congestion.
//! - *Outages* begin with a signal from a router or the local host. Segments then in flight towards the host
//!   may still arrive within a round-trip time and do not count. Later arrivals, or a restored route, show
//!   that there is a path. After a false signal, a further one is accepted only if the peer is silent as well
//!   (`signal_trust`).
//! - *Silence* is suspicious if the losses of the connection do not explain it (`loss_estimate`). It may be
//!   caused by congestion, so TCP continues unchanged, and probes use a small share of the previous
//!   throughput. Their answer decides whether there was an outage.
//! - *Congestion window after an outage* ([`CwndAfterOutage`]): the previous window, or, if the path may have
//!   changed, one segment as in liu-singh-2001 §III-C. A reduction for congestion shortly before the outage
//!   is kept.
//!
//! carry neither drops, changes nor creates segments. Driver requirements: a hold with probes that
//! retransmits outstanding data at its end, and signals of this connection only ([`Signal::concerns`]).
//! Without a hold TCP runs unassisted.

mod doubt;
mod options;
mod queue;
mod silence;
mod state;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, Done, Duration, Instant, Known, ProbeSpacing, Release, Seq, SeqRange, Setting, Signal,
    SignalKind, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::Verdict;
use crate::kit::{Context, DEFAULT_RTO, Machine, Protocol, resume};
use crate::options::Configure;
use doubt::Doubt;
pub use options::{CarryOptions, Cwnd};
use queue::Queue;
use silence::{Delivered, Losses};
pub use state::{Cause, State};

/// RTT assumed before the first measurement: longer than most.
const UNKNOWN: Duration = Duration::from_millis(200);

/// MSS assumed if it is unknown (bytes).
const SEGMENT: u32 = 1460;

/// Heavy loss: more than one byte in `HEAVY_LOSS_DIVISOR`, and more than `HEAVY_LOSS_MIN_SEGMENTS` segments.
const HEAVY: u32 = 8;
const HEAVY_FROM: u32 = 3;

/// A loss episode: retransmissions until all data outstanding at its beginning is acknowledged. TCP has
/// reduced its window once for it.
#[derive(Clone, Copy, Debug)]
struct Loss {
    since: Instant,
    /// One past the data outstanding at the beginning, and its amount (bytes).
    until: Seq,
    flight: u32,
    /// Range from the first to the last retransmitted and unacknowledged sequence number.
    hull: SeqRange,
    /// Retransmitted data (bytes; segments).
    resent: u32,
    segments: u32,
    /// The bottleneck queue may have been full.
    full: bool,
}

impl Loss {
    /// Returns true if the loss looks like congestion: the queue may have been full, or more was lost than
    /// the few percent that a radio link loses.
    fn looks_congested(&self) -> bool {
        self.full || self.segments > HEAVY_FROM && self.resent > self.flight / HEAVY
    }
}

/// carry for one connection. Its timer is, by state, the time at which an outage is suspected, of the next
/// probe, or from which probes are rare.
#[derive(Clone, Debug)]
pub struct Carry {
    options: CarryOptions,
    queue: Queue,
    loss: Option<Loss>,
    /// Congestion was echoed at least once: a router on this path marks before it drops.
    marks: bool,
    /// Congestion was echoed; losses are attributed to it until this number is acknowledged.
    congested: Option<Seq>,
    losses: Losses,
    delivered: Delivered,
    /// Retransmissions since the peer was last heard, and those of the oldest segment among them.
    resent: u64,
    unanswered: u32,
    heard: Instant,
    /// cwnd and ssthresh when the peer was last heard, if known.
    windows: Option<(u32, u32)>,
    /// Timestamp of the last retransmission whose answer was due before an outage was suspected.
    stamp: Option<u32>,
    /// Until this time arriving segments may have been in flight before the outage.
    stragglers_until: Instant,
    doubt: Doubt,
    /// SND.MAX when the path was restored.
    until: Seq,
}

impl Carry {
    /// Creates the aid for a new connection.
    pub fn new(options: CarryOptions) -> Machine<Self> {
        let probe_min = options.probe_min.max(CarryOptions::LEAST_SPAN);
        let probe_max = options.probe_max.max(probe_min);
        Machine::new(Self {
            options: CarryOptions { probe_min, probe_max, ..options },
            queue: Queue::default(),
            loss: None,
            marks: false,
            congested: None,
            losses: Losses::default(),
            delivered: Delivered::default(),
            resent: 0,
            unanswered: 0,
            heard: Instant::ZERO,
            windows: None,
            stamp: None,
            stragglers_until: Instant::ZERO,
            doubt: Doubt::default(),
            until: Seq(0),
        })
    }

    fn disconnect(&mut self, cx: &mut Context<'_, State>, cause: Cause) {
        let Context { now, view, .. } = *cx;
        // After a signal caused by a probe, no segments are in flight any more.
        let on_its_way = cause == Cause::PathGone && !is_held(view);
        let srtt = round_trip(view);
        self.stragglers_until = if on_its_way { now + srtt } else { now };
        *cx.timer = Some(now + self.options.probe_fast);
        // Losses since the peer was last heard belong to the outage.
        let undoes = |loss: &Loss| loss.since > self.heard || self.may_undo(view);
        if self.options.cwnd == Cwnd::Keep && self.loss.as_ref().is_some_and(undoes) {
            cx.ask(Act::Undo);
        }
        cx.ask(hold(self.least_gap()));
    }

    /// Minimum probe interval: one RTT of an empty path. New data reaches the peer within two and a half RTTs
    /// after the path is restored, even if the peer already has the oldest segment.
    fn least_gap(&self) -> Duration {
        self.queue.least().unwrap_or(UNKNOWN).max(self.options.probe_min)
    }

    /// A router or the local host has no route; `lost` is the first sequence number of the undeliverable
    /// packet, if known.
    fn on_gone(&mut self, cx: &mut Context<'_, State>, lost: Option<Seq>) {
        let Context { now, view, .. } = *cx;
        let (srtt, rto) = (round_trip(view), view.rto.value().unwrap_or(DEFAULT_RTO));
        if cx.state() == State::Disconnected || !self.doubt.on_gone(now, srtt, rto) {
            return;
        }
        self.transition(cx, Cause::PathGone);
        // A link failure does not identify the lost packet: assume the last one.
        let lost = lost.or(view.outstanding().map(|outstanding| outstanding.end - 1));
        let answered = self.least_gap() + self.queue.least().unwrap_or(UNKNOWN);
        self.doubt.on_believed(lost, now + srtt.max(answered));
    }

    /// Time at which the oldest segment, sent at `sent`, may be sent again as a probe; `None` if the
    /// connection has delivered no data to derive a rate from.
    fn probe_at(&self, sent: Instant, view: &TcpView) -> Option<Instant> {
        let gap = self.delivered.affords(oldest(view)?.len())?;
        let long = sent.since(self.heard) >= self.options.probe_fast;
        let rare = if long { self.options.probe_max } else { Duration::ZERO };
        Some(sent + gap.max(self.least_gap()).max(rare))
    }

    /// Sends the oldest segment as a probe.
    fn probe(&self, cx: &mut Context<'_, State>) {
        *cx.timer = self.probe_at(cx.now, cx.view);
        if let Some(range) = oldest(cx.view) {
            cx.ask(Act::Resend { range, ahead_of_queue: false });
        }
    }

    /// Returns true if the first answer shows that there was an outage. An answer to an original or to a
    /// retransmission sent much earlier shows a slow path instead. The answer is for a recent retransmission
    /// if it echoes a recent timestamp, or reports a duplicate (D-SACK, RFC 2883) of an original whose
    /// acknowledgment was lost.
    fn was_outage(&self, answer: &TcpSegment, view: &TcpView) -> bool {
        let echo = answer.options.timestamps.map(|timestamps| timestamps.echo);
        let fresh = echo.zip(self.stamp).is_some_and(|(echo, stamp)| !Seq(echo).before(Seq(stamp)));
        let duplicate = answer.options.sack.as_slice().first().is_some_and(|block| {
            view.una.value() == Some(block.start) && block.end.at_or_before(answer.ack)
        });
        (fresh || duplicate) && self.congested.is_none()
    }

    /// Resumes after an outage that the answer to a probe has shown. TCP was not held and has reduced its
    /// window; it is to retransmit all outstanding data.
    fn resume_suspected(&mut self, cx: &mut Context<'_, State>) {
        cx.ask(hold(self.least_gap()));
        self.resume(cx);
        self.loss = None;
        if let (Some((cwnd, ssthresh)), Cwnd::Keep) = (self.windows, self.options.cwnd) {
            let (cwnd, ssthresh) = (Setting::Value(cwnd), Setting::Value(ssthresh));
            cx.ask(Act::Resume { cwnd, ssthresh, rto: Setting::Keep });
        }
    }

    fn resume(&mut self, cx: &mut Context<'_, State>) {
        *cx.timer = None;
        self.doubt.on_back();
        self.until = cx.view.max.value().unwrap_or(self.until);
        let cwnd = match self.options.cwnd {
            Cwnd::Keep => Setting::Keep,
            Cwnd::Reset => Setting::Default,
        };
        // The routers of a new path may not mark.
        self.marks &= self.options.cwnd == Cwnd::Keep;
        cx.ask(resume(cwnd));
    }

    /// Returns true if congestion would have been signalled and was not.
    fn may_undo(&self, view: &TcpView) -> bool {
        let heavy = self.losses.exceed(HEAVY_FROM, HEAVY);
        let congested = |loss: Loss| heavy || loss.looks_congested();
        let known = self.marks || !self.loss.is_some_and(congested);
        let told = view.ecn.value() == Some(true) && self.congested.is_none();
        self.options.undo_losses && told && known
    }

    /// TCP has retransmitted `range`.
    fn on_sent_again(&mut self, cx: &mut Context<'_, State>, range: SeqRange, stamp: Option<u32>) {
        let Context { now, view, .. } = *cx;
        let outstanding = view.outstanding().unwrap_or(range);
        let srtt = view.srtt.value().flatten();
        let mut loss = match self.loss {
            Some(loss) => loss,
            None => Loss {
                since: now,
                until: outstanding.end,
                flight: outstanding.len(),
                hull: range,
                resent: 0,
                segments: 0,
                full: self.queue.on_loss(srtt),
            },
        };
        let hull = loss.hull;
        loss.hull = SeqRange::new(hull.start.min(range.start), hull.end.max(range.end));
        loss.resent = loss.resent.saturating_add(range.len());
        loss.segments = loss.segments.saturating_add(1);
        self.loss = Some(loss);
        self.resent = self.resent.saturating_add(1);
        if range.contains(outstanding.start) {
            self.unanswered = self.unanswered.saturating_add(1);
            match cx.state() {
                State::Open if self.would_suspect() => {
                    // Not before its answer is due.
                    let answered = now + view.rto.value().unwrap_or(UNKNOWN);
                    *cx.timer = self.probe_at(now, view).map(|at| at.max(answered));
                    self.stamp = self.stamp.or(stamp);
                }
                State::Suspecting => *cx.timer = self.probe_at(now, view),
                _ => {}
            }
        }
    }

    /// Returns true if an outage is to be suspected when this retransmission remains unanswered.
    fn would_suspect(&self) -> bool {
        self.options.suspect_after < CarryOptions::NEVER
            && self.unanswered >= self.options.suspect_after.max(1)
            && self.losses.exclude(self.unanswered)
    }

    /// The peer acknowledges new data up to `ack`.
    fn on_acknowledged(&mut self, cx: &mut Context<'_, State>, ack: Seq) {
        let Context { now, view, .. } = *cx;
        let una = view.una.value().unwrap_or(ack);
        self.delivered.on_acknowledged(now, ack.since(una));
        self.queue.on_acknowledged(ack.since(una), view.srtt.value().flatten());
        // State of the old path is not restored.
        let anew = cx.state() == State::Resuming && self.options.cwnd == Cwnd::Reset;
        let covered = self.loss.is_some_and(|loss| ack.after(loss.hull.start));
        if covered && !anew && self.may_undo(view) {
            cx.ask(Act::Undo);
        }
        self.loss = self.loss.filter(|loss| ack.before(loss.until));
        if let Some(loss) = &mut self.loss {
            let start = loss.hull.start.max(ack);
            loss.hull = SeqRange::new(start, loss.hull.end.max(start));
        }
        self.congested = self.congested.filter(|point| ack.before(*point));
    }

    fn note_round_trip(&mut self, view: &TcpView) {
        if let Some(srtt) = view.srtt.value().flatten() {
            self.queue.on_round_trip(srtt);
        }
    }
}

fn hold(gap: Duration) -> Act {
    Act::Hold {
        probe: Some(ProbeSpacing::new(gap, gap)),
        // All outstanding data is presumed lost: it is retransmitted first, in order.
        step_back: true,
        freeze_timers: true,
        cwnd: Setting::Keep,
        release: Release::Resume,
    }
}

fn round_trip(view: &TcpView) -> Duration {
    view.srtt.value().flatten().unwrap_or(UNKNOWN)
}

/// TCP is held, by this aid or by a driver that has found no path.
fn is_held(view: &TcpView) -> bool {
    view.persisting == Known::Exact(true)
}

/// The oldest unacknowledged segment.
fn oldest(view: &TcpView) -> Option<SeqRange> {
    let outstanding = view.outstanding()?;
    let mss = view.mss.value().unwrap_or(u32::MAX).min(outstanding.len());
    Some(SeqRange::new(outstanding.start, outstanding.start + mss))
}

impl Protocol for Carry {
    type State = State;
    const NAME: &'static str = CarryOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, cause: Cause) {
        match (from, cx.state()) {
            (_, State::Suspecting) => self.probe(cx),
            (_, State::Disconnected) => self.disconnect(cx, cause),
            (State::Suspecting, State::Resuming) => self.resume_suspected(cx),
            (_, State::Resuming) => self.resume(cx),
            // The losses may be due to congestion.
            (State::Suspecting, State::Open) => (*cx.timer, self.loss) = (None, None),
            (_, State::Open) => *cx.timer = None,
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let view = cx.view;
        self.note_round_trip(view);
        let Some(outstanding) = view.outstanding() else { return Verdict::Pass };
        let start = segment.seq.max(outstanding.start);
        let again = SeqRange::new(start, segment.end().min(outstanding.end).max(start));
        // A go-back after an outage does not indicate a loss.
        let goes_back = cx.state() == State::Resuming && view.nxt.value() == Some(segment.seq);
        let probes = cx.state() == State::Disconnected && again.len() == 1;
        if !again.is_empty() && !goes_back && !probes {
            let stamp = segment.options.timestamps.map(|timestamps| timestamps.value);
            self.on_sent_again(cx, again, stamp);
        }
        Verdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let Context { now, view, .. } = *cx;
        self.note_round_trip(view);
        // On SYNs, ECE announces ECN capability (RFC 3168 §6.1.1). Resets are left to TCP.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) || !segment.flags.contains(TcpFlags::ACK) {
            return Verdict::Pass;
        }
        // RFC 3168 §6.1.2: one reaction per window of data. Echoes that follow before the peer has received
        // CWR refer to the same congestion.
        if view.ecn.value() == Some(true) && segment.flags.contains(TcpFlags::ECE) {
            let known = self.congested.filter(|point| segment.ack.at_or_before(*point));
            self.congested = known.or(view.max.value());
            self.marks = true;
        }
        self.doubt.on_acknowledgment(now, segment.ack);
        if cx.state() == State::Disconnected && now >= self.stragglers_until {
            self.transition(cx, Cause::PathBack);
        }
        let outstanding = view.outstanding();
        let advances = outstanding
            .is_some_and(|out| segment.ack.after(out.start) && segment.ack.at_or_before(out.end));
        match cx.state() {
            State::Open => *cx.timer = None,
            State::Suspecting if advances => {
                let cause =
                    if self.was_outage(segment, view) { Cause::PathBack } else { Cause::Answered };
                self.transition(cx, cause);
            }
            // There may be a path: probe once now.
            State::Suspecting if self.unanswered > 0 => self.probe(cx),
            _ => {}
        }
        if advances {
            self.on_acknowledged(cx, segment.ack);
        }
        if cx.state() == State::Resuming && segment.ack.at_or_after(self.until) {
            self.transition(cx, Cause::Repaired);
        }
        // Each retransmission stands for one loss. Unacknowledged data may be lost and does not count.
        let acknowledged = outstanding.filter(|_| advances).map_or(0, |out| {
            let mss = view.mss.value().unwrap_or(SEGMENT).max(1);
            u64::from(segment.ack.since(out.start).div_ceil(mss))
        });
        self.losses.on_sent(acknowledged + self.resent, self.resent);
        (self.heard, self.resent, self.unanswered) = (now, 0, 0);
        if cx.state() != State::Suspecting {
            self.windows = view.cwnd.value().zip(view.ssthresh.value());
            self.stamp = None;
        }
        Verdict::Pass
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        self.note_round_trip(cx.view);
        match signal.kind {
            SignalKind::Unreachable(_) | SignalKind::RouteFailed => {
                self.on_gone(cx, signal.about.seq);
            }
            SignalKind::RouteRestored if cx.state() == State::Resuming && is_held(cx.view) => {
                self.resume(cx);
            }
            SignalKind::RouteRestored if cx.state() == State::Suspecting => self.probe(cx),
            SignalKind::RouteRestored => {
                self.doubt.on_back();
                self.transition(cx, Cause::PathBack);
            }
            // Source quench is ignored (RFC 6633); ECN echoes are seen in segments, and TCP retransmits lost
            // packets.
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        self.note_round_trip(cx.view);
        if self.doubt.is_confirmed(cx.now, cx.view.outstanding().is_some()) {
            self.transition(cx, Cause::PathGone);
        }
        if !cx.timer_expires() {
            return;
        }
        match cx.state() {
            State::Open => self.transition(cx, Cause::Silence),
            State::Suspecting => self.probe(cx),
            State::Disconnected => cx.ask(hold(self.options.probe_max)),
            State::Resuming => {}
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: Done) {
        match (act, done) {
            (Act::Hold { .. }, Done::Unsupported) => {
                self.transition(cx, Cause::Refused);
                (*cx.timer, self.doubt) = (None, Doubt::default());
            }
            // TCP's own retransmissions serve as probes.
            (Act::Resend { .. }, Done::Unsupported) => *cx.timer = None,
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        self.loss = None;
        self.doubt = Doubt::default();
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.doubt.next_timeout()
    }
}
