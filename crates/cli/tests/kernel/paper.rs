//! `driftway paper --kernel`.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

pub const TESTS: &[(&str, fn())] = &[
    ("a_point_is_run_without_and_with_the_shim", a_point_is_run_without_and_with_the_shim),
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
        // The shim has handled a handshake, data, and acknowledgments.
        let counts = run["shim_counts"].as_object();
        assert_eq!(run["shim"], counts.is_some(), "{run}");
        if let Some(counts) = counts {
            assert!(counts["intercepted"].as_u64().unwrap() > 46, "{run}");
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

fn an_unknown_congestion_control() {
    let Output { status, stderr, .. } =
        driftway(&[&SMALL[..], &["venice"]].concat()).output().unwrap();
    assert_eq!(status.code(), Some(2));
    let said = text(&stderr);
    assert!(said.contains("--congestion-control venice") && said.contains("reno"), "{said}");
}

fn without_privileges_the_error_says_so() {
    // The other user may not read this user's directories, and gets a copy of the program.
    let place = tempfile::Builder::new().permissions(open_to_all()).tempdir().unwrap();
    let program = place.path().join("driftway");
    std::fs::copy(cargo_bin("driftway"), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(SMALL).arg("reno").uid(65_534).gid(65_534).current_dir("/");
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&stderr);
    assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("--kernel") && said.contains("run it as root"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}
