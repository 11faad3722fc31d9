//! The runs of a comparison, and what is kept of each.

use driftway_scenario::Transport;
use driftway_sim::results::RunResult;
use serde::{Deserialize, Serialize};

use super::network::ComparedNetwork;
use crate::error::Error;
use crate::runner::{Runner, Task};

/// The seeds with which recommendations are chosen; what is shown is from others.
pub const CHOOSING_SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// The part of a run's result that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSample {
    /// Throughput of the compared flow (bit/s); nothing delivered is 0.
    pub throughput_bps: f64,
    /// Its completion time, if it completed (s).
    pub completion_s: Option<f64>,
    /// The time that it had (s).
    pub available_s: f64,
    /// Mean throughput of the other flows of TCP (bit/s); `None` without any.
    pub neighbours_bps: Option<f64>,
    /// Their share of what all flows of TCP deliver together; `None` without any.
    pub neighbour_share: Option<f64>,
}

/// The runs of an arm over a network.
#[derive(Clone, Debug, Default)]
pub struct ArmRuns {
    /// Those by which is chosen.
    pub choosing: Vec<RunSample>,
    /// Those that are shown, one for each seed.
    pub shown: Vec<RunSample>,
}

/// Seeds of a comparison.
#[derive(Clone, Debug)]
pub struct CompareSeeds {
    /// Those by which is chosen.
    pub choosing: Vec<u64>,
    /// Those that are shown.
    pub shown: Vec<u64>,
}

impl CompareSeeds {
    /// The first `choosing` of [`CHOOSING_SEEDS`], and `runs` from `first_seed` on.
    pub fn new(choosing: usize, first_seed: u64, runs: u64) -> Self {
        let shown = (0..runs).filter_map(|at| first_seed.checked_add(at)).collect();
        Self { choosing: CHOOSING_SEEDS.take(choosing).collect(), shown }
    }

    /// Number of seeds.
    pub fn count(&self) -> u64 {
        (self.choosing.len() + self.shown.len()) as u64
    }
}

/// Number of runs over some networks.
pub fn run_count(networks: &[ComparedNetwork], seeds: &CompareSeeds) -> u64 {
    networks.iter().map(|network| network.jobs.len() as u64).sum::<u64>() * seeds.count()
}

/// Performs the runs over each network: for each, those of each arm. Records are kept no longer than for one network.
///
/// # Errors
///
/// A failed run, or an interruption.
pub fn run_networks(
    networks: &[ComparedNetwork],
    seeds: &CompareSeeds,
    runner: &Runner<'_>,
) -> Result<Vec<Vec<ArmRuns>>, Error> {
    let total = run_count(networks, seeds);
    let mut done = 0;
    let mut results = Vec::new();
    for network in networks {
        let runs = run_network(network, seeds, runner).map_err(|error| match error {
            Error::Stopped { finished, .. } => Error::Stopped { finished: done + finished, total },
            other => other,
        })?;
        done += network.jobs.len() as u64 * seeds.count();
        results.push(runs);
    }
    Ok(results)
}

fn run_network(
    network: &ComparedNetwork,
    seeds: &CompareSeeds,
    runner: &Runner<'_>,
) -> Result<Vec<ArmRuns>, Error> {
    let all: Vec<u64> = seeds.choosing.iter().chain(&seeds.shown).copied().collect();
    let task = |job, seed: &u64| Task { job, seed: *seed, step: None };
    let tasks: Vec<Task<'_>> =
        network.jobs.iter().flat_map(|job| all.iter().map(move |seed| task(job, seed))).collect();
    // A file that is missing is found before anything runs.
    for Task { job, seed, .. } in &tasks {
        job.at_seed(*seed)?;
    }
    let records = runner.run(&tasks)?;
    let samples: Vec<RunSample> =
        records.iter().map(|record| sample(&record.result, network.flow)).collect();
    let of_arm = |runs: &[RunSample]| {
        let (choosing, shown) = runs.split_at(seeds.choosing.len());
        ArmRuns { choosing: choosing.to_vec(), shown: shown.to_vec() }
    };
    Ok(samples.chunks(all.len()).map(of_arm).collect())
}

fn sample(run: &RunResult, own: usize) -> RunSample {
    let throughput =
        |flow: usize| run.flows.get(flow).and_then(|of| of.throughput_bps).unwrap_or(0.0);
    let others: Vec<usize> = (0..run.flows.len())
        .filter(|flow| *flow != own && run.flows[*flow].transport == Transport::Tcp)
        .collect();
    let sum: f64 = others.iter().map(|flow| throughput(*flow)).sum();
    let is_any = !others.is_empty();
    let all = sum + throughput(own);
    let flow = run.flows.get(own);
    RunSample {
        throughput_bps: throughput(own),
        completion_s: flow.and_then(|of| of.completion_s),
        available_s: run.duration_s - flow.map_or(0.0, |of| of.start_s),
        neighbours_bps: is_any.then(|| sum / others.len() as f64),
        neighbour_share: (is_any && all > 0.0).then(|| sum / all),
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_sim::results::FlowResult;

    #[test]
    fn a_run_is_reduced_to_what_is_compared() {
        let flow = |throughput_bps, completion_s, transport| FlowResult {
            throughput_bps,
            completion_s,
            transport,
            start_s: 2.0,
            ..FlowResult::default()
        };
        let flows = vec![
            flow(Some(9.0), None, Transport::Udp),
            flow(Some(10.0), Some(4.0), Transport::Tcp),
            flow(Some(20.0), None, Transport::Tcp),
            flow(Some(30.0), None, Transport::Tcp),
        ];
        let run = RunResult { flows, duration_s: 60.0, ..RunResult::default() };
        let kept = sample(&run, 1);
        assert_eq!(
            (kept.throughput_bps, kept.completion_s, kept.available_s),
            (10.0, Some(4.0), 58.0)
        );
        assert_eq!((kept.neighbours_bps, kept.neighbour_share), (Some(25.0), Some(50.0 / 60.0)));
    }
}
