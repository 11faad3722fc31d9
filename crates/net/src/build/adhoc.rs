//! Builds an ad hoc network from a scenario.

use driftway_base::{Duration, Instant, Ipv4Addr, NodeId, RadioId, StationId};
use driftway_link::{AdhocQueue, AdhocQueueConfig, Arp, QueueConfig, RedConfig};
use driftway_radio::{Dcf, NeighbourSignals, Positions, Propagation, StationInRange, Tdma};
use driftway_route::feedback::{Feedback, IcmpConfig, RfnConfig, SchemeConfig};
use driftway_route::{
    Aodv, Dsr, LinkRetry, LinkRetryConfig, RoutingPlace, RoutingProtocol, StaticRoutes,
    shortest_paths,
};
use driftway_scenario::{Adhoc, Time};
use driftway_wire::HardwareAddr;
use typed_index_collections::{TiSlice, TiVec};

use super::error::BuildError;
use super::seeds::Seeds;
use crate::addresses::address;
use crate::air::link_monitor::LinkMonitor;
use crate::air::mac_layer::MacLayer;
use crate::air::medium::Medium;
use crate::air::radio::Radio;
use crate::air::route_prober::RouteProber;
use crate::air::segment_order::SegmentQueueing;
use crate::faults::{FaultPlan, Faults, active_faults};
use crate::network::{Node, Parts};
use crate::wired::gateways::Gateways;
use crate::wired::route_table::RouteTable;
use crate::wired::topology::{Topology, WiredRoutes};
use crate::wired::wires::Wires;

/// Builds the parts of an ad hoc network.
pub fn build(
    adhoc: &Adhoc,
    duration: Time,
    pairs: &[(NodeId, NodeId)],
    seeds: Seeds,
) -> Result<Parts, BuildError> {
    let nodes: Vec<NodeId> = (0..adhoc.nodes()).map(NodeId::new).collect();
    let air = build_medium(&[(adhoc, nodes.clone())], &nodes, pairs, seeds.network)?;
    let schemes = feedback_schemes(adhoc);
    let own = nodes.iter().zip(air.routing);
    Ok(Parts {
        topology: Topology::new(
            nodes.len(),
            TiVec::new(),
            WiredRoutes::Table(RouteTable::default()),
        ),
        wires: Wires::new(TiVec::new(), TiVec::new()),
        nodes: own
            .map(|(node, routing)| {
                let feedback = Feedback::new(address(*node), &schemes);
                let radios = vec![RadioId::new(node.number())];
                Node::with_radios(feedback, routing, radios, route_prober(adhoc))
            })
            .collect(),
        medium: air.medium,
        faults: Faults::new(active_faults(&FaultPlan {
            faults: &adhoc.faults,
            hops: TiSlice::from_ref(&[]),
            duration,
            seed: seeds.faults,
        })),
        gateways: Gateways::default(),
    })
}

/// Airs with their radios, and the routing over them.
pub struct AirParts {
    /// The airs with their radios.
    pub medium: Medium,
    /// The routing protocol of each node with radios.
    pub routing: Vec<Box<dyn RoutingProtocol>>,
}

/// Builds the airs of a network, each with these nodes on it, and the routing of all nodes with radios.
/// Static routes are those that pairs of these nodes need.
pub fn build_medium(
    airs: &[(&Adhoc, Vec<NodeId>)],
    nodes: &[NodeId],
    pairs: &[(NodeId, NodeId)],
    seed: u64,
) -> Result<AirParts, BuildError> {
    let stations = airs.iter().enumerate().map(|(air, (adhoc, nodes))| {
        AirStations::new(adhoc, nodes, driftway_scenario::Mixed::air_seed(seed, air))
    });
    let stations = stations.collect::<Result<Vec<_>, _>>()?;
    let Some(AirStations { adhoc, propagation, .. }) = stations.first() else {
        return Err(BuildError("there is no air".into()));
    };
    let all_nodes = nodes.iter().max().map_or(0, |last| last.index() + 1);
    let routing = node_routing(adhoc, nodes, pairs, &stations, seed)?;
    let link_monitor =
        adhoc.link_signals.map(|driftway_scenario::LinkSignals { lead: Time(lead) }| {
            LinkMonitor::new(lead, all_nodes)
        });
    let needs_power = link_monitor.is_some()
        || retry_config(adhoc).as_ref().is_some_and(LinkRetryConfig::monitors_neighbours)
        || routing.iter().any(|node| node.needs_received_power());
    let neighbour_signals =
        needs_power.then(|| NeighbourSignals::new(all_nodes, propagation.receive_power()));
    let segment_queueing = SegmentQueueing::from_scenario(&adhoc.queue);
    let mut medium = Medium::new(segment_queueing, neighbour_signals, link_monitor);
    let is_promiscuous = routing.iter().any(|node| node.is_promiscuous());
    for air in stations {
        add_air(&mut medium, air, is_promiscuous)?;
    }
    Ok(AirParts { medium, routing })
}

/// The stations of an air: where they are, and how they hear each other.
struct AirStations<'a> {
    adhoc: &'a Adhoc,
    /// The node of each.
    nodes: &'a TiSlice<StationId, NodeId>,
    seed: u64,
    positions: Positions,
    propagation: Propagation,
}

impl<'a> AirStations<'a> {
    fn new(adhoc: &'a Adhoc, nodes: &'a [NodeId], seed: u64) -> Result<Self, BuildError> {
        let wrong = |bad: driftway_radio::ParameterError| BuildError(bad.to_string());
        let radio = adhoc.radio.config();
        let propagation = Propagation::new(&radio, nodes.len() as u32, seed).map_err(wrong)?;
        let positions = Positions::new(adhoc.mobility(seed).map_err(wrong)?, propagation.reach());
        Ok(Self { adhoc, nodes: nodes.as_ref(), seed, positions, propagation })
    }
}

fn retry_config(adhoc: &Adhoc) -> Option<LinkRetryConfig> {
    adhoc.link_retry.map(|retry| LinkRetryConfig {
        max_retries: retry.most,
        heard_within: retry.heard_within.map(|Time(within)| within),
        check_received_power: retry.strength,
    })
}

/// Adds an air with its radios.
fn add_air(
    medium: &mut Medium,
    air: AirStations<'_>,
    is_promiscuous: bool,
) -> Result<(), BuildError> {
    let AirStations { adhoc, nodes, seed, positions, propagation } = air;
    let (mut mac, stack_delay) = match (adhoc.dcf(), adhoc.tdma()) {
        (Some(config), _) => {
            let delay = config.delay_down + config.delay_up;
            (MacLayer::Dcf(Dcf::new(config, positions, propagation, seed)), delay)
        }
        (None, Some(config)) => {
            let delay = config.delay_down + config.delay_up;
            (MacLayer::Tdma(Tdma::new(config, positions, propagation, seed)), delay)
        }
        (None, None) => return Err(BuildError("there is no link layer".into())),
    };
    let retry = retry_config(adhoc);
    if is_promiscuous || retry.as_ref().is_some_and(LinkRetryConfig::monitors_neighbours) {
        nodes.keys().for_each(|station| mac.set_promiscuous(station));
    }
    let queue = queue_config(adhoc, mac.service_time(RedConfig::TYPICAL_FRAME_BYTES));
    let radio = |(station, node): (StationId, &NodeId)| {
        let queue = AdhocQueue::new(queue, seed, station.into());
        let mut radio = Radio::new(*node, queue, stack_delay);
        radio.link_retry = retry.map(LinkRetry::new);
        if let driftway_scenario::Arp::On(keys) = &adhoc.arp {
            let hardware = HardwareAddr::of_node(*node);
            radio.arp = Some(Arp::new(keys.config(), address(*node), hardware));
        }
        radio
    };
    let radios = nodes.iter_enumerated().map(radio).collect();
    let power = adhoc.radio.energy.as_ref().map(driftway_scenario::Energy::power);
    medium.add_air(mac, radios, power);
    Ok(())
}

/// The prober of a node on the air.
pub fn route_prober(adhoc: &Adhoc) -> RouteProber {
    let driftway_scenario::RouteProbeConfig { every: Time(every), most } =
        adhoc.route_probe.unwrap_or_default();
    RouteProber::new(every, most)
}

/// The feedback schemes of each node: its messages about undeliverable packets and failed routes.
pub fn feedback_schemes(adhoc: &Adhoc) -> Vec<SchemeConfig> {
    let icmp = IcmpConfig {
        unreachable: adhoc.feedback == driftway_scenario::Feedback::IcmpUnreachable,
        time_exceeded: adhoc.feedback != driftway_scenario::Feedback::None,
        source_quench: adhoc.queue.source_quench,
        per_second: adhoc.icmp_rate,
    };
    // Routing chooses next hops and decides which failure reports to use. The RFN agent only sends
    // RFNs for its own node, and RRNs to the sources that have received one.
    let rfn = RfnConfig { rfn_lifetime: Duration::ZERO, buffer: None };
    let further = match adhoc.feedback {
        driftway_scenario::Feedback::None | driftway_scenario::Feedback::IcmpUnreachable => None,
        driftway_scenario::Feedback::Rfn => Some(SchemeConfig::Rfn(rfn)),
    };
    [SchemeConfig::Icmp(icmp)].into_iter().chain(further).collect()
}

fn queue_config(adhoc: &Adhoc, frame_time: Duration) -> AdhocQueueConfig {
    let queue = &adhoc.queue;
    let discipline = queue.config(frame_time);
    AdhocQueueConfig {
        queue: QueueConfig { limit: queue.limit(), max_bytes: None, discipline, mark_loss: 0.0 },
        priority: queue.priority.unwrap_or_default().0,
    }
}

/// The routing protocol of every node.
fn node_routing(
    adhoc: &Adhoc,
    nodes: &[NodeId],
    pairs: &[(NodeId, NodeId)],
    airs: &[AirStations<'_>],
    seed: u64,
) -> Result<Vec<Box<dyn RoutingProtocol>>, BuildError> {
    let of_indices = nodes;
    let nodes = nodes.iter().copied();
    Ok(match &adhoc.routing {
        driftway_scenario::Routing::Aodv(aodv) => {
            let config = aodv.config();
            let one = |node: NodeId| Aodv::new(config, address(node), seed, node.into());
            nodes.map(|node| boxed(one(node))).collect()
        }
        driftway_scenario::Routing::Dsr(dsr) => {
            let config = dsr.config();
            let one = |node: NodeId| Dsr::new(config, address(node), seed, node.into());
            nodes.map(|node| boxed(one(node))).collect()
        }
        driftway_scenario::Routing::Static(keys) => {
            let tables = shortest_path_tables(of_indices, pairs, airs);
            let one = |(n, table)| {
                let routes = StaticRoutes::new(address(n), table);
                boxed(routes.with_tcp_padding(keys.tcp_padding))
            };
            nodes.zip(tables).map(one).collect()
        }
        // The next hop to each node is that node.
        driftway_scenario::Routing::None(_) => {
            let all: Vec<_> =
                of_indices.iter().map(|node| (address(*node), address(*node))).collect();
            let one = |node: NodeId| {
                let others = all.iter().filter(|(to, _)| *to != address(node));
                StaticRoutes::new(address(node), others.copied().collect())
            };
            nodes.map(|node| boxed(one(node))).collect()
        }
        driftway_scenario::Routing::Registered(protocol) => {
            let one = |node| {
                let built = protocol.build(&RoutingPlace { address: address(node), node, seed });
                built.map_err(|error| BuildError(format!("{}: {error:?}", protocol.name())))
            };
            nodes.map(one).collect::<Result<_, _>>()?
        }
    })
}

fn boxed(protocol: impl RoutingProtocol + 'static) -> Box<dyn RoutingProtocol> {
    Box::new(protocol)
}

/// The shortest paths over the air between the initial positions of nodes, as far as pairs of these need them:
/// for each node the next hops by destination.
fn shortest_path_tables(
    nodes: &[NodeId],
    pairs: &[(NodeId, NodeId)],
    airs: &[AirStations<'_>],
) -> Vec<Vec<(Ipv4Addr, Ipv4Addr)>> {
    let mut tables = vec![Vec::new(); nodes.len()];
    let mut near: Vec<StationInRange> = Vec::new();
    let mut positions: Vec<Positions> = airs.iter().map(|air| air.positions.clone()).collect();
    let index_of = |node: NodeId| nodes.iter().position(|other| *other == node).map(|n| n as u32);
    let pairs = pairs.iter().filter_map(|(from, to)| Some((index_of(*from)?, index_of(*to)?)));
    let pairs: Vec<_> = pairs.collect();
    shortest_paths(
        nodes.len() as u32,
        |index, list| {
            for (air, positions) in airs.iter().zip(&mut positions) {
                let own = |node: &NodeId| *node == nodes[index as usize];
                let Some(station) = air.nodes.position(own) else { continue };
                near.clear();
                positions.stations_in_range(Instant::ZERO, station, &mut near);
                let decode = near.iter().filter(|hearer| {
                    let (other, distance) = (hearer.station, hearer.distance_squared);
                    air.propagation.initial_power_between(station, other, distance)
                        >= air.propagation.receive_power()
                });
                list.extend(decode.filter_map(|hearer| index_of(air.nodes[hearer.station])));
            }
        },
        &pairs,
        |node, to, hop| {
            let of = |index: u32| address(nodes[index as usize]);
            tables[node as usize].push((of(to), of(hop)));
        },
    );
    tables
}
