//! Duplicate detection of route requests.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};

/// Recent requests, of which all copies but the first are dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenRequests {
    /// Originator, RREQ ID and expiry; oldest first.
    requests: VecDeque<(Ipv4Addr, u32, Instant)>,
}

/// More requests within a few seconds exceed the capacity of a radio.
const SEEN_MAX: usize = 2048;

impl SeenRequests {
    /// Returns true for the first copy, and records it until `until`, which never decreases.
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
        // Copies arrive soon after the first.
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

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn duplicates_are_recognized_by_originator_and_id_until_they_expire() {
        let (a, b) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let mut seen = SeenRequests::default();
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
}
