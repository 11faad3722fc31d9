//! Validation of the numbers of hops and nodes.

use crate::Network;
use crate::problem::{CheckResult, require};

pub(super) fn check_hop(key: String, found: u32, hops: u32) -> CheckResult {
    require((1..=hops).contains(&found), key, || {
        format!("hop {found} out of range 1–{hops}\nhop 1 joins node 0 and node 1")
    })
}

pub(super) fn check_node(key: String, found: u32, network: &Network) -> CheckResult {
    let nodes = match network {
        Network::Path(path) => return check_path_node(key, found, path.hops),
        Network::Adhoc(_) | Network::Mixed(_) => network.nodes(),
    };
    require(found < nodes, key, || {
        let last = nodes.saturating_sub(1);
        format!("node {found} out of range 0–{last}\nthe {nodes} nodes are numbered from 0")
    })
}

pub(super) fn check_path_node(key: String, found: u32, hops: u32) -> CheckResult {
    require(found <= hops, key, || {
        format!("node {found} out of range 0–{hops}\na path of {hops} hops ends at node {hops}")
    })
}
