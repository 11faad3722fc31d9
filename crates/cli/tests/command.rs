//! The command as a user meets it: what it prints, what it leaves behind, how it ends.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use serde_json::Value;

/// Small enough for tests, lossy enough that seeds differ.
const SCENARIO: &str = r#"
name = "two lossy hops"
duration = "600 s"

[network]
kind = "path"
hops = 2

[network.link]
rate = "64 kbit/s"
delay = "20 ms"
bit_error_rate = 2e-5

[[flow]]
from = 0
to = 2
application = { transfer = "40 kB" }
tcp = { recovery = "reno", mss = "500 B", window = "8 kB" }
aid = "atcp"

[[reference]]
source = "somebody-2001, figure 8"
label = "ATCP"
metric = "completion_s"
x = "network.link.bit_error_rate"
points = [[1e-5, 9], [2e-5, 11]]
"#;

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.file("s.toml", SCENARIO);
        bench
    }
    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }
    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
    fn driftway(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("driftway").unwrap();
        command.current_dir(self.0.path()).env_remove("NO_COLOR").args(arguments);
        command
    }
    fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.driftway(arguments).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }
    fn document(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.stdout(arguments)).unwrap()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entry = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(entry).collect();
    names.sort();
    names
}

#[test]
fn help_has_examples_and_only_what_exists() {
    let bench = Bench::new();
    let help = bench.stdout(&["--help"]);
    assert!(help.contains("driftway report results"));
    for word in ["paper", "compare", "emulate", "shim"] {
        assert!(!help.contains(word), "{word}");
        bench.driftway(&[word]).assert().code(2);
    }
    for command in ["run", "check", "report"] {
        let help = bench.stdout(&[command, "--help"]);
        assert!(help.contains("Examples:"), "{command}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn a_wrong_input_gives_one_message_and_leaves_nothing() {
    let bench = Bench::new();
    bench.file("broken.toml", "name = \n");
    bench.file("typo.toml", &SCENARIO.replace("bit_error_rate = ", "bit_eror_rate = "));
    bench.file("unit.toml", &SCENARIO.replace("64 kbit/s", "64 furlongs"));
    bench.file("taken", "");
    let cases: &[(&[&str], &str)] = &[
        (&["run", "nowhere.toml"], "nowhere.toml"),
        (&["run", "broken.toml"], "broken.toml:1:"),
        (&["run", "typo.toml"], "did you mean `bit_error_rate`?"),
        (&["run", "unit.toml"], "bit/s"),
        (&["run", "s.toml", "--set", "network.hop=3"], "did you mean `hops`?"),
        (&["run", "s.toml", "--set", "network.hops"], "KEY=VALUE"),
        (&["run", "s.toml", "--runs", "0"], "--runs"),
        (&["run", "s.toml", "--jobs", "0"], "--jobs"),
        (&["run", "s.toml", "--sed", "3"], "--seed"),
        (&["run", "s.toml", "--seed", "18446744073709551615", "--runs", "2"], "no room"),
    ];
    let before = names(bench.0.path());
    for (arguments, says) in cases {
        let with_out = [*arguments, &["--out", "results"]].concat();
        bench
            .driftway(&with_out)
            .assert()
            .code(2)
            .stdout(is_empty())
            .stderr(contains(*says).and(contains("error:").count(1)));
        assert_eq!(names(bench.0.path()), before, "{arguments:?}");
    }
    for arguments in [
        &["run", "s.toml", "--trace"][..],
        &["run", "s.toml", "--out", "taken"],
        &["check", "typo.toml"],
        &["report", "nowhere"],
        &["report", "."],
        &["report", "s.toml"],
    ] {
        bench.driftway(arguments).assert().code(2).stdout(is_empty());
        assert_eq!(names(bench.0.path()), before, "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_written_is_no_success() {
    let bench = Bench::new();
    let arguments = ["run", "s.toml", "--out", "s.toml/below"];
    bench.driftway(&arguments).assert().code(1).stderr(contains("s.toml/below"));
}

#[test]
fn check_says_what_would_run_and_shows_what_reads_back() {
    let bench = Bench::new();
    bench
        .driftway(&["check", "s.toml"])
        .assert()
        .success()
        .stdout(contains("ok: two lossy hops").and(contains("atcp")));
    let set = ["--set", "network.hops=3", "--set", "flow.0.to=3"];
    let shown = bench.stdout(&[&["check", "s.toml", "--show"][..], &set].concat());
    bench.file("shown.toml", &shown);
    assert_eq!(bench.stdout(&["check", "shown.toml", "--show"]), shown);
    let runs = |document: Value| document["runs"].clone();
    assert_eq!(
        runs(bench.document(&["run", "shown.toml", "--json"])),
        runs(bench.document(&[&["run", "s.toml", "--json"][..], &set].concat())),
    );
}

#[test]
fn the_document_is_the_same_for_any_number_of_jobs() {
    let bench = Bench::new();
    let run = |jobs| bench.stdout(&["run", "s.toml", "--runs", "6", "--json", "--jobs", jobs]);
    // Timings come last: all before them is the same, to the byte.
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
fn the_document_has_the_names_of_the_schema() {
    let bench = Bench::new();
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
fn tables_fit_and_say_what_did_not_complete() {
    let bench = Bench::new();
    let text = bench.stdout(&["run", "s.toml", "--runs", "3"]);
    assert!(text.contains("completion time") && text.contains('±'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let text = bench.stdout(&["run", "s.toml", "--runs", "3", "--set", "duration=2 s"]);
    assert!(text.contains("did not complete in any of 3 runs"), "{text}");
    let ftp = ["run", "s.toml", "--set", "duration=2 s", "--set", "flow.0.application=ftp"];
    assert!(!bench.stdout(&ftp).contains("did not complete"));
}

#[test]
fn colour_is_for_terminals_and_no_color_is_heard() {
    let bench = Bench::new();
    let stderr = |key: &str, value: &str| {
        let mut command = bench.driftway(&["check", "nowhere.toml"]);
        let output = command.env(key, value).assert().code(2).get_output().stderr.clone();
        String::from_utf8(output).unwrap()
    };
    assert!(!stderr("TERM", "xterm").contains('\x1b'));
    assert!(stderr("CLICOLOR_FORCE", "1").contains('\x1b'));
    let mut both = bench.driftway(&["check", "nowhere.toml"]);
    both.env("NO_COLOR", "1").env("TERM", "xterm-256color");
    both.assert().code(2).stderr(contains("\x1b").not());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let bench = Bench::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"));
    let output = command.arg("run").arg(bench.path("s.toml")).stdout(writer).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn results_are_whole_and_the_page_asks_no_network() {
    let bench = Bench::new();
    bench.stdout(&["run", "s.toml", "--runs", "3", "--out", "results"]);
    let files = ["results.json", "scenario.toml", "trace-seed-1-flow-0.csv"];
    let network = "trace-seed-1-network.csv";
    assert_eq!(names(&bench.path("results")), [&files[..], &[network]].concat());
    let trace = fs::read_to_string(bench.path("results").join(files[2])).unwrap();
    assert!(trace.starts_with("time_s,event,offset_bytes,"), "{}", &trace[..100]);
    assert!(trace.contains(",delivered,40000,"));

    let text = bench.stdout(&["report", "results"]);
    assert!(text.contains("two lossy hops") && text.contains("results/index.html"), "{text}");
    let page = fs::read_to_string(bench.path("results/index.html")).unwrap();
    assert!(page.contains("Time–sequence") && page.contains("Congestion window"));
    assert_eq!(page.matches("plotly.js v").count(), 1);
    for asks in ["src=\"http", "src='http", "<link", "@import", "<iframe"] {
        let own = page.split("plotly.js v").next().unwrap();
        assert!(!own.contains(asks), "{asks}");
    }
    assert!(page.contains("default-src 'none'"));

    bench.stdout(&["run", "s.toml", "--runs", "2", "--out", "results", "--trace"]);
    let traces = names(&bench.path("results")).into_iter().filter(|name| name.ends_with(".csv"));
    assert_eq!(traces.count(), 4);
}

#[test]
fn what_is_run_again_is_the_same() {
    let bench = Bench::new();
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
fn a_set_is_drawn_against_what_varies_with_the_papers_points() {
    let bench = Bench::new();
    for aid in ["none", "atcp"] {
        for rate in ["1e-5", "2e-5", "4e-5"] {
            let out = format!("set/{aid}-{rate}");
            let aid = format!("flow.0.aid={aid}");
            let rate = format!("network.link.bit_error_rate={rate}");
            let run =
                ["run", "s.toml", "--runs", "3", "--out", &out, "--set", &aid, "--set", &rate];
            bench.stdout(&run);
        }
    }
    let text = bench.stdout(&["report", "set"]);
    assert!(
        text.contains("6 scenarios, 18 runs against network.link.bit_error_rate: atcp; no aid"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = fs::read_to_string(bench.path("set/index.html")).unwrap();
    assert!(page.contains("ATCP (somebody-2001, figure 8)"));
    assert!(page.contains("no aid, 2e-5, seed 1"));
}

#[test]
fn results_that_are_not_ours_are_refused() {
    let bench = Bench::new();
    bench.stdout(&["run", "s.toml", "--out", "results"]);
    let path = bench.path("results/results.json");
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [("\"schema\": 1", "\"schema\": 999"), ("\"runs\": [", "\"walks\": [")] {
        fs::write(&path, text.replace(from, to)).unwrap();
        bench
            .driftway(&["report", "results"])
            .assert()
            .code(2)
            .stderr(contains("results.json").and(contains("run the scenario again")));
    }
    assert!(!bench.path("results/index.html").exists());
}
