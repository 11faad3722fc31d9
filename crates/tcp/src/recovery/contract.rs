//! What a loss recovery is: its abilities, what it is notified of, and what it is asked.

use alloc::boxed::Box;
use core::fmt;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::send_state::{SendState, RecoveryPhase};
use crate::options::Options;

/// What an acknowledgment of new data leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewAckResponse {
    /// The window may grow by it.
    pub grows_cwnd: bool,
    /// The retransmission timer starts over.
    pub restarts_timer: bool,
}

/// All that an acknowledgment says, for a recovery that measures time; una is moved already.
#[derive(Clone, Copy, Debug)]
pub struct AckFeedback<'a> {
    /// How far SND.UNA has moved.
    pub acked_bytes: u32,
    /// What is reported beyond it.
    pub sack_blocks: &'a [SeqRange],
    /// What is reported as having come twice (RFC 2883).
    pub dsack: Option<SeqRange>,
    /// Our timestamp that it echoes, and how long one tick of them is.
    pub timestamp_echo: Option<(u32, Duration)>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// An aid holds TCP: what is out is kept account of, and nothing is decided.
    pub on_hold: bool,
}

impl AckFeedback<'_> {
    /// Was what it answers sent before `at`?
    pub fn echoes_before(&self, at: Instant) -> bool {
        self.timestamp_echo.is_some_and(|(echo, tick)| {
            let stamp = at.as_nanos() / tick.as_nanos().max(1);
            Seq(echo).before(Seq(stamp as u32))
        })
    }
}

/// What a feedback leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackResponse {
    /// Nothing.
    Nothing,
    /// Fast recovery has begun.
    RecoveryStarted,
    /// The window is to be reduced for a loss that is repaired already.
    ReduceCwnd,
}

/// A loss recovery. *Abilities*: [`wants_feedback`](LossRecovery::wants_feedback),
/// [`has_timer`](LossRecovery::has_timer), [`times_segments`](LossRecovery::times_segments),
/// [`goes_back`](LossRecovery::goes_back), [`without_sack`](LossRecovery::without_sack). *Events*: [`on_duplicate`](LossRecovery::on_duplicate),
/// [`on_advance`](LossRecovery::on_advance),
/// [`on_retransmission_timeout`](LossRecovery::on_retransmission_timeout),
/// [`on_sent`](LossRecovery::on_sent), [`on_feedback`](LossRecovery::on_feedback),
/// [`on_timeout`](LossRecovery::on_timeout), [`on_probe`](LossRecovery::on_probe),
/// [`on_thaw`](LossRecovery::on_thaw), [`on_undo`](LossRecovery::on_undo),
/// [`start_timer`](LossRecovery::start_timer), [`restart_timers`](LossRecovery::restart_timers),
/// [`take_due`](LossRecovery::take_due), [`take_measured`](LossRecovery::take_measured). *Look*: [`first_deadline`](LossRecovery::first_deadline),
/// [`due`](LossRecovery::due), [`next_timeout`](LossRecovery::next_timeout), [`probe_after`](LossRecovery::probe_after),
/// [`last_sent`](LossRecovery::last_sent), [`budget`](LossRecovery::budget),
/// [`pipe`](LossRecovery::pipe), [`resend`](LossRecovery::resend),
/// [`found_more`](LossRecovery::found_more).
///
/// What all recoveries share, [`Flight`], is the caller's.
pub trait LossRecovery: Send + fmt::Debug {
    /// A duplicate acknowledgment, already counted in `flight.dup_acks()`. `true` if it began a fast
    /// retransmit.
    fn on_duplicate(&mut self, now: Instant, flight: &mut SendState) -> bool;

    /// `bytes` numbers were acknowledged; una is moved already.
    fn on_advance(&mut self, now: Instant, flight: &mut SendState, bytes: u32) -> NewAckResponse;

    /// The retransmission timer went off.
    fn on_retransmission_timeout(&mut self, now: Instant, flight: &mut SendState) {
        flight.enter_loss(now);
    }

    /// A segment left.
    fn on_sent(&mut self, now: Instant, range: SeqRange) {
        let _ = (now, range);
    }

    /// Whether it is shown all that each acknowledgment says ([`on_feedback`](Self::on_feedback)).
    fn wants_feedback(&self) -> bool {
        false
    }

    /// An acknowledgment, after [`on_advance`](Self::on_advance).
    fn on_feedback(
        &mut self,
        now: Instant,
        flight: &mut SendState,
        feedback: &AckFeedback<'_>,
    ) -> FeedbackResponse {
        let _ = (now, flight, feedback);
        FeedbackResponse::Nothing
    }

    /// Whether it has a timer of its own, or probes: otherwise nobody asks for
    /// [`next_timeout`](Self::next_timeout) and [`probe_after`](Self::probe_after).
    fn has_timer(&self) -> bool {
        false
    }

    /// When [`on_timeout`](Self::on_timeout) is wanted. Asked after each acknowledgment, each
    /// segment that left and each timeout.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Its time has come, or a hold has ended in which it may have. `true` if it began a fast
    /// retransmit. It may be called when nothing is due any more.
    fn on_timeout(&mut self, now: Instant, flight: &mut SendState) -> bool {
        let _ = (now, flight);
        false
    }

    /// For how long from now nothing may be heard until a probe asks for an acknowledgment
    /// (RFC 8985 §7); `None`: no probe now.
    fn probe_timeout(&self, flight: &SendState, srtt: Option<Duration>) -> Option<Duration> {
        let _ = (flight, srtt);
        None
    }

    /// A probe is sent that ends at `end`; `again`: it was sent before.
    fn on_probe(&mut self, end: Seq, again: bool) {
        let _ = (end, again);
    }

    /// The segment with the highest numbers that is out: a probe sends it again where there is
    /// nothing new.
    fn last_segment(&self) -> Option<SeqRange> {
        None
    }

    /// Until `now`, time has stood still for so long (chandran-1998 §4).
    fn on_thaw(&mut self, now: Instant, still: Duration) {
        let _ = (now, still);
    }

    /// The last response to a loss was taken back.
    fn on_undo(&mut self) {}

    /// Whether each segment has a retransmission timer of its own: then the connection's goes off with
    /// the first of them, and SND.UNA has none.
    fn has_segment_timers(&self) -> bool {
        false
    }

    /// What lies in `range` has left; its timer goes off at `at`.
    fn start_segment_timer(&mut self, now: Instant, range: SeqRange, at: Instant) {
        let _ = (now, range, at);
    }

    /// All timers go off at `at`.
    fn restart_segment_timers(&mut self, at: Instant) {
        let _ = at;
    }

    /// When the first timer goes off.
    fn first_segment_deadline(&self) -> Option<Instant> {
        None
    }

    /// The retransmission timer has gone off: those segments are due whose timers have. `false` if there is
    /// none, or all of them were sent before the last response to a timeout, which was for them, too.
    fn expire_segment_timers(&mut self, now: Instant) -> bool {
        let _ = now;
        true
    }

    /// When the segment left by which an acknowledgment that has come measures the round trip.
    fn take_sample_start(&mut self) -> Option<Instant> {
        None
    }

    /// A segment that is due goes again, whatever the window says.
    fn due_segment(&self) -> Option<SeqRange> {
        None
    }

    /// After a timeout, does SND.NXT go back to SND.UNA?
    fn uses_go_back_n(&self) -> bool {
        true
    }

    /// What takes its place where the ends do not agree on SACK; `None`: it goes on.
    fn fallback_without_sack(&self) -> Option<Box<dyn LossRecovery>> {
        None
    }

    /// Bytes that the congestion window lets out now.
    fn budget(&self, flight: &SendState) -> u32 {
        // RFC 3042 §2: two segments more while the third duplicate may still come.
        let extra = match flight.phase() {
            RecoveryPhase::Open if flight.limited_transmit() => flight.dup_acks().min(2) * flight.mss(),
            _ => 0,
        };
        let window = flight.window.cwnd.saturating_add(extra);
        window.saturating_sub(flight.nxt().since(flight.una()))
    }

    /// Bytes that are in the network, as far as is known.
    fn pipe(&self, flight: &SendState) -> u32 {
        flight.pipe()
    }

    /// Has more been found lost since this was last asked?
    fn take_new_losses(&mut self, flight: &SendState) -> bool {
        let _ = flight;
        false
    }

    /// What to send again in fast recovery, besides the first segment. `last_resort`: new data
    /// can't be sent, so anything that may help may go.
    fn next_retransmission(&mut self, flight: &SendState, last_resort: bool) -> Option<SeqRange> {
        let _ = (flight, last_resort);
        None
    }
}

/// What is known of a recovery before there is a connection.
pub trait RecoveryDescriptor: LossRecovery + Default + 'static {
    /// Its name in a scenario.
    const NAME: &'static str;
    /// Whether it offers and uses selective acknowledgments.
    const USES_SACK: bool = false;
    /// Whether new data goes on the first two duplicates (RFC 3042) where nobody says otherwise.
    const LIMITED_TRANSMIT: bool = true;
    /// Whether it goes with the classic window growth only
    /// ([`CLASSIC`](crate::growth::Listed::CLASSIC)): it is studied as it was.
    const CLASSIC: bool = false;

    /// A new one, with the connection's options.
    fn from_options(options: &Options) -> Self {
        let _ = options;
        Self::default()
    }
}
