//! State of a run's flows at regular intervals.

use std::sync::Arc;

use driftway_base::{FlowId, NodeId};
use driftway_sim::{FlowSnapshot, SenderSnapshot, Simulation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Columns of equal length; a row is one flow at one time. Rows are ordered by time, then by flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// Time (s).
    pub time_s: Vec<f64>,
    /// Index of the flow in the scenario.
    pub flow: Vec<u32>,
    /// Payload delivered in order so far (bytes).
    pub delivered_bytes: Vec<u64>,
    /// Packets in the queues of the sending node.
    pub queue_length: Vec<u32>,
    /// Hops of the sending node's route; `null` without a route.
    pub hops: Vec<Option<u32>>,
    /// Data segments sent so far; `null` for UDP and before the start, as the other columns that
    /// describe TCP.
    pub segments_sent: Vec<Option<u64>>,
    /// Retransmissions among them.
    pub retransmissions: Vec<Option<u64>>,
    /// Retransmission timeouts so far.
    pub timeouts: Vec<Option<u64>>,
    /// Congestion window (bytes).
    pub cwnd_bytes: Vec<Option<u32>>,
    /// Slow start threshold (bytes).
    pub ssthresh_bytes: Vec<Option<u32>>,
    /// Smoothed round-trip time (s); `null` before the first measurement.
    pub srtt_s: Vec<Option<f64>>,
    /// Retransmission timeout in effect, including backoff (s).
    pub rto_s: Vec<Option<f64>>,
    /// State of the sender's aid; `null` without one.
    pub aid_state: Vec<Option<String>>,
}

impl Samples {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.time_s.len()
    }

    /// Adds a row for the current state of each flow.
    pub(super) fn record(&mut self, simulation: &mut Simulation<'_>) {
        let scenario = Arc::clone(simulation.scenario());
        let time_s = simulation.now().as_secs_f64();
        for (id, flow) in (0..).map(FlowId::new).zip(&scenario.flows) {
            let Some(FlowSnapshot { delivered_bytes, sender, .. }) = simulation.flow(id) else {
                continue;
            };
            let [from, to] = [flow.from, flow.to].map(NodeId::new);
            let route = simulation.route(from, to);
            self.time_s.push(time_s);
            self.flow.push(id.number());
            self.delivered_bytes.push(delivered_bytes);
            self.queue_length.push(simulation.queue_length(from) as u32);
            self.hops.push(route.map(|nodes| nodes.len() as u32 - 1));
            self.record_sender(sender.as_ref());
        }
    }

    fn record_sender(&mut self, sender: Option<&SenderSnapshot>) {
        self.segments_sent.push(sender.map(|of| of.stats.segments_sent));
        self.retransmissions.push(sender.map(|of| of.stats.retransmissions));
        self.timeouts.push(sender.map(|of| of.stats.timeouts));
        self.cwnd_bytes.push(sender.and_then(|of| of.view.cwnd.value()));
        self.ssthresh_bytes.push(sender.and_then(|of| of.view.ssthresh.value()));
        let srtt = sender.and_then(|of| of.view.srtt.value().flatten());
        self.srtt_s.push(srtt.map(driftway_base::Duration::as_secs_f64));
        self.rto_s.push(sender.map(|of| of.rto.as_secs_f64()));
        self.aid_state.push(sender.and_then(|of| of.aid_state).map(str::to_owned));
    }
}
