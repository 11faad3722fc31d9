//! Collects the results of a run.

use driftway_base::{Duration, Instant};
use driftway_scenario::Transport;
use driftway_tcp::Stats;

use super::{NetworkModel, Run};
use crate::flows::ActiveFlow;
use crate::results::{FlowResult, RunResult};

impl<N: NetworkModel> Run<'_, N> {
    /// The results so far.
    pub(super) fn result(&mut self) -> RunResult {
        let flows: Vec<FlowResult> = (0..self.flows.len()).map(|n| self.flow_result(n)).collect();
        for flow in &flows {
            for value in [flow.delivered_bytes, flow.segments_sent, flow.end_s.to_bits()] {
                self.fingerprint.statistic(value);
            }
            let counts = [flow.retransmissions, flow.timeouts, flow.fast_retransmits];
            for value in counts.into_iter().chain([flow.back_delivered_bytes]).flatten() {
                self.fingerprint.statistic(value);
            }
        }
        let mut result = RunResult {
            seed: self.seed,
            duration_s: self.now.as_secs_f64(),
            events: self.events_handled,
            fingerprint: String::new(),
            flows,
            links: Vec::new(),
            routing: None,
            mac: None,
            drops: self.packets.drops_by_reason(),
        };
        N::fill_result(self, &mut result);
        result.fingerprint = self.fingerprint.to_hex();
        result
    }

    fn flow_result(&mut self, number: usize) -> FlowResult {
        let scenario = &self.scenario.flows[number];
        let flow = &self.flows[number];
        let tcp = scenario.tcp.as_ref().filter(|_| scenario.transport == Transport::Tcp);
        let at = &self.sockets[number * 2];
        let sender = at.host_index.and_then(|at_host| self.hosts[at.node].socket(at_host));
        let (stats, reductions) = sender.map_or((Stats::default(), 0), |socket| {
            (*socket.tcp().stats(), socket.tcp().cwnd_reductions())
        });
        let (end, throughput_bps, completion_s) = self.flow_times(flow);
        let back = flow.reverse.as_deref();
        let (_, back_throughput_bps, back_completion_s) =
            back.map_or((end, None, None), |back| self.flow_times(back));
        let (segments, sent) = match tcp {
            Some(_) => (stats.segments_sent, stats.bytes_sent),
            None => (flow.datagrams_sent, flow.written),
        };
        let of_tcp = |count: u64| tcp.map(|_| count);
        let (disconnected, falsely) = flow.disconnected_time.totals_at(end);
        let of_aid = |time: Duration| (scenario.aid.name() != "none").then(|| time.as_secs_f64());
        FlowResult {
            source: scenario.from,
            destination: scenario.to,
            tcp: tcp.map(|tcp| format!("{}+{}", tcp.recovery.name(), tcp.growth.name())),
            aid: scenario.aid.name().to_owned(),
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
            delay_s: flow.mean_delay(),
            retransmission_ratio: tcp
                .and_then(|_| ratio(stats.retransmissions as f64, segments as f64)),
            cwnd_reductions: of_tcp(reductions),
            duplicates: tcp.is_none().then_some(flow.duplicates),
            rto_max_s: flow.rto_stats.longest.map(Duration::as_secs_f64),
            rto_backed_off_s: tcp.map(|_| flow.rto_stats.backed_off(end).as_secs_f64()),
            resume_s: flow.resume_delays.mean().map(Duration::as_secs_f64),
            disconnected_s: of_aid(disconnected),
            falsely_disconnected_s: of_aid(falsely),
            back_delivered_bytes: back.map(|back| back.delivered),
            back_throughput_bps,
            back_completion_s,
        }
    }

    /// The end of one direction of a flow, its throughput (bit/s), and its completion time (s) if it
    /// is complete.
    fn flow_times(&self, flow: &ActiveFlow) -> (Instant, Option<f64>, Option<f64>) {
        let gave_up = flow.gave_up.map(|(at, _)| at);
        let end = flow.completed_at.or(gave_up).unwrap_or(self.now).max(flow.start);
        let took = end.since(flow.start);
        let throughput = ratio(flow.delivered as f64 * 8.0, took.as_secs_f64());
        (end, throughput, flow.completed_at.map(|at| at.since(flow.start).as_secs_f64()))
    }
}

pub(super) fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}
