//! A mixed network: named nodes, wires between them, radios on some.
//!
//! Over wires packets take the routes of the scenario, which are the shortest unless it says
//! otherwise. A node with a radio and a wire is a *gateway*: on the air it answers for the wired nodes
//! behind it, as the routing protocol's own text has it (see `add_external` of each protocol). A wired
//! node sends what no wire reaches to the gateway that has heard from it last, at first to the one with
//! the fewest wires in between, of equal ones the first; with static routes always to that.

use driftway_base::{LinkId, NodeId};
use driftway_route::feedback::{Feedback, IcmpConfig, SchemeConfig};
use driftway_scenario::{Adhoc, Air, Mixed, Scenario, WireRoutes};
use typed_index_collections::{TiSlice, TiVec};

use super::adhoc::{AirParts, build_medium, feedback_schemes, route_prober};
use super::error::BuildError;
use super::path::build_wires;
use super::seeds::Seeds;
use crate::addresses::address;
use crate::air::medium::Medium;
use crate::faults::{FaultPlan, Faults, active_faults};
use crate::network::{Node, Parts};
use crate::wired::gateways::Gateways;
use crate::wired::route_table::RouteTable;
use crate::wired::topology::{Topology, WiredRoutes};

/// Builds the parts of a mixed network.
pub fn build(
    mixed: &Mixed,
    scenario: &Scenario,
    pairs: &[(NodeId, NodeId)],
    seeds: Seeds,
) -> Result<Parts, BuildError> {
    let count = mixed.nodes.len();
    let ends = mixed.wires.iter().map(|wire| wire.between.map(NodeId::new));
    let endpoints: TiVec<LinkId, [NodeId; 2]> = ends.collect();
    let links: TiVec<LinkId, _> = mixed.wires.iter().map(|wire| wire.link.clone()).collect();
    let radios = mixed.radio_nodes().into_iter().map(NodeId::new);
    let plan = Wiring::new(&mixed.wire_routes(), count, &endpoints, radios.collect());
    let wired = |node| Node::wired(Feedback::new(address(NodeId::from(node)), &wired_schemes()));
    let mut parts = Parts {
        topology: Topology::new(count, endpoints, WiredRoutes::Table(plan.routes())),
        wires: build_wires(&links, seeds.network),
        medium: Medium::default(),
        nodes: (0..count).map(wired).collect(),
        faults: Faults::new(active_faults(&FaultPlan {
            faults: &mixed.faults,
            hops: &links,
            duration: scenario.duration,
            seed: seeds.faults,
        })),
        gateways: Gateways::splitting(
            mixed.splitting_gateway().map(|gateway| NodeId::new(gateway.node)),
        ),
    };
    if let Some(first) = mixed.airs.first() {
        let pairs = pairs.iter().filter_map(|(from, to)| plan.radio_pair(*from, *to));
        let pairs: Vec<_> = pairs.collect();
        let nodes_of = |air: &Air| air.radios.iter().map(|node| NodeId::new(*node)).collect();
        let airs = mixed.airs.iter().map(|air| (&air.adhoc, nodes_of(air)));
        let airs: Vec<(&Adhoc, Vec<NodeId>)> = airs.collect();
        let built = build_medium(&airs, &plan.radios, &pairs, seeds.network)?;
        plan.add_air(&mut parts, built, &first.adhoc);
    }
    Ok(parts)
}

/// The feedback of nodes without radios: an error message for each packet, as on a path.
fn wired_schemes() -> [SchemeConfig; 1] {
    let icmp =
        IcmpConfig { unreachable: true, time_exceeded: true, source_quench: true, per_second: 0 };
    [SchemeConfig::Icmp(icmp)]
}

/// The nodes with radios, and the routes over wires.
struct Wiring {
    table: RouteTable,
    /// The nodes with radios.
    radios: Vec<NodeId>,
    /// The gateway over which each node reaches the air at first: itself, if it has a radio.
    gateways: TiVec<NodeId, Option<NodeId>>,
    /// All gateways of each node, the nearest first.
    ranked: TiVec<NodeId, Vec<NodeId>>,
}

impl Wiring {
    fn new(
        routes: &WireRoutes,
        nodes: usize,
        endpoints: &TiSlice<LinkId, [NodeId; 2]>,
        radios: Vec<NodeId>,
    ) -> Self {
        let table = RouteTable::new(routes, endpoints, nodes);
        let rank = |node: NodeId| {
            let distances = radios.iter().filter_map(|gateway| {
                Some((routes.length(node.index(), gateway.index())?, *gateway))
            });
            let mut distances: Vec<_> = distances.collect();
            distances.sort_unstable();
            distances.into_iter().map(|(_, gateway)| gateway).collect()
        };
        let ranked: TiVec<NodeId, Vec<NodeId>> = (0..nodes).map(NodeId::from).map(rank).collect();
        let gateways = ranked.iter().map(|gateways| gateways.first().copied()).collect();
        Self { table, radios, gateways, ranked }
    }

    /// Lets each node without a radio choose from the gateways that it reaches.
    fn choose_gateways(&self, gateways: &mut Gateways) {
        let joins = |node: NodeId| {
            let joined = |other: &NodeId| self.table.next_link(node, *other).is_some();
            self.ranked.keys().take(node.index()).find(joined).unwrap_or(node)
        };
        let of_node =
            self.ranked.iter_enumerated().map(|(node, gateways)| (node, gateways.clone()));
        let of_node = of_node.filter(|(node, _)| !self.has_radio(*node)).collect();
        gateways.set_choice(self.ranked.keys().map(joins).collect(), of_node);
    }

    fn has_radio(&self, node: NodeId) -> bool {
        self.radios.contains(&node)
    }

    /// The routes over wires: the shortest, and to the nearest gateway for what wires do not reach.
    fn routes(&self) -> RouteTable {
        let mut routes = self.table.clone();
        for (node, gateway) in self.gateways.iter_enumerated() {
            let Some(gateway) = gateway.filter(|gateway| *gateway != node) else { continue };
            if self.has_radio(node) {
                continue;
            }
            for destination in self.gateways.keys().filter(|other| *other != node) {
                if self.table.next_link(node, destination).is_none() {
                    routes.set_via(node, destination, gateway);
                }
            }
        }
        routes
    }

    /// Returns the nodes with radios between which packets of a flow go over the air; `None`: they do not.
    fn radio_pair(&self, from: NodeId, to: NodeId) -> Option<(NodeId, NodeId)> {
        if self.table.next_link(from, to).is_some() {
            return None;
        }
        let gateway = |node| *self.gateways.get(node)?;
        let (from, to) = (gateway(from)?, gateway(to)?);
        (from != to).then_some((from, to))
    }

    /// The wired nodes for which a gateway answers.
    fn behind(&self, gateway: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let nodes = self.gateways.keys().filter(|node| !self.has_radio(*node));
        nodes.filter(move |node| self.table.next_link(gateway, *node).is_some())
    }

    fn add_air(&self, parts: &mut Parts, mut air: AirParts, adhoc: &Adhoc) {
        for (index, gateway) in self.radios.iter().copied().enumerate() {
            for node in self.behind(gateway) {
                let external = address(node);
                air.routing[index].add_external(external);
                // Static routes to the gateway lead to what is behind it, if it is the nearest.
                let nearest = self.gateways[node];
                for routing in &mut air.routing {
                    if nearest == Some(gateway) {
                        routing.add_route_through(external, address(gateway));
                    }
                }
            }
        }
        let schemes = feedback_schemes(adhoc);
        for (node, routing) in self.radios.iter().copied().zip(air.routing) {
            let feedback = Feedback::new(address(node), &schemes);
            let radios = air.medium.radios_of(node);
            parts.nodes[node] = Node::with_radios(feedback, routing, radios, route_prober(adhoc));
        }
        parts.medium = air.medium;
        use driftway_scenario::Routing;
        let is_static = matches!(adhoc.routing, Routing::Static(_) | Routing::None(_));
        if !is_static {
            self.choose_gateways(&mut parts.gateways);
        }
    }
}
