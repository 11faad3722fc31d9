//! Deadlines per neighbour.

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};

/// Neighbours with a deadline each: for blacklists, awaited acknowledgments, and hello messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct NeighbourDeadlines {
    list: Vec<(Ipv4Addr, Instant)>,
}

/// The maximum number of neighbours, more than a node ever has; further ones are not stored.
const NEIGHBOURS_MAX: usize = 512;

impl NeighbourDeadlines {
    /// Sets the deadline of `neighbour`.
    pub(crate) fn set(&mut self, neighbour: Ipv4Addr, until: Instant) {
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

    pub(crate) fn get(&self, neighbour: Ipv4Addr) -> Option<Instant> {
        let at = self.list.binary_search_by_key(&neighbour, |(who, _)| *who).ok()?;
        self.list.get(at).map(|(_, until)| *until)
    }

    pub(crate) fn remove(&mut self, neighbour: Ipv4Addr) {
        if let Ok(at) = self.list.binary_search_by_key(&neighbour, |(who, _)| *who) {
            self.list.remove(at);
        }
    }

    /// Removes a neighbour whose deadline has expired.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Ipv4Addr> {
        let at = self.list.iter().position(|(_, until)| *until <= now)?;
        Some(self.list.remove(at).0)
    }

    /// The earliest deadline.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.list.iter().map(|(_, until)| *until).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn deadlines_expire() {
        let (a, b) = (Ipv4Addr::from_bits(1), Ipv4Addr::from_bits(2));
        let mut until = NeighbourDeadlines::default();
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
