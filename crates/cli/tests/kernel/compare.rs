//! `driftway compare --kernel`.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use driftway_linux::RealClock;
use serde_json::Value;

use crate::test_programs::copy_for_all;

pub const TESTS: &[(&str, fn())] = &[
    ("a_comparison_has_cells_of_the_kernel", a_comparison_has_cells_of_the_kernel),
    ("a_killed_comparison_keeps_its_runs_with_the_kernel", a_killed_comparison_continues),
    ("a_comparison_without_privileges_says_so", a_comparison_without_privileges),
    ("a_network_without_a_path_is_not_compared", a_network_without_a_path),
];

/// An outage that nobody reports, and a flow beside the compared one.
const LINK: &str = r#"
name = "a short link"
duration = "8 s"

[network]
kind = "path"
hops = 1
link = { rate = "2 Mbit/s", delay = { uniform = ["20 ms", "26 ms"] } }

[[network.fault]]
kind = "outage"
hop = 1
first = "2 s"
lasts = "2500 ms"

[[flow]]
from = 0
to = 1
start = "1 s"
application = { transfer = "200 kB" }
tcp = { preset = "linux", window = "200 kB" }

[[flow]]
from = 0
to = 1
application = "ftp"
tcp = { preset = "linux", window = "100 kB" }
"#;

fn command(place: &Path, words: &[&str]) -> Command {
    std::fs::write(place.join("link.toml"), LINK).unwrap();
    let mut command = Command::new(cargo_bin("driftway"));
    command.current_dir(place).env("DRIFTWAY_CACHE", place.join("cache"));
    command.args(["compare", "link.toml", "--kernel", "--quick"]).args(words);
    command.stdin(Stdio::null());
    command
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn kernel_cells(document: &Value) -> Vec<Value> {
    let cells = document["cells"].as_array().unwrap().iter();
    cells.filter(|cell| cell["kernel"] == true).cloned().collect()
}

fn a_comparison_has_cells_of_the_kernel() {
    let place = tempfile::tempdir().unwrap();
    let (status, out, said) = run(command(place.path(), &["--json", "--out", "out"]));
    assert_eq!(status, Some(0), "{said}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let cells = kernel_cells(&document);
    let part = &document["kernel"];
    assert_eq!(part["seeds"].as_array().unwrap().len(), 3);
    let counted: u64 = cells.iter().map(|cell| cell["n"].as_u64().unwrap()).sum();
    let late = part["late"].as_u64().unwrap();
    assert_eq!(part["runs"], counted, "{part}");
    assert_eq!((counted + late, &part["not_started"]), (18, &0.into()), "{part}");
    for tcp in ["linux", "linux-bbr"] {
        for aid in ["none", "tcp-rto-max", "shim"] {
            let is_it = |cell: &&Value| cell["tcp"] == tcp && cell["aid"] == aid;
            let cell = cells.iter().find(is_it).unwrap_or_else(|| panic!("{tcp}/{aid}: {part}"));
            assert_eq!((&cell["network"], &cell["reading"]), (&"link".into(), &Value::Null));
            let share = cell["neighbour_share"].as_f64().unwrap();
            assert!(share > 0.2 && share < 1.0, "{cell}");
            let throughput = cell["throughput_bps"].as_f64().unwrap();
            assert!(throughput > 1e4 && throughput < 2e6, "{cell}");
            assert!(cell["completed"].as_u64().unwrap() <= cell["n"].as_u64().unwrap());
            assert!(cell["completion_s"].as_f64().unwrap() > 1.0, "{cell}");
            if aid == "none" {
                assert_eq!((&cell["relative"], &cell["p_holm"]), (&1.0.into(), &Value::Null));
            } else {
                assert!(cell["relative"].as_f64().unwrap() > 0.3, "{cell}");
            }
        }
    }
    // The simulated cells of the same network stand before them.
    let simulated = document["cells"].as_array().unwrap().len() - cells.len();
    assert!(simulated > 100, "{simulated}");
    let page = std::fs::read_to_string(place.path().join("out/index.html")).unwrap();
    for part in ["own TCP", "TCP_RTO_MAX_MS", "as it is", "driftway shim"] {
        assert!(page.contains(part), "{part}");
    }
    // All runs are stored: the same command has them at once.
    let clock = RealClock::start();
    let (status, out, said) = run(command(place.path(), &["--json"]));
    assert_eq!(status, Some(0), "{said}");
    if late == 0 {
        let took_s = clock.now().as_secs_f64();
        assert!(took_s < 6.0, "{took_s} s");
    }
    let again: Value = serde_json::from_str(&out).unwrap();
    if late == 0 {
        assert_eq!(kernel_cells(&again), cells);
    }
    let (status, text, said) = run(command(place.path(), &[]));
    assert_eq!(status, Some(0), "{said}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("With this machine's own TCP"), "{text}");
}

fn a_killed_comparison_continues() {
    let place = tempfile::tempdir().unwrap();
    let mut first = command(place.path(), &["--jobs", "1"]);
    let mut child = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let stored = || -> usize {
        let names = |dir: std::fs::ReadDir| dir.flatten().map(|entry| entry.path());
        let below = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flat_map(names);
        let versions = below(place.path().join("cache"));
        let files = versions.flat_map(below).flat_map(below);
        files.filter(|path| path.to_string_lossy().contains("/measured-")).count()
    };
    let clock = RealClock::start();
    while stored() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the comparison was too fast to be killed");
        assert!(clock.now().as_secs_f64() < 90.0, "no run was stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = stored() as u64;
    let (status, out, said) = run(command(place.path(), &["--json"]));
    assert_eq!(status, Some(0), "{said}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let (runs, late) = (&document["kernel"]["runs"], &document["kernel"]["late"]);
    assert_eq!(runs.as_u64().unwrap() + late.as_u64().unwrap(), 18, "{document}");
    assert!(kept >= 1 && stored() as u64 == runs.as_u64().unwrap());
}

fn a_comparison_without_privileges() {
    let (_place, program) = copy_for_all();
    let mut command = Command::new(&program);
    command.args(["compare", "--kernel", "--quick"]).uid(65_534).gid(65_534).current_dir("/");
    command.stdin(Stdio::null());
    let (status, out, said) = run(command);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("--kernel") && said.contains("run it as root"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

fn a_network_without_a_path() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(cargo_bin("driftway"));
    command.current_dir(place.path()).env("DRIFTWAY_CACHE", place.path().join("cache"));
    command.args(["compare", "--network", "adhoc-dsr", "--kernel", "--out", "out"]);
    let (status, out, said) = run(command);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("adhoc-dsr is not emulated"), "{said}");
    assert!(!place.path().join("out").exists());
}
