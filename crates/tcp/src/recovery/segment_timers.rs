//! A retransmission timer for each segment as the only loss detection: the TCP that chandran-1998
//! §5.2 simulates, where each SEND has an ACK and a TIMEOUT event of its own. RFC 793 §3.7
//! describes a retransmission queue with such timers.
//!
//! SACK acknowledges each segment separately: the timer of a SACKed segment stops. Each
//! acknowledgment gives an RTT sample, of the last segment among those acknowledged that was sent
//! only once.
//!
//! Duplicates are not counted. A segment whose timer expires is retransmitted at once, regardless
//! of the window, so that the data lost in a failure is retransmitted at the spacing of its first
//! transmission. The paper leaves the response open: here the timeout doubles and the window is
//! reduced to one segment once for all data sent before the response, as with a single timer; a
//! loss of data sent after it causes the next response.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, SeqRange};

use super::contract::{
    AckFeedback, FeedbackResponse, LossRecovery, NewAckResponse, RecoveryDescriptor,
};
use crate::send_state::SendState;

/// Initial capacity in segments; the queue grows to its largest size once.
const RESERVED: usize = 64;

/// Outstanding segments, by sequence number.
#[derive(Debug)]
pub struct SegmentTimers {
    segments: VecDeque<TimedSegment>,
    /// Time of the last window reduction.
    last_reduction: Option<Instant>,
    /// Transmission time of the latest newly acknowledged segment that was sent only once.
    sample_start: Option<Instant>,
}

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct TimedSegment {
    range: SeqRange,
    /// Time of its last transmission.
    sent_at: Instant,
    /// Sent more than once.
    retransmitted: bool,
    /// Expiry of its timer; `None`: expired, and the segment is due for retransmission.
    deadline: Option<Instant>,
}

impl Default for SegmentTimers {
    fn default() -> Self {
        Self {
            segments: VecDeque::with_capacity(RESERVED),
            last_reduction: None,
            sample_start: None,
        }
    }
}

impl SegmentTimers {
    /// Removes the sequence numbers of `range`; true if there were any.
    fn remove(&mut self, range: SeqRange) -> bool {
        let first =
            self.segments.partition_point(|segment| segment.range.end.at_or_before(range.start));
        let mut last = first;
        let mut rest = [None; 2];
        while let Some(segment) =
            self.segments.get(last).filter(|segment| segment.range.start.before(range.end))
        {
            if segment.range.start.before(range.start) {
                rest[0] = Some(TimedSegment {
                    range: SeqRange::new(segment.range.start, range.start),
                    ..*segment
                });
            }
            if range.end.before(segment.range.end) {
                rest[1] = Some(TimedSegment {
                    range: SeqRange::new(range.end, segment.range.end),
                    ..*segment
                });
            }
            last += 1;
        }
        self.segments.drain(first..last);
        for (place, part) in (first..).zip(rest.into_iter().flatten()) {
            self.segments.insert(place, part);
        }
        last > first
    }

    /// Removes an acknowledged range and takes its RTT sample.
    fn acknowledge(&mut self, range: SeqRange) {
        let within = |segment: &&TimedSegment| {
            segment.range.start.at_or_after(range.start)
                && segment.range.end.at_or_before(range.end)
        };
        let once = self
            .segments
            .iter()
            .filter(within)
            .filter(|segment| !segment.retransmitted)
            .map(|segment| segment.sent_at);
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

    fn on_advance(&mut self, _now: Instant, send: &mut SendState, bytes: u32) -> NewAckResponse {
        let una = send.una();
        self.acknowledge(SeqRange::new(una - bytes, una));
        send.leave_loss_if_acknowledged();
        NewAckResponse { grows_cwnd: true, restarts_timer: true }
    }

    fn on_retransmission_timeout(&mut self, now: Instant, send: &mut SendState) {
        self.last_reduction = Some(now);
        send.enter_loss(now);
        // Except after reneging (RFC 2018 §8): that data has no timer.
        let first = self.segments.front();
        if first.is_some_and(|segment| segment.range.start.at_or_before(send.una())) {
            send.advance_to_max();
        }
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(
        &mut self,
        _: Instant,
        _: &mut SendState,
        feedback: &AckFeedback<'_>,
    ) -> FeedbackResponse {
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
        let retransmitted = self.remove(range);
        let place =
            self.segments.partition_point(|segment| segment.range.end.at_or_before(range.start));
        self.segments
            .insert(place, TimedSegment { range, sent_at: now, retransmitted, deadline: Some(at) });
    }

    fn restart_segment_timers(&mut self, at: Instant) {
        self.segments.iter_mut().for_each(|segment| segment.deadline = Some(at));
    }

    fn first_segment_deadline(&self) -> Option<Instant> {
        self.segments.iter().filter_map(|segment| segment.deadline).min()
    }

    fn expire_segment_timers(&mut self, now: Instant) -> bool {
        let fell = self.last_reduction;
        // Where no segment has a timer, the connection's timer is for something else: a SYN, or
        // data that the peer's window keeps back.
        let mut responds = self.first_segment_deadline().is_none();
        let due =
            |segment: &&mut TimedSegment| segment.deadline.is_some_and(|deadline| deadline <= now);
        for segment in self.segments.iter_mut().filter(due) {
            segment.deadline = None;
            responds |= fell.is_none_or(|fell| segment.sent_at >= fell);
        }
        responds
    }

    fn due_segment(&self) -> Option<SeqRange> {
        self.segments.iter().find(|segment| segment.deadline.is_none()).map(|segment| segment.range)
    }

    fn take_sample_start(&mut self) -> Option<Instant> {
        self.sample_start.take()
    }

    fn on_thaw(&mut self, _now: Instant, frozen_for: Duration) {
        for segment in &mut self.segments {
            segment.sent_at += frozen_for;
            segment.deadline = segment.deadline.map(|deadline| deadline + frozen_for);
        }
        self.last_reduction = self.last_reduction.map(|fell| fell + frozen_for);
    }
}
