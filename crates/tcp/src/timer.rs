//! Timers as data.

use driftway_base::{Duration, Instant};

/// Which timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission (RFC 6298).
    Retransmission = 0,
    /// Zero-window and hold probes (RFC 9293 §3.8.6.1).
    Persist = 1,
    /// Delayed acknowledgment (RFC 9293 §3.8.6.3).
    DelayedAck = 2,
    /// Keep-alive (RFC 9293 §3.8.4).
    KeepAlive = 3,
    /// End of TIME-WAIT.
    TimeWait = 4,
    /// The loss recovery's own (RFC 8985 §6.2: what is missing counts as lost).
    Recovery = 5,
    /// Tail loss probe (RFC 8985 §7.2).
    LossProbe = 6,
}

impl Timer {
    /// In the order in which those of the same instant go off: a timeout is the last resort.
    pub const ALL: [Self; 7] = [
        Self::Recovery,
        Self::LossProbe,
        Self::Retransmission,
        Self::Persist,
        Self::DelayedAck,
        Self::KeepAlive,
        Self::TimeWait,
    ];
}

/// All timers of a connection.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    deadlines: [Option<Instant>; 7],
    frozen: Option<FrozenTimers>,
}

/// Timers that stand still.
#[derive(Clone, Debug)]
struct FrozenTimers {
    since: Instant,
    /// What was left of each.
    remaining: [Option<Duration>; 7],
}

impl Timers {
    /// When `timer` goes off.
    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        self.deadlines.get(timer as usize).copied().flatten()
    }
    /// Starts or moves a timer.
    pub fn set(&mut self, timer: Timer, at: Instant) {
        if let Some(place) = self.deadlines.get_mut(timer as usize) {
            *place = Some(at);
        }
    }
    /// Starts a timer that is not running.
    pub fn start(&mut self, timer: Timer, at: Instant) {
        if self.deadline(timer).is_none() {
            self.set(timer, at);
        }
    }
    /// Stops a timer.
    pub fn stop(&mut self, timer: Timer) {
        if let Some(place) = self.deadlines.get_mut(timer as usize) {
            *place = None;
        }
    }
    /// Stops all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
    /// The earliest.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }
    /// Stops `timer` if it is due; was it?
    pub fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.deadline(timer).is_some_and(|at| at <= now);
        if due {
            self.stop(timer);
        }
        due
    }
    /// Stops every timer and keeps what was left of each (chandran-1998 §4: snooze).
    pub fn freeze(&mut self, now: Instant) {
        if self.frozen.is_none() {
            let left = self.deadlines.map(|at| at.map(|at| at.since(now)));
            self.frozen = Some(FrozenTimers { since: now, remaining: left });
            self.deadlines = [None; 7];
        }
    }
    /// Are timers frozen?
    pub fn are_frozen(&self) -> bool {
        self.frozen.is_some()
    }
    /// Changes what is left of a frozen timer: what would have started it anew has happened.
    pub fn set_frozen_remaining(&mut self, timer: Timer, left: Duration) {
        let frozen = self.frozen.as_mut().and_then(|f| f.remaining.get_mut(timer as usize));
        if let Some(Some(place)) = frozen {
            *place = left;
        }
    }
    /// Restarts what [`freeze`](Self::freeze) stopped, with what was left. What was started
    /// meanwhile stays as it is. Says how long time stood still.
    pub fn thaw(&mut self, now: Instant) -> Duration {
        let Some(FrozenTimers { since, remaining: left }) = self.frozen.take() else { return Duration::ZERO };
        for (place, left) in self.deadlines.iter_mut().zip(left) {
            *place = place.or(left.map(|left| now + left));
        }
        now.since(since)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_timer_is_due_once() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::DelayedAck, at(5));
        timers.set(Timer::Retransmission, at(5));
        timers.start(Timer::Retransmission, at(9));
        assert_eq!(timers.next_deadline(), Some(at(5)));
        assert!(!timers.take_due(Timer::Retransmission, at(4)));
        assert!(timers.take_due(Timer::Retransmission, at(5)));
        assert!(!timers.take_due(Timer::Retransmission, at(5)));
        assert!(timers.take_due(Timer::DelayedAck, at(5)));
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn a_frozen_timer_keeps_what_was_left() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::Retransmission, at(100));
        timers.freeze(at(30));
        assert_eq!(timers.next_deadline(), None);
        timers.freeze(at(50)); // a second freeze must not lose the first one's remainder
        assert!(timers.are_frozen());
        assert_eq!(timers.thaw(at(1000)), Duration::from_millis(970));
        assert_eq!(timers.deadline(Timer::Retransmission), Some(at(1070)));
        assert_eq!((timers.are_frozen(), timers.thaw(at(2000))), (false, Duration::ZERO));
    }

    #[test]
    fn only_a_timer_that_ran_is_refilled() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::Retransmission, at(100));
        timers.freeze(at(30));
        timers.set_frozen_remaining(Timer::Retransmission, Duration::from_millis(500));
        timers.set_frozen_remaining(Timer::KeepAlive, Duration::from_millis(500));
        timers.thaw(at(1000));
        assert_eq!(timers.deadline(Timer::Retransmission), Some(at(1500)));
        assert_eq!(timers.deadline(Timer::KeepAlive), None);
    }
}
