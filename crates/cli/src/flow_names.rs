//! Names of flows and hops, and kinds of flows, as tables and reports state them.

use std::fmt::Write;

use driftway_experiment::labels::value_label;
use driftway_scenario::{Application, Network};
use driftway_sim::results::{FlowSummary, RunDocument};

/// Name of a flow: `0 → 4 Reno, ATCP`, in a mixed network with the names of its nodes; with its own
/// name, if it has one, `voice, 3 → 7 UDP`.
pub fn flow_name(document: &RunDocument, flow: &FlowSummary) -> String {
    let ends = [flow.source, flow.destination].map(|node| document.scenario.node_name(node));
    let mut name = match (&flow.name, document.runs.len()) {
        // Each seed may have drawn another pair.
        (Some(name), 2..) if !document.scenario.traffic.is_empty() => name.clone(),
        (Some(name), _) => format!("{name}, {} → {}", ends[0], ends[1]),
        (None, _) => format!("{} → {}", ends[0], ends[1]),
    };
    let _ = write!(name, " {}", transport(flow));
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
    // Connections of kernels have no flow in the scenario.
    let flow = document.scenario.flows.get(flow).filter(|_| !document.emulated);
    flow.is_some_and(|flow| matches!(flow.application, Application::Transfer(_)))
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use driftway_scenario::Scenario;
    use driftway_sim::results::{RunResult, SCHEMA, Summary, Timing};

    use super::*;

    fn name(traffic: &str, runs: usize, name: Option<&str>) -> String {
        let text = format!(
            "name = 'n'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 2\n\
             link = {{ rate = '1 Mbit/s', delay = '1 ms' }}\n\
             [[flow]]\nfrom = 0\nto = 2\napplication = 'ftp'\n{traffic}"
        );
        let flow = FlowSummary {
            source: 0,
            destination: 2,
            name: name.map(str::to_owned),
            tcp: None,
            aid: None,
            receiver_aid: None,
            completed: 0,
            metrics: BTreeMap::new(),
        };
        let document = RunDocument {
            schema: SCHEMA,
            version: String::new(),
            emulated: false,
            scenario: Scenario::parse("n.toml", &text, &[]).unwrap(),
            runs: vec![RunResult::default(); runs],
            summary: Summary { runs: runs as u64, flows: Vec::new(), drops: BTreeMap::new() },
            timing: Timing { wall_s: 0.0, jobs: 1, events_per_s: None },
        };
        flow_name(&document, &flow)
    }

    #[test]
    fn a_flow_has_its_ends_and_its_name() {
        let traffic = "[[traffic]]\npairs = 1\napplication = 'ftp'\n";
        assert_eq!(name("", 5, None), "0 → 2 UDP");
        assert_eq!(name("", 5, Some("voice")), "voice, 0 → 2 UDP");
        assert_eq!(name(traffic, 1, Some("voice")), "voice, 0 → 2 UDP");
        assert_eq!(name(traffic, 5, Some("voice")), "voice UDP", "each run may have other ends");
    }
}
