//! The scripts that find the causes of a paper's results in event logs.

use assert_cmd::cargo::cargo_bin;

use crate::captures::CHAIN;
use crate::*;

/// The columns that `why-timeouts.awk` reads by their positions, counted from 1.
const COLUMNS: [(usize, &str); 9] = [
    (2, "node"),
    (3, "layer"),
    (4, "event"),
    (6, "kind"),
    (7, "flow"),
    (8, "packet"),
    (9, "source"),
    (10, "destination"),
    (13, "offset_bytes"),
];

/// Runs the script over events, each given by the values of [`COLUMNS`]; returns the counts of its line.
fn timeouts(bench: &TestDir, events: &[&str]) -> Vec<u32> {
    let mut log = String::new();
    for event in events {
        let mut row = [""; 13];
        for ((column, _), value) in COLUMNS.iter().zip(event.split_whitespace()) {
            row[column - 1] = if value == "-" { "" } else { value };
        }
        log += &(row.join(",") + "\n");
    }
    bench.file("events.csv", &log);
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/yu-2004/why-timeouts.awk");
    let output = std::process::Command::new("awk")
        .args(["-v", "name=run", "-f"])
        .args([script.as_path(), bench.path("events.csv").as_path()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = String::from_utf8(output.stdout).unwrap();
    line.split_whitespace().skip(1).map(|count| count.parse().unwrap()).collect()
}

const SENT: &str = "0 tcp sent - 0 - - - 0";
const LEFT: &str = "0 queue enqueued tcp-data 0 0:1 0 1 0";
const ARRIVED: &str = "1 routing delivered tcp-data 0 0:1 0 1 0";
const LOST: &str = "4 routing dropped tcp-data 0 0:1 0 1 0";
const ACK_LEFT: &str = "1 queue enqueued tcp-ack 0 1:1 1 0 -";
const ACK_LOST: &str = "5 routing dropped tcp-ack 0 1:1 1 0 -";
const NO_ROUTE_BACK: &str = "1 routing route-lost - - - - 0 -";
const SEARCH_BACK: &str = "1 queue enqueued dsr-rreq - 1:2 1 - -";
const ROUTE_BACK: &str = "1 routing route-found - - - - 0 -";
const NO_ROUTE: &str = "0 routing route-lost - - - - 1 -";
const SEARCH: &str = "0 queue enqueued dsr-rreq - 0:2 0 - -";
const TIMEOUT: [&str; 2] = ["0 tcp timeout - 0 - - - -", "0 tcp retransmitted - 0 - - - 0"];

#[test]
fn each_segment_that_timed_out_has_one_outcome() {
    let bench = TestDir::new();
    // Arrived, and the ACK waits, was lost, is on its way; not arrived, and waits, was lost, is on its way;
    // lost ACKs whose node has no route and does not search.
    let cases: [(&[&str], [u32; 7]); 13] = [
        (&[LEFT, ARRIVED, NO_ROUTE_BACK, SEARCH_BACK], [1, 0, 0, 0, 0, 0, 0]),
        // The search is put off.
        (&[LEFT, ARRIVED, NO_ROUTE_BACK], [1, 0, 0, 0, 0, 0, 0]),
        // It left, its first link failed, and it returned to the send buffer.
        (&[LEFT, ARRIVED, ACK_LEFT, NO_ROUTE_BACK, SEARCH_BACK], [1, 0, 0, 0, 0, 0, 0]),
        (&[LEFT, ARRIVED, ACK_LEFT, ACK_LOST], [0, 1, 0, 0, 0, 0, 0]),
        // BEAD gives up: no search begins.
        (&[LEFT, ARRIVED, ACK_LEFT, ACK_LOST, NO_ROUTE_BACK], [0, 1, 0, 0, 0, 0, 1]),
        (&[LEFT, ARRIVED, ACK_LEFT, ACK_LOST, NO_ROUTE_BACK, ROUTE_BACK], [0, 1, 0, 0, 0, 0, 0]),
        (&[LEFT, ARRIVED, ACK_LEFT], [0, 0, 1, 0, 0, 0, 0]),
        (&[LEFT, ARRIVED, ACK_LEFT, NO_ROUTE_BACK], [0, 0, 1, 0, 0, 0, 0]),
        // An acknowledgment from before the arrival does not count.
        (&[ACK_LEFT, ACK_LOST, LEFT, ARRIVED], [1, 0, 0, 0, 0, 0, 0]),
        (&[NO_ROUTE, SEARCH], [0, 0, 0, 1, 0, 0, 0]),
        (&[LEFT, NO_ROUTE, SEARCH], [0, 0, 0, 1, 0, 0, 0]),
        (&[LEFT, LOST, NO_ROUTE], [0, 0, 0, 0, 1, 0, 0]),
        (&[LEFT, NO_ROUTE], [0, 0, 0, 0, 0, 1, 0]),
    ];
    for (events, expected) in cases {
        let log: Vec<&str> = [SENT].iter().chain(events).chain(&TIMEOUT).copied().collect();
        let counts = timeouts(&bench, &log);
        assert_eq!((counts[0], &counts[1..]), (1, &expected[..]), "{events:?}");
    }
}

#[test]
fn the_columns_are_those_of_the_event_log() {
    let bench = TestDir::new();
    bench.file("chain.toml", CHAIN);
    bench.stdout(&["run", "chain.toml", "--out", "results", "--events"]);
    let log = fs::read_to_string(bench.path("results/events-seed-1.csv")).unwrap();
    let header: Vec<&str> = log.lines().next().unwrap().split(',').collect();
    for (column, name) in COLUMNS {
        assert_eq!(header.get(column - 1), Some(&name));
    }
}

#[test]
fn the_loss_state_takes_a_part_of_a_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = |arguments: &[&str]| {
        std::process::Command::new("sh")
            .arg("papers/liu-singh-2001/loss-state.sh")
            .args(arguments)
            .current_dir(&root)
            .env("DRIFTWAY", cargo_bin("driftway"))
            .output()
            .unwrap()
    };
    let times = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let line = String::from_utf8(output.stdout).unwrap();
        let times: Vec<u32> = line.split_whitespace().map(|time| time.parse().unwrap()).collect();
        <[u32; 2]>::try_from(times).unwrap()
    };
    let [loss, end] = times(&["figure-8.toml"]);
    assert!(loss > 0 && loss < end, "{loss} {end}");
    let [loss, end] = times(&["figure-8.toml", "--set", "network.link.bit_error_rate=0"]);
    assert!(loss == 0 && end > 0, "nothing is lost: {loss} {end}");
    let usage = run(&[]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&usage.stderr).contains("loss-state.sh FILE [--set KEY=VALUE]")
    );
}
