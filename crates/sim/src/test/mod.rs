//! Tests that look into a run.

mod feedback;
mod handoff;
mod link_signals;
mod recording_aid;

use driftway_base::{Ipv4Addr, NodeId};

/// Returns the address of the node of this number.
pub fn address(node: u32) -> Ipv4Addr {
    driftway_net::addresses::address(NodeId::new(node))
}
