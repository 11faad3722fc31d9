//! Destinations whose next route is to be reported.

use alloc::vec::Vec;

use driftway_base::Ipv4Addr;

/// Each is reported once.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchedDestinations(Vec<Ipv4Addr>);

impl WatchedDestinations {
    pub fn add(&mut self, destination: Ipv4Addr) {
        if !self.0.contains(&destination) {
            self.0.push(destination);
        }
    }

    /// Removes a destination; returns true if it was watched.
    pub fn remove(&mut self, destination: Ipv4Addr) -> bool {
        self.take(|watched| watched == destination).is_some()
    }

    /// Removes and returns the first destination for which `holds` returns true.
    pub fn take(&mut self, holds: impl FnMut(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        let place = self.0.iter().copied().position(holds)?;
        Some(self.0.remove(place))
    }
}
