//! The send sequence variables and the congestion state, on which loss recovery works.

use alloc::boxed::Box;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::congestion::{AckedData, CongestionControl, CongestionState, Established, LostSegment};
use crate::delivery_rate::DeliveryRate;
use crate::f_rto::FRto;
use crate::options::Options;
use crate::prr::Prr;
pub use crate::recovery_phase::RecoveryPhase;
use crate::scoreboard::Scoreboard;
use crate::sent_log::{SentLog, SentSegment};

/// Number of duplicate acknowledgments that indicate a loss (RFC 5681 §3.2).
pub const DUP_THRESHOLD: u32 = 3;

/// Delivered data at one time, for the difference that an acknowledgment makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliverySnapshot {
    pub una: Seq,
    pub sacked_bytes: u32,
}

/// Sequence variables (RFC 9293 §3.3.1) and windows of the sending half.
#[derive(Debug)]
pub struct SendState {
    /// SND.UNA: oldest unacknowledged sequence number.
    una: Seq,
    /// SND.NXT: next sequence number to send; below `max` during go-back-N.
    nxt: Seq,
    /// SND.MAX: one past the highest sequence number ever sent.
    max: Seq,
    /// Payload of a full-sized segment (bytes).
    mss: u32,
    /// Congestion window and slow-start threshold, with their control.
    pub(crate) congestion: CongestionState,
    /// Outstanding segments, if `keeps_log`.
    log: SentLog,
    keeps_log: bool,
    /// Delivery rate, for a control with a model.
    rate: DeliveryRate,
    /// Consecutive duplicate acknowledgments.
    dup_acks: u32,
    /// FlightSize at the first of them, before limited transmit added to it (bytes).
    flight_size_at_first_duplicate: u32,
    /// FlightSize when the acknowledgment in progress arrived (bytes).
    flight_size_before_ack: Option<u32>,
    /// Phase of loss recovery.
    phase: RecoveryPhase,
    /// No fast retransmit until more than this is acknowledged (RFC 6582 §3.2: recover).
    recover: Option<Seq>,
    /// SACK scoreboard; stays empty without SACK.
    scoreboard: Scoreboard,
    /// The segment at SND.UNA is to be retransmitted at once.
    head_retransmit_due: bool,
    /// One past the highest sequence number retransmitted in this recovery (RFC 6675: HighRxt).
    high_rxt: Seq,
    /// SND.UNA at the last timeout: a second timeout of the same segment leaves ssthresh unchanged.
    timed_out_una: Option<Seq>,
    /// Proportional rate reduction of fast recovery (RFC 9937), if enabled.
    prr: Option<Prr>,
    /// A reduction without a loss is in progress until more than this is acknowledged (Linux: CWR).
    reducing_until: Option<Seq>,
    /// F-RTO detection after a timeout (RFC 5682).
    f_rto: Option<FRto>,
    /// Sends new data on the first two duplicate acknowledgments (RFC 3042).
    limited_transmit: bool,
    /// Computes ssthresh from cwnd instead of FlightSize.
    ssthresh_from_cwnd: bool,
    /// A timeout in fast recovery leaves ssthresh unchanged.
    recovery_keeps_ssthresh: bool,
    /// Duplicates of retransmitted data after a recovery or a timeout start no fast retransmit.
    recover_guard: bool,
}

impl SendState {
    /// Nothing has been sent; the initial sequence number is `iss`.
    pub fn new(
        iss: Seq,
        mss: u32,
        congestion: CongestionState,
        keeps_log: bool,
        options: &Options,
    ) -> Self {
        let mut state = Self {
            una: iss,
            nxt: iss,
            max: iss,
            mss,
            congestion,
            keeps_log,
            log: SentLog::default(),
            rate: DeliveryRate::default(),
            dup_acks: 0,
            flight_size_at_first_duplicate: 0,
            flight_size_before_ack: None,
            phase: RecoveryPhase::Open,
            recover: None,
            scoreboard: Scoreboard::default(),
            head_retransmit_due: false,
            high_rxt: iss,
            timed_out_una: None,
            prr: options.prr.then(Prr::default),
            reducing_until: None,
            f_rto: None,
            limited_transmit: options.limited_transmit,
            ssthresh_from_cwnd: options.ssthresh_from_cwnd,
            recovery_keeps_ssthresh: options.recovery_keeps_ssthresh,
            recover_guard: options.recover_guard,
        };
        state.adopt_model();
        state
    }

    /// Replaces the congestion control before anything has been sent.
    pub(crate) fn set_control(&mut self, control: Box<dyn CongestionControl>) {
        self.congestion.set_control(control);
        self.adopt_model();
    }

    /// Keeps what the congestion control needs if it has a model.
    fn adopt_model(&mut self) {
        if self.has_model() {
            self.keeps_log = true;
            self.log.report_losses();
        }
    }

    /// SND.UNA: oldest unacknowledged sequence number.
    pub fn una(&self) -> Seq {
        self.una
    }
    /// SND.NXT: next sequence number to send; below [`max`](Self::max) during go-back-N.
    pub fn nxt(&self) -> Seq {
        self.nxt
    }
    /// SND.MAX: one past the highest sequence number ever sent.
    pub fn max(&self) -> Seq {
        self.max
    }
    /// Payload of a full-sized segment (bytes).
    pub fn mss(&self) -> u32 {
        self.mss
    }
    /// Congestion window (bytes).
    pub fn cwnd(&self) -> u32 {
        self.congestion.cwnd()
    }
    /// Slow-start threshold (bytes).
    pub fn ssthresh(&self) -> u32 {
        self.congestion.ssthresh()
    }
    /// Consecutive duplicate acknowledgments.
    pub fn dup_acks(&self) -> u32 {
        self.dup_acks
    }
    /// Phase of loss recovery.
    pub fn phase(&self) -> RecoveryPhase {
        self.phase
    }
    /// No fast retransmit until more than this is acknowledged (RFC 6582 §3.2).
    pub fn recover(&self) -> Option<Seq> {
        self.recover
    }
    /// The SACK scoreboard.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }
    /// One past the highest sequence number retransmitted in this recovery (RFC 6675: HighRxt).
    pub fn high_rxt(&self) -> Seq {
        self.high_rxt
    }
    /// Limited transmit is enabled (RFC 3042).
    pub fn limited_transmit(&self) -> bool {
        self.limited_transmit
    }
    /// Step of F-RTO, while it is in progress.
    pub(crate) fn f_rto(&self) -> Option<FRto> {
        self.f_rto
    }
    /// State of proportional rate reduction.
    pub(crate) fn prr(&self) -> Option<Prr> {
        self.prr
    }
    /// Stores the state of proportional rate reduction.
    pub(crate) fn set_prr(&mut self, prr: Prr) {
        self.prr = Some(prr);
    }

    /// Neither a recovery nor a reduction of the window is in progress.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.phase == RecoveryPhase::Open
            && self.reducing_until.is_none()
            && self.f_rto.is_none()
            && self.prr.as_ref().is_none_or(|prr| !prr.is_active())
    }

    /// FlightSize: bytes sent and not acknowledged (RFC 5681 §2).
    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }

    /// Sets the segment size on which both ends have agreed.
    pub(crate) fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }
    /// Records the transmission of a SYN.
    pub(crate) fn on_syn_sent(&mut self, iss: Seq) {
        self.nxt = iss + 1;
        self.max = iss + 1;
    }
    /// Records the acknowledgment of the SYN.
    pub(crate) fn on_syn_acked(&mut self, iss: Seq) {
        self.una = iss + 1;
        self.nxt = self.nxt.max(self.una);
    }

    /// Records a transmission that ends at `end`.
    pub(crate) fn on_sent(&mut self, end: Seq) {
        self.max = self.max.max(end);
    }
    /// Advances SND.NXT after a transmission of `len` bytes from there.
    pub(crate) fn on_sent_from_nxt(&mut self, end: Seq, len: u32) {
        self.nxt = end;
        if let Some(FRto::AwaitingSecondAck { new_data_left }) = &mut self.f_rto {
            *new_data_left = new_data_left.saturating_sub(len);
        }
    }
    /// Records a retransmission. A rescue retransmission beyond all SACKed data does not update
    /// HighRxt (RFC 6675 §4, NextSeg rule 4).
    pub(crate) fn on_retransmission_sent(&mut self, range: SeqRange) {
        if self.scoreboard.highest_sacked().is_some_and(|high| range.start.before(high)) {
            self.high_rxt = self.high_rxt.max(range.end);
        }
    }
    /// Counts `len` bytes of data, window probes excluded.
    pub(crate) fn on_data_sent(&mut self, len: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(len);
        }
    }

    /// The log of outstanding segments; empty unless the recovery or the control needs it.
    pub fn log(&self) -> &SentLog {
        &self.log
    }
    /// The same, for loss detection.
    pub(crate) fn log_mut(&mut self) -> &mut SentLog {
        &mut self.log
    }
    /// The recovery does not need the log any more.
    pub(crate) fn release_log(&mut self) {
        self.keeps_log = self.has_model();
    }
    /// The log is kept.
    pub(crate) fn keeps_log(&self) -> bool {
        self.keeps_log
    }
    /// The congestion control sets the window itself ([`CongestionControl::has_model`]).
    pub(crate) fn has_model(&self) -> bool {
        self.congestion.has_model()
    }
    /// A reduction of the window without a loss is in progress.
    pub(crate) fn is_reducing(&self) -> bool {
        self.reducing_until.is_some()
    }

    /// Adds a transmission to the log.
    pub(crate) fn log_sent(&mut self, now: Instant, range: SeqRange) {
        if !self.keeps_log {
            return;
        }
        let snapshot = match self.has_model() {
            true => {
                self.rate.set_lost(self.log.total_lost());
                self.rate.on_sent(now, self.log.pipe(), range.len())
            }
            false => Default::default(),
        };
        self.log.on_sent(now, range, snapshot);
    }
    /// Removes what is delivered from the log, and passes each segment, or part of one, to `each`.
    pub(crate) fn take_delivered(
        &mut self,
        now: Instant,
        range: SeqRange,
        mut each: impl FnMut(&SentSegment),
    ) {
        let (rate, has_model) = (&mut self.rate, self.congestion.has_model());
        self.log.remove(range, |sent| {
            if has_model {
                let bytes = sent.range.len();
                rate.on_delivered(now, bytes, sent.transmission, sent.sent_at, sent.snapshot);
            }
            each(sent);
        });
    }
    /// The delivery rate, for the present acknowledgment.
    pub(crate) fn rate_mut(&mut self) -> &mut DeliveryRate {
        &mut self.rate
    }
    /// Notes that the application has nothing to send.
    pub(crate) fn on_app_limited(&mut self) {
        if self.has_model() {
            self.rate.on_app_limited(self.log.pipe());
        }
    }
    /// Sending is, or was within the last round trip, limited by the application.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.rate.is_app_limited()
    }
    /// Reports the end of the handshake to the congestion control.
    pub(crate) fn report_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.congestion.on_established(now, Established { mss: self.mss, rtt });
    }
    /// Reports the segments found lost to a control with a model.
    pub(crate) fn report_losses(&mut self, now: Instant) {
        let (congestion, delivered) = (&mut self.congestion, self.rate.delivered());
        self.log.take_reported_losses(|lost| {
            let lost = LostSegment {
                range: lost.range,
                sent_in_flight: lost.snapshot.in_flight,
                lost: lost.total_lost.saturating_sub(lost.snapshot.lost),
                delivered,
                app_limited: lost.snapshot.app_limited,
            };
            congestion.on_segment_lost(now, &lost);
        });
        self.rate.set_lost(self.log.total_lost());
    }
    /// Lets a control with a model keep what is in flight after a timeout.
    pub(crate) fn keep_flight_after_timeout(&mut self) {
        self.congestion.keep_flight_after_timeout(self.log.pipe(), self.mss);
    }
    /// Notes that timers were frozen.
    pub(crate) fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        self.log.postpone(now, frozen_for);
        self.rate.postpone(now, frozen_for);
        self.congestion.on_thaw(now, frozen_for);
    }

    /// Starts the processing of an acknowledgment: until
    /// [`end_ack_processing`](Self::end_ack_processing), responses to congestion use the FlightSize
    /// of now.
    pub(crate) fn begin_ack_processing(&mut self) {
        self.flight_size_before_ack = Some(self.outstanding());
    }
    /// Ends the processing of an acknowledgment.
    pub(crate) fn end_ack_processing(&mut self) {
        self.flight_size_before_ack = None;
    }
    /// FlightSize when congestion was detected: before the acknowledgment reduced it (RFC 5681
    /// §3.2; RFC 3168 §6.1.2).
    fn flight_size(&self) -> u32 {
        self.flight_size_before_ack.unwrap_or_else(|| self.outstanding())
    }

    /// Adds a SACK block to the scoreboard; true if it has new information.
    pub(crate) fn on_sack_block(&mut self, block: SeqRange) -> bool {
        self.scoreboard.add(block)
    }
    /// Advances SND.UNA to `ack`.
    pub(crate) fn on_acknowledged(&mut self, ack: Seq) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.scoreboard.advance(ack);
        // Sequence numbers wrap after 2 GiB: what is behind SND.UNA must be forgotten.
        self.timed_out_una = None;
        self.recover = self.recover.filter(|point| ack.at_or_before(*point));
        // Something that was sent with CWR is acknowledged.
        if self.reducing_until.is_some_and(|point| ack.after(point)) {
            self.reducing_until = None;
        }
    }
    /// Counts a duplicate acknowledgment.
    pub(crate) fn count_dup_ack(&mut self) {
        if self.dup_acks == 0 {
            self.flight_size_at_first_duplicate = self.flight_size();
        }
        self.dup_acks = self.dup_acks.saturating_add(1);
    }
    /// Resets the count of duplicate acknowledgments.
    pub(crate) fn reset_dup_acks(&mut self) {
        self.dup_acks = 0;
    }

    /// Moves SND.NXT past SACKed data during go-back-N.
    pub(crate) fn skip_sacked(&mut self) {
        self.nxt = self.scoreboard.first_unsacked(self.nxt);
    }
    /// Sets SND.NXT to SND.UNA (go-back-N).
    pub fn go_back_to_una(&mut self) {
        self.nxt = self.una;
    }
    /// Sets SND.NXT to SND.MAX: new data comes next.
    pub fn advance_to_max(&mut self) {
        self.nxt = self.max;
    }
    /// Requests the immediate retransmission of the segment at SND.UNA.
    pub fn request_head_retransmit(&mut self) {
        self.head_retransmit_due = true;
    }
    /// Takes that request, if there is one.
    pub(crate) fn take_head_retransmit(&mut self) -> bool {
        core::mem::take(&mut self.head_retransmit_due)
    }
    /// Sets the step of F-RTO; `None` ends it.
    pub(crate) fn set_f_rto(&mut self, f_rto: Option<FRto>) {
        self.f_rto = f_rto;
    }

    /// Permits no fast retransmit until more than SND.MAX is acknowledged (RFC 6582 §3.2).
    pub fn set_recover(&mut self) {
        self.recover = Some(self.max);
    }
    /// Permits a fast retransmit at any time.
    pub(crate) fn clear_recover(&mut self) {
        self.recover = None;
    }
    /// Responds to a loss by a new ssthresh; the caller sets cwnd.
    pub fn reduce_ssthresh(&mut self, now: Instant) {
        self.congestion.on_loss(now, self.reduced_flight_size(), self.mss);
    }

    /// The FlightSize that a reduction is computed from (bytes).
    fn reduced_flight_size(&self) -> u32 {
        // RFC 5681 §3.2, step 2: segments sent by limited transmit do not count.
        let counting = self.phase == RecoveryPhase::Open && self.dup_acks > 0;
        let most = if counting { self.flight_size_at_first_duplicate } else { u32::MAX };
        // SACKed and lost data still counts in FlightSize, although it no longer takes room in
        // cwnd: after one response to a loss the next would raise ssthresh (§4.3 wants it lowered
        // twice; equation 4 says "no more than").
        match self.ssthresh_from_cwnd {
            true => self.cwnd(),
            false => self.flight_size().min(most).min(self.cwnd()),
        }
    }

    /// Responds to congestion by slow start with the present ssthresh.
    pub fn enter_slow_start(&mut self) {
        self.congestion.restart_slow_start(self.mss);
    }

    /// Responds to congestion without a loss: cwnd and ssthresh are reduced once.
    pub fn reduce_cwnd(&mut self, now: Instant) {
        self.reduce_ssthresh(now);
        if !self.has_model() {
            self.congestion.limit_to_ssthresh();
        }
    }

    /// Responds to congestion at an aid's request.
    pub(crate) fn reduce_for_aid(&mut self, now: Instant) {
        self.reduce_cwnd(now);
        self.congestion.on_reduction_requested(now);
    }

    /// Responds to an ECN echo: cwnd is reduced to the new ssthresh, with PRR in proportion to what
    /// is delivered, as in Linux, otherwise at once.
    pub(crate) fn reduce_for_ecn(&mut self, now: Instant) {
        let before = self.cwnd();
        self.congestion.on_ecn(now, self.reduced_flight_size(), self.mss);
        if self.has_model() {
            return;
        }
        match &mut self.prr {
            Some(prr) => {
                *prr = Prr::begin(before, self.ssthresh_from_cwnd);
                self.reducing_until = Some(self.max);
                self.congestion.make_reduction_final();
            }
            None => self.congestion.limit_to_ssthresh(),
        }
    }

    /// Sets SND.NXT to SND.UNA without counting anything as lost. If `guarded`, duplicates of what
    /// is then retransmitted start no recovery.
    pub fn rewind_nxt(&mut self, guarded: bool) {
        self.nxt = self.una;
        self.dup_acks = 0;
        self.head_retransmit_due = false;
        self.f_rto = None;
        if guarded && self.outstanding() > 0 {
            self.recover = Some(self.max);
        }
        self.abort_prr();
        if let RecoveryPhase::Recovery { .. } = self.phase {
            self.congestion.limit_to_ssthresh();
            self.phase = RecoveryPhase::Open;
        }
    }

    /// Sets cwnd to ssthresh if an acknowledgment has ended the recovery (RFC 9937 §6), before
    /// another one begins with its own PRR state.
    pub fn complete_prr(&mut self) {
        if let Some(prr) = self.prr.as_mut().filter(|prr| prr.is_active())
            && self.phase == RecoveryPhase::Open
            && self.reducing_until.is_none()
        {
            prr.end();
            self.congestion.set_to_ssthresh();
        }
    }

    /// Delivered data so far, if PRR is enabled.
    pub(crate) fn delivery_snapshot(&self) -> Option<DeliverySnapshot> {
        let reported = || self.scoreboard.sacked_bytes();
        self.prr.is_some().then(|| DeliverySnapshot { una: self.una, sacked_bytes: reported() })
    }

    /// Ends PRR when fast recovery is left otherwise than by an acknowledgment.
    fn abort_prr(&mut self) {
        self.reducing_until = None;
        if let Some(prr) = &mut self.prr {
            prr.end();
        }
    }

    /// Passes an acknowledgment that may change the window to the congestion control.
    pub(crate) fn grow(&mut self, now: Instant, acked: &AckedData, validates: bool) {
        if self.congestion.on_ack(now, acked, validates) {
            self.on_app_limited();
        }
    }

    /// Lets the next timeout reduce ssthresh, even if it is of the same segment as the last.
    pub(crate) fn forget_timeout(&mut self) {
        self.timed_out_una = None;
    }

    /// Enters loss recovery as after a timeout, but without one.
    pub fn enter_loss_early(&mut self, now: Instant) {
        self.forget_timeout();
        self.enter_loss(now);
    }

    /// Responds to a retransmission timeout: cwnd of one segment, go-back-N from SND.UNA (RFC 5681
    /// §3.1).
    pub fn enter_loss(&mut self, now: Instant) {
        let recovering = matches!(self.phase, RecoveryPhase::Recovery { .. });
        let kept = self.recovery_keeps_ssthresh && (recovering || self.is_reducing());
        if self.timed_out_una != Some(self.una) && !kept {
            self.reduce_ssthresh(now);
        }
        self.timed_out_una = Some(self.una);
        self.congestion.on_timeout(self.mss);
        if self.scoreboard.sacked_range_at(self.una).is_some() {
            // The peer has reneged (RFC 2018 §8).
            self.scoreboard.clear();
        }
        self.abort_prr();
        self.nxt = self.una;
        self.dup_acks = 0;
        self.head_retransmit_due = false;
        self.recover = Some(self.max);
        self.phase = RecoveryPhase::Loss { point: self.max };
    }

    /// Leaves the loss phase once all data sent before the timeout is acknowledged.
    pub fn leave_loss_if_acknowledged(&mut self) {
        if let RecoveryPhase::Loss { point } = self.phase
            && self.una.at_or_after(point)
        {
            self.phase = RecoveryPhase::Open;
        }
    }

    /// True at the third duplicate, if a recovery is permitted: with the guard, duplicates of data
    /// that a recovery or timeout retransmitted start no other one (RFC 6582 §3.2, step 2).
    pub fn may_fast_retransmit(&self) -> bool {
        let allowed = match self.recover_guard {
            true => {
                self.phase == RecoveryPhase::Open
                    && self.recover.is_none_or(|point| self.una.after(point))
            }
            false => !matches!(self.phase, RecoveryPhase::Recovery { .. }),
        };
        allowed && self.dup_acks == DUP_THRESHOLD
    }

    /// Enters fast recovery with cwnd = ssthresh: the pipe says what is outstanding (RFC 6675 §5,
    /// step 4).
    pub fn enter_recovery(&mut self, now: Instant) {
        let point = self.reducing_until.take();
        if point.is_some() {
            // One response to congestion in a round trip; that to an ECN echo cannot be undone.
            self.congestion.forget_prior_window();
        } else {
            self.reduce_ssthresh(now);
            self.congestion.set_to_ssthresh();
        }
        self.phase = RecoveryPhase::Recovery { point: point.unwrap_or(self.max) };
        self.high_rxt = self.una;
    }

    /// Leaves fast recovery.
    pub fn leave_recovery(&mut self) {
        self.phase = RecoveryPhase::Open;
    }

    /// Enters fast recovery with cwnd inflated by the segments that have left the network (RFC 5681
    /// §3.2, steps 2 and 3).
    pub fn enter_inflated_recovery(&mut self, now: Instant) {
        self.reduce_ssthresh(now);
        self.abort_prr();
        self.set_recovery_cwnd(self.ssthresh().saturating_add(DUP_THRESHOLD * self.mss));
        self.phase = RecoveryPhase::Recovery { point: self.max };
        self.head_retransmit_due = true;
    }

    /// Sets cwnd as a recovery wants it, unless the congestion control sets it itself.
    pub fn set_recovery_cwnd(&mut self, cwnd: u32) {
        self.congestion.set_in_recovery(cwnd);
    }

    /// Undoes the last reduction: restores the window and counts nothing as lost. False if there is
    /// none.
    pub fn undo(&mut self) -> bool {
        let recovering = matches!(self.phase, RecoveryPhase::Recovery { .. });
        if !self.congestion.undo(recovering) {
            return false;
        }
        self.abort_prr();
        self.log.clear_lost();
        self.timed_out_una = None;
        self.dup_acks = 0;
        self.phase = RecoveryPhase::Open;
        self.head_retransmit_due = false;
        self.nxt = self.max;
        true
    }

    /// Estimate of the bytes in the network (SetPipe, RFC 6675 §4); without SACK, the bytes between
    /// SND.UNA and SND.NXT.
    pub fn pipe(&self) -> u32 {
        match self.phase {
            RecoveryPhase::Open | RecoveryPhase::Loss { .. } => {
                self.scoreboard.unsacked_bytes(SeqRange::new(self.una, self.nxt))
            }
            RecoveryPhase::Recovery { .. } => {
                let missing =
                    |start, end| self.scoreboard.unsacked_bytes(SeqRange::new(start, end));
                let lost = self.scoreboard.lost_before(self.mss).unwrap_or(self.una);
                missing(self.una, self.max)
                    .saturating_sub(missing(self.una, lost))
                    .saturating_add(missing(self.una, self.high_rxt.max(self.una)))
            }
        }
    }
}
