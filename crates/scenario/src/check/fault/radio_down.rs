//! Outages of a radio.

use super::schedule::{
    check_count, check_jitter, check_lasts, check_lead, require_end_before_next, require_start,
};
use crate::check::numbers::check_node;
use crate::problem::{CheckResult, require};
use crate::{Network, RadioDown, RadioSignal};

pub(super) fn check(key: &str, outage: &RadioDown, network: &Network) -> CheckResult {
    check_radio(key, outage.node, network)?;
    let longest = check_lasts(key, outage.lasts)?;
    check_count(key, outage.count)?;
    require_start(key, outage.every, outage.first, false, "")?;
    require_end_before_next(key, outage.every, longest)?;
    check_jitter(key, outage.every, outage.jitter, longest)?;
    let warns = outage.signal == RadioSignal::Link;
    check_lead(key, outage.lead, warns, "the host at the node", "an outage of its radio")
}

/// Checks the node of a fault of a radio.
pub(super) fn check_radio(key: &str, node: u32, network: &Network) -> CheckResult {
    check_node(format!("{key}.node"), node, network)?;
    if let Network::Mixed(mixed) = network {
        require(mixed.has_radio(node), format!("{key}.node"), || {
            format!(
                "node {} has no radio\nthe nodes with a radio are those of network.air.radios",
                network.node_name(node)
            )
        })?;
    }
    Ok(())
}
