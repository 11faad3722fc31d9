//! A graph of directed links in arrays: nodes have small indices, and the outgoing links of a node are
//! contiguous.
//!
//! Most operations of a link cache refresh known links. So the index of an address is found by hashing, and
//! the links of a node by its index.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr};

/// Capacities, which bound the memory of a node; [`CacheKind::LINK_MAX_LIFE`] and the scenario's
/// `routing.cache` document them.
///
/// [`CacheKind::LINK_MAX_LIFE`]: super::caches::CacheKind::LINK_MAX_LIFE
const NODES_MAX: usize = 256;
const LINKS_MAX: usize = 1024;

/// InitStability (RFC 4728 App. A).
const INIT_STABILITY: Duration = Duration::from_secs(25);

#[derive(Clone, Debug)]
pub(crate) struct LinkGraph {
    /// Nodes by index, in order of their first appearance.
    nodes: Vec<Node>,
    indices: AddressIndex,
    /// The head of each link. Those of one node are contiguous, in ascending order.
    heads: Vec<u16>,
    /// The expiry of each link.
    expires_at: Vec<Instant>,
    /// The last use of each link.
    last_used: Vec<Instant>,
    /// Work space of evictions.
    sorted_expiries: Vec<Instant>,
    renumbered: Vec<Option<u16>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub stability: Duration,
    pub address: Ipv4Addr,
    /// The start of its links; they end where those of the next node start.
    first_link: u16,
}

impl LinkGraph {
    pub const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            indices: AddressIndex::new(),
            heads: Vec::new(),
            expires_at: Vec::new(),
            last_used: Vec::new(),
            sorted_expiries: Vec::new(),
            renumbered: Vec::new(),
        }
    }

    pub const fn nodes(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, number: u16) -> Option<&Node> {
        self.nodes.get(usize::from(number))
    }

    pub fn node_mut(&mut self, number: u16) -> Option<&mut Node> {
        self.nodes.get_mut(usize::from(number))
    }

    /// The expiry of a link.
    pub fn expires_at_mut(&mut self, place: u16) -> Option<&mut Instant> {
        self.expires_at.get_mut(usize::from(place))
    }

    /// The last use of a link.
    pub fn last_used_mut(&mut self, place: u16) -> Option<&mut Instant> {
        self.last_used.get_mut(usize::from(place))
    }

    /// Returns true if there is room for that many more links.
    pub const fn has_room_for(&self, links: usize) -> bool {
        self.heads.len() + links <= LINKS_MAX
    }

    /// Returns true if there is room for both ends of a link.
    pub const fn has_room_for_ends(&self) -> bool {
        self.nodes.len() + 2 <= NODES_MAX
    }

    pub fn index_of(&self, address: Ipv4Addr) -> Option<u16> {
        self.indices.find(address, &self.nodes)
    }

    /// The index of a node, added if necessary; `None` if there is no room for it.
    pub fn index_or_insert(&mut self, address: Ipv4Addr) -> Option<u16> {
        if let Some(number) = self.index_of(address) {
            return Some(number);
        }
        if self.nodes.len() >= NODES_MAX {
            return None;
        }
        let (number, first) = (self.nodes.len() as u16, self.heads.len() as u16);
        self.nodes.push(Node { stability: INIT_STABILITY, address, first_link: first });
        self.indices.add(address, number);
        Some(number)
    }

    /// The outgoing links of a node: index, head and expiry.
    pub fn links_from(&self, node: u16) -> impl Iterator<Item = (u16, u16, Instant)> {
        let (first, end) = self.link_range(node);
        let heads = self.heads.get(first..end).unwrap_or_default();
        let until = self.expires_at.get(first..end).unwrap_or_default();
        let places = first as u16..;
        places.zip(heads).zip(until).map(|((place, head), until)| (place, *head, *until))
    }

    /// The index of a link, or that at which it would be inserted.
    pub fn link_position(&self, from: u16, to: u16) -> Result<u16, u16> {
        let (first, end) = self.link_range(from);
        let heads = self.heads.get(first..end).unwrap_or_default();
        let before = heads.iter().take_while(|head| **head < to).count();
        let place = (first + before) as u16;
        if heads.get(before) == Some(&to) { Ok(place) } else { Err(place) }
    }

    /// Inserts a new link at the index given by [`link_position`](Self::link_position).
    pub fn insert(&mut self, place: u16, from: u16, to: u16, now: Instant, until: Instant) {
        self.heads.insert(usize::from(place), to);
        self.expires_at.insert(usize::from(place), until);
        self.last_used.insert(usize::from(place), now);
        for node in self.nodes.iter_mut().skip(usize::from(from) + 1) {
            node.first_link += 1;
        }
    }

    /// Removes the link between two nodes; returns true if there was one.
    pub fn remove(&mut self, from: u16, to: u16) -> bool {
        let Ok(place) = self.link_position(from, to) else { return false };
        self.heads.remove(usize::from(place));
        self.expires_at.remove(usize::from(place));
        self.last_used.remove(usize::from(place));
        for node in self.nodes.iter_mut().skip(usize::from(from) + 1) {
            node.first_link -= 1;
        }
        true
    }

    /// Removes expired links, or at least the quarter of all links that expires first; and nodes without
    /// links, except `mine`. The other nodes get new indices, in the same order.
    pub fn evict(&mut self, now: Instant, mine: Ipv4Addr) {
        self.sorted_expiries.clear();
        self.sorted_expiries.extend_from_slice(&self.expires_at);
        self.sorted_expiries.sort_unstable();
        let ends_first =
            self.sorted_expiries.get(self.sorted_expiries.len() / 4).copied().unwrap_or(now);
        let from_when = ends_first.max(now);

        let mut renumbered = core::mem::take(&mut self.renumbered);
        renumbered.clear();
        renumbered.resize(self.nodes.len(), None);
        let mut mark = |node: u16| {
            if let Some(number) = renumbered.get_mut(usize::from(node)) {
                *number = Some(0);
            }
        };
        self.index_of(mine).into_iter().for_each(&mut mark);
        for from in 0..self.nodes.len() as u16 {
            for (_, to, _) in self.links_from(from).filter(|(_, _, until)| *until > from_when) {
                mark(from);
                mark(to);
            }
        }
        for (new, number) in (0..).zip(renumbered.iter_mut().flatten()) {
            *number = new;
        }

        let new = |old: u16| renumbered.get(usize::from(old)).copied().flatten();
        let (mut kept, mut nodes) = (0, 0);
        for old in 0..self.nodes.len() as u16 {
            let (start, end) = self.link_range(old);
            let first = kept as u16;
            for place in start..end {
                kept += usize::from(self.move_link(place, kept, from_when, new));
            }
            // The overwritten entry is no longer read: new indices are not higher than old ones.
            if let (Some(number), Some(node)) = (new(old), self.node(old).copied())
                && let Some(moved) = self.node_mut(number)
            {
                *moved = Node { first_link: first, ..node };
                nodes += 1;
            }
        }
        self.nodes.truncate(nodes);
        self.indices.clear();
        for (number, node) in (0..).zip(&self.nodes) {
            self.indices.add(node.address, number);
        }
        self.heads.truncate(kept);
        self.expires_at.truncate(kept);
        self.last_used.truncate(kept);
        self.renumbered = renumbered;
    }

    /// Moves a link that expires after `from_when` to a lower index; returns true if it does.
    fn move_link(
        &mut self,
        from: usize,
        to: usize,
        from_when: Instant,
        new: impl Fn(u16) -> Option<u16>,
    ) -> bool {
        let link = (self.heads.get(from), self.expires_at.get(from), self.last_used.get(from));
        let (Some(&head), Some(&until), Some(&used)) = link else { return false };
        let room =
            (self.heads.get_mut(to), self.expires_at.get_mut(to), self.last_used.get_mut(to));
        let (Some(new_head), Some(new_until), Some(new_used)) = room else { return false };
        let Some(head) = new(head).filter(|_| until > from_when) else { return false };
        (*new_head, *new_until, *new_used) = (head, until, used);
        true
    }

    fn link_range(&self, node: u16) -> (usize, usize) {
        let first = |at: usize| {
            self.nodes.get(at).map_or(self.heads.len(), |node| usize::from(node.first_link))
        };
        (first(usize::from(node)), first(usize::from(node) + 1))
    }

    #[cfg(test)]
    pub fn assert_invariants(&self) {
        assert!(self.nodes.len() <= NODES_MAX && self.heads.len() <= LINKS_MAX);
        assert_eq!(self.heads.len(), self.expires_at.len());
        assert_eq!(self.heads.len(), self.last_used.len());
        assert!(self.nodes.is_sorted_by_key(|node| node.first_link));
        for (number, node) in (0..).zip(&self.nodes) {
            assert_eq!(self.index_of(node.address), Some(number));
            let heads: Vec<u16> = self.links_from(number).map(|(_, head, _)| head).collect();
            assert!(heads.is_sorted_by(|a, b| a < b), "{heads:?}");
            assert!(heads.iter().all(|head| usize::from(*head) < self.nodes.len()));
        }
    }
}

/// Slots of the hash table: twice the number of nodes, and a power of two.
const SLOTS: usize = 2 * NODES_MAX;

/// The indices of addresses: a hash table with open addressing. Single entries are never removed.
#[derive(Clone, Debug)]
struct AddressIndex {
    /// Allocated with the first node: a path cache needs none.
    slots: Vec<u16>,
}

/// An empty slot.
const FREE: u16 = u16::MAX;

impl AddressIndex {
    const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// The probe sequence of an address. Neighbouring addresses start at different slots.
    fn probe_slots(address: Ipv4Addr) -> impl Iterator<Item = usize> {
        let bits = address.to_bits();
        let first = (bits ^ (bits >> 9) ^ (bits >> 18)) as usize;
        (first..first + SLOTS).map(|slot| slot % SLOTS)
    }

    fn find(&self, address: Ipv4Addr, nodes: &[Node]) -> Option<u16> {
        for slot in Self::probe_slots(address) {
            // No node has the index of an empty slot.
            let number = *self.slots.get(slot)?;
            if nodes.get(usize::from(number))?.address == address {
                return Some(number);
            }
        }
        None
    }

    fn add(&mut self, address: Ipv4Addr, number: u16) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, FREE);
        }
        for slot in Self::probe_slots(address) {
            if let Some(free @ &mut FREE) = self.slots.get_mut(slot) {
                *free = number;
                return;
            }
        }
    }

    fn clear(&mut self) {
        self.slots.fill(FREE);
    }
}
