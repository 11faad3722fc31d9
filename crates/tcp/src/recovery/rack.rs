//! RACK-TLP (RFC 8985): a segment is lost once a segment sent later has been delivered and the
//! reordering window has passed; without further acknowledgments, a tail loss probe is sent (see
//! [`super::tail_loss_probe`]).

use alloc::boxed::Box;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use super::contract::{
    AckFeedback, FeedbackResponse, LossRecovery, NewAckResponse, RecoveryDescriptor,
};
use super::newreno::NewReno;
use super::tail_loss_probe::TailLossProbe;
use crate::options::Options;
use crate::send_state::{DUP_THRESHOLD, RecoveryPhase, SendState};
use crate::sent_log::{SentSegment, WindowedMinimum};

/// Recoveries without D-SACK until the reordering window returns to its initial size (§6.2, step
/// 4).
const REO_WND_PERSIST: u32 = 16;

/// State of RACK (§5.3).
#[derive(Debug)]
pub struct RackTlp {
    arrivals: Arrivals,
    srtt: Duration,
    /// Reordering window in quarters of the minimum RTT (RACK.reo_wnd_mult).
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// The reordering window does not grow again until this is acknowledged (RACK.dsack_round).
    dsack_round: Option<Seq>,
    /// Time at which the reordering window of a segment ends.
    reordering_deadline: Option<Instant>,
    /// A segment is retransmitted regardless of the window: recovery has just started.
    retransmit_at_once: bool,
    new_losses: bool,
    tail_probe: TailLossProbe,
}

/// State derived from delivered segments.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    /// Transmission number of the delivered segment sent last.
    latest_transmission: Option<u64>,
    /// RTT of that segment (RACK.rtt); as in Linux, that of the last segment that an acknowledgment covers, if it covers
    /// any, although SACKed ones were sent later.
    rtt: Duration,
    as_linux: bool,
    /// The acknowledgment in progress has given it.
    is_covered: bool,
    min_rtt: WindowedMinimum,
    /// Highest sequence number delivered (RACK.fack).
    fack: Option<Seq>,
    /// Ends of the highest SACKed segments.
    sacked_ends: [Option<Seq>; DUP_THRESHOLD as usize],
    /// Reordering was observed (RACK.reordering_seen).
    reordering_seen: bool,
    /// Largest distance over which a segment was overtaken (bytes).
    overtaken_by: u32,
}

impl Default for RackTlp {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::default(),
            srtt: Duration::ZERO,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
            reordering_deadline: None,
            retransmit_at_once: false,
            new_losses: false,
            tail_probe: TailLossProbe::default(),
        }
    }
}

impl Arrivals {
    /// Updates the state for a delivered segment, or part of one (§6.2, steps 1 to 3).
    fn add(&mut self, now: Instant, una: Seq, feedback: &AckFeedback<'_>, sent: &SentSegment) {
        let rtt = now.since(sent.sent_at);
        let end = sent.range.end;
        // Karn: an RTT sample that spans frozen timers is not a measure of the path.
        let whole = !feedback.on_hold && sent.adjusted_sent_at == sent.sent_at;
        if !sent.retransmitted && whole {
            self.min_rtt.add(now, rtt);
        }
        let above = self.fack.is_none_or(|highest| end.after(highest));
        if above {
            self.fack = Some(end);
        } else if !sent.retransmitted && self.fack != Some(end) {
            self.add_overtaken(sent.range.start);
        }
        // An acknowledgment of an earlier transmission gives no RTT of this one. Above a hole an echo
        // says nothing, since it is of a segment below.
        let echoed = end.at_or_before(una);
        let earlier = (echoed && feedback.echoes_before(sent.sent_at))
            || self.min_rtt.get().is_some_and(|least| rtt < least);
        if sent.retransmitted && earlier {
            return;
        }
        if whole && (echoed || !self.is_covered) {
            self.rtt = rtt;
            self.is_covered = echoed && self.as_linux;
        } else if self.rtt == Duration::ZERO {
            self.rtt = feedback.srtt;
        }
        self.latest_transmission = self.latest_transmission.max(Some(sent.transmission));
    }
}

impl Arrivals {
    /// Notes that a segment that begins at `start` was overtaken by all that has arrived.
    fn add_overtaken(&mut self, start: Seq) {
        self.reordering_seen = true;
        let distance = self.fack.map_or(0, |highest| highest.since(start));
        self.overtaken_by = self.overtaken_by.max(distance);
    }

    /// Adds a SACKed segment that ends at `end`.
    fn add_sacked(&mut self, end: Seq) {
        let mut end = Some(end);
        for place in &mut self.sacked_ends {
            // In descending order.
            if place.is_none() || end.zip(*place).is_some_and(|(new, old)| new.after(old)) {
                core::mem::swap(place, &mut end);
            }
        }
    }

    /// True if enough segments are SACKed (RACK.segs_sacked) to do without a reordering window
    /// (§6.2, step 4).
    fn has_enough_sacked(&self) -> bool {
        self.sacked_ends.iter().all(Option::is_some)
    }
}

impl RackTlp {
    /// Forgets what is acknowledged, since sequence numbers wrap after 2 GiB.
    fn forget_acknowledged(&mut self, una: Seq) {
        let arrivals = &mut self.arrivals;
        for place in &mut arrivals.sacked_ends {
            *place = place.filter(|end| end.after(una));
        }
        arrivals.fack = arrivals.fack.map(|highest| highest.max(una));
    }

    /// Adapts the reordering window (§6.2, step 4).
    fn update_reo_wnd(&mut self, send: &SendState, feedback: &AckFeedback<'_>) {
        self.dsack_round = self.dsack_round.filter(|round| send.una().before(*round));
        // A probe delivered in addition to its original is no sign of reordering.
        let duplicate =
            feedback.dsack.filter(|range| !self.tail_probe.is_retransmitted_probe(*range));
        if duplicate.is_some() && self.dsack_round.is_none() {
            self.dsack_round = Some(send.max());
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    fn reo_wnd(&self, send: &SendState) -> Duration {
        let at_once = send.phase() != RecoveryPhase::Open || self.arrivals.has_enough_sacked();
        if !self.arrivals.reordering_seen && at_once {
            return Duration::ZERO;
        }
        let least = self.arrivals.min_rtt.get().unwrap_or(self.srtt);
        least.times(u64::from(self.reo_wnd_mult)).over(4).min(self.srtt)
    }

    /// Detects losses (§6.2, step 5).
    fn detect_loss(&mut self, now: Instant, send: &mut SendState) {
        self.reordering_deadline = None;
        let Some(newest) = self.arrivals.latest_transmission else { return };
        let allowed = self.arrivals.rtt + self.reo_wnd(send);
        let (before, mut latest, nxt) = (send.log().total_lost(), None, send.nxt());
        // Segments beyond SND.NXT are sent again in any case.
        send.log_mut().mark_lost(nxt, |sent| {
            // RACK_sent_after. Sequence numbers, by which §6.2 orders equal times, are not the
            // order of transmission once segments are retransmitted.
            if sent.transmission >= newest {
                // Later segments were sent later still, unless they were retransmitted.
                return sent.retransmitted.then_some(false);
            }
            let due = sent.adjusted_sent_at + allowed;
            if due > now {
                latest = latest.max(Some(due));
            }
            Some(due <= now)
        });
        self.new_losses |= send.log().total_lost() > before;
        self.reordering_deadline = latest;
    }

    /// Starts fast recovery if a segment is lost.
    fn enter_recovery_if_lost(&mut self, now: Instant, send: &mut SendState) -> bool {
        if send.phase() != RecoveryPhase::Open
            || send.log().lost_bytes() == 0
            || is_nxt_behind_max(send)
        {
            return false;
        }
        // During a reduction for another reason, what may be sent is known already, as it is to a model.
        self.retransmit_at_once = !send.is_reducing() && !send.has_model();
        send.enter_recovery(now);
        self.tail_probe.cancel();
        true
    }
}

/// True if SND.NXT was set back for another reason (a closed window, a hold).
fn is_nxt_behind_max(send: &SendState) -> bool {
    send.nxt().before(send.max())
}

impl RecoveryDescriptor for RackTlp {
    const NAME: &'static str = "rack-tlp";
    const USES_SACK: bool = true;

    fn from_options(options: &Options) -> Self {
        let arrivals = Arrivals { as_linux: options.linux_rto, ..Arrivals::default() };
        Self { arrivals, ..Self::default() }
    }
}

impl LossRecovery for RackTlp {
    /// Does not count duplicates: [`on_feedback`](LossRecovery::on_feedback) detects losses.
    fn on_duplicate(&mut self, _now: Instant, _flight: &mut SendState) -> bool {
        false
    }

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, _bytes: u32) -> NewAckResponse {
        let before = send.phase();
        let recovering = match before {
            RecoveryPhase::Recovery { point } => {
                if send.una().at_or_after(point) {
                    send.leave_recovery();
                }
                true
            }
            _ => {
                send.leave_loss_if_acknowledged();
                false
            }
        };
        if before != RecoveryPhase::Open && send.phase() == RecoveryPhase::Open {
            // §6.2, step 4
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
        NewAckResponse { grows_cwnd: !recovering, restarts_timer: true }
    }

    fn on_sent(&mut self, _now: Instant, _range: SeqRange) {
        self.retransmit_at_once = false;
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn needs_log(&self) -> bool {
        true
    }

    fn on_delivered(
        &mut self,
        now: Instant,
        una: Seq,
        feedback: &AckFeedback<'_>,
        sent: &SentSegment,
    ) {
        self.arrivals.add(now, una, feedback, sent);
        if sent.range.end.after(una) {
            self.arrivals.add_sacked(sent.range.end);
        }
    }

    fn on_feedback(
        &mut self,
        now: Instant,
        send: &mut SendState,
        feedback: &AckFeedback<'_>,
    ) -> FeedbackResponse {
        self.srtt = feedback.srtt;
        self.arrivals.is_covered = false;
        self.forget_acknowledged(send.una());
        self.update_reo_wnd(send, feedback);
        let repaired = self.tail_probe.on_feedback(send, feedback);
        if feedback.on_hold {
            return FeedbackResponse::Nothing;
        }
        self.detect_loss(now, send);
        if self.enter_recovery_if_lost(now, send) {
            FeedbackResponse::RecoveryStarted
        } else if repaired && send.phase() == RecoveryPhase::Open {
            FeedbackResponse::ReduceCwnd
        } else {
            FeedbackResponse::Nothing
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    /// Handles the end of a segment's reordering window.
    fn on_timeout(&mut self, now: Instant, send: &mut SendState) -> bool {
        self.detect_loss(now, send);
        self.enter_recovery_if_lost(now, send)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.reordering_deadline
    }

    /// §6.3: the segment at SND.UNA is lost, and all segments sent at least a round trip ago.
    fn on_retransmission_timeout(&mut self, now: Instant, send: &mut SendState) {
        let (una, nxt) = (send.una(), send.nxt());
        let allowed = self.arrivals.rtt + self.reo_wnd(send);
        send.enter_loss(now);
        if send.scoreboard().is_empty()
            && send.log().pipe() + send.log().lost_bytes() < send.outstanding()
        {
            self.arrivals.sacked_ends = Default::default();
            let (max, mss) = (send.max(), send.mss());
            send.log_mut().reset_as_lost(una, max, mss, now);
        }
        let max = send.max();
        send.log_mut().mark_lost(max, |sent| {
            let first = sent.range.contains(una);
            let beyond = sent.range.end.after(nxt);
            Some(first || beyond || sent.adjusted_sent_at + allowed <= now)
        });
        send.advance_to_max();
        self.reordering_deadline = None;
        self.retransmit_at_once = true;
        self.tail_probe.cancel();
    }

    fn uses_go_back_n(&self) -> bool {
        false
    }

    fn pipe(&self, send: &SendState) -> u32 {
        if is_nxt_behind_max(send) {
            send.scoreboard().unsacked_bytes(SeqRange::new(send.una(), send.nxt()))
        } else {
            send.log().pipe()
        }
    }

    fn budget(&self, send: &SendState) -> u32 {
        let pipe = match send.phase() {
            // RFC 6675 §5, step 3.C, is limited transmit by another criterion.
            RecoveryPhase::Open if !send.limited_transmit() => send.nxt().since(send.una()),
            _ => self.pipe(send),
        };
        let urgent = self.retransmit_at_once && send.phase() != RecoveryPhase::Open;
        let least = if urgent { send.mss() } else { 0 };
        send.cwnd().saturating_sub(pipe).max(least)
    }

    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.arrivals.min_rtt.add(now, rtt);
    }

    fn on_overtaken(&mut self, start: Seq) {
        self.arrivals.add_overtaken(start);
    }

    fn min_rtt(&self) -> Option<Duration> {
        self.arrivals.min_rtt.get()
    }

    fn reordering(&self, mss: u32) -> u32 {
        self.arrivals.overtaken_by.div_ceil(mss.max(1)).max(DUP_THRESHOLD)
    }

    fn take_new_losses(&mut self, _flight: &SendState) -> bool {
        core::mem::take(&mut self.new_losses)
    }

    fn next_retransmission(&mut self, send: &SendState, last_resort: bool) -> Option<SeqRange> {
        if last_resort || send.phase() == RecoveryPhase::Open || is_nxt_behind_max(send) {
            return None;
        }
        send.log().first_lost(send.mss())
    }

    fn probe_timeout(
        &self,
        send: &SendState,
        srtt: Option<Duration>,
        margin: Duration,
    ) -> Option<Duration> {
        self.tail_probe.may_probe(send).then(|| TailLossProbe::probe_timeout(send, srtt, margin))
    }

    fn on_probe(&mut self, end: Seq, is_retransmission: bool) {
        self.tail_probe.on_sent(end, is_retransmission);
    }

    /// NewReno: without SACK, the delivered segments are unknown.
    fn fallback_without_sack(&self) -> Option<Box<dyn LossRecovery>> {
        Some(Box::new(NewReno::default()))
    }

    fn last_segment(&self, send: &SendState) -> Option<SeqRange> {
        send.log().last().map(|sent| sent.range)
    }
}
