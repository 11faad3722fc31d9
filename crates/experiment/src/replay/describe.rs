//! The description of a run besides its events: nodes, wires, airs, flows.

use driftway_base::{DropReason, Duration, Rate};
use driftway_scenario::{Adhoc, Distance, Link, Network, Scenario, aid_states};
use driftway_sim::log::{EVENTS, Event, Layer, Reasons};
use driftway_sim::results::RunResult;
use serde::Serialize;

use crate::labels::value_label;

/// A run, as the page shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDescription {
    /// Name of the run on the page, by which two differ.
    pub label: String,
    /// Name of the scenario.
    pub name: String,
    /// Description of the scenario.
    pub description: Option<String>,
    /// The seed.
    pub seed: u64,
    /// The end of the run (s).
    pub duration_s: f64,
    /// Beginning of the part that is shown (s).
    pub from_s: f64,
    /// End of the part that is shown (s).
    pub to_s: f64,
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Nodes with a radio.
    pub radios: Vec<u32>,
    /// Width and height of the plane (m).
    pub area: Option<(f64, f64)>,
    /// Wires, in the order of their numbers.
    pub wires: Vec<Wire>,
    /// Airs, in the order of their numbers.
    pub airs: Vec<Air>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// A sentence about rows that are left out.
    pub thinning: Option<String>,
}

/// A wire.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wire {
    /// Its ends.
    pub between: [u32; 2],
    /// Its rate, or the mean of a measured one (bit/s).
    pub rate_bps: u64,
}

/// An air.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Air {
    /// Distance at which a frame can be received (m); absent if a power determines it.
    pub receive_range: Option<f64>,
    /// Distance at which a frame makes the medium busy (m).
    pub sense_range: Option<f64>,
    /// Duration of the preamble (ns).
    pub preamble_ns: u64,
    /// Rate of unicast data frames (bit/s).
    pub data_rate: u64,
    /// Rate of RTS, CTS, ACK and broadcast frames (bit/s).
    pub basic_rate: u64,
}

/// A flow.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The sender.
    pub source: u32,
    /// The receiver.
    pub destination: u32,
    /// Its transport protocol.
    pub transport: &'static str,
    /// Its aid.
    pub aid: Option<String>,
    /// Name and meaning of each state of the aid, the first one first.
    pub aid_states: &'static [(&'static str, &'static str)],
}

/// An event's meaning.
#[derive(Debug, Serialize)]
pub struct Meaning {
    layer: Layer,
    event: Event,
    meaning: &'static str,
    /// The reasons with their meanings.
    reasons: Vec<(&'static str, &'static str)>,
}

impl RunDescription {
    /// The description of a run of `scenario`.
    pub fn new(label: String, scenario: &Scenario, run: &RunResult) -> Self {
        let network = &scenario.network;
        let nodes: Vec<String> = (0..network.nodes()).map(|n| scenario.node_name(n)).collect();
        let flows = run.flows.iter();
        let flows = flows.map(|flow| {
            let ends = [flow.source, flow.destination].map(|node| scenario.node_name(node));
            let mut name = format!("{} → {}", ends[0], ends[1]);
            if let Some(own) = &flow.name {
                name = format!("{own}, {name}");
            }
            if let Some(aid) = &flow.aid {
                name = format!("{name}, {}", value_label(aid));
            }
            Flow {
                name,
                source: flow.source,
                destination: flow.destination,
                transport: if flow.tcp.is_some() { "tcp" } else { "udp" },
                aid: flow.aid.clone(),
                aid_states: flow.aid.as_deref().map_or(&[], aid_states),
            }
        });
        Self {
            label,
            name: scenario.name.clone(),
            description: scenario.description.clone(),
            seed: run.seed,
            duration_s: run.duration_s,
            from_s: 0.0,
            to_s: run.duration_s,
            radios: match network {
                Network::Path(_) => Vec::new(),
                Network::Adhoc(_) => (0..network.nodes()).collect(),
                Network::Mixed(mixed) => mixed.radio_nodes(),
            },
            nodes,
            area: network
                .radio_networks()
                .next()
                .and_then(|air| air.area)
                .map(|(Distance(width), Distance(height))| (width, height)),
            wires: wires(network),
            airs: network.radio_networks().map(air).collect(),
            flows: flows.collect(),
            thinning: None,
        }
    }
}

fn air(adhoc: &Adhoc) -> Air {
    let metres = |range: Option<Distance>| range.map(|Distance(metres)| metres);
    let (preamble, data, basic) = match (adhoc.dcf(), adhoc.tdma()) {
        (Some(dcf), _) => (dcf.preamble, dcf.data_rate, dcf.basic_rate),
        (None, Some(tdma)) => (tdma.preamble, tdma.data_rate, tdma.data_rate),
        (None, None) => (Duration::ZERO, Rate::from_bps(0), Rate::from_bps(0)),
    };
    Air {
        receive_range: metres(adhoc.radio.receive_range),
        sense_range: metres(adhoc.radio.sense_range),
        preamble_ns: preamble.as_nanos(),
        data_rate: data.as_bps(),
        basic_rate: basic.as_bps(),
    }
}

/// The wires of a network: of a path, the hops of the chain, then those of each parallel route.
fn wires(network: &Network) -> Vec<Wire> {
    let wire =
        |between: [u32; 2], link: &Link| Wire { between, rate_bps: link.mean_rate().as_bps() };
    match network {
        Network::Adhoc(_) => Vec::new(),
        Network::Mixed(mixed) => mixed.wires.iter().map(|of| wire(of.between, &of.link)).collect(),
        Network::Path(path) => {
            let mut wires: Vec<Wire> =
                (1..=path.hops).map(|hop| wire([hop - 1, hop], &path.hop_link(hop))).collect();
            let mut next = path.hops + 1;
            for route in &path.parallel {
                let link = path.parallel_link(route);
                let mut at = route.from;
                for hop in 1..=route.hops {
                    let to = if hop == route.hops { route.to } else { next };
                    next += u32::from(hop < route.hops);
                    wires.push(wire([at, to], &link));
                    at = to;
                }
            }
            wires
        }
    }
}

/// The meanings of all events.
pub fn meanings() -> Vec<Meaning> {
    let meaning = |event: &driftway_sim::log::EventInfo| Meaning {
        layer: event.layer,
        event: event.event,
        meaning: event.meaning,
        reasons: match event.reasons {
            Reasons::Words(words) => words.to_vec(),
            Reasons::Drop => {
                DropReason::ALL.iter().map(|reason| (reason.name(), reason.description())).collect()
            }
            Reasons::None | Reasons::AidState | Reasons::Fault => Vec::new(),
        },
    };
    EVENTS.iter().map(meaning).collect()
}
