//! Destinations of whose next route a driver wants to hear.

use alloc::vec::Vec;

use driftway_base::Ipv4Addr;

/// Each is told of once.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedDestinations(Vec<Ipv4Addr>);

impl WatchedDestinations {
    pub fn add(&mut self, destination: Ipv4Addr) {
        if !self.0.contains(&destination) {
            self.0.push(destination);
        }
    }

    /// Not any more; was it watched?
    pub fn remove(&mut self, destination: Ipv4Addr) -> bool {
        self.take(|watched| watched == destination).is_some()
    }

    /// The first for which this holds, which is watched no more.
    pub fn take(&mut self, holds: impl FnMut(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        let place = self.0.iter().copied().position(holds)?;
        Some(self.0.remove(place))
    }
}
