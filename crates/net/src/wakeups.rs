//! Pending wake-ups in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use driftway_base::Instant;

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp {
    /// The time.
    pub at: Instant,
    /// The number of the timer.
    pub timer: u32,
}

/// The next wake-up of a timer, which has at most one. Moving it to a later time costs nothing until
/// the earlier time comes; moving it to an earlier time leaves the old entry in the heap, where it is
/// ignored.
#[derive(Clone, Copy, Debug)]
struct Scheduled {
    at: Instant,
    /// Counts the timer's own wake-ups, so that their order does not depend on other timers.
    generation: u32,
}

/// Pending wake-ups of numbered timers, earliest first; within one instant by the timer's number, then
/// by its own counter. The order of insertion does not matter.
#[derive(Debug, Default)]
pub struct WakeUps {
    /// time ‖ timer ‖ generation
    heap: BinaryHeap<Reverse<u128>>,
    scheduled: Vec<Scheduled>,
}

impl WakeUps {
    /// Creates an empty queue for this number of timers.
    pub fn new(timers: usize) -> Self {
        let scheduled = Scheduled { at: Instant::FAR_FUTURE, generation: 0 };
        Self {
            heap: BinaryHeap::with_capacity(timers * 4 + 16),
            scheduled: vec![scheduled; timers],
        }
    }

    /// Schedules a wake-up of a timer at `at` or earlier. After it the timer must be scheduled again.
    #[inline]
    pub fn schedule(&mut self, timer: u32, at: Instant) {
        let scheduled = &mut self.scheduled[timer as usize];
        if at < scheduled.at {
            scheduled.at = at;
            scheduled.generation = scheduled.generation.wrapping_add(1);
            let key = u128::from(at.as_nanos()) << 64
                | u128::from(timer) << 32
                | u128::from(scheduled.generation);
            self.heap.push(Reverse(key));
        }
    }

    /// Returns a lower bound of the time of the next wake-up: the earliest entry may be invalid. In
    /// the far future if there is none.
    #[inline]
    pub fn earliest_bound(&self) -> Instant {
        self.heap
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse(key)| Instant::from_nanos((key >> 64) as u64))
    }

    /// Removes the earliest entry if it is invalid; returns true if it was.
    pub fn discard_invalid(&mut self) -> bool {
        let invalid = self.heap.peek().is_some_and(|Reverse(key)| !self.is_valid(*key));
        if invalid {
            self.heap.pop();
        }
        invalid
    }

    /// Removes the earliest entry, and returns it if it is valid.
    #[inline]
    pub fn pop(&mut self) -> Option<WakeUp> {
        let Reverse(key) = self.heap.pop()?;
        let timer = (key >> 32) as u32;
        let scheduled = &mut self.scheduled[timer as usize];
        if scheduled.generation != key as u32 {
            return None;
        }
        scheduled.at = Instant::FAR_FUTURE;
        Some(WakeUp { at: Instant::from_nanos((key >> 64) as u64), timer })
    }

    fn is_valid(&self, key: u128) -> bool {
        self.scheduled[(key >> 32) as u32 as usize].generation == key as u32
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn drain(wakeups: &mut WakeUps) -> Vec<u32> {
        let mut order = Vec::new();
        while wakeups.earliest_bound() < Instant::FAR_FUTURE {
            order.extend(wakeups.pop().map(|wake| wake.timer));
        }
        order
    }

    #[test]
    fn one_instant_is_ordered_by_timer() {
        let mut wakeups = WakeUps::new(10);
        let at = Instant::from_secs(1);
        for timer in [8, 7, 5, 3, 2] {
            wakeups.schedule(timer, at);
        }
        wakeups.schedule(7, Instant::ZERO);
        assert_eq!(drain(&mut wakeups), [7, 2, 3, 5, 8]);
    }

    #[test]
    fn only_the_earliest_scheduled_time_is_valid() {
        let mut wakeups = WakeUps::new(1);
        for at in [9, 3, 5] {
            wakeups.schedule(0, Instant::from_secs(at));
        }
        assert!(!wakeups.discard_invalid());
        assert_eq!(wakeups.pop().map(|wake| wake.at), Some(Instant::from_secs(3)));
        assert_eq!(wakeups.earliest_bound(), Instant::from_secs(9));
        assert!(wakeups.discard_invalid() && !wakeups.discard_invalid());
        assert_eq!(wakeups.pop(), None);
    }
}
