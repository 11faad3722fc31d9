//! Hosts outside the ad hoc network.

use alloc::vec::Vec;

use driftway_base::Ipv4Addr;

/// A sorted set of hosts that are reached outside the ad hoc network.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExternalHosts(Vec<Ipv4Addr>);

impl ExternalHosts {
    /// Adds a host; returns true if it is new.
    pub fn add(&mut self, host: Ipv4Addr) -> bool {
        match self.0.binary_search(&host) {
            Ok(_) => false,
            Err(at) => {
                self.0.insert(at, host);
                true
            }
        }
    }

    pub fn contains(&self, host: Ipv4Addr) -> bool {
        self.0.binary_search(&host).is_ok()
    }

    pub const fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_host_is_added_once() {
        let mut hosts = ExternalHosts::default();
        let host = |n| Ipv4Addr::new(192, 0, 2, n);
        assert!(!hosts.contains(host(1)));
        assert_eq!([3, 1, 2, 1].map(|n| hosts.add(host(n))), [true, true, true, false]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|n| hosts.contains(host(n))),
            [false, true, true, true, false]
        );
    }
}
