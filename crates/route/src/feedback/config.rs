//! The available schemes and their configurations.

use alloc::boxed::Box;

use driftway_base::Ipv4Addr;

use super::icmp::{Icmp, IcmpConfig};
use super::rfn::{RfnConfig, RouteFailureAgent};
use super::scheme::Scheme;

/// The available schemes. A new one adds a file, a variant here, and two lines in [`SchemeConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeName {
    /// ICMP errors.
    Icmp,
    /// RFN and RRN.
    Rfn,
}

/// A scheme and its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemeConfig {
    /// ICMP errors.
    Icmp(IcmpConfig),
    /// RFN and RRN.
    Rfn(RfnConfig),
}

impl SchemeConfig {
    /// Creates the scheme at the node with this address.
    pub(super) fn build(self, address: Ipv4Addr) -> (SchemeName, Box<dyn Scheme>) {
        match self {
            Self::Icmp(config) => (SchemeName::Icmp, Box::new(Icmp::new(address, config))),
            Self::Rfn(config) => {
                (SchemeName::Rfn, Box::new(RouteFailureAgent::new(address, config)))
            }
        }
    }
}
