//! Names of flows and hops, and kinds of flows, as tables and reports state them.

use std::fmt::Write;

use driftway_experiment::labels::value_label;
use driftway_scenario::{Application, Network};
use driftway_sim::results::{FlowSummary, RunDocument};

/// Name of a flow: `0 → 4 Reno, ATCP`; in a mixed network with the names of its nodes.
pub fn flow_name(document: &RunDocument, flow: &FlowSummary) -> String {
    let [from, to] = [flow.source, flow.destination].map(|node| document.scenario.node_name(node));
    let mut name = format!("{from} → {to} {}", transport(flow));
    if let Some(aid) = &flow.aid {
        let _ = write!(name, ", {}", value_label(aid));
    }
    if let Some(aid) = flow.receiver_aid.as_ref().filter(|_| flow.receiver_aid != flow.aid) {
        let _ = write!(name, ", {} at the receiver", value_label(aid));
    }
    name
}

/// Name of a hop: its number, in a mixed network with the nodes that the wire joins.
pub fn hop_name(document: &RunDocument, hop: u32) -> String {
    let wire = match &document.scenario.network {
        Network::Mixed(mixed) => (hop as usize).checked_sub(1).and_then(|n| mixed.wires.get(n)),
        Network::Path(_) | Network::Adhoc(_) => None,
    };
    wire.map_or(hop.to_string(), |wire| {
        let [a, b] = wire.between.map(|node| document.scenario.node_name(node));
        format!("{hop}: {a} – {b}")
    })
}

/// Name of a flow's TCP: `SACK+CUBIC`, or `Reno` if recovery and growth have the same name.
fn transport(flow: &FlowSummary) -> String {
    let tcp = flow.tcp.as_deref().unwrap_or("udp");
    match tcp.split_once('+') {
        Some((recovery, growth)) if recovery != growth => {
            format!("{}+{}", value_label(recovery), value_label(growth))
        }
        Some((one, _)) => value_label(one),
        None => value_label(tcp),
    }
}

/// Returns true if a flow is a transfer, which can complete.
pub fn is_transfer(document: &RunDocument, flow: usize) -> bool {
    let flow = document.scenario.flows.get(flow);
    flow.is_some_and(|flow| matches!(flow.application, Application::Transfer(_)))
}
