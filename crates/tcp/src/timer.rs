//! Timers of a connection as data.

use driftway_base::{Duration, Instant};

/// Timer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission (RFC 6298).
    Retransmission = 0,
    /// Zero-window probes and probes during a hold (RFC 9293 §3.8.6.1).
    Persist = 1,
    /// Delayed acknowledgment (RFC 9293 §3.8.6.3).
    DelayedAck = 2,
    /// Keep-alive (RFC 9293 §3.8.4).
    KeepAlive = 3,
    /// End of TIME-WAIT.
    TimeWait = 4,
    /// Timer of the loss recovery (RFC 8985 §6.2: unacknowledged segments count as lost).
    Recovery = 5,
    /// Tail loss probe (RFC 8985 §7.2).
    LossProbe = 6,
    /// The next burst of paced data.
    Pacing = 7,
}

impl Timer {
    /// All timers, in the order in which those of the same instant expire: a timeout is the last
    /// resort.
    pub const ALL: [Self; 8] = [
        Self::Recovery,
        Self::LossProbe,
        Self::Pacing,
        Self::Retransmission,
        Self::Persist,
        Self::DelayedAck,
        Self::KeepAlive,
        Self::TimeWait,
    ];
}

/// Deadlines of all timers of a connection.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    deadlines: [Option<Instant>; 8],
    frozen: Option<FrozenTimers>,
}

/// Frozen timers.
#[derive(Clone, Debug)]
struct FrozenTimers {
    since: Instant,
    /// Time that remained of each.
    remaining: [Option<Duration>; 8],
}

impl Timers {
    /// Deadline of `timer`.
    pub fn deadline(&self, timer: Timer) -> Option<Instant> {
        self.deadlines.get(timer as usize).copied().flatten()
    }
    /// Starts or restarts a timer.
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
    /// Stops all timers.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }
    /// Stops `timer` if it has expired; true if so.
    pub fn take_due(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.deadline(timer).is_some_and(|at| at <= now);
        if due {
            self.stop(timer);
        }
        due
    }
    /// Stops every timer and keeps its remaining time (chandran-1998 §4: snooze). TIME-WAIT goes on: it waits for
    /// packets in the network to end, not for the peer.
    pub fn freeze(&mut self, now: Instant) {
        if self.frozen.is_none() {
            let time_wait = self.deadline(Timer::TimeWait);
            self.stop(Timer::TimeWait);
            let remaining = self.deadlines.map(|at| at.map(|at| at.since(now)));
            self.frozen = Some(FrozenTimers { since: now, remaining });
            self.deadlines = [None; 8];
            if let Some(at) = time_wait {
                self.set(Timer::TimeWait, at);
            }
        }
    }
    /// True while timers are frozen.
    pub fn are_frozen(&self) -> bool {
        self.frozen.is_some()
    }
    /// Sets the remaining time of a frozen timer, because an event would have restarted it.
    pub fn set_frozen_remaining(&mut self, timer: Timer, left: Duration) {
        let frozen = self.frozen.as_mut().and_then(|f| f.remaining.get_mut(timer as usize));
        if let Some(Some(place)) = frozen {
            *place = left;
        }
    }
    /// Restarts the timers that [`freeze`](Self::freeze) stopped, with their remaining time; timers
    /// started since are unchanged. Returns the time for which they were frozen.
    pub fn thaw(&mut self, now: Instant) -> Duration {
        let Some(FrozenTimers { since, remaining }) = self.frozen.take() else {
            return Duration::ZERO;
        };
        for (place, remaining) in self.deadlines.iter_mut().zip(remaining) {
            *place = place.or(remaining.map(|remaining| now + remaining));
        }
        now.since(since)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_freeze_leaves_time_wait_running() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::TimeWait, at(9));
        timers.set(Timer::Retransmission, at(5));
        timers.freeze(at(1));
        assert_eq!(timers.next_deadline(), Some(at(9)));
        timers.thaw(at(3));
        assert_eq!(timers.deadline(Timer::TimeWait), Some(at(9)));
        assert_eq!(timers.deadline(Timer::Retransmission), Some(at(7)));
    }

    #[test]
    fn a_timer_expires_once() {
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
    fn a_frozen_timer_keeps_its_remaining_time() {
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
    fn only_a_timer_that_was_running_gets_a_remaining_time() {
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
