//! A run is a function of scenario and seed, independent of other activity in the process.

use crate::common;
use driftway_scenario::Scenario;

const SEEDS: [u64; 4] = [1, 2, 3, u64::MAX];

fn scenarios() -> Vec<Scenario> {
    let some_bytes = ("flow.*.application.transfer", "50 kB");
    ["figure-8-atcp", "two-way", "both-ways", "multipath", "interference", "partition"]
        .map(|name| common::example(name, &[some_bytes]))
        .into()
}

/// The whole output of a run, as bytes: its results, and the traces of its flows and network.
fn document(scenario: &Scenario, seed: u64) -> Vec<u8> {
    let (result, trace) = common::traced(scenario, seed);
    let mut bytes = serde_json::to_vec(&result).unwrap();
    trace.write_network(&mut bytes).unwrap();
    trace.flows.iter().for_each(|flow| flow.write(&mut bytes).unwrap());
    bytes
}

fn documents() -> Vec<Vec<u8>> {
    let of = |scenario| SEEDS.map(|seed| document(scenario, seed));
    scenarios().iter().flat_map(of).collect()
}

#[test]
fn repeated_runs_are_identical() {
    let first = documents();
    assert!(first == documents());
    let mut different = first.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), first.len(), "each scenario and seed gives a different run");
}

#[test]
fn concurrent_runs_are_identical() {
    let alone = documents();
    let beside: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(documents)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for documents in beside {
        assert!(documents == alone);
    }
}

#[test]
fn a_trace_changes_nothing() {
    for scenario in scenarios() {
        assert_eq!(common::run(&scenario, 7), common::traced(&scenario, 7).0);
    }
}
