//! Sweeps in shards, and their merge.

use crate::*;

const STUDY: &str = r#"
title = "Three windows"
scenario = "s.toml"
runs = 3
step = "1 s"
x = { key = "flow.0.tcp.window", values = ["4 kB", "8 kB", "16 kB"], label = "window" }
y = [{ metric = "completion_s", label = "transfer time" }]

[[figure]]
id = "1"
title = "Windows"

[[figure]]
id = "2"
title = "A run over time"
trace = { draw = ["cwnd"] }
"#;

fn study_dir() -> TestDir {
    let bench = TestDir::new();
    bench.file("study.toml", STUDY);
    bench
}

/// Calls the command without the runs of the other calls.
fn stdout_alone(bench: &TestDir, arguments: &[&str]) -> String {
    let output = bench.driftway(arguments).env("DRIFTWAY_CACHE", "off").assert().success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

fn shard(bench: &TestDir, which: &str, out: &str) -> String {
    stdout_alone(bench, &["sweep", "study.toml", "--shard", which, "--out", out])
}

/// The message of a refused merge, which writes nothing.
fn refused(bench: &TestDir, arguments: &[&str]) -> String {
    let all = [&["sweep", "study.toml"], arguments, &["--out", "merged"]].concat();
    let output = bench.driftway(&all).assert().code(2).get_output().stderr.clone();
    assert!(!bench.path("merged").exists());
    String::from_utf8(output).unwrap()
}

/// The document without the computing time.
fn results(bench: &TestDir, dir: &str) -> String {
    let text = fs::read_to_string(bench.path(dir).join("results.json")).unwrap();
    text.split("\"timing\"").next().unwrap().to_owned()
}

#[test]
fn merged_shards_are_the_sweep_to_the_byte() {
    let bench = study_dir();
    stdout_alone(&bench, &["sweep", "study.toml", "--out", "whole"]);
    let said = shard(&bench, "1/4", "a");
    assert!(said.contains("Shard 1 of 4: 3 runs of 9"), "{said}");
    for (which, out) in [("2/4", "b"), ("3/4", "c"), ("4/4", "d")] {
        shard(&bench, which, out);
    }
    assert_eq!(names(&bench.path("a")), ["records.jsonl", "shard.json"]);
    // In any order, and with whatever number of threads.
    let merge = ["sweep", "study.toml", "--merge", "d", "a", "c", "b", "--out", "merged"];
    let text = stdout_alone(&bench, &[&merge[..], &["--jobs", "1"]].concat());
    assert!(text.contains("Three windows"), "{text}");
    let files = names(&bench.path("whole"));
    assert_eq!(names(&bench.path("merged")), files);
    assert!(files.iter().any(|name| name.contains("trace")), "{files:?}");
    for file in files.iter().filter(|file| *file != "results.json") {
        let read = |dir: &str| fs::read(bench.path(dir).join(file)).unwrap();
        assert!(read("whole") == read("merged"), "{file}");
    }
    assert_eq!(results(&bench, "whole"), results(&bench, "merged"));
}

#[test]
fn missing_and_foreign_shards_are_listed() {
    let bench = study_dir();
    for (which, out) in [("1/4", "a"), ("2/4", "b"), ("1/3", "third")] {
        shard(&bench, which, out);
    }
    let other =
        ["sweep", "study.toml", "--shard", "3/4", "--out", "short", "--set", "duration=500 s"];
    stdout_alone(&bench, &other);
    let copy = |from: &str, to: &str| {
        fs::create_dir(bench.path(to)).unwrap();
        for file in ["records.jsonl", "shard.json"] {
            fs::copy(bench.path(from).join(file), bench.path(to).join(file)).unwrap();
        }
    };
    copy("a", "old");
    let manifest = fs::read_to_string(bench.path("old/shard.json")).unwrap();
    let old = manifest.replacen("\"version\": \"", "\"version\": \"old-", 1);
    bench.file("old/shard.json", &old);
    let merge = ["--merge", "a", "b", "third", "short", "old", "a", "none", "s.toml"];
    let said = refused(&bench, &merge);
    for part in [
        "third: it is one of 3 shards, and a one of 4",
        "short: it is of another study, of other options or of other scenarios",
        "old: its runs are of driftway old-",
        "a: it is shard 1/4, and so is a",
        "none: no shard: cannot read shard.json",
        "s.toml: no shard",
        "shard 3/4 is missing",
        "shard 4/4 is missing",
        "help: each shard is the directory",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn shards_that_were_cut_short_are_refused() {
    let bench = study_dir();
    for (which, out) in [("1/2", "a"), ("2/2", "b")] {
        shard(&bench, which, out);
    }
    let whole = fs::read_to_string(bench.path("b/records.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let cut = lines[..lines.len() - 1].join("\n");
    let half = &whole[..whole.len() / 2];
    let twice = format!("{whole}{}\n", lines[0]);
    let turned = lines.iter().rev().map(|line| format!("{line}\n")).collect::<String>();
    for (text, part) in [
        (cut.as_str(), "b: records.jsonl: runs are missing"),
        (half, "b: records.jsonl: "),
        ("", "b: records.jsonl: runs are missing"),
        (twice.as_str(), "b: records.jsonl: there are runs of another study"),
        (turned.as_str(), "b: records.jsonl: a run is not that of the study"),
    ] {
        bench.file("b/records.jsonl", text);
        let said = refused(&bench, &["--merge", "a", "b"]);
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn wrong_options_are_refused() {
    let bench = study_dir();
    for (arguments, part) in [
        (&["--shard", "3/2"][..], "expected I/N with I from 1 to N"),
        (&["--shard", "0/2"], "expected I/N"),
        (&["--shard", "1/2", "--json"], "cannot be used with"),
        (&["--shard", "1/2", "--merge", "a"], "cannot be used with"),
        (&["--shard", "1/2", "--dask", "tcp://localhost:1"], "cannot be used with"),
        (&["--merge", "a", "--fresh"], "cannot be used with"),
    ] {
        let said = refused(&bench, arguments);
        assert!(said.contains(part), "{part}: {said}");
    }
    let output = bench.driftway(&["sweep", "study.toml", "--shard", "1/2"]).assert().code(2);
    let said = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(said.contains("--out"), "{said}");
}

#[test]
fn dask_without_the_package_says_what_to_install() {
    let bench = study_dir();
    let call = |python: &str| {
        let mut command = bench.driftway(&["sweep", "study.toml", "--dask", "tcp://localhost:1"]);
        let output = command.env("DRIFTWAY_PYTHON", python).assert().code(2);
        String::from_utf8(output.get_output().stderr.clone()).unwrap()
    };
    let said = call("no-such-python");
    assert!(said.contains("cannot start no-such-python") && said.contains("pip install"), "{said}");
}
