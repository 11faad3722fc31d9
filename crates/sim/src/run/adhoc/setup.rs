//! Builds an ad hoc network from a scenario.

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_link::{AdhocQueue, AdhocQueueConfig, Discipline, Priority, QueueConfig, RedConfig};
use driftway_radio::{Dcf, NeighbourSignals, NodeInRange, Positions, Propagation, Tdma};
use driftway_route::feedback::{Feedback, IcmpConfig, RfnConfig, SchemeConfig};
use driftway_route::{Aodv, Dsr, LinkRetry, LinkRetryConfig, StaticRoutes, shortest_paths};
use driftway_scenario::{Adhoc, Scenario, Time};

use super::super::RunError;
use super::mac_layer::MacLayer;
use super::neighbours::LinkMonitor;
use super::route_prober::RouteProber;
use super::routing::Routing;
use super::segment_queueing::SegmentQueueing;
use super::{AdhocNetwork, Node};
use crate::addresses::address;
use crate::fault_injection::FaultInjection;

/// Builds all parts in their state at the start of the run.
pub fn build(adhoc: &Adhoc, scenario: &Scenario, seed: u64) -> Result<AdhocNetwork, RunError> {
    let seed = FaultInjection::network_seed(seed);
    let nodes = adhoc.nodes();
    let wrong = |bad: driftway_radio::ParameterError| RunError::Setup(bad.to_string());
    let propagation = Propagation::new(&adhoc.radio.config(), nodes, seed).map_err(wrong)?;
    let link_watch =
        adhoc.link_signals.map(|driftway_scenario::LinkSignals { lead: Time(lead) }| {
            LinkMonitor::new(lead, nodes as usize)
        });
    let field = Positions::new(adhoc.mobility(seed).map_err(wrong)?, propagation.reach());
    let routing = node_routing(adhoc, scenario, field.clone(), &propagation, seed);
    let retry = adhoc.link_retry.map(|retry| LinkRetryConfig {
        max_retries: retry.most,
        heard_within: retry.heard_within.map(|Time(within)| within),
        check_received_power: retry.strength,
    });
    let retry_listens = retry.as_ref().is_some_and(LinkRetryConfig::monitors_neighbours);
    let is_asked =
        link_watch.is_some() || retry_listens || routing.iter().any(Routing::needs_received_power);
    let powers =
        is_asked.then(|| NeighbourSignals::new(nodes as usize, propagation.receive_power()));
    let (mut air, delay) = match (adhoc.dcf(), adhoc.tdma()) {
        (Some(config), _) => {
            let delay = config.delay_down + config.delay_up;
            (MacLayer::Dcf(Dcf::new(config, field, propagation, seed)), delay)
        }
        (None, Some(config)) => {
            let delay = config.delay_down + config.delay_up;
            (MacLayer::Tdma(Tdma::new(config, field, propagation, seed)), delay)
        }
        (None, None) => return Err(RunError::Setup("there is no link layer".into())),
    };
    for (node, routing) in routing.iter().enumerate() {
        if retry_listens || routing.is_promiscuous() {
            air.set_promiscuous(node as u32);
        }
    }
    let queue = queue_config(adhoc, air.service_time(driftway_path::TYPICAL_PACKET_BYTES));
    let schemes = feedback_schemes(adhoc);
    let driftway_scenario::RouteProbeConfig { every: Time(every), most } =
        adhoc.route_probe.unwrap_or_default();
    let nodes = routing.into_iter().enumerate().map(|(number, routing)| Node {
        queue: AdhocQueue::new(queue, seed, number as u64),
        routing,
        feedback: Feedback::new(address(number), &schemes),
        link_retry: retry.map(LinkRetry::new),
        last_report_was_false: false,
        route_prober: RouteProber::new(every, most),
        queue_arrivals: Default::default(),
        arp: match &adhoc.arp {
            driftway_scenario::Arp::Off => None,
            driftway_scenario::Arp::On(keys) => Some(super::arp::node_arp(keys.config(), number)),
        },
        is_ready: false,
    });
    let order = SegmentQueueing::from_scenario(&adhoc.queue);
    Ok(AdhocNetwork::new(air, nodes.collect(), delay, order, powers, link_watch))
}

/// The feedback schemes of each node: its messages about undeliverable packets and failed routes.
fn feedback_schemes(adhoc: &Adhoc) -> Vec<SchemeConfig> {
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
    let discipline = match queue.red() {
        None => Discipline::DropTail {
            ecn_threshold: queue.ecn_threshold.map(|packets| packets as usize),
        },
        Some(red) => Discipline::Red(RedConfig {
            min_threshold: red.min_threshold,
            max_threshold: red.max_threshold,
            max_probability: red.max_probability,
            weight: red.weight,
            frame_time,
            ecn: red.ecn,
        }),
    };
    AdhocQueueConfig {
        queue: QueueConfig { limit: queue.limit(), discipline, mark_loss: 0.0 },
        priority: match queue.priority.unwrap_or_default() {
            driftway_scenario::Priority::None => Priority::None,
            driftway_scenario::Priority::RoutingFirst => Priority::RoutingFirst,
            driftway_scenario::Priority::Classes => Priority::Classes,
        },
    }
}

/// The routing protocol of every node.
fn node_routing(
    adhoc: &Adhoc,
    scenario: &Scenario,
    positions: Positions,
    propagation: &Propagation,
    seed: u64,
) -> Vec<Routing> {
    let nodes = 0..adhoc.nodes();
    match &adhoc.routing {
        driftway_scenario::Routing::Aodv(aodv) => {
            let config = aodv.config();
            let one =
                |n: u32| Routing::Aodv(Aodv::new(config, address(n as usize), seed, n.into()));
            nodes.map(one).collect()
        }
        driftway_scenario::Routing::Dsr(dsr) => {
            let config = dsr.config();
            let one = |n: u32| Routing::Dsr(Dsr::new(config, address(n as usize), seed, n.into()));
            nodes.map(one).collect()
        }
        driftway_scenario::Routing::Static(keys) => {
            let padded =
                |fixed: StaticRoutes| Routing::Static(fixed.with_tcp_padding(keys.tcp_padding));
            shortest_path_routes(scenario, positions, propagation).map(padded).collect()
        }
    }
}

/// The shortest paths between the initial positions of nodes, as far as flows need them.
fn shortest_path_routes(
    scenario: &Scenario,
    mut positions: Positions,
    propagation: &Propagation,
) -> impl Iterator<Item = StaticRoutes> {
    let nodes = positions.nodes();
    let pairs: Vec<(u32, u32)> = scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let mut tables: Vec<Vec<(Ipv4Addr, Ipv4Addr)>> = vec![Vec::new(); nodes];
    let mut near: Vec<NodeInRange> = Vec::new();
    shortest_paths(
        nodes as u32,
        |node, list| {
            near.clear();
            positions.nodes_in_range(Instant::ZERO, node, &mut near);
            let decode = near.iter().filter(|hearer| {
                propagation.initial_power_between(node, hearer.node, hearer.distance_squared)
                    >= propagation.receive_power()
            });
            list.extend(decode.map(|hearer| hearer.node));
        },
        &pairs,
        |node, to, hop| {
            tables[node as usize].push((address(to as usize), address(hop as usize)));
        },
    );
    tables.into_iter().enumerate().map(|(node, table)| StaticRoutes::new(address(node), table))
}
