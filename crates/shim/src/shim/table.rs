//! The table of tracked connections.

use alloc::vec::Vec;

use driftway_base::{Duration, FlowKey, Instant, Ipv4Addr};

use crate::flow::Flow;
use crate::opening::Opening;

/// Idle time after which an incomplete handshake, or a connection with nothing outstanding, may be
/// evicted for another one; an evicted connection continues untouched.
const UNANSWERED: Duration = Duration::from_secs(3);
const SILENT: Duration = Duration::from_secs(60);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are flows")]
pub(super) enum Followed {
    Opening(Opening),
    Flow(Flow),
}

impl Followed {
    pub fn key(&self) -> FlowKey {
        match self {
            Self::Opening(opening) => opening.key,
            Self::Flow(flow) => flow.key,
        }
    }
}

/// A slab of connections, and an index ordered by key.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Option<Followed>>,
    free: Vec<usize>,
    order: Vec<(FlowKey, usize)>,
}

impl Table {
    pub fn len(&self) -> usize {
        self.order.len()
    }
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.order.iter().filter_map(|(_, index)| match self.get(*index)? {
            Followed::Flow(flow) => Some(flow),
            Followed::Opening(_) => None,
        })
    }
    /// Flows that can probe the path to `destination`.
    pub fn searching(&self, destination: Ipv4Addr) -> impl Iterator<Item = usize> {
        self.indices().filter(move |index| match self.get(*index) {
            Some(Followed::Flow(flow)) => {
                flow.is_searching() && flow.key.destination.address == destination
            }
            _ => false,
        })
    }
    pub fn indices(&self) -> core::ops::Range<usize> {
        0..self.slots.len()
    }
    pub fn find(&self, key: FlowKey) -> Option<usize> {
        let place = self.order.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        self.order.get(place).map(|(_, index)| *index)
    }
    pub fn get(&self, index: usize) -> Option<&Followed> {
        self.slots.get(index)?.as_ref()
    }
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Followed> {
        self.slots.get_mut(index)?.as_mut()
    }

    /// Adds an entry if its key is not in the table.
    pub fn insert(&mut self, followed: Followed) {
        let key = followed.key();
        let Err(place) = self.order.binary_search_by_key(&key, |(key, _)| *key) else { return };
        let index = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(index) {
            Some(slot) => *slot = Some(followed),
            None => self.slots.push(Some(followed)),
        }
        self.order.insert(place, (key, index));
    }

    /// Replaces the entry at `index` by one with the same key.
    pub fn replace(&mut self, index: usize, followed: Followed) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(followed);
        }
    }

    pub fn remove(&mut self, index: usize) -> Option<Followed> {
        let followed = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        let key = followed.key();
        if let Ok(place) = self.order.binary_search_by_key(&key, |(key, _)| *key) {
            self.order.remove(place);
        }
        Some(followed)
    }

    /// The entry that has been evictable for the longest time.
    pub fn oldest_unused(&self, now: Instant) -> Option<usize> {
        let unused = |index: usize| {
            let (last, after) = match self.get(index)? {
                Followed::Opening(opening) => (opening.last, UNANSWERED),
                Followed::Flow(flow) if flow.is_idle() => (flow.last_seen(), SILENT),
                Followed::Flow(_) => return None,
            };
            (now.since(last) >= after).then_some((last, index))
        };
        self.indices().filter_map(unused).min().map(|(_, index)| index)
    }
}
