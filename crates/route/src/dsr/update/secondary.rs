//! The secondary cache (yu-2004 §5.3.1): routes of packets overheard.

use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::path::{NodeMask, Path, node_bit};
use super::table::{crossing_position, usable_part};

/// Routes that begin at this node, in slots; when all are taken, the oldest makes room.
#[derive(Clone, Debug)]
pub(super) struct SecondaryCache {
    routes: Vec<Path>,
    /// The nodes of each: most questions end here.
    masks: Vec<NodeMask>,
    capacity: usize,
    /// The next to make room.
    next_evicted: usize,
}

impl SecondaryCache {
    pub fn new(most: u16) -> Self {
        let most = usize::from(most);
        Self { routes: Vec::with_capacity(most), masks: Vec::with_capacity(most), capacity: most, next_evicted: 0 }
    }

    /// A route that goes on where a known one ends takes its place; is there anything new in it?
    pub fn add(&mut self, route: &Path) -> bool {
        let (new, mask) = (route.as_slice(), route.mask());
        let mut known = self.routes.iter().zip(&self.masks);
        if self.capacity == 0
            || known.any(|(known, of)| of & mask == mask && known.as_slice().starts_with(new))
        {
            return false;
        }
        // An empty slot is the beginning of any.
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

    /// Does a new route take the place of another?
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

    /// The first of the shortest.
    pub fn find(&self, destination: Ipv4Addr) -> Option<Path> {
        let (hops, slot) = self.shortest(destination)?;
        let mut route = *self.routes.get(slot)?;
        route.truncate(hops + 1);
        Some(route)
    }

    /// The same; it is taken out.
    pub fn take(&mut self, destination: Ipv4Addr) -> Option<Path> {
        let (hops, slot) = self.shortest(destination)?;
        let mut route = *self.routes.get(slot)?;
        self.set(slot, Path::EMPTY);
        route.truncate(hops + 1);
        Some(route)
    }

    /// Takes out each route over a link; with `truncate` the part before it stays. Was there one?
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
