//! Builds an ad hoc network from a scenario.

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_link::{AdhocQueue, AdhocQueueConfig, Discipline, Priority, QueueConfig, RedConfig};
use driftway_radio::{Dcf, Field, Hearer, Neighbours, Propagation, Tdma};
use driftway_route::feedback::{Feedback, IcmpConfig, RfnConfig, Setup};
use driftway_route::{Aodv, Dsr, Fixed, LinkRetry, LinkRetryConfig, shortest_paths};
use driftway_scenario::{Adhoc, Scenario, Time};

use super::super::RunError;
use super::air::Air;
use super::neighbours::LinkWatch;
use super::order::Order;
use super::routing::Routing;
use super::seek::Seeker;
use super::{AdhocAtWork, Node};
use crate::nodes::address;
use crate::sabotage::Sabotage;

/// Builds all parts in their state at the start of the run.
pub fn build(adhoc: &Adhoc, scenario: &Scenario, seed: u64) -> Result<AdhocAtWork, RunError> {
    let seed = Sabotage::seed(seed);
    let nodes = adhoc.nodes();
    let wrong = |bad: driftway_radio::BadParameter| RunError::Setup(bad.to_string());
    let propagation = Propagation::new(&adhoc.radio.config(), nodes, seed).map_err(wrong)?;
    let link_watch =
        adhoc.link_signals.map(|driftway_scenario::LinkSignals { lead: Time(lead) }| {
            LinkWatch::new(lead, nodes as usize)
        });
    let field = Field::new(adhoc.mobility(seed).map_err(wrong)?, propagation.reach());
    let routing = protocols(adhoc, scenario, field.clone(), &propagation, seed);
    let retry = adhoc.link_retry.map(|retry| LinkRetryConfig {
        most: retry.most,
        heard_within: retry.heard_within.map(|Time(within)| within),
        strength: retry.strength,
    });
    let retry_listens = retry.as_ref().is_some_and(LinkRetryConfig::listens);
    let is_asked =
        link_watch.is_some() || retry_listens || routing.iter().any(Routing::wants_strength);
    let strengths = is_asked.then(|| Neighbours::new(nodes as usize, propagation.receive_power()));
    let (mut air, delay) = match (adhoc.dcf(), adhoc.tdma()) {
        (Some(config), _) => {
            let delay = config.delay_down + config.delay_up;
            (Air::Dcf(Dcf::new(config, field, propagation, seed)), delay)
        }
        (None, Some(config)) => {
            let delay = config.delay_down + config.delay_up;
            (Air::Tdma(Tdma::new(config, field, propagation, seed)), delay)
        }
        (None, None) => return Err(RunError::Setup("there is no link layer".into())),
    };
    for (node, routing) in routing.iter().enumerate() {
        if retry_listens || routing.listens() {
            air.listen(node as u32);
        }
    }
    let queue = queue(adhoc, air.service_time(driftway_path::TYPICAL_PACKET));
    let schemes = schemes(adhoc);
    let driftway_scenario::Seek { every: Time(every), most } = adhoc.seek.unwrap_or_default();
    let nodes = routing.into_iter().enumerate().map(|(number, routing)| Node {
        queue: AdhocQueue::new(queue, seed, number as u64),
        routing,
        feedback: Feedback::new(address(number), &schemes),
        retry: retry.map(LinkRetry::new),
        reported_falsely: false,
        seeker: Seeker::new(every, most),
        arriving: Default::default(),
        arp: match &adhoc.arp {
            driftway_scenario::Arp::Off => None,
            driftway_scenario::Arp::On(keys) => Some(super::arp::of_node(keys.config(), number)),
        },
        stirred: false,
    });
    let order = Order::of(&adhoc.queue);
    Ok(AdhocAtWork::new(air, nodes.collect(), delay, order, strengths, link_watch))
}

/// The feedback schemes of each node: its messages about undeliverable packets and failed routes.
fn schemes(adhoc: &Adhoc) -> Vec<Setup> {
    let icmp = IcmpConfig {
        unreachable: adhoc.feedback == driftway_scenario::Feedback::IcmpUnreachable,
        time_exceeded: adhoc.feedback != driftway_scenario::Feedback::None,
        source_quench: adhoc.queue.source_quench,
        per_second: adhoc.icmp_rate,
    };
    // Routing chooses next hops and decides which failure reports to use. The RFN agent only sends
    // RFNs for its own node, and RRNs to the sources that have received one.
    let rfn = RfnConfig { believes: Duration::ZERO, buffer: None };
    let further = match adhoc.feedback {
        driftway_scenario::Feedback::None | driftway_scenario::Feedback::IcmpUnreachable => None,
        driftway_scenario::Feedback::Rfn => Some(Setup::Rfn(rfn)),
    };
    [Setup::Icmp(icmp)].into_iter().chain(further).collect()
}

fn queue(adhoc: &Adhoc, frame_time: Duration) -> AdhocQueueConfig {
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
fn protocols(
    adhoc: &Adhoc,
    scenario: &Scenario,
    field: Field,
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
            let padded = |fixed: Fixed| Routing::Fixed(fixed.padded(keys.tcp_padding));
            shortest(scenario, field, propagation).map(padded).collect()
        }
    }
}

/// The shortest paths between the initial positions of nodes, as far as flows need them.
fn shortest(
    scenario: &Scenario,
    mut field: Field,
    propagation: &Propagation,
) -> impl Iterator<Item = Fixed> {
    let nodes = field.nodes();
    let pairs: Vec<(u32, u32)> = scenario.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    let mut tables: Vec<Vec<(Ipv4Addr, Ipv4Addr)>> = vec![Vec::new(); nodes];
    let mut near: Vec<Hearer> = Vec::new();
    shortest_paths(
        nodes as u32,
        |node, list| {
            near.clear();
            field.hearers(Instant::ZERO, node, &mut near);
            let decode = near.iter().filter(|hearer| {
                propagation.power_between(node, hearer.node, hearer.distance_squared)
                    >= propagation.receive_power()
            });
            list.extend(decode.map(|hearer| hearer.node));
        },
        &pairs,
        |node, to, hop| {
            tables[node as usize].push((address(to as usize), address(hop as usize)));
        },
    );
    tables.into_iter().enumerate().map(|(node, table)| Fixed::new(address(node), table))
}
