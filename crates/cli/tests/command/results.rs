//! Results of `driftway run`, and their reproducibility.

use crate::*;

#[test]
fn the_document_is_the_same_for_any_number_of_jobs() {
    let bench = TestDir::new();
    let run = |jobs| bench.stdout(&["run", "s.toml", "--runs", "6", "--json", "--jobs", jobs]);
    // The timing comes last: all bytes before it are the same.
    let stable = |text: &str| text.split_once("\n  \"timing\": {").unwrap().0.to_owned();
    let (one, two) = (run("1"), run("2"));
    assert_eq!(stable(&one), stable(&two));
    assert_eq!(stable(&two), stable(&run("5")));
    let document: Value = serde_json::from_str(&one).unwrap();
    let runs = document["runs"].as_array().unwrap();
    let seeds: Vec<_> = runs.iter().map(|run| run["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5, 6]);
    assert_ne!(runs[0]["fingerprint"], runs[1]["fingerprint"]);
}

#[test]
fn the_document_has_the_fields_of_the_schema() {
    let bench = TestDir::new();
    let document = bench.document(&["run", "s.toml", "--seed", "7", "--json"]);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut top = keys(&document);
    top.sort();
    assert_eq!(top, ["runs", "scenario", "schema", "summary", "timing", "version"]);
    let run = &document["runs"][0];
    assert_eq!(run["seed"], 7);
    assert!(run["routing"].is_null() && run["mac"].is_null());
    let flow = &run["flows"][0];
    assert_eq!((flow["source"].as_u64(), flow["destination"].as_u64()), (Some(0), Some(2)));
    assert_eq!(flow["delivered_bytes"], 40_000);
    let (start, end) = (flow["start_s"].as_f64().unwrap(), flow["end_s"].as_f64().unwrap());
    assert!((flow["completion_s"].as_f64().unwrap() - (end - start)).abs() < 1e-6);
    let throughput = flow["throughput_bps"].as_f64().unwrap();
    assert!((throughput - 40_000.0 * 8.0 / (end - start)).abs() < 1e-3 * throughput);
    let completion = &document["summary"]["flows"][0]["metrics"]["completion_s"];
    assert_eq!(completion["mean"], flow["completion_s"]);
    assert!(completion["ci90"].is_null() && completion["n"] == 1);
    assert!(document["timing"]["wall_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_repeated_run_gives_the_same_results() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--out", "first", "--set", "network.link.rate=32 kbit/s"]);
    bench.stdout(&["run", "first/scenario.toml", "--out", "second"]);
    for name in names(&bench.path("first")) {
        let text = |dir: &str| {
            let text = fs::read_to_string(bench.path(dir).join(&name)).unwrap();
            text.split_once("\n  \"timing\": {").map_or(text.clone(), |(stable, _)| stable.into())
        };
        assert_eq!(text("first"), text("second"), "{name}");
    }
}

#[test]
fn a_killed_run_leaves_complete_results_or_none() {
    let bench = TestDir::new();
    let run = ["run", "s.toml", "--runs", "100", "--out", "results", "--trace"];
    let mut killed = 0;
    // From before the end of the first run to about the writing of results.
    for wait_ms in [5, 20, 50, 100, 150, 200, 250, 300, 400, 600] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"));
        command.current_dir(bench.0.path()).args(run).stdout(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
        match fs::read(bench.path("results/results.json")) {
            Ok(text) => {
                let document: Value = serde_json::from_slice(&text).unwrap();
                assert_eq!(document["runs"].as_array().unwrap().len(), 100);
                assert!(bench.path("results/trace-seed-100-flow-0.csv").exists());
                bench.stdout(&["report", "results"]);
                fs::remove_file(bench.path("results/results.json")).unwrap();
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
        }
    }
    assert!(killed > 0, "every run was too fast to be killed");
}

#[test]
fn seeds_start_at_the_given_seed() {
    let bench = TestDir::new();
    let fingerprints = |seed: &str, runs: &str| -> Vec<(Value, Value)> {
        let document = bench.document(&["run", "s.toml", "--json", "--seed", seed, "--runs", runs]);
        let runs = document["runs"].as_array().unwrap();
        runs.iter().map(|run| (run["seed"].clone(), run["fingerprint"].clone())).collect()
    };
    let two = fingerprints("1", "2");
    assert_eq!(two[1], fingerprints("2", "1")[0]);
    assert_ne!(two[0].1, two[1].1);
}

/// A second run with other seeds removes the files of the first.
#[test]
fn results_replace_those_of_another_run_completely() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--runs", "2", "--trace", "--out", "o"]);
    bench.file("o/notes.txt", "mine");
    assert!(names(&bench.path("o")).contains(&"trace-seed-2-flow-0.csv".to_owned()));
    bench.stdout(&["run", "s.toml", "--seed", "7", "--set", "duration=9 s", "--out", "o"]);
    let expected = [
        "notes.txt",
        "results.json",
        "samples-seed-7-flows.csv",
        "samples-seed-7-links.csv",
        "scenario.toml",
        "trace-seed-7-flow-0.csv",
        "trace-seed-7-network.csv",
    ];
    assert_eq!(names(&bench.path("o")), expected);
}
