//! The table of tracked connections.

use alloc::vec::Vec;

use driftway_base::{Duration, FlowKey, Instant};

use crate::flow::Flow;
use crate::handshake::Handshake;

/// Idle time after which an incomplete handshake, or a connection with nothing outstanding, may be
/// evicted for another one; an evicted connection continues untouched.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are flows")]
pub(super) enum TableEntry {
    Handshake(Handshake),
    Flow(Flow),
}

impl TableEntry {
    pub fn key(&self) -> FlowKey {
        match self {
            Self::Handshake(opening) => opening.key,
            Self::Flow(flow) => flow.key,
        }
    }
}

/// A slab of connections, and an index ordered by key.
#[derive(Debug, Default)]
pub(super) struct ConnectionTable {
    slots: Vec<Option<TableEntry>>,
    free: Vec<usize>,
    by_key: Vec<(FlowKey, usize)>,
}

impl ConnectionTable {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }
    pub fn keys(&self) -> impl ExactSizeIterator<Item = FlowKey> + Clone {
        self.by_key.iter().map(|(key, _)| *key)
    }
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.by_key.iter().filter_map(|(_, index)| match self.get(*index)? {
            TableEntry::Flow(flow) => Some(flow),
            TableEntry::Handshake(_) => None,
        })
    }
    pub fn indices(&self) -> core::ops::Range<usize> {
        0..self.slots.len()
    }
    pub fn find(&self, key: FlowKey) -> Option<usize> {
        let place = self.by_key.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        self.by_key.get(place).map(|(_, index)| *index)
    }
    pub fn get(&self, index: usize) -> Option<&TableEntry> {
        self.slots.get(index)?.as_ref()
    }
    pub fn get_mut(&mut self, index: usize) -> Option<&mut TableEntry> {
        self.slots.get_mut(index)?.as_mut()
    }

    /// Adds an entry if its key is not in the table.
    pub fn insert(&mut self, followed: TableEntry) {
        let key = followed.key();
        let Err(place) = self.by_key.binary_search_by_key(&key, |(key, _)| *key) else { return };
        let index = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(index) {
            Some(slot) => *slot = Some(followed),
            None => self.slots.push(Some(followed)),
        }
        self.by_key.insert(place, (key, index));
    }

    /// Replaces the entry at `index` by one with the same key.
    pub fn replace(&mut self, index: usize, followed: TableEntry) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(followed);
        }
    }

    pub fn remove(&mut self, index: usize) -> Option<TableEntry> {
        let followed = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        let key = followed.key();
        if let Ok(place) = self.by_key.binary_search_by_key(&key, |(key, _)| *key) {
            self.by_key.remove(place);
        }
        Some(followed)
    }

    /// The entry that has been evictable for the longest time.
    pub fn longest_idle(&self, now: Instant) -> Option<usize> {
        let unused = |index: usize| {
            let (last, after) = match self.get(index)? {
                TableEntry::Handshake(opening) if opening.is_established() => {
                    (opening.last_sent, IDLE_TIMEOUT)
                }
                TableEntry::Handshake(opening) => (opening.last_sent, HANDSHAKE_TIMEOUT),
                TableEntry::Flow(flow) if flow.is_idle() => (flow.last_activity(), IDLE_TIMEOUT),
                TableEntry::Flow(_) => return None,
            };
            (now.since(last) >= after).then_some((last, index))
        };
        self.indices().filter_map(unused).min().map(|(_, index)| index)
    }
}
