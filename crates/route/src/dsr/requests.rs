//! The Route Request Table (RFC 4728 §4.3): recent requests of other nodes, and the state of this node's
//! discoveries.

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};

use super::config::RequestTablePolicy;

/// RequestTableIds (RFC 4728 §9): identifications per entry.
const REQUEST_TABLE_IDS: usize = 16;

/// Entries for as many nodes as configured. The least recently used is evicted (RFC 4728 §4.3), except for
/// those in back-off; where only the highest identification is kept, as in ns-2.35, the oldest is evicted.
#[derive(Clone, Debug)]
pub(crate) struct RequestTable {
    policy: RequestTablePolicy,
    addresses: Vec<Ipv4Addr>,
    entries: Vec<RequestEntry>,
    next_evicted: usize,
}

/// Initial capacity; a larger table is reallocated once.
const RESERVED: usize = 64;

#[derive(Clone, Copy, Debug)]
struct RequestEntry {
    /// The last requests of that node: identification and target, in a ring.
    requests: [(u16, Ipv4Addr); REQUEST_TABLE_IDS],
    count: u8,
    next_slot: u8,
    search: DiscoveryState,
    /// The last use of the entry.
    used: Instant,
}

/// The state of this node's route discovery for a target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiscoveryState {
    /// Propagating requests sent without a reply.
    pub attempts: u8,
    /// The earliest instant of the next request.
    pub not_before: Instant,
    /// The deadline of the reply to a non-propagating request.
    pub ring_zero_until: Option<Instant>,
}

const EMPTY_ENTRY: RequestEntry = RequestEntry {
    requests: [(0, Ipv4Addr::UNSPECIFIED); REQUEST_TABLE_IDS],
    count: 0,
    next_slot: 0,
    search: DiscoveryState { attempts: 0, not_before: Instant::ZERO, ring_zero_until: None },
    used: Instant::ZERO,
};

impl RequestEntry {
    /// Returns true during the back-off of a discovery (RFC 4728 §4.3).
    fn is_backing_off(&self, now: Instant) -> bool {
        self.search.attempts > 0 || now < self.search.not_before
    }
}

impl RequestTable {
    pub fn new(policy: RequestTablePolicy) -> Self {
        let (addresses, entries) = (Vec::with_capacity(RESERVED), Vec::with_capacity(RESERVED));
        Self { policy, addresses, entries, next_evicted: 0 }
    }

    /// Returns true if this request was received before.
    pub fn is_known(
        &mut self,
        now: Instant,
        initiator: Ipv4Addr,
        number: u16,
        target: Ipv4Addr,
    ) -> bool {
        let place = self.position(initiator);
        let Some(entry) = place.and_then(|at| self.entries.get_mut(at)) else { return false };
        entry.used = now;
        let known = entry.requests.get(..usize::from(entry.count)).unwrap_or_default();
        match self.policy {
            RequestTablePolicy::RecentIds { .. } => known.contains(&(number, target)),
            // Within the range of 16 bits.
            RequestTablePolicy::HighestId { .. } => {
                known.first().is_some_and(|(last, _)| last.wrapping_sub(number) < 0x8000)
            }
        }
    }

    /// Records a request.
    pub fn record(&mut self, now: Instant, initiator: Ipv4Addr, number: u16, target: Ipv4Addr) {
        let ring = match self.policy {
            RequestTablePolicy::RecentIds { ids, .. } => ids.clamp(1, REQUEST_TABLE_IDS as u8),
            RequestTablePolicy::HighestId { .. } => 1,
        };
        let Some(entry) = self.entry(now, initiator) else { return };
        if let Some(slot) = entry.requests.get_mut(usize::from(entry.next_slot)) {
            *slot = (number, target);
        }
        entry.next_slot = (entry.next_slot + 1) % ring;
        entry.count = ring.min(entry.count + 1);
    }

    /// The discovery for `target`, created if necessary.
    pub fn discovery(&mut self, now: Instant, target: Ipv4Addr) -> Option<&mut DiscoveryState> {
        self.entry(now, target).map(|entry| &mut entry.search)
    }

    /// The discovery for `target`, if there is one.
    pub fn existing_search(&self, target: Ipv4Addr) -> Option<&DiscoveryState> {
        self.entries.get(self.position(target)?).map(|entry| &entry.search)
    }

    /// Resets a discovery after a reply.
    pub fn reset_search(&mut self, now: Instant, target: Ipv4Addr) {
        if let Some(search) = self.discovery(now, target) {
            *search = DiscoveryState::default();
        }
    }

    fn position(&self, address: Ipv4Addr) -> Option<usize> {
        self.addresses.iter().position(|known| *known == address)
    }

    fn entry(&mut self, now: Instant, address: Ipv4Addr) -> Option<&mut RequestEntry> {
        let (RequestTablePolicy::RecentIds { nodes, .. } | RequestTablePolicy::HighestId { nodes }) =
            self.policy;
        let nodes = usize::from(nodes).max(1);
        let at = match self.position(address) {
            Some(at) => at,
            None if self.entries.len() < nodes => {
                self.addresses.push(address);
                self.entries.push(EMPTY_ENTRY);
                self.entries.len() - 1
            }
            None => {
                let at = self.evict_position(now, nodes)?;
                *self.addresses.get_mut(at)? = address;
                *self.entries.get_mut(at)? = EMPTY_ENTRY;
                at
            }
        };
        let entry = self.entries.get_mut(at)?;
        entry.used = now;
        Some(entry)
    }

    /// The position of the entry to evict.
    fn evict_position(&mut self, now: Instant, nodes: usize) -> Option<usize> {
        match self.policy {
            RequestTablePolicy::RecentIds { .. } => {
                let entries = self.entries.iter().enumerate();
                let least =
                    entries.min_by_key(|(_, entry)| (entry.is_backing_off(now), entry.used));
                least.map(|(at, _)| at)
            }
            RequestTablePolicy::HighestId { .. } => {
                let at = self.next_evicted;
                self.next_evicted = (at + 1) % nodes;
                Some(at)
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
    const D: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    impl RequestTable {
        fn has(&self, node: Ipv4Addr) -> bool {
            self.position(node).is_some()
        }
    }

    #[test]
    fn duplicates_are_recognized_by_initiator_id_and_target() {
        let mut table = RequestTable::new(RequestTablePolicy::RecentIds { nodes: 2, ids: 2 });
        table.record(at(0), A, 7, C);
        assert!(
            table.is_known(at(0), A, 7, C)
                && !table.is_known(at(0), B, 7, C)
                && !table.is_known(at(0), A, 6, C)
        );
        assert!(!table.is_known(at(0), A, 7, B), "another target");
        table.record(at(0), A, 8, C);
        table.record(at(0), A, 9, C);
        assert_eq!([7, 8, 9].map(|n| table.is_known(at(0), A, n, C)), [false, true, true]);
        table.record(at(0), B, 1, C);
        table.record(at(0), C, 1, A);
        assert!(!table.has(A) && table.is_known(at(0), B, 1, C), "the first is evicted");
    }

    /// RFC 4728 §4.3: "Nodes SHOULD use an LRU policy". ns-2.35 evicts in a ring.
    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let numbers = RequestTablePolicy::RecentIds { nodes: 2, ids: 2 };
        for (memory, stays) in [(numbers, A), (RequestTablePolicy::HighestId { nodes: 2 }, B)] {
            let mut table = RequestTable::new(memory);
            table.record(at(1), A, 1, D);
            table.record(at(2), B, 1, D);
            assert!(table.is_known(at(3), A, 1, D), "another copy of the first");
            table.record(at(4), C, 1, D);
            assert_eq!([A, B, C].map(|node| table.has(node)), [stays == A, stays == B, true]);
        }
    }

    /// RFC 4728 §4.3: "Until a valid Route Reply is received", the back-off of a target holds, however many
    /// other nodes send requests meanwhile.
    #[test]
    fn an_entry_in_back_off_is_not_evicted() {
        let mut table = RequestTable::new(RequestTablePolicy::RecentIds { nodes: 2, ids: 2 });
        let search = table.discovery(at(0), A).unwrap();
        (search.attempts, search.not_before) = (3, at(10));
        for number in 1..5 {
            table.record(at(number.into()), if number % 2 == 0 { B } else { C }, number, D);
        }
        assert_eq!(table.existing_search(A).map(|search| search.attempts), Some(3));
        assert!(table.has(B) && !table.has(C));
        table.reset_search(at(6), A);
        table.record(at(7), B, 7, D);
        table.record(at(8), C, 8, D);
        assert!(!table.has(A), "it is not in back-off any more");
        let pause = table.discovery(at(9), C).unwrap();
        pause.not_before = at(20);
        table.discovery(at(10), B).unwrap().attempts = 1;
        table.record(at(11), D, 1, A);
        assert!(table.has(D) && table.has(B), "the least recently used of those in back-off");
    }

    #[test]
    fn all_ids_up_to_the_highest_are_duplicates() {
        let mut table = RequestTable::new(RequestTablePolicy::HighestId { nodes: 2 });
        assert!(!table.is_known(at(0), A, 1, C));
        table.record(at(0), A, 7, C);
        assert_eq!([6, 7, 8].map(|n| table.is_known(at(0), A, n, B)), [true, true, false]);
        table.record(at(0), A, u16::MAX, C);
        assert!(!table.is_known(at(0), A, 0, C), "ids wrap to 0");
    }

    #[test]
    fn a_reply_resets_a_discovery() {
        let mut table = RequestTable::new(RequestTablePolicy::HighestId { nodes: 2 });
        let search = table.discovery(at(0), B).unwrap();
        (search.attempts, search.not_before) = (3, Instant::from_secs(10));
        assert_eq!(table.existing_search(B).unwrap().attempts, 3);
        table.reset_search(at(0), B);
        assert_eq!(table.existing_search(B).unwrap().not_before, Instant::ZERO);
    }
}
