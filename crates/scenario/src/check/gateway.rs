//! Validation of the gateway of a mixed network.

use super::adhoc;
use super::flow::{TCP_IP_BYTES, check_aid, check_tcp};
use super::numbers::check_node;
use crate::problem::{CheckResult, require};
use crate::rules::Table;
use crate::{Flow, Gateway, Mixed, Network, Size, Transport};

pub(super) fn check(mixed: &Mixed, gateway: &Gateway, network: &Network) -> CheckResult {
    let key = "network.gateway";
    check_node(format!("{key}.node"), gateway.node, network)?;
    let name = network.node_name(gateway.node);
    for (has_it, lacks) in
        [(mixed.has_radio(gateway.node), "radio"), (has_wire(mixed, gateway.node), "wire")]
    {
        require(has_it, format!("{key}.node"), || {
            format!(
                "node {name} has no {lacks}, so it is no gateway\na gateway has a radio \
                 (network.air.radios) and a wire ([[network.wire]])"
            )
        })?;
    }
    gateway.check_ranges(key)?;
    for (name, leg) in gateway.legs() {
        let key = format!("{key}.{name}");
        check_aid(&format!("{key}.aid"), &leg.aid, Transport::Tcp)?;
        if let Some(tcp) = &leg.tcp {
            check_tcp(&format!("{key}.tcp"), tcp)?;
        }
    }
    if let Some(tcp) = &gateway.wireless.tcp {
        let key = format!("{key}.wireless.tcp.mss");
        for air in &mixed.airs {
            adhoc::check_frame_size(&air.adhoc, key.clone(), tcp.mss.0 + TCP_IP_BYTES)?;
        }
    }
    if !gateway.split {
        return Ok(());
    }
    let is_other = |node: &u32| *node != gateway.node && mixed.has_radio(*node);
    let other = mixed.wires.iter().flat_map(|wire| wire.between).find(is_other);
    other.map_or(Ok(()), |other| {
        require(false, format!("{key}.split"), || {
            format!(
                "connections are split at {name}, but {} is a gateway, too\na connection that moved to \
                 another gateway could not go on there; split only where one node has a radio and a wire",
                network.node_name(other)
            )
        })
    })
}

fn has_wire(mixed: &Mixed, node: u32) -> bool {
    mixed.wires.iter().any(|wire| wire.between.contains(&node))
}

/// Checks that the buffer has room for the segments of each split flow.
pub(super) fn check_flows(mixed: &Mixed, gateway: &Gateway, flows: &[Flow]) -> CheckResult {
    let split = flows.iter().filter(|flow| mixed.is_split(flow));
    let of_flows = split.filter_map(|flow| flow.tcp.as_ref());
    let of_legs = gateway.legs().into_iter().filter_map(|(_, leg)| leg.tcp.as_ref());
    let largest = of_flows.chain(of_legs).map(|tcp| tcp.mss.0).max().unwrap_or(0);
    require(!gateway.split || gateway.buffer.0 >= largest, "network.gateway.buffer", || {
        format!(
            "a buffer of {} is smaller than one segment of {}\nthe minimum is one mss",
            gateway.buffer,
            Size(largest)
        )
    })
}
