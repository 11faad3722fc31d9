//! The results of an emulation in the form of those of a simulation: the connections of its kernels are the flows.

use std::net::Ipv4Addr;

use driftway_base::{Duration, Instant, NodeId};
use driftway_experiment::summary::summarise;
use driftway_linux::{EmulationReport, FaultRecord};
use driftway_scenario::{Scenario, Transport};
use driftway_sim::fairness;
use driftway_sim::results::{FlowOutcome, FlowResult, RunDocument, RunResult, SCHEMA, Timing};
use driftway_sim::trace::Trace;

use super::connections::{Connection, ConnectionEnd};
use super::sampler::Sampled;
use crate::failure::Failure;
use crate::files::Staging;
use crate::output::{RESULTS, json};
use crate::records::write_samples;

/// Bits per byte.
const BITS: f64 = 8.0;

/// An emulation that has ended.
pub struct EmulationEnd<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The seed of the network.
    pub seed: u64,
    /// Addresses of the nodes.
    pub addresses: Vec<Ipv4Addr>,
    /// The samples and the last states of connections.
    pub sampled: Sampled,
    /// The end of the last program. What closes later is closed by the end of the emulation.
    pub ended: Instant,
    /// The network's report.
    pub report: EmulationReport,
}

impl EmulationEnd<'_> {
    /// Adds the samples, the faults and the results to the output.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, staging: &mut Staging) -> Result<(), Failure> {
        write_samples(staging, self.seed, &self.sampled.samples)?;
        let mut trace = Trace::default();
        for FaultRecord { at, kind, place, begins } in &self.report.counts.faults {
            trace.fault(*at, *kind, place.number(), *begins);
        }
        staging.write(&Trace::network_file_name(self.seed), |out| trace.write_network(out))?;
        staging.write_text(RESULTS, &json(&self.document()))
    }

    fn document(&self) -> RunDocument {
        let runs = vec![self.run()];
        RunDocument {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            emulated: true,
            scenario: self.scenario.clone(),
            summary: summarise(&runs),
            runs,
            timing: Timing {
                wall_s: self.report.duration.as_secs_f64(),
                jobs: 1,
                events_per_s: None,
            },
        }
    }

    fn run(&self) -> RunResult {
        let connections = self.sampled.connections.all().iter();
        let flows: Vec<FlowResult> = connections.map(|of| self.flow(of)).collect();
        let drops = self.report.counts.drops.iter();
        RunResult {
            seed: self.seed,
            duration_s: self.ended.as_secs_f64(),
            jain_index: fairness(&flows),
            flows,
            links: self.sampled.links.clone(),
            drops: drops.map(|(reason, count)| ((*reason).to_owned(), *count)).collect(),
            ..RunResult::default()
        }
    }

    fn flow(&self, connection: &Connection) -> FlowResult {
        let (sender, receiver) = (connection.sender(), connection.receiver());
        let info = &sender.tcp.info;
        let delivered = connection.delivered_bytes();
        let outcome = self.outcome(connection);
        let start = connection.first_seen.min(self.ended);
        let last = receiver.and_then(ConnectionEnd::last_data_at);
        let end = match outcome {
            FlowOutcome::Complete => last.unwrap_or(sender.at).min(self.ended),
            FlowOutcome::Reset | FlowOutcome::TimedOut => sender.at.min(self.ended),
            FlowOutcome::Running => self.ended,
        };
        let took = end.max(start).since(start);
        let (segments, again) = (u64::from(info.data_segs_out), u64::from(info.total_retrans));
        let sent_packets = segments.saturating_sub(again);
        let arrived = receiver.map(|receiver| u64::from(receiver.tcp.info.data_segs_in));
        let back = connection.back_delivered_bytes();
        FlowResult {
            source: sender.node.number(),
            destination: receiver.map_or(self.peer_of(sender), |end| end.node).number(),
            name: Some(format!("{} to {}", sender.local, sender.remote)),
            transport: Transport::Tcp,
            tcp: Some(format!("kernel+{}", self.congestion_control(sender))),
            start_s: start.as_secs_f64(),
            end_s: end.max(start).as_secs_f64(),
            delivered_bytes: delivered,
            throughput_bps: rate(delivered, took),
            goodput_ratio: ratio(delivered, info.bytes_sent),
            outcome,
            completion_s: (outcome == FlowOutcome::Complete).then(|| took.as_secs_f64()),
            segments_sent: segments,
            retransmissions: Some(again),
            retransmission_ratio: ratio(again, segments),
            rtt_s: sender.mean_rtt_s(),
            sent_packets,
            delivered_packets: arrived.unwrap_or(info.delivered.into()).min(sent_packets),
            back_delivered_bytes: (back > 0).then_some(back),
            back_throughput_bps: (back > 0).then(|| rate(back, took)).flatten(),
            ..FlowResult::default()
        }
    }

    /// A connection that its program has closed is complete if everything is acknowledged. If it is gone before that, the
    /// kernel does not say whether it gave up or was reset.
    fn outcome(&self, connection: &Connection) -> FlowOutcome {
        let sender = connection.sender();
        let is_finished = sender.finished_at.is_some_and(|at| at <= self.ended);
        match () {
            () if is_finished && sender.is_acknowledged() => FlowOutcome::Complete,
            () if sender.is_closed && sender.at <= self.ended => FlowOutcome::Reset,
            () => FlowOutcome::Running,
        }
    }

    fn congestion_control(&self, end: &ConnectionEnd) -> String {
        // A connection that was never seen open has not said its own.
        let default =
            || self.sampled.congestion_controls.get(&end.node).cloned().unwrap_or_default();
        let own = &end.tcp.congestion_control;
        if own.is_empty() { default() } else { own.clone() }
    }

    /// The node of the peer's address, or else its own.
    fn peer_of(&self, end: &ConnectionEnd) -> NodeId {
        let node = self.addresses.iter().position(|address| address == end.remote.ip());
        node.map_or(end.node, NodeId::from)
    }
}

fn rate(bytes: u64, took: Duration) -> Option<f64> {
    let seconds = took.as_secs_f64();
    (seconds > 0.0).then(|| bytes as f64 * BITS / seconds)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
