//! `driftway validate --kernel`.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::test_programs::copy_for_all;

pub const TESTS: &[(&str, fn())] = &[
    ("a_path_has_a_row_for_each_flow_of_a_preset", a_path_has_rows),
    ("a_validation_without_privileges_says_so", a_validation_without_privileges),
];

const STUDY: &str = r#"
title = "one path"
scenario = "path.toml"
y = [{ metric = "throughput_bps", label = "throughput" }]
kernel = { figures = ["short"], arms = [], twins = ["alone", "beside"], runs = 2, quick = { runs = 2 } }
arm = [{ name = "alone", label = "alone", set = { "flow" = 1 } }, { name = "beside", label = "beside" }]
figure = [{ id = "short", title = "a short path" }]
"#;
const PATH: &str = r#"
name = "path"
duration = "3 s"
[network]
kind = "path"
hops = 1
link = { rate = "5 Mbit/s", delay = { uniform = ["9 ms", "11 ms"] } }
[[flow]]
from = 0
to = 1
application = "ftp"
tcp = { preset = "linux", window = "100 kB" }
[[flow]]
from = 0
to = 1
application = "ftp"
tcp = { preset = "linux", window = "100 kB" }
"#;

fn a_path_has_rows() {
    let place = tempfile::tempdir().unwrap();
    let study = place.path().join("study.toml");
    std::fs::write(&study, STUDY).unwrap();
    std::fs::write(place.path().join("path.toml"), PATH).unwrap();
    let mut command = Command::new(cargo_bin("driftway"));
    let words = ["validate", "short", "--kernel", "--quick", "--runs", "2", "--json", "--study"];
    command.args(words).arg(&study).stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    let document: Value = serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{said}"));
    let rows = document["rows"].as_array().unwrap();
    // The first preset, alone; beside it are only presets that scenarios know.
    assert_eq!((&rows[0]["preset"], &rows[0]["alone"]), (&"linux".into(), &true.into()));
    for row in rows {
        assert_eq!((&row["path"], &row["n"]), (&"short".into(), &2.into()), "{row}");
        assert!((row["rtt_s"].as_f64().unwrap() - 0.02).abs() < 1e-9, "{row}");
        let [simulated, kernel, ratio] =
            ["simulated_bps", "kernel_bps", "ratio"].map(|key| row[key].as_f64().unwrap());
        assert!((simulated / kernel / ratio - 1.0).abs() < 1e-9, "{row}");
        let [low, high] = [0, 1].map(|end| row["ci90"][end].as_f64().unwrap());
        assert!(low <= ratio && ratio <= high, "{row}");
        let verdict = row["verdict"].as_str().unwrap();
        let expected = match () {
            () if low >= 0.95 && high <= 1.05 => "within",
            () if low > 1.05 || high < 0.95 => "outside",
            () => "undecided",
        };
        assert_eq!(verdict, expected, "{row}");
    }
    // A clean path: the flow alone fills most of it in both arms.
    for key in ["simulated_bps", "kernel_bps"] {
        assert!((3e6..5e6).contains(&rows[0][key].as_f64().unwrap()), "{}", rows[0]);
    }
    let outside = rows.iter().any(|row| row["verdict"] == "outside");
    assert_eq!(status.code(), Some(i32::from(outside)), "{said}");
    assert_eq!(said.contains("not within 5 %"), outside, "{said}");
}

fn a_validation_without_privileges() {
    let (_place, program) = copy_for_all();
    let mut command = Command::new(&program);
    command.args(["validate", "--kernel", "--quick"]).uid(65_534).gid(65_534).current_dir("/");
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("--kernel") && said.contains("run it as root"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
