//! Golden runs: the fingerprint and results of each example, stored in `golden/runs.csv`.
//!
//! A run is the same in every build profile, so there is one table.
//! `DRIFTWAY_BLESS=1 cargo test -p driftway-sim --test golden` rewrites it; the commit message
//! explains the difference.

mod common;

use std::path::PathBuf;

use driftway_sim::results::RunResult;

const SEEDS: [u64; 2] = [1, 2];

const HEADER: [&str; 10] = [
    "scenario",
    "seed",
    "fingerprint_events",
    "fingerprint_packets",
    "fingerprint_statistics",
    "events",
    "flow",
    "completion_s",
    "delivered_bytes",
    "retransmissions",
];
/// The index of the first result column: the columns before it identify a run.
const OUTCOME: usize = 2;

type Row = Vec<String>;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs.csv")
}

/// One row per flow.
fn rows(name: &str, result: &RunResult) -> Vec<Row> {
    let parts: Vec<&str> = result.fingerprint.split('-').collect();
    let number = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let row = |(n, flow): (usize, &driftway_sim::results::FlowResult)| {
        let run = [name.to_owned(), result.seed.to_string()];
        let outcome = [
            result.events.to_string(),
            n.to_string(),
            flow.completion_s.map_or(String::new(), |s| format!("{s:.9}")),
            flow.delivered_bytes.to_string(),
            number(flow.retransmissions),
        ];
        run.into_iter().chain(parts.iter().map(|p| (*p).to_owned())).chain(outcome).collect()
    };
    result.flows.iter().enumerate().map(row).collect()
}

fn run_examples() -> Vec<Row> {
    let mut table = Vec::new();
    for name in common::example_names() {
        let scenario = common::short_example(&name);
        for seed in SEEDS {
            table.extend(rows(&name, &common::run(&scenario, seed)));
        }
    }
    table
}

fn write(table: &[Row]) {
    let mut out = csv::Writer::from_path(file()).unwrap();
    out.write_record(HEADER).unwrap();
    table.iter().for_each(|row| out.write_record(row).unwrap());
    out.flush().unwrap();
}

fn read() -> Vec<Row> {
    let mut input = csv::Reader::from_path(file()).unwrap();
    assert_eq!(input.headers().unwrap(), &HEADER[..], "{}", file().display());
    let owned = |row: csv::StringRecord| row.iter().map(str::to_owned).collect();
    input.records().map(|row| owned(row.unwrap())).collect()
}

/// The difference by column; empty if there is none.
fn difference(golden: &[Row], played: &[Row]) -> String {
    let flow = |row: &Row| row[6].clone();
    let same = |a: &Row, b: &Row| a[..OUTCOME] == b[..OUTCOME] && flow(a) == flow(b);
    let called = |row: &Row| format!("{}, seed {}, flow {}", row[0], row[1], flow(row));
    let mut text = String::new();
    for new in played {
        let Some(old) = golden.iter().find(|old| same(old, new)) else {
            text += &format!("{}: not in the table\n", called(new));
            continue;
        };
        let moved = (OUTCOME..HEADER.len()).filter(|&column| old[column] != new[column]);
        let mut moved = moved.peekable();
        if moved.peek().is_some() {
            text += &format!("{}:\n", called(new));
        }
        for column in moved {
            text += &format!("    {:24}{} -> {}\n", HEADER[column], old[column], new[column]);
        }
    }
    for old in golden.iter().filter(|old| !played.iter().any(|new| same(old, new))) {
        text += &format!("{}: in the table, but was not run\n", called(old));
    }
    text
}

#[test]
fn examples_run_as_they_did() {
    let played = run_examples();
    if std::env::var_os("DRIFTWAY_BLESS").is_some() {
        write(&played);
    }
    let difference = difference(&read(), &played);
    assert!(
        difference.is_empty(),
        "golden runs differ (events: another order or number of events; packets: other packets or \
         outcomes; statistics: other results):\n{difference}\
         If that is meant: DRIFTWAY_BLESS=1 cargo test -p driftway-sim --test golden"
    );
}

#[test]
fn a_difference_says_which_part_moved() {
    let golden = read();
    let mut played = golden.clone();
    assert_eq!(difference(&golden, &played), "");

    played[0][3] = "moved".into();
    let text = difference(&golden, &played);
    assert!(text.contains("fingerprint_packets"), "{text}");
    assert!(!text.contains("fingerprint_events"), "{text}");

    let gone = played.remove(0);
    let text = difference(&golden, &played);
    assert!(text.contains(&format!("{}, seed {}", gone[0], gone[1])), "{text}");
    assert!(text.contains("was not run"), "{text}");
    assert!(difference(&played, &golden).contains("not in the table"));
}

#[test]
fn changed_examples_exist() {
    let names = common::example_names();
    for (changed, _) in common::CHANGED {
        assert!(names.iter().any(|name| name == changed), "{changed} is not among the examples");
    }
}
