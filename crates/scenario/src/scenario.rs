//! The scenario: everything about a run but its seed.

use std::sync::Arc;

use crate::flow;
use crate::keys::keys;
use crate::{
    Adhoc, Aid, Flow, Gateway, GatewayLeg, Measures, Mobility, Network, Reference, Routing, Time,
    Traffic, Transport,
};

keys! {
    /// A scenario file. The results of [`Scenario::parse`] and [`Scenario::load`] are checked, and
    /// their defaults are filled in.
    pub struct Scenario expecting "a table with the keys of a scenario" {
        /// Name of the scenario in results.
        name: String,
        /// Description for readers.
        description: Option<String> => "none",
        /// Maximum duration of a run in simulated time; the run ends earlier when all transfers are
        /// complete.
        duration: Time,
        /// Network: `[network]`.
        network: Network,
        /// Traffic flows, at least one here or in `traffic`: `[[flow]]`.
        #[serde(
            rename = "flow",
            default,
            serialize_with = "flow::serialize_listed",
            skip_serializing_if = "flow::are_none_listed"
        )]
        #[schemars(extend("x-default" = "none, if there is `traffic`"))]
        flows: Vec<Flow>,
        /// Flows between pairs of nodes that the seed draws: `[[traffic]]`.
        traffic: Vec<Traffic> => "none",
        /// Measures that take time to compute: `[measures]`.
        measures: Measures => "each key has its default",
        /// Published results to compare with: `[[reference]]`.
        #[serde(rename = "reference")]
        references: Vec<Reference> => "none",
    }
}

/// A copy, for a run that keeps its scenario.
impl From<&Scenario> for Arc<Scenario> {
    fn from(scenario: &Scenario) -> Self {
        Self::new(scenario.clone())
    }
}

impl Scenario {
    /// Name of a node in a mixed network; in other networks, and where there is no such node, its
    /// number.
    pub fn node_name(&self, node: u32) -> String {
        self.network.node_name(node)
    }

    /// Returns whether the scenario names anything of a [`Registry`](crate::Registry). Its text does not
    /// determine its runs then, so that they are not cached.
    pub fn has_registered_items(&self) -> bool {
        let of_flows =
            self.flows.iter().flat_map(|flow| [Some(&flow.aid), flow.receiver_aid.as_ref()]);
        let of_legs = self.legs().map(|leg| Some(&leg.aid));
        let flows = self.flows.iter().filter_map(|flow| flow.tcp.as_ref());
        let mut tcps = flows.chain(self.legs().filter_map(|leg| leg.tcp.as_ref()));
        let in_air = |adhoc: &Adhoc| {
            matches!(&adhoc.routing, Routing::Registered(protocol) if !protocol.is_built_in())
                || matches!(&adhoc.mobility, Mobility::Registered(model) if !model.is_built_in())
        };
        of_flows.chain(of_legs).flatten().any(Aid::is_registered)
            || tcps.any(|tcp| tcp.growth.is_registered())
            || self.network.radio_networks().any(in_air)
    }

    /// The legs of split connections.
    fn legs(&self) -> impl Iterator<Item = &GatewayLeg> {
        let gateway = match &self.network {
            Network::Mixed(mixed) => mixed.gateway.as_ref(),
            Network::Path(_) | Network::Adhoc(_) => None,
        };
        gateway.into_iter().flat_map(Gateway::legs).map(|(_, leg)| leg)
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        match &mut self.network {
            Network::Path(path) => path.resolve(),
            Network::Adhoc(adhoc) => adhoc.resolve(),
            Network::Mixed(mixed) => mixed.resolve(),
        }
        for traffic in &mut self.traffic {
            if traffic.transport == Transport::Tcp {
                traffic.tcp.get_or_insert_default().resolve();
            }
        }
        for flow in &mut self.flows {
            if flow.transport == Transport::Tcp {
                flow.tcp.get_or_insert_default().resolve();
            }
            let both_ends = flow.back.is_some();
            let aid = if both_ends { flow.aid.clone() } else { Aid::default() };
            flow.receiver_aid.get_or_insert(aid);
        }
    }

    /// Expands identical flows into one flow each.
    pub(crate) fn expand_copies(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        let copies = flows.into_iter().flat_map(|flow| {
            let copies = flow.copies as usize;
            std::iter::repeat_n(Flow { copies: 1, ..flow }, copies)
        });
        self.flows = copies.collect();
    }
}
