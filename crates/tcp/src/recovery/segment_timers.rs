//! A timer for each segment: what is not acknowledged in time goes again, and nothing else does. The TCP
//! that chandran-1998 §5.2 simulates, where each SEND has an ACK and a TIMEOUT event of its own and a
//! timeout is the only sign of a loss; RFC 793 §3.7 has a retransmission queue with such timers.
//!
//! SACK gives each segment an acknowledgment of its own, too: what is reported needs no timer any more. Round
//! trips are measured by each acknowledgment, from the last of those segments that went once.
//!
//! Duplicates are not counted. A segment whose timer goes off goes again at once, whatever the window says,
//! so that what a failure took comes back at the spacing at which it had left. What the paper leaves open:
//! the timeout doubles and the window falls to one segment once for all that was sent before that, as they
//! would for one timer; what is sent again after that and lost begins the next.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, SeqRange};

use super::contract::{NewAckResponse, AckFeedback, RecoveryDescriptor, LossRecovery, FeedbackResponse};
use crate::send_state::SendState;

/// Room made at once for segments; more of them grow into their room once.
const RESERVED: usize = 64;

/// The segments that are out, by number.
#[derive(Debug)]
pub struct SegmentTimers {
    segments: VecDeque<TimedSegment>,
    /// When the window last fell.
    last_reduction: Option<Instant>,
    /// When the last of those left that are newly acknowledged and went once.
    sample_start: Option<Instant>,
}

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    range: SeqRange,
    /// When it was last sent.
    sent_at: Instant,
    /// More than once?
    retransmitted: bool,
    /// When its timer goes off; `None`: it has, and the segment waits to be sent again.
    deadline: Option<Instant>,
}

impl Default for SegmentTimers {
    fn default() -> Self {
        Self { segments: VecDeque::with_capacity(RESERVED), last_reduction: None, sample_start: None }
    }
}

impl SegmentTimers {
    /// Takes the numbers of `range` out; were there any?
    fn remove(&mut self, range: SeqRange) -> bool {
        let first = self.segments.partition_point(|of| of.range.end.at_or_before(range.start));
        let mut last = first;
        let mut rest = [None; 2];
        while let Some(of) = self.segments.get(last).filter(|of| of.range.start.before(range.end)) {
            if of.range.start.before(range.start) {
                rest[0] = Some(TimedSegment { range: SeqRange::new(of.range.start, range.start), ..*of });
            }
            if range.end.before(of.range.end) {
                rest[1] = Some(TimedSegment { range: SeqRange::new(range.end, of.range.end), ..*of });
            }
            last += 1;
        }
        self.segments.drain(first..last);
        for (place, part) in (first..).zip(rest.into_iter().flatten()) {
            self.segments.insert(place, part);
        }
        last > first
    }

    /// The numbers of `range` have arrived.
    fn acknowledge(&mut self, range: SeqRange) {
        let within = |of: &&TimedSegment| {
            of.range.start.at_or_after(range.start) && of.range.end.at_or_before(range.end)
        };
        let once = self.segments.iter().filter(within).filter(|of| !of.retransmitted).map(|of| of.sent_at);
        self.sample_start = self.sample_start.max(once.max());
        self.remove(range);
    }
}

impl RecoveryDescriptor for SegmentTimers {
    const NAME: &'static str = "segment-timers";
    const USES_SACK: bool = true;
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for SegmentTimers {
    fn on_duplicate(&mut self, _now: Instant, _flight: &mut SendState) -> bool {
        false
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut SendState, bytes: u32) -> NewAckResponse {
        let una = flight.una();
        self.acknowledge(SeqRange::new(una - bytes, una));
        flight.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }

    fn on_retransmission_timeout(&mut self, now: Instant, flight: &mut SendState) {
        self.last_reduction = Some(now);
        flight.enter_loss(now);
        // Unless the peer took back what it had reported (RFC 2018 §8): that has no timer.
        let first = self.segments.front();
        if first.is_some_and(|of| of.range.start.at_or_before(flight.una())) {
            flight.advance_to_max();
        }
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, _: Instant, _: &mut SendState, feedback: &AckFeedback<'_>) -> FeedbackResponse {
        feedback.sack_blocks.iter().for_each(|block| self.acknowledge(*block));
        FeedbackResponse::Nothing
    }

    fn uses_go_back_n(&self) -> bool {
        false
    }

    fn has_segment_timers(&self) -> bool {
        true
    }

    fn start_segment_timer(&mut self, now: Instant, range: SeqRange, at: Instant) {
        let again = self.remove(range);
        let place = self.segments.partition_point(|of| of.range.end.at_or_before(range.start));
        self.segments.insert(place, TimedSegment { range, sent_at: now, retransmitted: again, deadline: Some(at) });
    }

    fn restart_segment_timers(&mut self, at: Instant) {
        self.segments.iter_mut().for_each(|of| of.deadline = Some(at));
    }

    fn first_segment_deadline(&self) -> Option<Instant> {
        self.segments.iter().filter_map(|of| of.deadline).min()
    }

    fn expire_segment_timers(&mut self, now: Instant) -> bool {
        let fell = self.last_reduction;
        // Where no segment has a timer, the connection's is of something else: a SYN, or what the peer's
        // window keeps back.
        let mut responds = self.first_segment_deadline().is_none();
        let due = |of: &&mut TimedSegment| of.deadline.is_some_and(|deadline| deadline <= now);
        for of in self.segments.iter_mut().filter(due) {
            of.deadline = None;
            responds |= fell.is_none_or(|fell| of.sent_at >= fell);
        }
        responds
    }

    fn due_segment(&self) -> Option<SeqRange> {
        self.segments.iter().find(|of| of.deadline.is_none()).map(|of| of.range)
    }

    fn take_sample_start(&mut self) -> Option<Instant> {
        self.sample_start.take()
    }

    fn on_thaw(&mut self, _now: Instant, still: Duration) {
        for of in &mut self.segments {
            of.sent_at += still;
            of.deadline = of.deadline.map(|deadline| deadline + still);
        }
        self.last_reduction = self.last_reduction.map(|fell| fell + still);
    }
}
