//! The fewest hops that are possible.

use driftway_base::{FlowId, NodeId};
use driftway_net::Network;
use driftway_scenario::Scenario;
use typed_index_collections::TiVec;

/// The fewest possible hops of each flow.
#[derive(Debug)]
pub enum ShortestHops {
    /// They are not measured.
    Unmeasured,
    /// Nodes move: they are computed for each packet.
    Moving,
    /// No node moves: they are computed when wires or radios have changed. With each result the number
    /// of these changes.
    Static(TiVec<FlowId, Option<(u64, Option<u32>)>>),
}

impl ShortestHops {
    /// Prepares what the scenario asks for.
    pub fn new(scenario: &Scenario) -> Self {
        let measures = &scenario.measures;
        match (measures.counts_shortest_hops(&scenario.network), scenario.network.moves()) {
            (false, _) => Self::Unmeasured,
            (true, true) => Self::Moving,
            (true, false) => Self::Static(scenario.flows.iter().map(|_| None).collect()),
        }
    }

    /// Returns the fewest hops from one end of a flow to the other at present; `None` if they are not
    /// connected, or not measured.
    pub fn find(&mut self, net: &mut Network, flow: FlowId, ends: [NodeId; 2]) -> Option<u32> {
        let [from, to] = ends;
        match self {
            Self::Unmeasured => None,
            Self::Moving => net.shortest_hops(from, to),
            Self::Static(known) => {
                let changes = net.connectivity_changes();
                let known = known.get_mut(flow)?;
                match known {
                    Some((at, hops)) if *at == changes => *hops,
                    _ => known.insert((changes, net.shortest_hops(from, to))).1,
                }
            }
        }
    }
}
