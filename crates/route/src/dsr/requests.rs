//! The Route Request Table (RFC 4728 §4.3): requests of others that were here, and own ones.

use alloc::vec::Vec;

use base::{Instant, Ipv4Addr};

use super::config::RequestMemory;

/// Numbers that an entry has room for (RFC 4728 §9: RequestTableIds).
const NUMBERS: usize = 16;

/// As many nodes as the configuration says; the one that was entered first makes room.
#[derive(Clone, Debug)]
pub(crate) struct RequestTable {
    memory: RequestMemory,
    addresses: Vec<Ipv4Addr>,
    entries: Vec<Entry>,
    victim: usize,
}

/// Room made at once; a table of more nodes grows into its room once.
const RESERVED: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The last requests of that node: number and target, in a ring.
    numbers: [(u16, Ipv4Addr); NUMBERS],
    count: u8,
    place: u8,
    search: Search,
}

/// The own search for a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Search {
    /// Requests sent without an answer, those that are not forwarded apart.
    pub attempts: u8,
    /// No other before.
    pub not_before: Instant,
    /// Until when an answer to a request is waited for that nobody forwards.
    pub ring_zero_until: Option<Instant>,
}

const NEW: Entry = Entry {
    numbers: [(0, Ipv4Addr::UNSPECIFIED); NUMBERS],
    count: 0,
    place: 0,
    search: Search { attempts: 0, not_before: Instant::ZERO, ring_zero_until: None },
};

impl RequestTable {
    pub fn new(memory: RequestMemory) -> Self {
        let (addresses, entries) = (Vec::with_capacity(RESERVED), Vec::with_capacity(RESERVED));
        Self { memory, addresses, entries, victim: 0 }
    }

    /// Has this request been here?
    pub fn knows(&self, initiator: Ipv4Addr, number: u16, target: Ipv4Addr) -> bool {
        let Some(entry) = self.place(initiator).and_then(|at| self.entries.get(at)) else {
            return false;
        };
        let known = entry.numbers.get(..usize::from(entry.count)).unwrap_or_default();
        match self.memory {
            RequestMemory::Numbers { .. } => known.contains(&(number, target)),
            // As far as 16 bits can say.
            RequestMemory::Highest { .. } => {
                known.first().is_some_and(|(last, _)| last.wrapping_sub(number) < 0x8000)
            }
        }
    }

    /// This request was here.
    pub fn note(&mut self, initiator: Ipv4Addr, number: u16, target: Ipv4Addr) {
        let ring = match self.memory {
            RequestMemory::Numbers { numbers, .. } => numbers.clamp(1, NUMBERS as u8),
            RequestMemory::Highest { .. } => 1,
        };
        let Some(entry) = self.entry(initiator) else { return };
        if let Some(slot) = entry.numbers.get_mut(usize::from(entry.place)) {
            *slot = (number, target);
        }
        entry.place = (entry.place + 1) % ring;
        entry.count = ring.min(entry.count + 1);
    }

    /// The own search for `target`.
    pub fn search(&mut self, target: Ipv4Addr) -> Option<&mut Search> {
        self.entry(target).map(|entry| &mut entry.search)
    }

    /// The own search for `target`, if there has been one.
    pub fn known_search(&self, target: Ipv4Addr) -> Option<&Search> {
        self.entries.get(self.place(target)?).map(|entry| &entry.search)
    }

    /// There is an answer: the next search begins anew.
    pub fn answered(&mut self, target: Ipv4Addr) {
        if let Some(search) = self.search(target) {
            *search = Search::default();
        }
    }

    fn place(&self, address: Ipv4Addr) -> Option<usize> {
        self.addresses.iter().position(|known| *known == address)
    }

    fn entry(&mut self, address: Ipv4Addr) -> Option<&mut Entry> {
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
                let at = self.victim;
                self.victim = (at + 1) % nodes;
                *self.addresses.get_mut(at)? = address;
                *self.entries.get_mut(at)? = NEW;
                at
            }
        };
        self.entries.get_mut(at)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

    #[test]
    fn a_request_is_known_by_who_asks_and_its_number() {
        let mut table = RequestTable::new(RequestMemory::Numbers { nodes: 2, numbers: 2 });
        table.note(A, 7, C);
        assert!(table.knows(A, 7, C) && !table.knows(B, 7, C) && !table.knows(A, 6, C));
        assert!(!table.knows(A, 7, B), "another target");
        table.note(A, 8, C);
        table.note(A, 9, C);
        assert_eq!([7, 8, 9].map(|n| table.knows(A, n, C)), [false, true, true]);
        table.note(B, 1, C);
        table.note(C, 1, A);
        assert!(!table.knows(A, 9, C) && table.knows(B, 1, C), "the first makes room");
    }

    #[test]
    fn the_highest_number_stands_for_all_below() {
        let mut table = RequestTable::new(RequestMemory::Highest { nodes: 2 });
        assert!(!table.knows(A, 1, C));
        table.note(A, 7, C);
        assert_eq!([6, 7, 8].map(|n| table.knows(A, n, B)), [true, true, false]);
        table.note(A, u16::MAX, C);
        assert!(!table.knows(A, 0, C), "numbers go on from 0");
    }

    #[test]
    fn an_answer_ends_a_search() {
        let mut table = RequestTable::new(RequestMemory::Highest { nodes: 2 });
        let search = table.search(B).unwrap();
        (search.attempts, search.not_before) = (3, Instant::from_secs(10));
        assert_eq!(table.known_search(B).unwrap().attempts, 3);
        table.answered(B);
        assert_eq!(table.known_search(B).unwrap().not_before, Instant::ZERO);
    }
}
