//! Pending wake-ups in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;

use driftway_base::Instant;

/// A timer: one of a class of entities that have one. The order of classes, then of entities, is that of the
/// wake-ups at one instant.
pub trait Timer: Copy {
    /// The number of classes, below 2⁸.
    const CLASSES: usize;

    /// Returns the class and the entity's number in it, below 2²⁴.
    fn parts(self) -> (usize, u32);

    /// Returns the timer with these parts.
    fn from_parts(class: usize, entity: u32) -> Self;
}

/// A wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeUp<T> {
    /// The time.
    pub at: Instant,
    /// The timer.
    pub timer: T,
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

/// An entry of the heap: time ‖ class ‖ entity ‖ generation, of 64, 8, 24 and 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(at: Instant, (class, entity): (usize, u32), generation: u32) -> Self {
        debug_assert!(class < 1 << 8 && entity < 1 << 24, "timer {entity} of class {class}");
        Self(
            u128::from(at.as_nanos()) << 64
                | (class as u128) << 56
                | u128::from(entity) << 32
                | u128::from(generation),
        )
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }

    const fn parts(self) -> (usize, u32) {
        ((self.0 >> 56) as usize & 0xff, (self.0 >> 32) as u32 & 0x00ff_ffff)
    }

    const fn generation(self) -> u32 {
        self.0 as u32
    }
}

/// Pending wake-ups of timers, earliest first; within one instant by the timer, then by its own counter. The
/// order of insertion does not matter.
#[derive(Debug)]
pub struct WakeUps<T> {
    heap: BinaryHeap<Reverse<Entry>>,
    /// The next wake-up of each timer, by class, then entity.
    scheduled: Vec<Scheduled>,
    /// The index of each class's first entity.
    first: Vec<usize>,
    timers: PhantomData<T>,
}

impl<T: Timer> WakeUps<T> {
    /// Creates an empty queue for this number of entities of each class.
    pub fn new(counts: &[usize]) -> Self {
        debug_assert_eq!(counts.len(), T::CLASSES);
        let timers: usize = counts.iter().sum();
        let scheduled = Scheduled { at: Instant::FAR_FUTURE, generation: 0 };
        let first = counts.iter().scan(0, |next, count| {
            let first = *next;
            *next += count;
            Some(first)
        });
        Self {
            heap: BinaryHeap::with_capacity(timers * 4 + 16),
            scheduled: vec![scheduled; timers],
            first: first.collect(),
            timers: PhantomData,
        }
    }

    fn index(&self, (class, entity): (usize, u32)) -> usize {
        self.first[class] + entity as usize
    }

    /// Schedules a wake-up of a timer at `at` or earlier. After it the timer must be scheduled again.
    #[inline]
    pub fn schedule(&mut self, timer: T, at: Instant) {
        let parts = timer.parts();
        let index = self.index(parts);
        let scheduled = &mut self.scheduled[index];
        if at < scheduled.at {
            scheduled.at = at;
            scheduled.generation = scheduled.generation.wrapping_add(1);
            self.heap.push(Reverse(Entry::new(at, parts, scheduled.generation)));
        }
    }

    /// Returns a lower bound of the time of the next wake-up: the earliest entry may be invalid. In
    /// the far future if there is none.
    #[inline]
    pub fn earliest_bound(&self) -> Instant {
        self.heap.peek().map_or(Instant::FAR_FUTURE, |Reverse(entry)| entry.at())
    }

    /// Removes the earliest entry if it is invalid; returns true if it was.
    pub fn discard_invalid(&mut self) -> bool {
        let invalid = self.heap.peek().is_some_and(|Reverse(entry)| !self.is_valid(*entry));
        if invalid {
            self.heap.pop();
        }
        invalid
    }

    /// Removes the earliest entry, and returns it if it is valid.
    #[inline]
    pub fn pop(&mut self) -> Option<WakeUp<T>> {
        let Reverse(entry) = self.heap.pop()?;
        let (class, entity) = entry.parts();
        let index = self.index((class, entity));
        let scheduled = &mut self.scheduled[index];
        if scheduled.generation != entry.generation() {
            return None;
        }
        scheduled.at = Instant::FAR_FUTURE;
        Some(WakeUp { at: entry.at(), timer: T::from_parts(class, entity) })
    }

    fn is_valid(&self, entry: Entry) -> bool {
        self.scheduled[self.index(entry.parts())].generation == entry.generation()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// A timer of one of two classes.
    impl Timer for (usize, u32) {
        const CLASSES: usize = 2;

        fn parts(self) -> (usize, u32) {
            self
        }

        fn from_parts(class: usize, entity: u32) -> Self {
            (class, entity)
        }
    }

    fn drain(wakeups: &mut WakeUps<(usize, u32)>) -> Vec<(usize, u32)> {
        let mut order = Vec::new();
        while wakeups.earliest_bound() < Instant::FAR_FUTURE {
            order.extend(wakeups.pop().map(|wake| wake.timer));
        }
        order
    }

    #[test]
    fn one_instant_is_ordered_by_class_and_entity() {
        let mut wakeups = WakeUps::new(&[5, 4]);
        let at = Instant::from_secs(1);
        for timer in [(1, 3), (1, 2), (1, 0), (0, 3), (0, 2)] {
            wakeups.schedule(timer, at);
        }
        wakeups.schedule((1, 2), Instant::ZERO);
        assert_eq!(drain(&mut wakeups), [(1, 2), (0, 2), (0, 3), (1, 0), (1, 3)]);
    }

    #[test]
    fn only_the_earliest_scheduled_time_is_valid() {
        let mut wakeups = WakeUps::new(&[1, 0]);
        for at in [9, 3, 5] {
            wakeups.schedule((0, 0), Instant::from_secs(at));
        }
        assert!(!wakeups.discard_invalid());
        assert_eq!(wakeups.pop().map(|wake| wake.at), Some(Instant::from_secs(3)));
        assert_eq!(wakeups.earliest_bound(), Instant::from_secs(9));
        assert!(wakeups.discard_invalid() && !wakeups.discard_invalid());
        assert_eq!(wakeups.pop(), None);
    }
}
