//! Sweeps and studies: their output, their continuation after an interruption, and other readers.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::*;

const STUDY: &str = r#"
title = "Two windows and two aids"
note = "What a reader must know."
scenario = "s.toml"
runs = 4
step = "1 s"
x = { key = "flow.0.tcp.window", values = ["4 kB", "8 kB"], label = "window" }
y = [
  { metric = "completion_s", label = "transfer time" },
  { metric = "drops", label = "packets dropped" },
]

[[arm]]
name = "plain"
label = "plain TCP"
set = { "flow.0.aid" = "none" }

[[arm]]
name = "helped"
label = "TCP with ATCP"
set = { "flow.0.aid" = "atcp" }
against = "plain"
"#;

/// Output files that are reproducible to the byte.
const FILES: [&str; 9] = [
    "flows.csv",
    "flows.parquet",
    "index.html",
    "runs.csv",
    "runs.parquet",
    "s.toml",
    "steps.csv",
    "steps.parquet",
    "study.toml",
];

fn study_dir() -> TestDir {
    let bench = TestDir::new();
    bench.file("study.toml", STUDY);
    bench
}

fn lines(bench: &TestDir, file: &str) -> Vec<String> {
    let text = fs::read_to_string(bench.path(file)).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_study_gives_a_table_a_page_and_files() {
    let bench = study_dir();
    let text = bench.stdout(&["sweep", "study.toml", "--out", "o"]);
    for part in ["Two windows and two aids", "against window", "plain TCP", "TCP with ATCP", "8 kB"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("statement"), "{text}");
    let mut files = [&FILES[..], &["results.json"]].concat();
    files.sort_unstable();
    assert_eq!(names(&bench.path("o")), files);

    let runs = lines(&bench, "o/runs.csv");
    assert_eq!(runs.len(), 1 + 2 * 2 * 4);
    let header = "figure,arm,x,flow_0_aid,flow_0_tcp_window_bytes,seed,scenario,fingerprint,";
    assert!(runs[0].starts_with(header), "{}", runs[0]);
    assert!(runs[1].starts_with("1,plain,4000,none,4000,1,"), "{}", runs[1]);
    assert_eq!(lines(&bench, "o/flows.csv").len(), runs.len());
    let steps = lines(&bench, "o/steps.csv");
    let columns = "time_s,flow,delivered_bytes,throughput_bps,queue_length,hops,segments_sent,";
    assert!(steps[0].contains(columns), "{}", steps[0]);
    // Each run ends within its last step, with all data delivered.
    assert!(steps.len() > runs.len() && steps.last().unwrap().contains(",40000,"), "{steps:?}");

    let page = fs::read_to_string(bench.path("o/index.html")).unwrap();
    let own = page.split("plotly.js (basic").next().unwrap();
    for part in
        ["a study", "What a reader must know.", "Paired differences", "driftway sweep study"]
    {
        assert!(own.contains(part), "{part}");
    }
    assert!(!own.contains("the paper"));
}

/// The page of a study is written again from the directory of its results, in full or in part.
#[test]
fn a_report_of_a_study_is_its_page() {
    let bench = study_dir();
    fs::rename(bench.path("study.toml"), bench.path("two.toml")).unwrap();
    for part in [&[][..], &["--quick"], &["--runs", "3"]] {
        bench.stdout(&[&["sweep", "two.toml", "--out", "o"], part].concat());
        let page = || fs::read(bench.path("o/index.html")).unwrap();
        let document = || lines(&bench, "o/results.json").join("\n");
        let results = || document().split("\"timing\"").next().unwrap().to_owned();
        let (first, numbers) = (page(), results());
        fs::remove_file(bench.path("o/index.html")).unwrap();
        let text = bench.stdout(&["report", "o"]);
        assert!(text.contains("Two windows and two aids"), "{text}");
        assert!(numbers.contains("\"ci95\"") && results() == numbers, "{part:?}");
        // The commands name the files in the directory.
        let bare = |page: Vec<u8>| String::from_utf8(page).unwrap().replace("o/", "");
        assert!(bare(page()) == bare(first), "{part:?}");
    }
    fs::remove_file(bench.path("o/two.toml")).unwrap();
    let output = bench.driftway(&["report", "o"]).assert().code(2);
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(said.contains("the study is not there"), "{said}");
}

#[test]
fn one_point_is_a_table_with_its_differences() {
    let bench = study_dir();
    let study: String = STUDY
        .lines()
        .filter(|line| !line.starts_with("x ="))
        .map(|line| format!("{line}\n"))
        .collect();
    bench.file("study.toml", &study);
    bench.stdout(&["sweep", "study.toml", "--out", "o"]);
    let page = fs::read_to_string(bench.path("o/index.html")).unwrap();
    let own = page.split("plotly.js (basic").next().unwrap();
    assert!(!own.contains("class=\"plot\""));
    assert_eq!(own.matches("Paired differences").count(), 2, "one a metric");
    assert!(own.contains("TCP with ATCP − plain TCP"));
}

/// A measure that is compared by ratios: one table, with a column per measure, in the place of means.
#[test]
fn ratios_are_one_table_with_a_row_per_point() {
    let bench = study_dir();
    let start = STUDY.find("y = [").unwrap();
    let end = start + STUDY[start..].find("]\n").unwrap() + 2;
    let measures = "y = [{ metric = \"throughput_bps\", compare = \"ratio\", label = \"own\" }, \
                    { metric = \"throughput_bps\", of = \"sum\", compare = \"ratio\", label = \"all\" }]\n";
    let study = format!("{}{measures}{}", &STUDY[..start], &STUDY[end..]);
    bench.file("study.toml", &study);
    let text = bench.stdout(&["sweep", "study.toml", "--out", "o"]);
    for part in ["Paired ratios", "TCP with ATCP ÷ plain TCP", "own", "all", "8 kB"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Paired differences"), "{text}");
    let page = fs::read_to_string(bench.path("o/index.html")).unwrap();
    assert!(page.contains("TCP with ATCP ÷ plain TCP"));
    let document = bench.document(&["sweep", "study.toml", "--json"]);
    let figure = &document["figures"][0];
    let mean = |arm: &str| figure["arms"][arm][0]["mean"].as_f64().unwrap();
    let ratio = figure["ratios"][0]["points"][0]["mean"].as_f64().unwrap();
    assert!((ratio - mean("helped") / mean("plain")).abs() < 1e-9, "{figure}");
    assert_eq!(figure["differences"], serde_json::json!([]));
}

#[test]
fn a_sweep_on_the_command_line_is_a_study() {
    let bench = study_dir();
    let vary =
        ["--vary", "network.link.rate=64 kbit/s,128 kbit/s", "--vary", "flow.0.aid=none,atcp"];
    let all = [&["sweep", "s.toml"], &vary[..], &["--runs", "3", "--out", "o"]].concat();
    let text = bench.stdout(&all);
    for part in ["against link rate", "no aid", "ATCP", "64 kbit/s", "completion time"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Its output directory is a study with the same results.
    let again = bench.stdout(&["sweep", "o/study.toml", "--out", "again"]);
    assert!(again.contains("12 runs"), "{again}");
    for file in ["runs.csv", "flows.parquet", "study.toml"] {
        let read = |dir: &str| fs::read(bench.path(dir).join(file)).unwrap();
        assert!(read("o") == read("again"), "{file}");
    }
    let document = bench.document(&["sweep", "o/study.toml", "--json"]);
    assert_eq!(document["study"], "study");
    assert_eq!(document["figures"][0]["arms"]["ATCP"][1]["n"], 3);
}

/// Finished runs are cached at Ctrl-C, and the same command then gives the same bytes.
#[test]
fn an_interrupted_study_continues() {
    let bench = study_dir();
    // Slow enough to be interrupted.
    let slow = STUDY
        .replace("runs = 4", "runs = 12\nset = { \"flow.0.application.transfer\" = \"4 MB\" }");
    bench.file("study.toml", &slow);
    let run = |out: &str, cache: &str| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"));
        command.current_dir(bench.0.path()).env("DRIFTWAY_CACHE", bench.path(cache));
        command.args(["sweep", "study.toml", "--jobs", "1", "--out", out]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut stopped = run("o", "kept");
    while count_cached_runs(&bench.path("kept")) < 2 {
        assert!(stopped.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(stopped.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = stopped.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("of 48 runs finished; they are cached: the same command continues"),
        "{said}"
    );
    assert!(output.stdout.is_empty() && !bench.path("o").exists());
    let kept = count_cached_runs(&bench.path("kept"));
    assert!((2..48).contains(&kept), "{kept}");

    assert!(run("o", "kept").wait_with_output().unwrap().status.success());
    assert!(run("whole", "other").wait_with_output().unwrap().status.success());
    for file in FILES {
        let read = |dir: &str| fs::read(bench.path(dir).join(file)).unwrap();
        assert!(read("o") == read("whole"), "{file}");
    }
}

/// Number of cached runs.
fn count_cached_runs(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.path() {
        path if path.is_dir() => count_cached_runs(&path),
        path => usize::from(path.extension().is_some_and(|end| end == "json")),
    };
    entries.map(of).sum()
}

#[test]
fn errors_are_reported_before_any_run() {
    let bench = study_dir();
    for (arguments, message) in [
        (&["s.toml"][..], "this is a scenario, and no key varies"),
        (&["nowhere.toml"], "nowhere.toml"),
        (&["s.toml", "--vary", "flow.0.aid=nobody"], "nobody"),
        (&["s.toml", "--vary", "network.link.rat=1"], "did you mean"),
        (&["s.toml", "--vary", "duration=9 s", "--metric", "thruput_bps"], "throughput_bps"),
        (&["s.toml", "--vary", "duration=9 s,9 s"], "duplicate value"),
        (&["s.toml", "--vary", "duration"], "KEY=VALUE,VALUE"),
        (&["s.toml", "--vary", "duration=9 s", "--step", "0 s"], "step"),
        (&["s.toml", "--vary", "duration=9 s", "--metric", "end_to_end"], "docs/results.md"),
        (&["s.toml", "--vary", "duration,flow.0.aid=9 s:none:x"], "is not 2 values"),
        (&["study.toml", "--set", "flow.0.aid=none"], "compares values of this key"),
        (&["study.toml", "--figure", "7"], "available: 1"),
    ] {
        let output = bench.driftway(&[&["sweep"], arguments].concat()).assert().code(2);
        let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(said.contains(message), "{message}: {said}");
        assert!(output.get_output().stdout.is_empty());
    }
}

/// The tables in other programs; those that are not installed are skipped by name.
#[test]
fn polars_and_duckdb_read_the_tables() {
    let bench = study_dir();
    bench.stdout(&["sweep", "study.toml", "--out", "o"]);
    let rows = |file: &str| lines(&bench, file).len() - 1;
    let (runs, steps) = (rows("o/runs.csv"), rows("o/steps.csv"));
    for (module, script) in [
        (
            "polars",
            "import polars as p\n\
             r, s = p.read_parquet('o/runs.parquet'), p.read_parquet('o/steps.parquet')\n\
             c = p.read_csv('o/runs.csv')\n\
             assert r['throughput_bps'].to_list() == c['throughput_bps'].to_list()\n\
             assert r['arm'].to_list() == c['arm'].to_list() and r['seed'].dtype == p.Int64\n\
             print(r.height, s.height, s.filter(s['srtt_s'] > 0).height > 0)",
        ),
        (
            "duckdb",
            "import duckdb\n\
             n = lambda q: duckdb.sql(q).fetchall()[0][0]\n\
             print(n(\"select count(*) from 'o/runs.parquet'\"), \
             n(\"select count(*) from 'o/steps.parquet'\"), \
             n(\"select max(srtt_s) from 'o/steps.parquet' where arm = 'helped'\") > 0)",
        ),
    ] {
        let python = |script: &str| {
            let mut python = std::process::Command::new("python3");
            python.current_dir(bench.0.path()).args(["-c", script]).output()
        };
        if !python(&format!("import {module}")).is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: {module} is not installed");
            continue;
        }
        let output = python(script).unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.trim(), format!("{runs} {steps} True"), "{module}: {error}");
    }
}
