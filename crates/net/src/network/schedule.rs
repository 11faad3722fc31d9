//! The wake-ups of a network, and the instant at which its driver inspects it.

use std::fmt;

use driftway_base::{AirId, FaultId, Instant, LinkId, NodeId};

use crate::wakeups::{Timer, WakeUp, WakeUps};

/// A timer of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerId {
    /// A fault's.
    Fault(FaultId),
    /// A link's.
    Link(LinkId),
    /// An air's.
    Air(AirId),
    /// A node's: of its radios, probes and routing.
    Node(NodeId),
}

impl fmt::Display for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "the timeout of fault {fault}"),
            Self::Link(link) => write!(f, "the timeout of link {link}"),
            Self::Air(air) => write!(f, "the timeout of air {air}"),
            Self::Node(node) => write!(f, "the timeout of node {node}, such as its routing's,"),
        }
    }
}

impl Timer for TimerId {
    const CLASSES: usize = 4;

    fn parts(self) -> (usize, u32) {
        match self {
            Self::Fault(fault) => (0, fault.number()),
            Self::Link(link) => (1, link.number()),
            Self::Air(air) => (2, air.number()),
            Self::Node(node) => (3, node.number()),
        }
    }

    fn from_parts(class: usize, entity: u32) -> Self {
        match class {
            0 => Self::Fault(FaultId::new(entity)),
            1 => Self::Link(LinkId::new(entity)),
            2 => Self::Air(AirId::new(entity)),
            _ => Self::Node(NodeId::new(entity)),
        }
    }
}

/// The wake-ups of faults, links, airs and nodes.
pub struct Schedule {
    wakeups: WakeUps<TimerId>,
    /// The instant at which the driver wants to inspect the network: it does not run on beyond.
    pause_at: Instant,
    /// The instant up to which the network has run before it stopped because of that.
    paused_at: Option<Instant>,
}

impl Schedule {
    /// Creates the timers of these numbers of faults, links, airs, and nodes with radios.
    pub fn new(counts: [usize; TimerId::CLASSES]) -> Self {
        Self { wakeups: WakeUps::new(&counts), pause_at: Instant::FAR_FUTURE, paused_at: None }
    }

    /// Sets the instant beyond which the network does not run on by itself.
    pub fn pause_at(&mut self, at: Instant) {
        self.pause_at = at;
    }

    /// Returns the instant up to which the network may run by itself, if nothing else is due before `until`.
    pub fn bound(&self, until: Instant) -> Instant {
        until.min(self.pause_at)
    }

    /// Records that the network has stopped to be inspected.
    pub fn pause(&mut self, now: Instant) {
        self.paused_at = Some(now);
    }

    /// Returns the instant at which the network has stopped to be inspected.
    #[inline]
    pub fn paused_at(&self) -> Option<Instant> {
        self.paused_at
    }

    /// Ends a pause.
    pub fn resume(&mut self) {
        self.paused_at = None;
    }

    /// Schedules a wake-up at `at` or earlier.
    #[inline]
    pub fn schedule(&mut self, timer: TimerId, at: Instant) {
        self.wakeups.schedule(timer, at);
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
    pub fn pop(&mut self) -> Option<WakeUp<TimerId>> {
        self.wakeups.pop()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn parts_are_one_to_one() {
        let timers = [
            TimerId::Fault(FaultId::new(1)),
            TimerId::Link(LinkId::new(2)),
            TimerId::Air(AirId::new(0)),
            TimerId::Node(NodeId::new(3)),
        ];
        for (n, timer) in timers.into_iter().enumerate() {
            let (class, entity) = timer.parts();
            assert_eq!((class, TimerId::from_parts(class, entity)), (n, timer));
        }
    }
}
