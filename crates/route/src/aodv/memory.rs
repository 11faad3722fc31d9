//! What a node remembers for a while, beside routes: requests it has seen, how much it has sent,
//! neighbours and what is expected of them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use base::{Instant, Ipv4Addr};

/// Requests of which all copies but the first are dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Originator, number, and until when; oldest first.
    requests: VecDeque<(Ipv4Addr, u32, Instant)>,
}

/// More requests than that in a few seconds are more than a radio carries.
const SEEN_MAX: usize = 2048;

impl Seen {
    /// Is this the first copy? If so it is remembered until `until`, which never goes back.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        originator: Ipv4Addr,
        id: u32,
        until: Instant,
    ) -> bool {
        while self.requests.front().is_some_and(|(_, _, until)| *until <= now) {
            self.requests.pop_front();
        }
        // Copies come soon after the first.
        if self.requests.iter().rev().any(|(who, which, _)| *which == id && *who == originator) {
            return false;
        }
        if self.requests.len() == SEEN_MAX {
            self.requests.pop_front();
        }
        self.requests.push_back((originator, id, until));
        true
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }
}

/// Neighbours, each until some instant: those whose requests are ignored, those whose
/// acknowledgment is awaited, those that are heard.
#[derive(Clone, Debug, Default)]
pub(super) struct Until {
    list: Vec<(Ipv4Addr, Instant)>,
}

/// A node has fewer neighbours than that; of more, some are not remembered.
const NEIGHBOURS_MAX: usize = 512;

impl Until {
    /// Sets `neighbour`'s instant.
    pub(super) fn set(&mut self, neighbour: Ipv4Addr, until: Instant) {
        match self.list.binary_search_by_key(&neighbour, |(who, _)| *who) {
            Ok(at) => {
                if let Some((_, old)) = self.list.get_mut(at) {
                    *old = until;
                }
            }
            Err(at) if self.list.len() < NEIGHBOURS_MAX => self.list.insert(at, (neighbour, until)),
            Err(_) => {}
        }
    }

    pub(super) fn get(&self, neighbour: Ipv4Addr) -> Option<Instant> {
        let at = self.list.binary_search_by_key(&neighbour, |(who, _)| *who).ok()?;
        self.list.get(at).map(|(_, until)| *until)
    }

    pub(super) fn remove(&mut self, neighbour: Ipv4Addr) {
        if let Ok(at) = self.list.binary_search_by_key(&neighbour, |(who, _)| *who) {
            self.list.remove(at);
        }
    }

    /// Takes one out whose instant has come.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Ipv4Addr> {
        let at = self.list.iter().position(|(_, until)| *until <= now)?;
        Some(self.list.remove(at).0)
    }

    /// The first instant.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.list.iter().map(|(_, until)| *until).min()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_request_is_known_by_both_originator_and_number_and_for_a_while() {
        let (a, b) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let mut seen = Seen::default();
        let at = Instant::from_secs;
        assert!(seen.insert(at(0), a, 1, at(6)));
        assert!(!seen.insert(at(5), a, 1, at(11)));
        assert!(seen.insert(at(5), a, 2, at(11)));
        assert!(seen.insert(at(5), b, 1, at(11)));
        assert!(seen.insert(at(6), a, 1, at(12)));
        assert_eq!(seen.len(), 3);
        for id in 10..4000 {
            assert!(seen.insert(at(6), a, id, at(12)));
        }
        assert_eq!(seen.len(), SEEN_MAX);
    }

    #[test]
    fn neighbours_fall_due() {
        let (a, b) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let mut until = Until::default();
        until.set(b, Instant::from_secs(2));
        until.set(a, Instant::from_secs(3));
        until.set(a, Instant::from_secs(1));
        assert_eq!(until.next_timeout(), Some(Instant::from_secs(1)));
        assert_eq!(until.get(a), Some(Instant::from_secs(1)));
        assert_eq!(until.take_due(Instant::from_secs(1)), Some(a));
        assert_eq!(until.take_due(Instant::from_secs(1)), None);
        until.remove(b);
        assert_eq!((until.len(), until.next_timeout()), (0, None));
    }
}
