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

use super::contract::{Advance, Feedback, Listed, LossRecovery, Response};
use crate::flight::Flight;

/// Initial capacity in segments; the queue grows to its largest size once.
const RESERVED: usize = 64;

/// Outstanding segments, by sequence number.
#[derive(Debug)]
pub struct SegmentTimers {
    segments: VecDeque<Timed>,
    /// Time of the last window reduction.
    fell: Option<Instant>,
    /// Transmission time of the latest newly acknowledged segment that was sent only once.
    measured: Option<Instant>,
}

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Timed {
    range: SeqRange,
    /// Time of its last transmission.
    sent: Instant,
    /// Sent more than once.
    again: bool,
    /// Expiry of its timer; `None`: expired, and the segment is due for retransmission.
    deadline: Option<Instant>,
}

impl Default for SegmentTimers {
    fn default() -> Self {
        Self { segments: VecDeque::with_capacity(RESERVED), fell: None, measured: None }
    }
}

impl SegmentTimers {
    /// Removes the sequence numbers of `range`; true if there were any.
    fn remove(&mut self, range: SeqRange) -> bool {
        let first = self.segments.partition_point(|of| of.range.end.at_or_before(range.start));
        let mut last = first;
        let mut rest = [None; 2];
        while let Some(of) = self.segments.get(last).filter(|of| of.range.start.before(range.end)) {
            if of.range.start.before(range.start) {
                rest[0] = Some(Timed { range: SeqRange::new(of.range.start, range.start), ..*of });
            }
            if range.end.before(of.range.end) {
                rest[1] = Some(Timed { range: SeqRange::new(range.end, of.range.end), ..*of });
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
    fn take(&mut self, range: SeqRange) {
        let within = |of: &&Timed| {
            of.range.start.at_or_after(range.start) && of.range.end.at_or_before(range.end)
        };
        let once = self.segments.iter().filter(within).filter(|of| !of.again).map(|of| of.sent);
        self.measured = self.measured.max(once.max());
        self.remove(range);
    }
}

impl Listed for SegmentTimers {
    const NAME: &'static str = "segment-timers";
    const USES_SACK: bool = true;
    const LIMITED_TRANSMIT: bool = false;
    const CLASSIC: bool = true;
}

impl LossRecovery for SegmentTimers {
    fn on_duplicate(&mut self, _now: Instant, _flight: &mut Flight) -> bool {
        false
    }

    fn on_advance(&mut self, _now: Instant, flight: &mut Flight, bytes: u32) -> Advance {
        let una = flight.una();
        self.take(SeqRange::new(una - bytes, una));
        flight.leave_loss();
        Advance { grows: true, restarts_timer: true }
    }

    fn on_retransmission_timeout(&mut self, now: Instant, flight: &mut Flight) {
        self.fell = Some(now);
        flight.collapse(now);
        // Except after reneging (RFC 2018 §8): that data has no timer.
        let first = self.segments.front();
        if first.is_some_and(|of| of.range.start.at_or_before(flight.una())) {
            flight.go_on();
        }
    }

    fn wants_feedback(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, _: Instant, _: &mut Flight, feedback: &Feedback<'_>) -> Response {
        feedback.blocks.iter().for_each(|block| self.take(*block));
        Response::Nothing
    }

    fn goes_back(&self) -> bool {
        false
    }

    fn times_segments(&self) -> bool {
        true
    }

    fn start_timer(&mut self, now: Instant, range: SeqRange, at: Instant) {
        let again = self.remove(range);
        let place = self.segments.partition_point(|of| of.range.end.at_or_before(range.start));
        self.segments.insert(place, Timed { range, sent: now, again, deadline: Some(at) });
    }

    fn restart_timers(&mut self, at: Instant) {
        self.segments.iter_mut().for_each(|of| of.deadline = Some(at));
    }

    fn first_deadline(&self) -> Option<Instant> {
        self.segments.iter().filter_map(|of| of.deadline).min()
    }

    fn take_due(&mut self, now: Instant) -> bool {
        let fell = self.fell;
        // Where no segment has a timer, the connection's timer is for something else: a SYN, or
        // data that the peer's window keeps back.
        let mut responds = self.first_deadline().is_none();
        let due = |of: &&mut Timed| of.deadline.is_some_and(|deadline| deadline <= now);
        for of in self.segments.iter_mut().filter(due) {
            of.deadline = None;
            responds |= fell.is_none_or(|fell| of.sent >= fell);
        }
        responds
    }

    fn due(&self) -> Option<SeqRange> {
        self.segments.iter().find(|of| of.deadline.is_none()).map(|of| of.range)
    }

    fn take_measured(&mut self) -> Option<Instant> {
        self.measured.take()
    }

    fn on_thaw(&mut self, _now: Instant, still: Duration) {
        for of in &mut self.segments {
            of.sent += still;
            of.deadline = of.deadline.map(|deadline| deadline + still);
        }
        self.fell = self.fell.map(|fell| fell + still);
    }
}
