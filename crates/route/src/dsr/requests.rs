//! The Route Request Table (RFC 4728 §4.3): recent requests of other nodes, and the state of this node's
//! discoveries.

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};

use super::config::RequestMemory;

/// RequestTableIds (RFC 4728 §9): identifications per entry.
const NUMBERS: usize = 16;

/// Entries for as many nodes as configured. The least recently used is evicted (RFC 4728 §4.3), except for
/// those in back-off; where only the highest identification is kept, as in ns-2.35, the oldest is evicted.
#[derive(Clone, Debug)]
pub(crate) struct RequestTable {
    memory: RequestMemory,
    addresses: Vec<Ipv4Addr>,
    entries: Vec<Entry>,
    next_victim: usize,
}

/// Initial capacity; a larger table is reallocated once.
const RESERVED: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The last requests of that node: identification and target, in a ring.
    numbers: [(u16, Ipv4Addr); NUMBERS],
    count: u8,
    place: u8,
    search: Search,
    /// The last use of the entry.
    used: Instant,
}

/// The state of this node's route discovery for a target.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Search {
    /// Propagating requests sent without a reply.
    pub attempts: u8,
    /// The earliest instant of the next request.
    pub not_before: Instant,
    /// The deadline of the reply to a non-propagating request.
    pub ring_zero_until: Option<Instant>,
}

const NEW: Entry = Entry {
    numbers: [(0, Ipv4Addr::UNSPECIFIED); NUMBERS],
    count: 0,
    place: 0,
    search: Search { attempts: 0, not_before: Instant::ZERO, ring_zero_until: None },
    used: Instant::ZERO,
};

impl Entry {
    /// Returns true during the back-off of a discovery (RFC 4728 §4.3).
    fn backs_off(&self, now: Instant) -> bool {
        self.search.attempts > 0 || now < self.search.not_before
    }
}

impl RequestTable {
    pub fn new(memory: RequestMemory) -> Self {
        let (addresses, entries) = (Vec::with_capacity(RESERVED), Vec::with_capacity(RESERVED));
        Self { memory, addresses, entries, next_victim: 0 }
    }

    /// Returns true if this request was received before.
    pub fn knows(
        &mut self,
        now: Instant,
        initiator: Ipv4Addr,
        number: u16,
        target: Ipv4Addr,
    ) -> bool {
        let place = self.place(initiator);
        let Some(entry) = place.and_then(|at| self.entries.get_mut(at)) else { return false };
        entry.used = now;
        let known = entry.numbers.get(..usize::from(entry.count)).unwrap_or_default();
        match self.memory {
            RequestMemory::Numbers { .. } => known.contains(&(number, target)),
            // Within the range of 16 bits.
            RequestMemory::Highest { .. } => {
                known.first().is_some_and(|(last, _)| last.wrapping_sub(number) < 0x8000)
            }
        }
    }

    /// Records a request.
    pub fn note(&mut self, now: Instant, initiator: Ipv4Addr, number: u16, target: Ipv4Addr) {
        let ring = match self.memory {
            RequestMemory::Numbers { numbers, .. } => numbers.clamp(1, NUMBERS as u8),
            RequestMemory::Highest { .. } => 1,
        };
        let Some(entry) = self.entry(now, initiator) else { return };
        if let Some(slot) = entry.numbers.get_mut(usize::from(entry.place)) {
            *slot = (number, target);
        }
        entry.place = (entry.place + 1) % ring;
        entry.count = ring.min(entry.count + 1);
    }

    /// The discovery for `target`, created if necessary.
    pub fn search(&mut self, now: Instant, target: Ipv4Addr) -> Option<&mut Search> {
        self.entry(now, target).map(|entry| &mut entry.search)
    }

    /// The discovery for `target`, if there is one.
    pub fn known_search(&self, target: Ipv4Addr) -> Option<&Search> {
        self.entries.get(self.place(target)?).map(|entry| &entry.search)
    }

    /// Resets a discovery after a reply.
    pub fn answered(&mut self, now: Instant, target: Ipv4Addr) {
        if let Some(search) = self.search(now, target) {
            *search = Search::default();
        }
    }

    fn place(&self, address: Ipv4Addr) -> Option<usize> {
        self.addresses.iter().position(|known| *known == address)
    }

    fn entry(&mut self, now: Instant, address: Ipv4Addr) -> Option<&mut Entry> {
        let (RequestMemory::Numbers { nodes, .. } | RequestMemory::Highest { nodes }) = self.memory;
        let nodes = usize::from(nodes).max(1);
        let at = match self.place(address) {
            Some(at) => at,
            None if self.entries.len() < nodes => {
                self.addresses.push(address);
                self.entries.push(NEW);
                self.entries.len() - 1
            }
            None => {
                let at = self.victim(now, nodes)?;
                *self.addresses.get_mut(at)? = address;
                *self.entries.get_mut(at)? = NEW;
                at
            }
        };
        let entry = self.entries.get_mut(at)?;
        entry.used = now;
        Some(entry)
    }

    /// The position of the entry to evict.
    fn victim(&mut self, now: Instant, nodes: usize) -> Option<usize> {
        match self.memory {
            RequestMemory::Numbers { .. } => {
                let entries = self.entries.iter().enumerate();
                let least = entries.min_by_key(|(_, entry)| (entry.backs_off(now), entry.used));
                least.map(|(at, _)| at)
            }
            RequestMemory::Highest { .. } => {
                let at = self.next_victim;
                self.next_victim = (at + 1) % nodes;
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
            self.place(node).is_some()
        }
    }

    #[test]
    fn duplicates_are_recognized_by_initiator_id_and_target() {
        let mut table = RequestTable::new(RequestMemory::Numbers { nodes: 2, numbers: 2 });
        table.note(at(0), A, 7, C);
        assert!(
            table.knows(at(0), A, 7, C)
                && !table.knows(at(0), B, 7, C)
                && !table.knows(at(0), A, 6, C)
        );
        assert!(!table.knows(at(0), A, 7, B), "another target");
        table.note(at(0), A, 8, C);
        table.note(at(0), A, 9, C);
        assert_eq!([7, 8, 9].map(|n| table.knows(at(0), A, n, C)), [false, true, true]);
        table.note(at(0), B, 1, C);
        table.note(at(0), C, 1, A);
        assert!(!table.has(A) && table.knows(at(0), B, 1, C), "the first is evicted");
    }

    /// RFC 4728 §4.3: "Nodes SHOULD use an LRU policy". ns-2.35 evicts in a ring.
    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let numbers = RequestMemory::Numbers { nodes: 2, numbers: 2 };
        for (memory, stays) in [(numbers, A), (RequestMemory::Highest { nodes: 2 }, B)] {
            let mut table = RequestTable::new(memory);
            table.note(at(1), A, 1, D);
            table.note(at(2), B, 1, D);
            assert!(table.knows(at(3), A, 1, D), "another copy of the first");
            table.note(at(4), C, 1, D);
            assert_eq!([A, B, C].map(|node| table.has(node)), [stays == A, stays == B, true]);
        }
    }

    /// RFC 4728 §4.3: "Until a valid Route Reply is received", the back-off of a target holds, however many
    /// other nodes send requests meanwhile.
    #[test]
    fn an_entry_in_back_off_is_not_evicted() {
        let mut table = RequestTable::new(RequestMemory::Numbers { nodes: 2, numbers: 2 });
        let search = table.search(at(0), A).unwrap();
        (search.attempts, search.not_before) = (3, at(10));
        for number in 1..5 {
            table.note(at(number.into()), if number % 2 == 0 { B } else { C }, number, D);
        }
        assert_eq!(table.known_search(A).map(|search| search.attempts), Some(3));
        assert!(table.has(B) && !table.has(C));
        table.answered(at(6), A);
        table.note(at(7), B, 7, D);
        table.note(at(8), C, 8, D);
        assert!(!table.has(A), "it is not in back-off any more");
        let pause = table.search(at(9), C).unwrap();
        pause.not_before = at(20);
        table.search(at(10), B).unwrap().attempts = 1;
        table.note(at(11), D, 1, A);
        assert!(table.has(D) && table.has(B), "the least recently used of those in back-off");
    }

    #[test]
    fn all_ids_up_to_the_highest_are_duplicates() {
        let mut table = RequestTable::new(RequestMemory::Highest { nodes: 2 });
        assert!(!table.knows(at(0), A, 1, C));
        table.note(at(0), A, 7, C);
        assert_eq!([6, 7, 8].map(|n| table.knows(at(0), A, n, B)), [true, true, false]);
        table.note(at(0), A, u16::MAX, C);
        assert!(!table.knows(at(0), A, 0, C), "ids wrap to 0");
    }

    #[test]
    fn a_reply_resets_a_discovery() {
        let mut table = RequestTable::new(RequestMemory::Highest { nodes: 2 });
        let search = table.search(at(0), B).unwrap();
        (search.attempts, search.not_before) = (3, Instant::from_secs(10));
        assert_eq!(table.known_search(B).unwrap().attempts, 3);
        table.answered(at(0), B);
        assert_eq!(table.known_search(B).unwrap().not_before, Instant::ZERO);
    }
}
