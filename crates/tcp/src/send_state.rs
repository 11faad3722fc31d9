//! What is outstanding, and what the window allows: the state that loss recovery works on.

use alloc::boxed::Box;

use driftway_base::{Instant, Seq, SeqRange};

use crate::f_rto::FRto;
use crate::growth::{AckedData, WindowGrowth, CongestionWindow};
use crate::options::Options;
use crate::prr::Prr;
use crate::scoreboard::Scoreboard;

/// How many duplicates mean a loss (RFC 5681 §3.2).
pub const DUP_THRESHOLD: u32 = 3;

/// What loss recovery is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// Nothing is being recovered.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        /// The highest number sent when it began (RFC 6582: recover).
        point: Seq,
    },
    /// After a timeout, until `point` is acknowledged.
    Loss {
        /// The highest number sent when the timer went off.
        point: Seq,
    },
}

/// What had arrived at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliverySnapshot {
    pub una: Seq,
    pub sacked_bytes: u32,
}

/// Sequence numbers and windows of the sending half. Numbers as in RFC 9293 §3.3.1.
#[derive(Debug)]
pub struct SendState {
    /// Oldest number not acknowledged.
    una: Seq,
    /// Next number to send; behind `max` while going back.
    nxt: Seq,
    /// One past the highest number ever sent.
    max: Seq,
    /// Payload of a full segment (bytes).
    mss: u32,
    /// Congestion window and slow-start threshold.
    pub window: CongestionWindow,
    /// How the window grows and falls.
    growth: Box<dyn WindowGrowth>,
    /// Consecutive duplicate acknowledgments.
    dup_acks: u32,
    /// What was outstanding at the first of them, before limited transmit added to it.
    flight_size_at_first_duplicate: u32,
    /// What was outstanding when the acknowledgment came that is being looked at.
    flight_size_before_ack: Option<u32>,
    /// What loss recovery is doing.
    phase: RecoveryPhase,
    /// No fast retransmit until more than this is acknowledged (RFC 6582 §3.2, recover).
    recover: Option<Seq>,
    /// What the peer reported by SACK; stays empty without it.
    scoreboard: Scoreboard,
    /// The segment at `una` is to be sent again at once.
    head_retransmit_due: bool,
    /// One past the highest number retransmitted in this recovery (RFC 6675: HighRxt).
    high_rxt: Seq,
    /// The window before the last reduction, for an undo.
    prior_window: Option<CongestionWindow>,
    /// `una` when the timer last went off: a second timeout of the same segment leaves ssthresh.
    timed_out_una: Option<Seq>,
    /// How fast recovery is paced, if in proportion (RFC 9937).
    prr: Option<Prr>,
    /// New data instead of old after a timeout (RFC 5682).
    f_rto: Option<FRto>,
    /// Send new data on the first two duplicates (RFC 3042).
    limited_transmit: bool,
    /// ssthresh is a part of cwnd.
    ssthresh_from_cwnd: bool,
    /// A timeout in fast recovery leaves ssthresh alone.
    recovery_keeps_ssthresh: bool,
    /// After a recovery or a timeout, duplicates of what it sent again start no other one.
    recover_guard: bool,
}

impl SendState {
    /// Nothing is sent; the first number is `iss`.
    pub fn new(
        iss: Seq,
        mss: u32,
        window: CongestionWindow,
        growth: Box<dyn WindowGrowth>,
        options: &Options,
    ) -> Self {
        Self {
            una: iss,
            nxt: iss,
            max: iss,
            mss,
            window,
            growth,
            dup_acks: 0,
            flight_size_at_first_duplicate: 0,
            flight_size_before_ack: None,
            phase: RecoveryPhase::Open,
            recover: None,
            scoreboard: Scoreboard::default(),
            head_retransmit_due: false,
            high_rxt: iss,
            prior_window: None,
            timed_out_una: None,
            prr: options.prr.then(Prr::default),
            f_rto: None,
            limited_transmit: options.limited_transmit,
            ssthresh_from_cwnd: options.ssthresh_from_cwnd,
            recovery_keeps_ssthresh: options.recovery_keeps_ssthresh,
            recover_guard: options.recover_guard,
        }
    }

    /// Oldest number not acknowledged.
    pub fn una(&self) -> Seq {
        self.una
    }
    /// Next number to send; behind [`max`](Self::max) while going back.
    pub fn nxt(&self) -> Seq {
        self.nxt
    }
    /// One past the highest number ever sent.
    pub fn max(&self) -> Seq {
        self.max
    }
    /// Payload of a full segment (bytes).
    pub fn mss(&self) -> u32 {
        self.mss
    }
    /// Consecutive duplicate acknowledgments.
    pub fn dup_acks(&self) -> u32 {
        self.dup_acks
    }
    /// What loss recovery is doing.
    pub fn phase(&self) -> RecoveryPhase {
        self.phase
    }
    /// No fast retransmit until more than this is acknowledged.
    pub fn recover(&self) -> Option<Seq> {
        self.recover
    }
    /// What the peer reported by SACK.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }
    /// One past the highest number retransmitted in this recovery (RFC 6675: HighRxt).
    pub fn high_rxt(&self) -> Seq {
        self.high_rxt
    }
    /// Whether new data goes on the first two duplicates (RFC 3042).
    pub fn limited_transmit(&self) -> bool {
        self.limited_transmit
    }
    /// The window before the last reduction.
    pub(crate) fn prior_window(&self) -> Option<CongestionWindow> {
        self.prior_window
    }
    /// How far F-RTO is.
    pub(crate) fn f_rto(&self) -> Option<FRto> {
        self.f_rto
    }
    /// The account of proportional rate reduction.
    pub(crate) fn prr(&self) -> Option<Prr> {
        self.prr
    }
    /// Keeps the account of proportional rate reduction.
    pub(crate) fn set_prr(&mut self, prr: Prr) {
        self.prr = Some(prr);
    }

    /// Bytes sent and not acknowledged (RFC 5681: FlightSize).
    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }

    /// The ends agree on a segment size.
    pub(crate) fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }
    /// The SYN has left.
    pub(crate) fn on_syn_sent(&mut self, iss: Seq) {
        self.nxt = iss + 1;
        self.max = iss + 1;
    }
    /// The SYN is acknowledged.
    pub(crate) fn on_syn_acked(&mut self, iss: Seq) {
        self.una = iss + 1;
        self.nxt = self.nxt.max(self.una);
    }

    /// Something that ends at `end` has left.
    pub(crate) fn on_sent(&mut self, end: Seq) {
        self.max = self.max.max(end);
    }
    /// It was next, and had `len` bytes: SND.NXT moves along.
    pub(crate) fn on_sent_from_nxt(&mut self, end: Seq, len: u32) {
        self.nxt = end;
        if let Some(FRto::AwaitingSecondAck { new_data_left: left }) = &mut self.f_rto {
            *left = left.saturating_sub(len);
        }
    }
    /// It was a repair. RFC 6675 §4, NextSeg rule 4: a rescue beyond all reports leaves HighRxt
    /// alone.
    pub(crate) fn on_retransmission_sent(&mut self, range: SeqRange) {
        if self.scoreboard.highest_sacked().is_some_and(|high| range.start.before(high)) {
            self.high_rxt = self.high_rxt.max(range.end);
        }
    }
    /// It had `len` bytes of data, and was no probe of the peer's window.
    pub(crate) fn on_data_sent(&mut self, len: u32) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(len);
        }
    }

    /// An acknowledgment has come: until [`end_ack`](Self::end_ack), a response to congestion goes by
    /// what is outstanding now.
    pub(crate) fn begin_ack_processing(&mut self) {
        self.flight_size_before_ack = Some(self.outstanding());
    }
    /// All that it says is taken in.
    pub(crate) fn end_ack_processing(&mut self) {
        self.flight_size_before_ack = None;
    }
    /// What was outstanding when congestion showed itself: before the acknowledgment took its part
    /// (RFC 5681 §3.2; RFC 3168 §6.1.2).
    fn flight_size(&self) -> u32 {
        self.flight_size_before_ack.unwrap_or_else(|| self.outstanding())
    }

    /// The peer reports `block`; is there anything new in it?
    pub(crate) fn on_sack_block(&mut self, block: SeqRange) -> bool {
        self.scoreboard.add(block)
    }
    /// All before `ack` is acknowledged.
    pub(crate) fn on_acknowledged(&mut self, ack: Seq) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.scoreboard.advance(ack);
        // Serial numbers turn around after 2 GiB: what is passed must be forgotten.
        self.timed_out_una = None;
        self.recover = self.recover.filter(|point| ack.at_or_before(*point));
    }
    /// A duplicate acknowledgment came.
    pub(crate) fn count_dup_ack(&mut self) {
        if self.dup_acks == 0 {
            self.flight_size_at_first_duplicate = self.flight_size();
        }
        self.dup_acks = self.dup_acks.saturating_add(1);
    }
    /// The next duplicate is the first.
    pub(crate) fn reset_dup_acks(&mut self) {
        self.dup_acks = 0;
    }

    /// While going back, what SACK reports is not sent again.
    pub(crate) fn skip_sacked(&mut self) {
        self.nxt = self.scoreboard.first_unsacked(self.nxt);
    }
    /// SND.NXT goes back to SND.UNA.
    pub fn go_back_to_una(&mut self) {
        self.nxt = self.una;
    }
    /// SND.NXT stays where it was, or goes on there.
    pub fn advance_to_max(&mut self) {
        self.nxt = self.max;
    }
    /// The segment at SND.UNA is to be sent again at once.
    pub fn request_head_retransmit(&mut self) {
        self.head_retransmit_due = true;
    }
    /// Is it? Once.
    pub(crate) fn take_head_retransmit(&mut self) -> bool {
        core::mem::take(&mut self.head_retransmit_due)
    }
    /// F-RTO goes on to this step, or ends.
    pub(crate) fn set_f_rto(&mut self, f_rto: Option<FRto>) {
        self.f_rto = f_rto;
    }

    /// No fast retransmit until more than all that is out now is acknowledged (RFC 6582 §3.2).
    pub fn set_recover(&mut self) {
        self.recover = Some(self.max);
    }
    /// A fast retransmit may come at any time.
    pub(crate) fn clear_recover(&mut self) {
        self.recover = None;
    }
    /// Nothing is given back by an undo.
    pub(crate) fn forget_prior_window(&mut self) {
        self.prior_window = None;
    }
    /// An undo gives this back, if there is such.
    pub(crate) fn keep_prior_window(&mut self, before: Option<CongestionWindow>) {
        self.prior_window = before.or(self.prior_window);
    }

    /// A router asks to send less (source quench): one segment, as in 4.4BSD.
    pub(crate) fn on_source_quench(&mut self) {
        self.prior_window = Some(self.window);
        self.window.cwnd = self.mss;
    }

    /// Responds to congestion: a new ssthresh; the window stays for the caller to set.
    pub fn reduce_ssthresh(&mut self, now: Instant) {
        self.prior_window = Some(self.window);
        // RFC 5681 §3.2, step 2: what limited transmit has sent does not count.
        let counting = self.phase == RecoveryPhase::Open && self.dup_acks > 0;
        let most = if counting { self.flight_size_at_first_duplicate } else { u32::MAX };
        // What is reported, or known to be lost, is outstanding in that sense and no longer what the
        // window lets out: after a response to a loss the next one would raise ssthresh (§4.3 wants
        // it lowered twice; equation 4 says "no more than").
        let flight = match self.ssthresh_from_cwnd {
            true => self.window.cwnd,
            false => self.flight_size().min(most).min(self.window.cwnd),
        };
        self.window.ssthresh = self.growth.on_congestion(now, &self.window, flight, self.mss);
    }

    /// Responds to congestion by slow start up to the ssthresh of before.
    pub fn enter_slow_start(&mut self) {
        self.prior_window = Some(self.window);
        self.window.cwnd = self.mss;
    }

    /// Responds to congestion without a loss.
    pub fn reduce_cwnd(&mut self, now: Instant) {
        self.reduce_ssthresh(now);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    /// Sending starts over at SND.UNA, without anything being counted as lost. If `guarded`, duplicates of
    /// what goes twice then start no recovery.
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
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            self.phase = RecoveryPhase::Open;
        }
    }

    /// An acknowledgment may have ended the recovery: then the window is ssthresh (RFC 9937 §6),
    /// before it begins another one, with an account of its own.
    pub fn complete_prr(&mut self) {
        if let Some(prr) = self.prr.as_mut().filter(|prr| prr.is_active())
            && self.phase == RecoveryPhase::Open
        {
            prr.end();
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// What has arrived, if rates are reduced in proportion here.
    pub(crate) fn delivery_snapshot(&self) -> Option<DeliverySnapshot> {
        let reported = || self.scoreboard.sacked_bytes();
        self.prr.is_some().then(|| DeliverySnapshot { una: self.una, sacked_bytes: reported() })
    }

    /// Fast recovery ends otherwise than by an acknowledgment.
    fn abort_prr(&mut self) {
        if let Some(prr) = &mut self.prr {
            prr.end();
        }
    }

    /// New data was acknowledged outside of fast recovery.
    pub fn grow(&mut self, now: Instant, acked: AckedData) {
        self.growth.on_ack(now, &mut self.window, acked);
    }

    /// Something other than the window keeps data back.
    pub(crate) fn pause_growth(&mut self, now: Instant) {
        self.growth.on_pause(now);
    }

    /// As after a timeout, but without one.
    pub fn enter_loss_early(&mut self, now: Instant) {
        self.timed_out_una = None;
        self.enter_loss(now);
    }

    /// The retransmission timer went off: one segment, from SND.UNA on (RFC 5681 §3.1).
    pub fn enter_loss(&mut self, now: Instant) {
        let recovering = matches!(self.phase, RecoveryPhase::Recovery { .. });
        let kept = self.recovery_keeps_ssthresh && recovering;
        if self.timed_out_una != Some(self.una) && !kept {
            self.reduce_ssthresh(now);
        }
        self.timed_out_una = Some(self.una);
        self.growth.on_timeout();
        if self.scoreboard.sacked_range_at(self.una).is_some() {
            // The peer took its word back (RFC 2018 §8).
            self.scoreboard.clear();
        }
        self.abort_prr();
        self.window.cwnd = self.mss;
        self.nxt = self.una;
        self.dup_acks = 0;
        self.head_retransmit_due = false;
        self.recover = Some(self.max);
        self.phase = RecoveryPhase::Loss { point: self.max };
    }

    /// Out of loss phase once everything of before the timeout is acknowledged.
    pub fn leave_loss_if_acknowledged(&mut self) {
        if let RecoveryPhase::Loss { point } = self.phase
            && self.una.at_or_after(point)
        {
            self.phase = RecoveryPhase::Open;
        }
    }

    /// The third duplicate, and recovery allowed: after a recovery or timeout, duplicates of what
    /// it sent again must not start another one (RFC 6582 §3.2, step 2), where that is guarded against.
    pub fn may_fast_retransmit(&self) -> bool {
        let allowed = match self.recover_guard {
            true => {
                self.phase == RecoveryPhase::Open && self.recover.is_none_or(|point| self.una.after(point))
            }
            false => !matches!(self.phase, RecoveryPhase::Recovery { .. }),
        };
        allowed && self.dup_acks == DUP_THRESHOLD
    }

    /// Fast recovery begins with a window of ssthresh: what is out is known otherwise than by the
    /// window (RFC 6675 §5, step 4).
    pub fn enter_recovery(&mut self, now: Instant) {
        self.reduce_ssthresh(now);
        self.window.cwnd = self.window.ssthresh;
        self.phase = RecoveryPhase::Recovery { point: self.max };
        self.high_rxt = self.una;
    }

    /// Fast recovery is over.
    pub fn leave_recovery(&mut self) {
        self.phase = RecoveryPhase::Open;
    }

    /// Fast recovery begins, the window inflated by what has left the network (RFC 5681 §3.2,
    /// steps 2 and 3).
    pub fn enter_inflated_recovery(&mut self, now: Instant) {
        self.reduce_ssthresh(now);
        self.window.cwnd = self.window.ssthresh.saturating_add(DUP_THRESHOLD * self.mss);
        self.phase = RecoveryPhase::Recovery { point: self.max };
        self.head_retransmit_due = true;
    }

    /// Takes the last reduction back: window as before, nothing counts as lost.
    pub fn undo(&mut self) -> bool {
        let Some(before) = self.prior_window.take() else { return false };
        // In fast recovery the window is inflated, or on its way down.
        let recovering = matches!(self.phase, RecoveryPhase::Recovery { .. });
        let least = if recovering { 0 } else { self.window.cwnd };
        self.window.cwnd = before.cwnd.max(least);
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        self.abort_prr();
        self.growth.on_undo();
        self.timed_out_una = None;
        self.dup_acks = 0;
        self.phase = RecoveryPhase::Open;
        self.head_retransmit_due = false;
        self.nxt = self.max;
        true
    }

    /// Numbers sent and, by what SACK says, not arrived and not lost, plus those sent again
    /// (SetPipe, RFC 6675 §4); without SACK, what lies between una and nxt.
    pub fn pipe(&self) -> u32 {
        match self.phase {
            RecoveryPhase::Open | RecoveryPhase::Loss { .. } => {
                self.scoreboard.unsacked_bytes(SeqRange::new(self.una, self.nxt))
            }
            RecoveryPhase::Recovery { .. } => {
                let missing = |start, end| self.scoreboard.unsacked_bytes(SeqRange::new(start, end));
                let lost = self.scoreboard.lost_before(self.mss).unwrap_or(self.una);
                missing(self.una, self.max)
                    .saturating_sub(missing(self.una, lost))
                    .saturating_add(missing(self.una, self.high_rxt.max(self.una)))
            }
        }
    }
}
