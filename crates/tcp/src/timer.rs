//! Timers as data.

use base::{Duration, Instant};

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
}

impl Timer {
    /// In the order in which those of the same instant go off.
    pub const ALL: [Self; 5] =
        [Self::Retransmission, Self::Persist, Self::DelayedAck, Self::KeepAlive, Self::TimeWait];
}

/// All timers of a connection.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    at: [Option<Instant>; 5],
    /// What was left of each timer when the connection was frozen.
    left: Option<[Option<Duration>; 5]>,
}

impl Timers {
    /// When `timer` goes off.
    pub fn get(&self, timer: Timer) -> Option<Instant> {
        self.at.get(timer as usize).copied().flatten()
    }
    /// Starts or moves a timer.
    pub fn set(&mut self, timer: Timer, at: Instant) {
        if let Some(place) = self.at.get_mut(timer as usize) {
            *place = Some(at);
        }
    }
    /// Starts a timer that is not running.
    pub fn start(&mut self, timer: Timer, at: Instant) {
        if self.get(timer).is_none() {
            self.set(timer, at);
        }
    }
    /// Stops a timer.
    pub fn stop(&mut self, timer: Timer) {
        if let Some(place) = self.at.get_mut(timer as usize) {
            *place = None;
        }
    }
    /// Stops all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
    /// The earliest.
    pub fn next(&self) -> Option<Instant> {
        self.at.iter().flatten().min().copied()
    }
    /// Stops `timer` if it is due; was it?
    pub fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.get(timer).is_some_and(|at| at <= now);
        if due {
            self.stop(timer);
        }
        due
    }
    /// Stops every timer and keeps what was left of each (chandran-1998 §4: snooze).
    pub fn freeze(&mut self, now: Instant) {
        if self.left.is_none() {
            self.left = Some(self.at.map(|at| at.map(|at| at.since(now))));
            self.at = [None; 5];
        }
    }
    /// Restarts what [`freeze`](Self::freeze) stopped, with what was left. What was started
    /// meanwhile stays as it is.
    pub fn thaw(&mut self, now: Instant) {
        for (place, left) in self.at.iter_mut().zip(self.left.take().unwrap_or_default()) {
            *place = place.or(left.map(|left| now + left));
        }
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
        assert_eq!(timers.next(), Some(at(5)));
        assert!(!timers.take_due(Timer::Retransmission, at(4)));
        assert!(timers.take_due(Timer::Retransmission, at(5)));
        assert!(!timers.take_due(Timer::Retransmission, at(5)));
        assert!(timers.take_due(Timer::DelayedAck, at(5)));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn a_frozen_timer_keeps_what_was_left() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::Retransmission, at(100));
        timers.freeze(at(30));
        assert_eq!(timers.next(), None);
        timers.freeze(at(50)); // a second freeze must not lose the first one's remainder
        timers.thaw(at(1000));
        assert_eq!(timers.get(Timer::Retransmission), Some(at(1070)));
    }
}
