//! `driftway paper --kernel`.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::test_programs::copy_for_all;

pub const TESTS: &[(&str, fn())] = &[
    ("a_point_is_run_without_and_with_the_shim", a_point_is_run_without_and_with_the_shim),
    ("a_mobile_receiver_has_the_shim_and_a_throughput", a_mobile_receiver_has_the_shim),
    ("an_unknown_congestion_control_is_an_error", an_unknown_congestion_control),
    ("without_privileges_the_error_says_so", without_privileges_the_error_says_so),
];

/// The ends of figure 15 with very short transfers.
const SMALL: [&str; 9] = [
    "paper",
    "liu-singh-2001",
    "--kernel",
    "--figure",
    "15",
    "--quick",
    "--transfer",
    "4 kB",
    "--congestion-control",
];

fn driftway(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("driftway"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn a_point_is_run_without_and_with_the_shim() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let out = out.to_str().unwrap();
    let ran = driftway(&[&SMALL[..], &["reno", "--runs", "2", "--out", out]].concat()).output();
    let Output { status, stdout, stderr } = ran.unwrap();
    assert!(status.success(), "{}", text(&stderr));
    assert!(stderr.is_empty(), "{}", text(&stderr));
    let table = text(&stdout);
    assert!(table.contains("Figure 15: transfer time"), "{table}");
    for arm in ["ATCP over Linux, Reno", "\n Reno  ", "Reno over the shim", "of the time without"] {
        assert!(table.contains(arm), "{arm}: {table}");
    }
    assert!(table.contains("transfers end after 4 kB"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let page = std::fs::read_to_string(place.path().join("out/index.html")).unwrap();
    assert!(page.contains("Reno over the shim") && page.contains("--transfer &#39;4000 B&#39;"));

    let document = std::fs::read(place.path().join("out/results.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let kernel = &document["kernel"];
    assert_eq!(kernel["transfer_bytes"], 4000);
    let runs = kernel["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * 2 * 2, "points, stacks, seeds");
    for run in runs {
        assert_eq!(run["received_bytes"], 4000, "{run}");
        // 46 segments of 88 B, with headers, at 32 kbit/s, over each of four hops once at least.
        assert!(run["completion_s"].as_f64().unwrap() > 46.0 * 0.035, "{run}");
        assert!(run["tcp_counts"]["retransmissions"].is_u64(), "{run}");
        // The shim has handled data and acknowledgments, but for those of the first second.
        let counts = run["shim_counts"].as_object();
        assert_eq!(run["shim"], counts.is_some(), "{run}");
        if let Some(counts) = counts {
            let count = |name: &str| counts.get(name).and_then(Value::as_u64).unwrap_or(0);
            assert!(count("intercepted") + count("watched") > 10, "{run}");
            assert_eq!(counts["flows"], 1, "{run}");
        }
    }
    let with = runs.iter().filter(|run| run["shim"] == true).count();
    assert_eq!(with, 4, "half of them");
    for arm in ["kernel-reno", "kernel-reno-shim", "linux-reno", "atcp"] {
        let points = &document["figures"][0]["arms"][arm];
        assert_eq!(points.as_array().unwrap().len(), 2, "{arm}");
        assert!(points[1]["mean"].as_f64().unwrap() > 0.0, "{arm}");
    }
}

/// A paper whose shim runs at node 2, which receives, with an aid for receivers.
const RECEIVER: &str = r#"
title = "a mobile host"
source = "none"
authors = ["nobody"]
runs = 2
scenario = "path.toml"
x = { label = "outage", key = "network.fault.0.lasts", values = ["0.5 s"] }
y = [{ metric = "throughput_bps", label = "throughput" }]
kernel = { figures = ["6"], shim_node = 2, aid = "mobile-host", arms = ["plain"], twins = ["plain"], runs = 2, quick = { runs = 2, duration = "2.5 s" } }
arm = [{ name = "plain", label = "plain" }]
figure = [{ id = "6", title = "to the mobile host" }]
"#;
const PATH: &str = r#"
name = "path"
duration = "100 s"
[network]
kind = "path"
hops = 2
link = { rate = "5 Mbit/s", delay = "1 ms" }
[[network.fault]]
kind = "partition"
hop = 2
first = "1 s"
lasts = "0.5 s"
signal = "link"
[[flow]]
from = 0
to = 2
application = "ftp"
tcp = { preset = "linux" }
"#;

fn a_mobile_receiver_has_the_shim() {
    let place = tempfile::tempdir().unwrap();
    let paper = place.path().join("paper");
    std::fs::create_dir(&paper).unwrap();
    std::fs::write(paper.join("paper.toml"), RECEIVER).unwrap();
    std::fs::write(paper.join("path.toml"), PATH).unwrap();
    let paper = paper.to_str().unwrap();
    let words = ["paper", paper, "--kernel", "--quick", "--json", "--congestion-control", "cubic"];
    let Output { status, stdout, stderr } = driftway(&words).output().unwrap();
    assert!(status.success(), "{}", text(&stderr));
    let document: Value = serde_json::from_slice(&stdout).unwrap();
    let kernel = &document["kernel"];
    assert_eq!((&kernel["duration_s"], &kernel["transfer_bytes"]), (&2.5.into(), &Value::Null));
    let runs = kernel["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * 2, "stacks, seeds");
    for run in runs {
        let aid = if run["shim"] == true { Value::from("mobile-host") } else { Value::Null };
        assert_eq!((&run["aid"], &run["completion_s"]), (&aid, &Value::Null), "{run}");
        let throughput = run["throughput_bps"].as_f64().unwrap();
        assert!((5e5..5e6).contains(&throughput), "{run}");
        if run["shim"] == true {
            let counts = &run["shim_counts"];
            assert!(counts["held_back"].as_u64().unwrap() > 0, "{run}");
            assert!(counts["acks_sent"].as_u64().unwrap() > 0, "{run}");
        }
    }
    let points = &document["figures"][0]["arms"]["kernel-cubic-mobile-host"];
    assert!(points[0]["mean"].as_f64().unwrap() > 5e5, "{points}");
}

fn an_unknown_congestion_control() {
    let Output { status, stderr, .. } =
        driftway(&[&SMALL[..], &["venice"]].concat()).output().unwrap();
    assert_eq!(status.code(), Some(2));
    let said = text(&stderr);
    assert!(said.contains("--congestion-control venice") && said.contains("reno"), "{said}");
}

fn without_privileges_the_error_says_so() {
    let (_place, program) = copy_for_all();
    let mut command = Command::new(&program);
    command.args(SMALL).arg("reno").uid(65_534).gid(65_534).current_dir("/");
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&stderr);
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("--kernel") && said.contains("run it as root"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
