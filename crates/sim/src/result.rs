//! Collects the results of a run.

use std::sync::Arc;

use driftway_base::{Duration, FlowId, Instant};
use driftway_scenario::Transport;
use driftway_tcp::Stats;

use crate::flows::ActiveFlow;
use crate::hosts::Hosts;
use crate::metrics::fairness;
use crate::network_results::{link_results, mac_result, node_results, routing_result};
use crate::ratio::ratio;
use crate::results::{FlowResult, RunResult};
use crate::sockets::SocketId;
use crate::world::World;

impl Hosts {
    /// The results so far.
    pub fn result(&mut self, world: &mut World<'_>, events_handled: u64) -> RunResult {
        let now = world.now;
        let flows = self.flows.keys();
        let flows: Vec<FlowResult> = flows.map(|id| self.flow_result(now, id)).collect();
        for flow in &flows {
            for value in [flow.delivered_bytes, flow.segments_sent, flow.end_s.to_bits()] {
                world.fingerprint.statistic(value);
            }
            let counts = [flow.retransmissions, flow.timeouts, flow.fast_retransmits];
            for value in counts.into_iter().chain([flow.back_delivered_bytes]).flatten() {
                world.fingerprint.statistic(value);
            }
        }
        let mut result = RunResult {
            seed: self.seed,
            duration_s: now.as_secs_f64(),
            events: events_handled,
            fingerprint: String::new(),
            flows,
            links: Vec::new(),
            routing: None,
            mac: None,
            gateway: self.gateway.as_ref().map(|gateway| gateway.result()),
            drops: world.net.drops_by_reason(),
            jain_index: None,
            energy_j: None,
            nodes: node_results(&world.net, now),
        };
        result.jain_index = fairness(&result.flows);
        result.energy_j =
            (!result.nodes.is_empty()).then(|| result.nodes.iter().map(|node| node.energy_j).sum());
        result.links = link_results(&world.net, now);
        for link in &result.links {
            world.fingerprint.statistic(link.bytes);
            world.fingerprint.statistic(link.drops);
        }
        if world.net.has_radios() {
            result.events += world.net.mac_events();
            let delivered: u64 = self.flows.iter().map(ActiveFlow::delivered_packets).sum();
            let routing = routing_result(&world.net, delivered);
            let mac = mac_result(&world.net, now, delivered);
            let routed = [routing.data_routed, routing.acks_routed, routing.icmp_routed];
            for value in [routing.packets_sent, mac.rts, mac.data].into_iter().chain(routed) {
                world.fingerprint.statistic(value);
            }
            result.routing = Some(routing);
            result.mac = Some(mac);
        }
        if let Some(gateway) = &result.gateway {
            let legs = [gateway.wireless_segments, gateway.wired_segments];
            for value in [gateway.established, gateway.longest_buffer_bytes].into_iter().chain(legs)
            {
                world.fingerprint.statistic(value);
            }
        }
        result.fingerprint = world.fingerprint.to_hex(world.net.digest());
        result
    }

    fn flow_result(&mut self, now: Instant, id: FlowId) -> FlowResult {
        let scenario = Arc::clone(&self.scenario);
        let scenario = &scenario.flows[id.index()];
        let tcp = scenario.tcp.as_ref().filter(|_| scenario.transport == Transport::Tcp);
        let sender = self.socket(SocketId::sender(id));
        let (stats, reductions) = sender.map_or((Stats::default(), 0), |socket| {
            (*socket.tcp().stats(), socket.tcp().cwnd_reductions())
        });
        let flow = &self.flows[id];
        let (end, throughput_bps, completion_s) = flow_times(now, flow);
        let back = flow.reverse.as_deref();
        let (_, back_throughput_bps, back_completion_s) =
            back.map_or((end, None, None), |back| flow_times(now, back));
        let (segments, sent) = match tcp {
            Some(_) => (stats.segments_sent, stats.bytes_sent),
            None => (flow.datagrams_sent, flow.written),
        };
        let of_tcp = |count: u64| tcp.map(|_| count);
        let (disconnected, falsely) = flow.disconnected_time.totals_at(end);
        let of_aid = |time: Duration| scenario.aid.name().map(|_| time.as_secs_f64());
        let receiver_aid = scenario.receiver_aid.as_ref().and_then(|aid| aid.name());
        let resumes = &flow.delivery_resume_delays;
        let first = &flow.first_transmissions;
        let kept = &flow.kept_window;
        let delays = &first.delays;
        let percentile = |percent| delays.histogram.percentile(percent).map(Duration::as_secs_f64);
        let waits_until = (flow.delivered < flow.written).then_some(now);
        FlowResult {
            source: scenario.from,
            destination: scenario.to,
            name: scenario.name.clone(),
            transport: scenario.transport,
            tcp: tcp.map(|tcp| format!("{}+{}", tcp.recovery.name(), tcp.growth.name())),
            aid: scenario.aid.name().map(str::to_owned),
            receiver_aid: receiver_aid.map(str::to_owned),
            start_s: flow.start.as_secs_f64(),
            end_s: end.as_secs_f64(),
            delivered_bytes: flow.delivered,
            throughput_bps,
            goodput_ratio: ratio(flow.delivered as f64, sent as f64),
            outcome: flow.outcome(),
            completion_s,
            segments_sent: segments,
            retransmissions: of_tcp(stats.retransmissions),
            timeouts: of_tcp(stats.timeouts),
            fast_retransmits: of_tcp(stats.fast_retransmits),
            slow_starts: of_tcp(stats.slow_starts),
            probes: of_tcp(stats.probes),
            rtt_s: ratio(stats.rtt_sum.as_secs_f64(), stats.rtt_samples as f64),
            delay_s: delays.mean(),
            sent_packets: first.sent,
            delivered_packets: delays.count,
            delivery_ratio: ratio(delays.count as f64, first.sent as f64),
            delay_p50_s: percentile(50),
            delay_p95_s: percentile(95),
            delay_p99_s: percentile(99),
            jitter_rfc3550_s: delays.jitter(),
            jitter_mean_s: delays.mean_difference(),
            mean_hops: flow.hops.mean(),
            shortest_hops: first.shortest_hops.mean(),
            retransmission_ratio: tcp
                .and_then(|_| ratio(stats.retransmissions as f64, segments as f64)),
            cwnd_reductions: of_tcp(reductions),
            cwnd_after_fast_retransmit_ratio: kept.after_fast_retransmits.mean(),
            cwnd_after_timeout_ratio: kept.after_timeouts.mean(),
            duplicates: tcp.is_none().then_some(flow.duplicates),
            rto_max_s: flow.rto_stats.longest.map(Duration::as_secs_f64),
            rto_backed_off_s: tcp.map(|_| flow.rto_stats.backed_off(end).as_secs_f64()),
            resume_s: flow.resume_delays.mean().map(Duration::as_secs_f64),
            delivery_resume_s: resumes.mean().map(Duration::as_secs_f64),
            recovery_s: resumes.each().iter().map(|of| of.map(Duration::as_secs_f64)).collect(),
            longest_delivery_resume_s: resumes.longest(waits_until).map(Duration::as_secs_f64),
            disconnected_s: of_aid(disconnected),
            falsely_disconnected_s: of_aid(falsely),
            back_delivered_bytes: back.map(|back| back.delivered),
            back_throughput_bps,
            back_completion_s,
            split: self.gateway.as_ref().is_some_and(|gateway| gateway.is_split(id)),
            split_buffer_bytes: self
                .gateway
                .as_ref()
                .and_then(|gateway| gateway.longest_buffer(id)),
        }
    }
}

/// The end of one direction of a flow, its throughput (bit/s), and its completion time (s) if it is
/// complete.
fn flow_times(now: Instant, flow: &ActiveFlow) -> (Instant, Option<f64>, Option<f64>) {
    let gave_up = flow.gave_up.map(|(at, _)| at);
    let end = flow.completed_at.or(gave_up).unwrap_or(now).max(flow.start);
    let took = end.since(flow.start);
    let throughput = ratio(flow.delivered as f64 * 8.0, took.as_secs_f64());
    (end, throughput, flow.completed_at.map(|at| at.since(flow.start).as_secs_f64()))
}
