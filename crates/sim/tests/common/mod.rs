//! Helpers of the tests: scenarios from text and files, and runs of them.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use driftway_scenario::Scenario;
use driftway_sim::Observers;
use driftway_sim::log::{Entry, EventLog};
use driftway_sim::results::{Direction, FlowResult, LinkResult, RunResult};
use driftway_sim::trace::{FlowEvent, FlowTrace, Trace};

/// Parses a scenario.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The directory of the examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// The names of all examples, sorted.
pub fn example_names() -> Vec<String> {
    let files = fs::read_dir(examples()).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// An example with changed keys.
pub fn example(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let changes: Vec<_> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let path = examples().join(format!("{name}.toml"));
    Scenario::load(path, &changes).unwrap_or_else(|error| panic!("{error}"))
}

/// Changes that make the longer examples short enough for every test run, or that make a short run
/// exercise its subject.
pub const CHANGED: &[(&str, &[(&str, &str)])] = &[
    ("adhoc-aodv", &[("duration", "60 s"), ("flow.*.start", "10 s")]),
    ("adhoc-cbr", &[("duration", "60 s")]),
    ("adhoc-chain", &[("duration", "30 s")]),
    ("adhoc-dsr", &[("duration", "60 s"), ("flow.*.start", "10 s")]),
    ("adhoc-elfn", &[("duration", "60 s")]),
    ("adhoc-epln", &[("duration", "60 s")]),
    ("adhoc-gateway", &[("duration", "60 s")]),
    ("congestion", &[("duration", "100 s")]),
    ("figure-8-atcp", &[("flow.0.application.transfer", "200 kB")]),
    ("figure-8-tcp", &[("flow.0.application.transfer", "200 kB")]),
    ("interference", &[("flow.0.application.transfer", "300 kB")]),
    ("multipath", &[("flow.0.application.transfer", "1 MB")]),
    ("split-gateway", &[("duration", "60 s")]),
];

/// An example, shortened as the golden runs are.
pub fn short_example(name: &str) -> Scenario {
    let changes = CHANGED.iter().find(|(changed, _)| *changed == name).map_or(&[][..], |(_, c)| c);
    example(name, changes)
}

/// Runs a scenario; packets are conserved and streams are intact.
pub fn run(scenario: &Scenario, seed: u64) -> RunResult {
    driftway_sim::run(scenario, seed, None)
        .unwrap_or_else(|error| panic!("{error}, with seed {seed}:\n{}", scenario.show()))
}

/// Runs a scenario given as text.
pub fn run_text(text: &str, seed: u64) -> RunResult {
    run(&parse(text), seed)
}

/// Runs a scenario with a trace.
pub fn traced(scenario: &Scenario, seed: u64) -> (RunResult, Trace) {
    let mut trace = Trace::default();
    let result = driftway_sim::run(scenario, seed, Some(&mut trace))
        .unwrap_or_else(|error| panic!("{error}, with seed {seed}:\n{}", scenario.show()));
    (result, trace)
}

/// A shared buffer that an observer writes to.
#[derive(Clone, Default)]
pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a scenario with an event log.
pub fn logged(scenario: &Scenario, seed: u64) -> (RunResult, Vec<Entry>) {
    let kept = SharedBuffer::default();
    let mut log = EventLog::new(Box::new(kept.clone()));
    let watch = Observers { log: Some(&mut log), ..Observers::default() };
    let result = driftway_sim::run(scenario, seed, watch)
        .unwrap_or_else(|error| panic!("{error}, with seed {seed}:\n{}", scenario.show()));
    log.finish().unwrap();
    let rows = EventLog::read(kept.bytes().as_slice()).collect::<Result<_, _>>().unwrap();
    (result, rows)
}

/// One direction of a hop.
pub fn link(result: &RunResult, hop: u32, direction: Direction) -> &LinkResult {
    result.links.iter().find(|l| l.hop == hop && l.direction == direction).unwrap()
}

/// The number of packets dropped for this reason.
pub fn drops(result: &RunResult, reason: &str) -> u64 {
    result.drops.get(reason).copied().unwrap_or(0)
}

/// The completion time of a transfer, which must be complete (s).
pub fn completion(flow: &FlowResult) -> f64 {
    flow.completion_s.unwrap_or_else(|| panic!("the transfer is not complete: {flow:#?}"))
}

/// The states of a flow's aid, in order, each with its start (s).
pub fn aid_states(flow: &FlowTrace) -> Vec<(f64, String)> {
    let state = |(at, event): &(driftway_base::Instant, FlowEvent)| match event {
        FlowEvent::AidState(state) => Some((at.as_secs_f64(), state.to_string())),
        _ => None,
    };
    flow.events.iter().filter_map(state).collect()
}
