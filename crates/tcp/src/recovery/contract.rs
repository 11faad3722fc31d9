//! The contract of a loss recovery: its properties, events and queries.

use alloc::boxed::Box;
use core::fmt;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::options::Options;
use crate::send_state::{DUP_THRESHOLD, RecoveryPhase, SendState};
use crate::sent_log::SentSegment;

/// Response to an acknowledgment of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAckResponse {
    /// The window may grow.
    pub grows_cwnd: bool,
    /// The retransmission timer restarts.
    pub restarts_timer: bool,
}

/// Contents of an acknowledgment, for recoveries that detect losses by time; SND.UNA has advanced.
#[derive(Clone, Copy, Debug)]
pub struct AckFeedback<'a> {
    /// Bytes by which SND.UNA has advanced.
    pub acked_bytes: u32,
    /// SACK blocks above SND.UNA.
    pub sack_blocks: &'a [SeqRange],
    /// D-SACK block (RFC 2883).
    pub dsack: Option<SeqRange>,
    /// Our timestamp that it echoes, and the length of a timestamp tick.
    pub timestamp_echo: Option<(u32, Duration)>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// An aid holds TCP: outstanding data is tracked, but no loss is detected.
    pub on_hold: bool,
}

impl AckFeedback<'_> {
    /// True if the echoed segment was sent before `at`.
    pub fn echoes_before(&self, at: Instant) -> bool {
        self.timestamp_echo.is_some_and(|(echo, tick)| {
            let stamp = at.as_nanos() / tick.as_nanos().max(1);
            Seq(echo).before(Seq(stamp as u32))
        })
    }
}

/// Response to an acknowledgment's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackResponse {
    /// No response.
    Nothing,
    /// Fast recovery has started.
    RecoveryStarted,
    /// The window is to be reduced for a loss that is already repaired.
    ReduceCwnd,
}

/// A loss recovery.
///
/// *Properties*: [`wants_feedback`](LossRecovery::wants_feedback),
/// [`needs_log`](LossRecovery::needs_log),
/// [`has_timer`](LossRecovery::has_timer),
/// [`has_segment_timers`](LossRecovery::has_segment_timers),
/// [`uses_go_back_n`](LossRecovery::uses_go_back_n),
/// [`fallback_without_sack`](LossRecovery::fallback_without_sack). *Events*:
/// [`on_duplicate`](LossRecovery::on_duplicate), [`on_advance`](LossRecovery::on_advance),
/// [`on_retransmission_timeout`](LossRecovery::on_retransmission_timeout),
/// [`on_handshake`](LossRecovery::on_handshake),
/// [`on_sent`](LossRecovery::on_sent), [`on_feedback`](LossRecovery::on_feedback),
/// [`on_timeout`](LossRecovery::on_timeout), [`on_probe`](LossRecovery::on_probe),
/// [`on_delivered`](LossRecovery::on_delivered),
/// [`on_overtaken`](LossRecovery::on_overtaken), [`on_thaw`](LossRecovery::on_thaw),
/// [`start_segment_timer`](LossRecovery::start_segment_timer),
/// [`restart_segment_timers`](LossRecovery::restart_segment_timers),
/// [`expire_segment_timers`](LossRecovery::expire_segment_timers),
/// [`take_sample_start`](LossRecovery::take_sample_start). *Queries*:
/// [`first_segment_deadline`](LossRecovery::first_segment_deadline),
/// [`due_segment`](LossRecovery::due_segment), [`next_timeout`](LossRecovery::next_timeout),
/// [`probe_timeout`](LossRecovery::probe_timeout), [`last_segment`](LossRecovery::last_segment),
/// [`budget`](LossRecovery::budget), [`pipe`](LossRecovery::pipe),
/// [`min_rtt`](LossRecovery::min_rtt), [`reordering`](LossRecovery::reordering),
/// [`next_retransmission`](LossRecovery::next_retransmission),
/// [`take_new_losses`](LossRecovery::take_new_losses).
///
/// The state that all recoveries share, [`SendState`], belongs to the caller.
pub trait LossRecovery: Send + fmt::Debug {
    /// Handles a duplicate acknowledgment, which `send.dup_acks()` already counts. True if it
    /// started a fast retransmit.
    fn on_duplicate(&mut self, now: Instant, send: &mut SendState) -> bool;

    /// Handles an acknowledgment of `bytes` new bytes; SND.UNA has advanced.
    fn on_advance(&mut self, now: Instant, send: &mut SendState, bytes: u32) -> NewAckResponse;

    /// Handles an expiry of the retransmission timer.
    fn on_retransmission_timeout(&mut self, now: Instant, send: &mut SendState) {
        send.enter_loss(now);
    }

    /// Records a transmission.
    fn on_sent(&mut self, now: Instant, range: SeqRange) {
        let _ = (now, range);
    }

    /// Needs the contents of each acknowledgment ([`on_feedback`](Self::on_feedback)).
    fn wants_feedback(&self) -> bool {
        false
    }

    /// Needs the log of outstanding segments ([`SendState::log`]).
    fn needs_log(&self) -> bool {
        false
    }

    /// Handles a segment, or part of one, that the acknowledgment delivers, in ascending order, as
    /// within one acknowledgment no order is known. SND.UNA is `una` by now.
    fn on_delivered(
        &mut self,
        now: Instant,
        una: Seq,
        feedback: &AckFeedback<'_>,
        sent: &SentSegment,
    ) {
        let _ = (now, una, feedback, sent);
    }

    /// Handles the contents of an acknowledgment, after [`on_advance`](Self::on_advance) and
    /// [`on_delivered`](Self::on_delivered).
    fn on_feedback(
        &mut self,
        now: Instant,
        send: &mut SendState,
        feedback: &AckFeedback<'_>,
    ) -> FeedbackResponse {
        let _ = (now, send, feedback);
        FeedbackResponse::Nothing
    }

    /// Has a timer of its own, or tail loss probes: only then [`next_timeout`](Self::next_timeout)
    /// and [`probe_timeout`](Self::probe_timeout) are used.
    fn has_timer(&self) -> bool {
        false
    }

    /// Time at which to call [`on_timeout`](Self::on_timeout); read after each acknowledgment,
    /// transmission and timeout.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Handles an expiry of the recovery's timer, or the end of a hold during which it may have
    /// expired. True if it started a fast retransmit. May be called without anything being due.
    fn on_timeout(&mut self, now: Instant, send: &mut SendState) -> bool {
        let _ = (now, send);
        false
    }

    /// Probe timeout (PTO, RFC 8985 §7) from now, `margin` longer if it does not wait for a delayed acknowledgment;
    /// `None`: no probe is to be scheduled.
    fn probe_timeout(
        &self,
        send: &SendState,
        srtt: Option<Duration>,
        margin: Duration,
    ) -> Option<Duration> {
        let _ = (send, srtt, margin);
        None
    }

    /// Records the transmission of a tail loss probe that ends at `end`.
    fn on_probe(&mut self, end: Seq, is_retransmission: bool) {
        let _ = (end, is_retransmission);
    }

    /// The outstanding segment with the highest sequence numbers, which a probe retransmits if
    /// there is no new data.
    fn last_segment(&self, send: &SendState) -> Option<SeqRange> {
        let _ = send;
        None
    }

    /// Adjusts its times after timers were frozen for `frozen_for` until `now` (chandran-1998 §4).
    fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        let _ = (now, frozen_for);
    }

    /// Has a retransmission timer for each segment: the connection's timer then follows the
    /// earliest of them instead of SND.UNA.
    fn has_segment_timers(&self) -> bool {
        false
    }

    /// Starts the timer of a segment that was sent; it expires at `at`.
    fn start_segment_timer(&mut self, now: Instant, range: SeqRange, at: Instant) {
        let _ = (now, range, at);
    }

    /// Sets all segment timers to `at`.
    fn restart_segment_timers(&mut self, at: Instant) {
        let _ = at;
    }

    /// Earliest deadline of the segment timers.
    fn first_segment_deadline(&self) -> Option<Instant> {
        None
    }

    /// Marks the segments whose timers have expired as due for retransmission. False if the timeout
    /// needs no response of its own: all of them were sent before the last response, which covered
    /// them.
    fn expire_segment_timers(&mut self, now: Instant) -> bool {
        let _ = now;
        true
    }

    /// Transmission time of the segment by whose acknowledgment the round trip is measured.
    fn take_sample_start(&mut self) -> Option<Instant> {
        None
    }

    /// A segment that is due for retransmission, regardless of the window.
    fn due_segment(&self) -> Option<SeqRange> {
        None
    }

    /// Sets SND.NXT back to SND.UNA after a timeout (go-back-N).
    fn uses_go_back_n(&self) -> bool {
        true
    }

    /// The recovery that replaces this one if SACK is not negotiated; `None`: this one stays.
    fn fallback_without_sack(&self) -> Option<Box<dyn LossRecovery>> {
        None
    }

    /// Bytes that the congestion window permits to be sent now.
    fn budget(&self, send: &SendState) -> u32 {
        // RFC 3042 §2: two segments more until the third duplicate.
        let extra = match send.phase() {
            RecoveryPhase::Open if send.limited_transmit() => send.dup_acks().min(2) * send.mss(),
            _ => 0,
        };
        let window = send.cwnd().saturating_add(extra);
        window.saturating_sub(send.nxt().since(send.una()))
    }

    /// Estimate of the bytes in the network.
    fn pipe(&self, send: &SendState) -> u32 {
        send.pipe()
    }

    /// Takes the round-trip time of the handshake.
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        let _ = (now, rtt);
    }

    /// Notes that the segment at `start`, which was retransmitted, was only late.
    fn on_overtaken(&mut self, start: Seq) {
        let _ = start;
    }

    /// Minimum round-trip time of the last few minutes, if it measures that.
    fn min_rtt(&self) -> Option<Duration> {
        None
    }

    /// Largest distance over which a segment was overtaken, in segments of `mss` bytes; three until
    /// one was.
    fn reordering(&self, mss: u32) -> u32 {
        let _ = mss;
        DUP_THRESHOLD
    }

    /// True if further losses were detected since the last call.
    fn take_new_losses(&mut self, send: &SendState) -> bool {
        let _ = send;
        false
    }

    /// The next range to retransmit in fast recovery, after the first segment. `last_resort`: no
    /// new data can be sent, so that segments not known to be lost may be retransmitted.
    fn next_retransmission(&mut self, send: &SendState, last_resort: bool) -> Option<SeqRange> {
        let _ = (send, last_resort);
        None
    }
}

/// Constants and constructor of a loss recovery.
pub trait RecoveryDescriptor: LossRecovery + Default + 'static {
    /// Name in a scenario.
    const NAME: &'static str;
    /// Offers and uses selective acknowledgments.
    const USES_SACK: bool = false;
    /// Default of limited transmit (RFC 3042).
    const LIMITED_TRANSMIT: bool = true;
    /// Combines with the classic window growths only
    /// ([`CLASSIC`](crate::congestion::ControlDescriptor::CLASSIC)), as it was studied.
    const CLASSIC: bool = false;

    /// A new recovery with the connection's options.
    fn from_options(options: &Options) -> Self {
        let _ = options;
        Self::default()
    }
}
