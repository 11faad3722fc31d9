//! Results of the network: links, routing, and medium access.

use driftway_base::{Duration, Instant, NodeId};
use driftway_link::Side;
use driftway_net::{Network, NodeEnergy};

use crate::ratio::ratio;
use crate::results::{Direction, LinkResult, MacResult, NodeResult, RoutingResult};

/// The counters of all links up to this time: hops of the chain first, then those of parallel routes, numbered on from there.
pub fn link_results(net: &Network, now: Instant) -> Vec<LinkResult> {
    let duration = now.since(Instant::ZERO);
    let mut results = Vec::with_capacity(net.links().len() * 2);
    for (id, link) in net.links().iter_enumerated() {
        for (side, direction) in [(Side::A, Direction::Forward), (Side::B, Direction::Backward)] {
            let counters = link.counters(side);
            let queue = counters.queue;
            results.push(LinkResult {
                hop: id.number() + 1,
                direction,
                frames: counters.frames,
                bytes: counters.bits / 8,
                marks: queue.marks,
                drops: counters.errors
                    + counters.partitioned
                    + counters.refused
                    + queue.overflows
                    + queue.red_drops
                    + queue.codel_drops
                    + queue.pie_drops,
                utilisation: match link.opportunity_bits(side, now) {
                    Some(capacity) => ratio(counters.bits as f64, capacity as f64),
                    None => share(counters.busy, duration),
                },
            });
        }
    }
    results
}

fn share(part: Duration, whole: Duration) -> Option<f64> {
    ratio(part.as_secs_f64(), whole.as_secs_f64())
}

/// The energy of each node whose radios have a known power.
pub fn node_results(net: &Network, now: Instant) -> Vec<NodeResult> {
    let nodes = (0..net.nodes()).map(NodeId::from);
    let result = |node: NodeId| {
        let NodeEnergy { joules, time } = net.energy(node, now)?;
        let [transmit_s, receive_s, idle_s, off_s] =
            [time.transmit, time.receive, time.idle, time.off].map(Duration::as_secs_f64);
        let node = node.number();
        Some(NodeResult { node, energy_j: joules, transmit_s, receive_s, idle_s, off_s })
    };
    nodes.filter_map(result).collect()
}

/// Routing over the air, of all nodes together; `delivered`: the packets of data that applications got.
pub fn routing_result(net: &Network, delivered: u64) -> RoutingResult {
    let counters = net.routing_counters();
    let mut result = RoutingResult {
        link_failures: counters.link_failures,
        arp_failures: counters.arp_failures,
        false_link_failures: counters.false_link_failures,
        link_retries: counters.link_retries,
        vain_link_retries: counters.vain_link_retries,
        link_retries_sent: counters.link_retries_sent,
        data_hops: counters.hops.data,
        ack_hops: counters.hops.acks,
        icmp_hops: counters.hops.icmp,
        data_routed: counters.routed.data,
        acks_routed: counters.routed.acks,
        icmp_routed: counters.routed.icmp,
        ..RoutingResult::default()
    };
    for stats in net.route_stats() {
        result.packets_sent += stats.packets_sent;
        result.bytes_sent += stats.bytes_sent;
        result.discoveries += stats.discoveries;
        result.failed_discoveries += stats.failed_discoveries;
        result.route_errors += stats.route_errors;
        result.notices += stats.notices;
        result.replies_from_cache += stats.replies_from_cache;
        result.salvaged += stats.salvaged;
        result.overheard += stats.overheard;
        result.nested_errors += stats.nested_errors;
        result.loss_notices += stats.loss_notices;
        result.passed_notices += stats.passed_notices;
        result.lost_notices += stats.lost_notices;
        result.resent_acks += stats.resent_acks;
    }
    result.normalised_load = ratio(result.packets_sent as f64, delivered as f64);
    result
}

/// Medium access, of all stations together; `delivered`: the packets of data that applications got.
pub fn mac_result(net: &Network, now: Instant, delivered: u64) -> MacResult {
    let total = net.mac_counters();
    let overhead = total.rts + total.cts + total.acks + total.control_data;
    let all_airs = now.as_secs_f64() * net.airs() as f64;
    MacResult {
        rts: total.rts,
        cts: total.cts,
        data: total.data,
        ack: total.acks,
        broadcast: total.broadcasts,
        retries: total.retries,
        collisions: total.collisions,
        failed_no_cts: total.failed_no_cts,
        failed_no_ack: total.failed_no_ack,
        duplicates: total.duplicates,
        airtime_us: total.airtime.as_nanos() / 1000,
        control_data: total.control_data,
        normalised_load: ratio(overhead as f64, delivered as f64),
        airtime_ratio: ratio(total.airtime.as_secs_f64(), all_airs),
    }
}
