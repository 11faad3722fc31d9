//! A graph of links that carry one way, as arrays: nodes have small numbers, and the links that leave
//! a node lie side by side.
//!
//! Most of what a link cache does is to hear once more of links that it has. So an address leads to a
//! number without a search, and a number to the node's links.

use alloc::vec::Vec;

use base::{Duration, Instant, Ipv4Addr};

/// Bounds, so that a big network doesn't fill a node.
const NODES: usize = 256;
const LINKS: usize = 1024;

/// RFC 4728 App. A: what is thought of a node at first.
const INIT_STABILITY: Duration = Duration::from_secs(25);

#[derive(Clone, Debug)]
pub(crate) struct LinkGraph {
    /// By number: in the order in which they came to be known.
    nodes: Vec<Node>,
    numbers: Numbers,
    /// Where the links of each node begin, and where the last one's end.
    starts: Vec<u16>,
    /// Where each link leads; ascending for one node.
    heads: Vec<u16>,
    /// What is known of it.
    links: Vec<Link>,
    /// What making room works on.
    ends: Vec<Instant>,
    renumbered: Vec<Option<u16>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub address: Ipv4Addr,
    pub stability: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub until: Instant,
    pub used: Instant,
}

impl LinkGraph {
    pub const fn new() -> Self {
        Self {
            nodes: Vec::new(),
            numbers: Numbers::new(),
            starts: Vec::new(),
            heads: Vec::new(),
            links: Vec::new(),
            ends: Vec::new(),
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

    pub fn link_mut(&mut self, place: u16) -> Option<&mut Link> {
        self.links.get_mut(usize::from(place))
    }

    /// Is there room for so many links more?
    pub const fn has_room_for(&self, links: usize) -> bool {
        self.links.len() + links <= LINKS
    }

    /// Is there room for both ends of a link?
    pub const fn has_room_for_ends(&self) -> bool {
        self.nodes.len() + 2 <= NODES
    }

    pub fn number(&self, address: Ipv4Addr) -> Option<u16> {
        self.numbers.get(address)
    }

    /// The number of a node, which may be a new one; `None` if there is no room for it.
    pub fn number_or_new(&mut self, address: Ipv4Addr) -> Option<u16> {
        if let Some(number) = self.numbers.get(address) {
            return Some(number);
        }
        if self.nodes.len() >= NODES {
            return None;
        }
        let number = self.nodes.len() as u16;
        self.nodes.push(Node { address, stability: INIT_STABILITY });
        self.numbers.set(address, number);
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        self.starts.push(self.links.len() as u16);
        Some(number)
    }

    /// The links that leave a node: their places, where they lead, and until when they are there.
    pub fn links_from(&self, node: u16) -> impl Iterator<Item = (u16, u16, Instant)> {
        let (start, end) = self.row(node);
        let heads = self.heads.get(start..end).unwrap_or_default();
        let links = self.links.get(start..end).unwrap_or_default();
        let places = start as u16..;
        places.zip(heads).zip(links).map(|((place, head), link)| (place, *head, link.until))
    }

    /// Where a link is, or where it would be.
    pub fn place(&self, from: u16, to: u16) -> Result<u16, u16> {
        let (start, end) = self.row(from);
        let heads = self.heads.get(start..end).unwrap_or_default();
        let before = heads.iter().take_while(|head| **head < to).count();
        let place = (start + before) as u16;
        if heads.get(before) == Some(&to) { Ok(place) } else { Err(place) }
    }

    /// Puts a new link where [`place`](Self::place) says.
    pub fn insert(&mut self, place: u16, from: u16, to: u16, link: Link) {
        self.heads.insert(usize::from(place), to);
        self.links.insert(usize::from(place), link);
        for start in self.starts.iter_mut().skip(usize::from(from) + 1) {
            *start += 1;
        }
    }

    pub fn remove(&mut self, place: u16, from: u16) {
        self.heads.remove(usize::from(place));
        self.links.remove(usize::from(place));
        for start in self.starts.iter_mut().skip(usize::from(from) + 1) {
            *start -= 1;
        }
    }

    /// Forgets links that are over, or at least a quarter of all, those that end first; and nodes
    /// without a link, but for `mine`. Nodes that stay get new numbers, in the order of the old ones.
    pub fn make_room(&mut self, now: Instant, mine: Ipv4Addr) {
        self.ends.clear();
        self.ends.extend(self.links.iter().map(|link| link.until));
        self.ends.sort_unstable();
        let ends_first = self.ends.get(self.ends.len() / 4).copied().unwrap_or(now);
        let from_when = ends_first.max(now);

        let mut renumbered = core::mem::take(&mut self.renumbered);
        renumbered.clear();
        renumbered.resize(self.nodes.len(), None);
        let mut mark = |node: u16| {
            if let Some(number) = renumbered.get_mut(usize::from(node)) {
                *number = Some(0);
            }
        };
        self.number(mine).into_iter().for_each(&mut mark);
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
        let mut kept = 0;
        for from in 0..self.nodes.len() as u16 {
            let (start, end) = self.row(from);
            let first = kept;
            for place in start..end {
                let (Some(head), Some(link)) =
                    (self.heads.get(place).copied(), self.links.get(place).copied())
                else {
                    continue;
                };
                if link.until > from_when
                    && let (Some(head), Some(new_head), Some(new_link)) =
                        (new(head), self.heads.get_mut(kept), self.links.get_mut(kept))
                {
                    (*new_head, *new_link) = (head, link);
                    kept += 1;
                }
            }
            // New numbers are no higher than old ones: what is overwritten has been read.
            if let Some(number) = new(from)
                && let Some(start) = self.starts.get_mut(usize::from(number))
            {
                *start = first as u16;
            }
        }
        self.heads.truncate(kept);
        self.links.truncate(kept);

        let mut stays = renumbered.iter();
        self.nodes.retain(|_| stays.next().is_some_and(Option::is_some));
        self.starts.truncate(self.nodes.len());
        self.starts.push(kept as u16);
        self.numbers.clear();
        for (number, node) in (0..).zip(&self.nodes) {
            self.numbers.set(node.address, number);
        }
        self.renumbered = renumbered;
    }

    fn row(&self, node: u16) -> (usize, usize) {
        let node = usize::from(node);
        let start = |at| self.starts.get(at).map_or(0, |start| usize::from(*start));
        (start(node), start(node + 1))
    }

    #[cfg(test)]
    pub fn check(&self) {
        assert!(self.nodes.len() <= NODES && self.links.len() <= LINKS);
        assert_eq!(self.starts.len(), self.nodes.len() + 1);
        assert_eq!(self.heads.len(), self.links.len());
        assert_eq!(self.starts.last().map(|end| usize::from(*end)), Some(self.links.len()));
        for (number, node) in (0..).zip(&self.nodes) {
            assert_eq!(self.number(node.address), Some(number));
            let heads: Vec<u16> = self.links_from(number).map(|(_, head, _)| head).collect();
            assert!(heads.is_sorted_by(|a, b| a < b), "{heads:?}");
            assert!(heads.iter().all(|head| usize::from(*head) < self.nodes.len()));
        }
    }
}

/// Slots of the table of numbers: twice as many as there are nodes, and a power of two.
const SLOTS: usize = 2 * NODES;

/// The numbers of addresses: a table with open addressing. None is ever taken out by itself.
#[derive(Clone, Debug)]
struct Numbers {
    /// Made with the first node: whoever keeps paths needs none.
    slots: Vec<Option<(Ipv4Addr, u16)>>,
}

impl Numbers {
    const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// Slots in the order in which an address tries them. Neighbouring addresses begin at different
    /// ones.
    fn tries(address: Ipv4Addr) -> impl Iterator<Item = usize> {
        let bits = address.to_bits();
        let first = (bits ^ (bits >> 9) ^ (bits >> 18)) as usize;
        (first..first + SLOTS).map(|slot| slot % SLOTS)
    }

    fn get(&self, address: Ipv4Addr) -> Option<u16> {
        for slot in Self::tries(address) {
            let (known, number) = self.slots.get(slot).copied().flatten()?;
            if known == address {
                return Some(number);
            }
        }
        None
    }

    fn set(&mut self, address: Ipv4Addr, number: u16) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        for slot in Self::tries(address) {
            if let Some(free @ None) = self.slots.get_mut(slot) {
                *free = Some((address, number));
                return;
            }
        }
    }

    fn clear(&mut self) {
        self.slots.fill(None);
    }
}
