//! Controlled delay (CoDel): Nichols, Jacobson, McGregor & Iyengar, RFC 8289; with marks instead of
//! drops, RFC 3168.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant};

use crate::frame::QueueEntry;

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// Acceptable waiting time of a standing queue (TARGET).
    pub target: Duration,
    /// Time for which the waiting time must exceed the target before a frame is notified
    /// (INTERVAL): about the longest usual round-trip time.
    pub interval: Duration,
    /// Marks ECN-capable frames instead of dropping them. Other frames are dropped.
    pub ecn: bool,
}

/// A queued frame and its time of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued<F> {
    pub(crate) frame: F,
    pub(crate) since: Instant,
}

/// State of CoDel in one queue, with the names of RFC 8289 §5.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codel {
    config: CodelConfig,
    /// Size of the largest frame so far, in the place of the MTU.
    max_frame: u32,
    /// Time at which frames may be notified, if the waiting time stays above the target.
    first_above_time: Option<Instant>,
    dropping: bool,
    /// Time of the next notification in dropping state; of the last one planned after it.
    drop_next: Instant,
    /// Notifications since dropping state was entered.
    count: u32,
    /// Value of `count` when dropping state was entered last.
    last_count: u32,
}

impl Codel {
    /// Creates the state of an empty queue.
    pub(crate) const fn new(config: CodelConfig) -> Self {
        Self {
            config,
            max_frame: 0,
            first_above_time: None,
            dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Takes into account that frames of this size exist, in this queue or others of the transmitter.
    pub(crate) fn expect_frames_of(&mut self, bytes: u32) {
        self.max_frame = self.max_frame.max(bytes);
    }

    /// Dequeues the next frame for the transmitter, and returns true with it if it is marked.
    /// Frames dropped before it are passed to `drop`.
    pub(crate) fn dequeue<F: QueueEntry>(
        &mut self,
        now: Instant,
        queue: &mut VecDeque<Queued<F>>,
        mut drop: impl FnMut(F),
    ) -> Option<(F, bool)> {
        let (mut frame, mut may_drop) = self.next(now, queue)?;
        if self.dropping {
            self.dropping = may_drop;
            // RFC 8289 §5.5: a large backlog may need several notifications at once. Only drops can
            // be several: a marked frame is the one that leaves.
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if self.marks(frame) {
                    self.drop_next = self.control_law(self.drop_next);
                    return Some((frame, true));
                }
                drop(frame);
                (frame, may_drop) = self.next(now, queue)?;
                if may_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            let is_marked = self.marks(frame);
            if !is_marked {
                drop(frame);
                (frame, _) = self.next(now, queue)?;
            }
            self.enter_dropping(now);
            return Some((frame, is_marked));
        }
        Some((frame, false))
    }

    /// Removes the next frame from the queue, and returns true with it if it may be notified
    /// (`dodequeue` of RFC 8289 §5.5).
    fn next<F: QueueEntry>(
        &mut self,
        now: Instant,
        queue: &mut VecDeque<Queued<F>>,
    ) -> Option<(F, bool)> {
        let Some(Queued { frame, since }) = queue.pop_front() else {
            self.first_above_time = None;
            self.dropping = false;
            return None;
        };
        self.max_frame = self.max_frame.max(frame.bytes());
        // RFC 8289 §5.5: the second condition keeps a slow transmitter busy, to which one frame
        // is more than the target.
        if now.since(since) < self.config.target || !is_longer_than(queue, self.max_frame) {
            self.first_above_time = None;
            return Some((frame, false));
        }
        let from = *self.first_above_time.get_or_insert(now + self.config.interval);
        // With an interval of zero the first frame above the target may be notified.
        Some((frame, now >= from))
    }

    fn enter_dropping(&mut self, now: Instant) {
        self.dropping = true;
        // RFC 8289 §5.5: if dropping state was left a short time ago, the rate that controlled the
        // queue then is a good start now.
        let earlier = self.count.saturating_sub(self.last_count);
        let is_recent = now.since(self.drop_next) < self.config.interval.times(16);
        self.count = if earlier > 1 && is_recent { earlier } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    /// Returns the time of the notification after one at `at`: interval ÷ √count later
    /// (RFC 8289 §5.3), rounded down to nanoseconds.
    fn control_law(&self, at: Instant) -> Instant {
        // ⌊√⌊i² ÷ n⌋⌋ is ⌊i ÷ √n⌋.
        let squared = u128::from(self.config.interval.as_nanos()).pow(2);
        let spacing = (squared / u128::from(self.count.max(1))).isqrt();
        at + Duration::from_nanos(u64::try_from(spacing).unwrap_or(u64::MAX))
    }

    fn marks<F: QueueEntry>(&self, frame: F) -> bool {
        self.config.ecn && frame.ecn_capable()
    }
}

/// Returns true if more than so many bytes are queued. Looks at no more frames than that takes.
fn is_longer_than<F: QueueEntry>(queue: &VecDeque<Queued<F>>, bytes: u32) -> bool {
    let mut sum = 0_u32;
    queue.iter().any(|queued| {
        sum = sum.saturating_add(queued.frame.bytes());
        sum > bytes
    })
}

#[cfg(test)]
pub(crate) mod test;
