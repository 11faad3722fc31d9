//! The secondary cache (yu-2004 §5.3.1): routes of overheard packets.

use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::path::{NodeMask, Path, node_bit};
use super::table::{crossing_position, usable_part};

/// Routes that start at this node, in slots; if all are used, the oldest is evicted.
#[derive(Clone, Debug)]
pub(super) struct SecondaryCache {
    routes: Vec<Path>,
    /// The nodes of each route, which decide most lookups.
    masks: Vec<NodeMask>,
    capacity: usize,
    /// The next slot to evict.
    next_evicted: usize,
}

impl SecondaryCache {
    pub fn new(capacity: u16) -> Self {
        let capacity = usize::from(capacity);
        Self {
            routes: Vec::with_capacity(capacity),
            masks: Vec::with_capacity(capacity),
            capacity,
            next_evicted: 0,
        }
    }

    /// Adds a route, replacing a known prefix of it; returns true if it contains anything new.
    pub fn add(&mut self, route: &Path) -> bool {
        let (new, mask) = (route.as_slice(), route.mask());
        let mut known = self.routes.iter().zip(&self.masks);
        if self.capacity == 0
            || known.any(|(known, of)| of & mask == mask && known.as_slice().starts_with(new))
        {
            return false;
        }
        // An empty slot is a prefix of any route.
        let mut known = self.routes.iter().zip(&self.masks);
        let begun =
            known.position(|(known, of)| of & mask == *of && new.starts_with(known.as_slice()));
        if begun.is_none() && self.routes.len() < self.capacity {
            self.routes.push(*route);
            self.masks.push(mask);
            return true;
        }
        if begun.is_none() {
            self.set(self.next_evicted, *route);
            self.next_evicted = (self.next_evicted + 1) % self.capacity;
        } else if let Some(slot) = begun {
            self.set(slot, *route);
        }
        true
    }

    fn set(&mut self, slot: usize, route: Path) {
        if let Some((known, mask)) = self.routes.get_mut(slot).zip(self.masks.get_mut(slot)) {
            (*known, *mask) = (route, route.mask());
        }
    }

    /// Returns true if a new route would evict another.
    pub fn is_full(&self) -> bool {
        self.routes.len() >= self.capacity
    }

    fn shortest(&self, destination: Ipv4Addr) -> Option<(usize, usize)> {
        let bit = node_bit(destination);
        let places = self.routes.iter().zip(&self.masks).enumerate();
        let may = places.filter(|(_, (_, mask))| *mask & bit != 0);
        let paths = may.filter_map(|(slot, (route, _))| Some((route.position(destination)?, slot)));
        paths.filter(|(hops, _)| *hops > 0).min()
    }

    /// The first of the shortest routes.
    pub fn find(&self, destination: Ipv4Addr) -> Option<Path> {
        let (hops, slot) = self.shortest(destination)?;
        let mut route = *self.routes.get(slot)?;
        route.truncate(hops + 1);
        Some(route)
    }

    /// The same; it is removed.
    pub fn take(&mut self, destination: Ipv4Addr) -> Option<Path> {
        let (hops, slot) = self.shortest(destination)?;
        let mut route = *self.routes.get(slot)?;
        self.set(slot, Path::EMPTY);
        route.truncate(hops + 1);
        Some(route)
    }

    /// Removes each route over a link; with `truncate` the part before it is kept. Returns true if there was
    /// one.
    pub fn remove(&mut self, link: FailedLink, me: Ipv4Addr, truncate: bool) -> bool {
        let both = node_bit(link.from) | node_bit(link.to);
        let mut removed = false;
        for (route, mask) in self.routes.iter_mut().zip(&mut self.masks) {
            if *mask & both != both {
                continue;
            }
            let Some(at) = crossing_position(route, link) else { continue };
            removed = true;
            let part = usable_part(route, at, me).filter(|_| truncate);
            *route = part.unwrap_or(Path::EMPTY);
            *mask = route.mask();
        }
        removed
    }
}
