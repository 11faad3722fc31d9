//! The wake-ups of a network, and the instant at which its driver inspects it.

use driftway_base::Instant;

use crate::wakeups::{WakeUp, WakeUps};

/// The number of timers of a network. They are numbered in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerCounts {
    /// Faults.
    pub faults: usize,
    /// Links, airs, and nodes with radios.
    pub network: usize,
}

/// A timer of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A fault's.
    Fault(usize),
    /// A link's.
    Link(usize),
    /// An air's.
    Air(usize),
    /// A node's: of its radios, probes and routing.
    Node(usize),
}

/// The wake-ups of faults, links, airs and nodes.
pub struct Schedule {
    wakeups: WakeUps,
    /// The number of timers of each kind, in order.
    counts: [usize; 4],
    /// The instant at which the driver wants to inspect the network: it does not run on beyond.
    pub pause_at: Instant,
    /// The instant up to which the network has run before it stopped because of that.
    pub paused_at: Option<Instant>,
}

impl Schedule {
    /// Creates the timers of these numbers of faults, links, airs, and nodes with radios.
    pub fn new(counts: [usize; 4]) -> Self {
        Self {
            wakeups: WakeUps::new(counts.iter().sum()),
            counts,
            pause_at: Instant::FAR_FUTURE,
            paused_at: None,
        }
    }

    /// Returns the number of timers.
    pub fn timer_counts(&self) -> TimerCounts {
        let [faults, links, airs, nodes] = self.counts;
        TimerCounts { faults, network: links + airs + nodes }
    }

    #[inline]
    fn number(&self, timer: Timer) -> u32 {
        let [faults, links, airs, _] = self.counts;
        let number = match timer {
            Timer::Fault(fault) => fault,
            Timer::Link(link) => faults + link,
            Timer::Air(air) => faults + links + air,
            Timer::Node(node) => faults + links + airs + node,
        };
        number as u32
    }

    /// Returns the timer of a number.
    #[inline]
    pub fn timer(&self, number: u32) -> Timer {
        let [faults, links, airs, _] = self.counts;
        let mut number = number as usize;
        for (count, timer) in
            [(faults, Timer::Fault as fn(usize) -> Timer), (links, Timer::Link), (airs, Timer::Air)]
        {
            if number < count {
                return timer(number);
            }
            number -= count;
        }
        Timer::Node(number)
    }

    /// Schedules a wake-up at `at` or earlier.
    #[inline]
    pub fn schedule(&mut self, timer: Timer, at: Instant) {
        self.wakeups.schedule(self.number(timer), at);
    }

    /// Returns the time of the next wake-up or an earlier one; in the far future if there is none.
    #[inline]
    pub fn next_timeout(&self) -> Instant {
        self.wakeups.earliest_bound()
    }

    /// Removes the earliest wake-up if another has replaced it; returns true if one was removed.
    pub fn discard_replaced(&mut self) -> bool {
        self.wakeups.discard_invalid()
    }

    /// Removes the earliest wake-up, and returns it if no other has replaced it.
    #[inline]
    pub fn pop(&mut self) -> Option<WakeUp> {
        self.wakeups.pop()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn each_timer_has_a_number() {
        let schedule = Schedule::new([2, 0, 1, 3]);
        let timers = [
            Timer::Fault(0),
            Timer::Fault(1),
            Timer::Air(0),
            Timer::Node(0),
            Timer::Node(1),
            Timer::Node(2),
        ];
        for (number, timer) in (0..).zip(timers) {
            assert_eq!((schedule.number(timer), schedule.timer(number)), (number, timer));
        }
        assert_eq!(schedule.timer_counts(), TimerCounts { faults: 2, network: 4 });
    }
}
