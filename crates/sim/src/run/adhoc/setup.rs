//! An ad hoc network as a scenario says it.

use base::{Chance, Duration, Instant, Ipv4Addr};
use link::{AdhocQueue, AdhocQueueConfig, Discipline, Priority, QueueConfig, RedConfig};
use radio::{Dcf, DcfConfig, Field, Hearer, Propagation, Tdma, TdmaConfig};
use route::{Aodv, AodvConfig, Config, Dsr, DsrConfig, Fixed, Router, shortest_paths};
use scenario::{Adhoc, BitRate, Compat, Mac, Scenario, Time};

use super::super::RunError;
use super::air::Air;
use super::routing::Routing;
use super::{AdhocAtWork, Node};
use crate::nodes::address;
use crate::sabotage::Sabotage;
use crate::topology::bytes;

/// How long a router believes a route failure notification of another (as on a path).
const BELIEVES: Duration = Duration::from_secs(20);

/// Everything in its place at the start of the run.
pub fn build(adhoc: &Adhoc, scenario: &Scenario, seed: u64) -> Result<AdhocAtWork, RunError> {
    let seed = Sabotage::seed(seed);
    let nodes = adhoc.nodes();
    let wrong = |bad: radio::BadParameter| RunError::Setup(bad.to_string());
    let propagation = Propagation::new(&adhoc.radio.config(), nodes, seed).map_err(wrong)?;
    let field = Field::new(adhoc.mobility(seed).map_err(wrong)?, propagation.reach());
    let routing = protocols(adhoc, scenario, field.clone(), &propagation, seed);
    let (mut air, delay) = match &adhoc.mac {
        Mac::Dcf(_) => {
            let config = dcf(adhoc);
            let delay = config.delay_down + config.delay_up;
            (Air::Dcf(Dcf::new(config, field, propagation, seed)), delay)
        }
        Mac::Tdma(tdma) => {
            let BitRate(rate) = tdma.data_rate;
            let config = TdmaConfig {
                rate,
                slot_bytes: bytes(tdma.slot),
                frame_error: Chance::from_probability(adhoc.radio.packet_error_rate),
                ..TdmaConfig::STANDARD
            };
            let delay = config.delay_down + config.delay_up;
            (Air::Tdma(Tdma::new(config, field, propagation, seed)), delay)
        }
    };
    for (node, routing) in routing.iter().enumerate() {
        if routing.listens() {
            air.listen(node as u32);
        }
    }
    let queue = queue(adhoc);
    let nodes = routing.into_iter().enumerate().map(|(number, routing)| Node {
        queue: AdhocQueue::new(queue, seed, number as u64),
        routing,
        router: Router::new(address(number), Config { believes: BELIEVES, buffer: None }),
        arriving: Default::default(),
        stirred: false,
    });
    Ok(AdhocAtWork::new(air, nodes.collect(), delay, adhoc.feedback))
}

fn dcf(adhoc: &Adhoc) -> DcfConfig {
    let Mac::Dcf(mac) = &adhoc.mac else { return DcfConfig::STANDARD };
    let base = match adhoc.compat {
        Compat::Standard => DcfConfig::STANDARD,
        Compat::Ns2 => DcfConfig::NS2,
    };
    let (BitRate(data_rate), BitRate(basic_rate)) = (mac.data_rate, mac.basic_rate);
    let (Time(slot), Time(sifs)) = (mac.slot, mac.sifs);
    DcfConfig {
        data_rate,
        basic_rate,
        slot,
        sifs,
        cw_min: mac.cw_min as u16,
        cw_max: mac.cw_max as u16,
        rts_threshold: bytes(mac.rts_threshold).saturating_add(base.frame_bytes(0)),
        short_retry_limit: mac.short_retry_limit as u8,
        long_retry_limit: mac.long_retry_limit as u8,
        frame_error: Chance::from_probability(adhoc.radio.packet_error_rate),
        ..base
    }
}

fn queue(adhoc: &Adhoc) -> AdhocQueueConfig {
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
            frame_time: Duration::from_millis(7),
            ecn: red.ecn,
        }),
    };
    AdhocQueueConfig {
        queue: QueueConfig { limit: queue.packets as usize, discipline, mark_loss: 0.0 },
        priority: match queue.priority.unwrap_or_default() {
            scenario::Priority::None => Priority::None,
            scenario::Priority::RoutingFirst => Priority::RoutingFirst,
            scenario::Priority::Classes => Priority::Classes,
        },
    }
}

/// Every node's routing.
fn protocols(
    adhoc: &Adhoc,
    scenario: &Scenario,
    field: Field,
    propagation: &Propagation,
    seed: u64,
) -> Vec<Routing> {
    let ns2 = adhoc.compat == Compat::Ns2;
    let nodes = 0..adhoc.nodes();
    match &adhoc.routing {
        scenario::Routing::Aodv(_) => {
            let config = if ns2 { AodvConfig::NS2 } else { AodvConfig::STANDARD };
            let one = |node: u32| {
                Routing::Aodv(Aodv::new(config, address(node as usize), seed, node.into()))
            };
            nodes.map(one).collect()
        }
        scenario::Routing::Dsr(_) => {
            let config = if ns2 { DsrConfig::NS2 } else { DsrConfig::STANDARD };
            let one = |node: u32| {
                Routing::Dsr(Dsr::new(config, address(node as usize), seed, node.into()))
            };
            nodes.map(one).collect()
        }
        scenario::Routing::Static(_) => shortest(scenario, field, propagation),
    }
}

/// The shortest ways between where nodes are at the start, for the ends of flows.
fn shortest(scenario: &Scenario, mut field: Field, propagation: &Propagation) -> Vec<Routing> {
    let nodes = field.nodes();
    let mut ends: Vec<u32> = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
    ends.sort_unstable();
    ends.dedup();
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
        &ends,
        |node, to, hop| {
            tables[node as usize].push((address(to as usize), address(hop as usize)));
        },
    );
    let one = |(node, table)| Routing::Fixed(Fixed::new(address(node), table));
    tables.into_iter().enumerate().map(one).collect()
}
