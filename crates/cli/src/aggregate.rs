//! Aggregation of many flows: sums and means over the flows of each run, then means over the runs.

use std::collections::BTreeMap;

use driftway_scenario::{Application, Flow, Scenario};
use driftway_sim::results::{Estimate, FLOW_METRICS, FlowResult, RunDocument, RunResult};

use crate::flow_names::{flow_name, is_transfer};
use crate::text::count;
use driftway_experiment::summary::estimate;

/// Largest number of flows that are reported separately only; more are aggregated first.
pub const MAX_SEPARATE_FLOWS: usize = 4;

/// Explanation of aggregated values.
pub const AGGREGATION_NOTE: &str = "For all flows together, throughput and counts are summed over the flows of a \
     run, ratios are those of the sums, hops are means over the packets, times over the flows, and the longest RTO is the \
     maximum over the flows.";

/// Statistics of a flow, or of all flows of a scenario together.
pub struct FlowStatistics {
    /// Name of the flow, or number of the flows.
    pub name: String,
    /// Estimates by the names of [`METRICS`]; `None` if no run has a value.
    pub metrics: BTreeMap<String, Option<Estimate>>,
    /// Transfers that completed, over all runs.
    pub completed: u64,
    /// Transfers, over all runs.
    pub transfers: u64,
}

/// Statistics of each flow of a document, or of all of them `as_one`.
pub fn flow_statistics(document: &RunDocument, as_one: bool) -> Vec<FlowStatistics> {
    if as_one {
        return vec![aggregate(document)];
    }
    let flows = document.summary.flows.iter().enumerate();
    let subject = |(index, flow): (usize, &driftway_sim::results::FlowSummary)| FlowStatistics {
        name: flow_name(document, flow),
        metrics: flow.metrics.clone(),
        completed: if is_transfer(document, index) { flow.completed } else { 0 },
        transfers: if is_transfer(document, index) { document.summary.runs } else { 0 },
    };
    flows.map(subject).collect()
}

/// Statistics of all flows of a document together.
pub fn aggregate(document: &RunDocument) -> FlowStatistics {
    let flows = &document.summary.flows;
    let transfers: Vec<usize> =
        (0..flows.len()).filter(|&flow| is_transfer(document, flow)).collect();
    let metric = |name: &str| {
        let of_run = |run: &RunResult| aggregate_of_run(&document.scenario, name, run);
        estimate(&document.runs.iter().filter_map(of_run).collect::<Vec<_>>())
    };
    FlowStatistics {
        name: match flows.len() as u64 {
            1 => count(1, "flow"),
            many => count(many, "flow") + " together",
        },
        metrics: FLOW_METRICS.iter().map(|(name, _)| ((*name).to_owned(), metric(name))).collect(),
        completed: transfers.iter().map(|&flow| flows[flow].completed).sum(),
        transfers: transfers.len() as u64 * document.summary.runs,
    }
}

/// A metric of all flows of a run together; `None` if no flow has a value.
fn aggregate_of_run(scenario: &Scenario, metric: &str, run: &RunResult) -> Option<f64> {
    let reading = FLOW_METRICS.iter().find(|(name, _)| *name == metric)?.1;
    let values: Vec<f64> = run.flows.iter().filter_map(reading).collect();
    let sum = values.iter().sum::<f64>();
    match metric {
        _ if values.is_empty() => None,
        "goodput_ratio" => {
            let of_scenario = |(index, flow)| sent_bytes(flow, scenario.flows.get(index));
            let sent: f64 = run.flows.iter().enumerate().map(of_scenario).sum();
            let delivered: f64 = run.flows.iter().map(|flow| flow.delivered_bytes as f64).sum();
            ratio(delivered, sent)
        }
        "retransmission_ratio" => {
            let of_tcp = || run.flows.iter().filter(|flow| flow.retransmissions.is_some());
            let again: u64 = of_tcp().filter_map(|flow| flow.retransmissions).sum();
            let sent: u64 = of_tcp().map(|flow| flow.segments_sent).sum();
            ratio(again as f64, sent as f64)
        }
        "delivery_ratio" => {
            let sum = |of: fn(&FlowResult) -> u64| run.flows.iter().map(of).sum::<u64>() as f64;
            ratio(sum(|flow| flow.delivered_packets), sum(|flow| flow.sent_packets))
        }
        // Means of packets: a flow counts by how many it has delivered.
        "mean_hops" | "shortest_hops" => {
            let weighted = run.flows.iter().filter_map(|flow| {
                let packets = flow.delivered_packets as f64;
                reading(flow).map(|hops| (hops * packets, packets))
            });
            let (hops, packets) =
                weighted.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            ratio(hops, packets)
        }
        // Means of losses: their number is not recorded, so that each flow counts as much.
        "cwnd_after_fast_retransmit_ratio" | "cwnd_after_timeout_ratio" => {
            Some(sum / values.len() as f64)
        }
        "rto_max_s" => values.into_iter().reduce(f64::max),
        // Times are means over the flows; throughput and counts are sums.
        _ if metric.ends_with("_s") => Some(sum / values.len() as f64),
        _ => Some(sum),
    }
}

fn ratio(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}

/// Payload that a flow sent (bytes), from the delivered payload and the goodput ratio; if nothing was
/// delivered, every segment counts as a full one.
fn sent_bytes(result: &FlowResult, flow: Option<&Flow>) -> f64 {
    match result.goodput_ratio {
        None => 0.0,
        Some(share) if share > 0.0 => result.delivered_bytes as f64 / share,
        Some(_) => result.segments_sent as f64 * flow.map_or(0.0, segment_bytes),
    }
}

/// Payload of a full segment or datagram (bytes).
fn segment_bytes(flow: &Flow) -> f64 {
    let most = flow.tcp.as_ref().map_or(u64::MAX, |tcp| tcp.mss.0);
    let offered = match flow.application {
        Application::Transfer(size) => size.0,
        Application::RequestResponse(of) => of.request.0,
        ref other => other.packet_size().map_or(most, |size| size.0),
    };
    offered.min(most) as f64
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_experiment::summary::summarise;

    const SCENARIO: &str = r#"
        name = "five flows"
        duration = "10 s"
        network = { kind = "path", hops = 1, link = { rate = "1 Mbit/s", delay = "1 ms" } }
        [[flow]]
        from = 0
        to = 1
        copies = 5
        application = { transfer = "300 B" }
        tcp = { mss = "500 B" }
    "#;

    fn flow(
        delivered_bytes: u64,
        goodput_ratio: Option<f64>,
        completion_s: Option<f64>,
    ) -> FlowResult {
        FlowResult {
            tcp: Some("reno+reno".into()),
            delivered_bytes,
            goodput_ratio,
            completion_s,
            throughput_bps: Some(delivered_bytes as f64 * 8.0),
            segments_sent: 4,
            retransmissions: Some(1),
            retransmission_ratio: Some(0.25),
            rto_max_s: completion_s,
            sent_packets: 10,
            delivered_packets: delivered_bytes / 100,
            delivery_ratio: Some(delivered_bytes as f64 / 1000.0),
            mean_hops: (delivered_bytes > 0).then(|| 1.0 + delivered_bytes as f64 / 300.0),
            ..FlowResult::default()
        }
    }

    fn run(seed: u64, flows: Vec<FlowResult>) -> RunResult {
        RunResult {
            seed,
            duration_s: 10.0,
            events: 1,
            flows,
            drops: BTreeMap::new(),
            ..RunResult::default()
        }
    }

    /// Two runs of five flows, one of which delivers nothing and one sends nothing.
    fn document() -> RunDocument {
        let flows = |factor: u64| {
            vec![
                flow(300 * factor, Some(0.75), Some(2.0)),
                flow(300, Some(0.5), Some(4.0)),
                flow(0, Some(0.0), None),
                flow(0, None, None),
                flow(300, Some(1.0), Some(9.0)),
            ]
        };
        let runs = vec![run(1, flows(1)), run(2, flows(2))];
        RunDocument {
            schema: driftway_sim::results::SCHEMA,
            version: String::new(),
            emulated: false,
            scenario: Scenario::parse("s.toml", SCENARIO, &[]).unwrap(),
            summary: summarise(&runs),
            runs,
            timing: driftway_sim::results::Timing { wall_s: 0.0, jobs: 1, events_per_s: None },
        }
    }

    #[test]
    fn flows_are_summed_in_each_run_and_runs_averaged() {
        let all = aggregate(&document());
        let mean = |metric: &str| all.metrics[metric].unwrap();
        assert_eq!(all.name, "5 flows together");
        assert_eq!(mean("delivered_bytes").mean, 1050.0);
        assert_eq!(mean("throughput_bps").mean, 8400.0);
        assert_eq!(mean("segments_sent").mean, 20.0);
        assert_eq!(mean("retransmissions").mean, 5.0);
        assert_eq!(mean("retransmission_ratio").mean, 0.25);
        assert_eq!(mean("completion_s").mean, 5.0);
        assert_eq!(mean("rto_max_s").mean, 9.0);
        assert_eq!(all.metrics["rtt_s"], None);
        assert_eq!((all.completed, all.transfers), (6, 10));
        // The interval is that of two sums, 900 and 1200 bytes, not that of ten flows.
        let delivered = mean("delivered_bytes");
        let [low, high] = delivered.ci90.unwrap();
        assert_eq!(delivered.n, 2);
        assert!((high - low - 2.0 * 6.314 * 150.0).abs() < 1.0, "{low} {high}");
    }

    #[test]
    fn the_goodput_ratio_is_that_of_the_sums() {
        // Sent: 400 and 800, 600, four undelivered segments of 300, none, and 300.
        let ratios = [900.0 / 2500.0, 1200.0 / 2900.0];
        let goodput = aggregate(&document()).metrics["goodput_ratio"].unwrap();
        assert!((goodput.mean - (ratios[0] + ratios[1]) / 2.0).abs() < 1e-12, "{goodput:?}");
    }

    #[test]
    fn ratios_and_hops_are_those_of_all_packets() {
        // Of 50 packets 9 and 12 arrive; over two hops, and the six of the first flow over three.
        let all = aggregate(&document());
        let mean = |metric: &str| all.metrics[metric].unwrap().mean;
        assert!((mean("delivery_ratio") - (9.0 / 50.0 + 12.0 / 50.0) / 2.0).abs() < 1e-12);
        assert!((mean("mean_hops") - (2.0 + (6.0 * 3.0 + 6.0 * 2.0) / 12.0) / 2.0).abs() < 1e-12);
        assert_eq!(all.metrics["shortest_hops"], None);
    }

    /// A metric without a unit that counts nothing must not be a sum: each is named here or in the match
    /// above.
    #[test]
    fn what_is_summed_is_an_amount() {
        let sums: Vec<&str> = FLOW_METRICS
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| name.ends_with("_ratio") || name.ends_with("_hops"))
            .collect();
        let known = [
            "goodput_ratio",
            "retransmission_ratio",
            "delivery_ratio",
            "mean_hops",
            "shortest_hops",
            "cwnd_after_fast_retransmit_ratio",
            "cwnd_after_timeout_ratio",
        ];
        assert!(sums.iter().all(|name| known.contains(name)), "{sums:?}");
    }
}
