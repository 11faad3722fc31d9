//! Loss recovery: what a sender does about duplicate acknowledgments and timeouts. One file each.

mod newreno;
mod rack;
mod reno;
mod sack;
mod sent;
mod tahoe;
mod tail;

pub use tail::Tail;

use alloc::boxed::Box;
use core::fmt;

use base::{Duration, Instant, Seq, SeqRange};

use crate::config::RecoveryKind;
use crate::flight::{Flight, Phase};

/// How many duplicates mean a loss (RFC 5681 §3.2).
pub const DUP_THRESHOLD: u32 = 3;

/// What an acknowledgment of new data leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The window may grow by it.
    pub grows: bool,
    /// The retransmission timer starts over.
    pub restarts_timer: bool,
}

/// All that an acknowledgment says, for a recovery that measures time; una is moved already.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// How far SND.UNA has moved.
    pub advanced: u32,
    /// What is reported beyond it.
    pub blocks: &'a [SeqRange],
    /// What is reported as having come twice (RFC 2883).
    pub duplicate: Option<SeqRange>,
    /// Our timestamp that it echoes, and how long one tick of them is.
    pub echo: Option<(u32, Duration)>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// An aid holds TCP: what is out is kept account of, and nothing is decided.
    pub held: bool,
}

impl Feedback<'_> {
    /// Was what it answers sent before `at`?
    fn echoes_before(&self, at: Instant) -> bool {
        self.echo.is_some_and(|(echo, tick)| {
            let stamp = at.as_nanos() / tick.as_nanos().max(1);
            Seq(echo).before(Seq(stamp as u32))
        })
    }
}

/// What a feedback leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Nothing.
    Nothing,
    /// Fast recovery has begun.
    Recover,
    /// The window is to be reduced for a loss that is repaired already.
    Cut,
}

/// A loss recovery. *Events*: [`on_duplicate`](LossRecovery::on_duplicate),
/// [`on_advance`](LossRecovery::on_advance), [`on_timeout`](LossRecovery::on_timeout), and for those
/// that measure time [`on_sent`](LossRecovery::on_sent), [`on_feedback`](LossRecovery::on_feedback),
/// [`on_reordering_timeout`](LossRecovery::on_reordering_timeout),
/// [`on_thaw`](LossRecovery::on_thaw), [`on_undo`](LossRecovery::on_undo); *look*:
/// [`budget`](LossRecovery::budget), [`pipe`](LossRecovery::pipe), [`resend`](LossRecovery::resend). Flight is the caller's.
pub trait LossRecovery: Send + fmt::Debug {
    /// A duplicate acknowledgment, already counted in `flight.dup_acks`. `true` if it began a fast
    /// retransmit.
    fn on_duplicate(&mut self, now: Instant, flight: &mut Flight) -> bool;

    /// `bytes` numbers were acknowledged; una is moved already.
    fn on_advance(&mut self, now: Instant, flight: &mut Flight, bytes: u32) -> Advance;

    /// The retransmission timer went off.
    fn on_timeout(&mut self, now: Instant, flight: &mut Flight) {
        flight.collapse(now);
    }

    /// A segment left.
    fn on_sent(&mut self, now: Instant, range: SeqRange) {
        let _ = (now, range);
    }

    /// An acknowledgment, after [`on_advance`](Self::on_advance).
    fn on_feedback(
        &mut self,
        now: Instant,
        flight: &mut Flight,
        feedback: &Feedback<'_>,
    ) -> Response {
        let _ = (now, flight, feedback);
        Response::Nothing
    }

    /// The time of [`reordering_deadline`](Self::reordering_deadline) has come. `true` if it began
    /// a fast retransmit.
    fn on_reordering_timeout(&mut self, now: Instant, flight: &mut Flight) -> bool {
        let _ = (now, flight);
        false
    }

    /// When what is missing now will count as lost.
    fn reordering_deadline(&self) -> Option<Instant> {
        None
    }

    /// Until `now`, time has stood still for so long (chandran-1998 §4).
    fn on_thaw(&mut self, now: Instant, still: Duration) {
        let _ = (now, still);
    }

    /// The last response to a loss was taken back.
    fn on_undo(&mut self) {}

    /// After a timeout, does SND.NXT go back to SND.UNA?
    fn goes_back(&self) -> bool {
        true
    }

    /// Its tail loss probe, where it has one, and what that would send again.
    fn tail(&mut self) -> Option<&mut Tail> {
        None
    }

    /// The segment with the highest numbers that is out.
    fn last_sent(&self) -> Option<SeqRange> {
        None
    }

    /// Bytes that the congestion window lets out now.
    fn budget(&self, flight: &Flight) -> u32 {
        // RFC 3042 §2: two segments more while the third duplicate may still come.
        let extra = match flight.phase {
            Phase::Open if flight.limited_transmit => flight.dup_acks.min(2) * flight.mss,
            _ => 0,
        };
        let window = flight.window.cwnd.saturating_add(extra);
        window.saturating_sub(flight.nxt.since(flight.una))
    }

    /// Bytes that are in the network, as far as is known.
    fn pipe(&self, flight: &Flight) -> u32 {
        flight.pipe()
    }

    /// Has more been found lost since this was last asked?
    fn found_more(&mut self, flight: &Flight) -> bool {
        let _ = flight;
        false
    }

    /// What to send again in fast recovery, besides the first segment. `last_resort`: new data
    /// can't be sent, so anything that may help may go.
    fn resend(&mut self, flight: &Flight, last_resort: bool) -> Option<SeqRange> {
        let _ = (flight, last_resort);
        None
    }
}

/// A new recovery.
pub fn new(kind: RecoveryKind) -> Box<dyn LossRecovery> {
    match kind {
        RecoveryKind::Tahoe => Box::new(tahoe::Tahoe),
        RecoveryKind::Reno => Box::new(reno::Reno),
        RecoveryKind::NewReno => Box::new(newreno::NewReno::default()),
        RecoveryKind::Sack => Box::new(sack::Sack::default()),
        RecoveryKind::RackTlp => Box::new(rack::RackTlp::default()),
    }
}

/// Out of loss phase once everything of before the timeout is acknowledged.
fn leave_loss(flight: &mut Flight) {
    if let Phase::Loss { point } = flight.phase
        && flight.una.at_or_after(point)
    {
        flight.phase = Phase::Open;
    }
}

/// The third duplicate, and recovery allowed: after a recovery or timeout, duplicates of what it
/// sent again must not start another one (RFC 6582 §3.2, step 2).
fn third_duplicate(flight: &Flight) -> bool {
    flight.phase == Phase::Open
        && flight.dup_acks == DUP_THRESHOLD
        && flight.recover.is_none_or(|point| flight.una.after(point))
}

/// Fast recovery begins, the window inflated by what has left the network (RFC 5681 §3.2, steps
/// 2 and 3).
fn enter_inflated(now: Instant, flight: &mut Flight) {
    flight.reduce(now);
    flight.window.cwnd = flight.window.ssthresh.saturating_add(DUP_THRESHOLD * flight.mss);
    flight.phase = Phase::Recovery { point: flight.max };
    flight.resend_first = true;
}
