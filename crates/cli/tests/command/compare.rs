//! `driftway compare`: its document, its page, its continuation after an interruption, and refusals.

use std::process::Stdio;
use std::time::Duration;

use predicates::str::contains;

use crate::*;

/// A short link with a neighbour: outages that nobody reports, and losses.
const LINK: &str = r#"
name = "a short link"
duration = "20 s"

[network]
kind = "path"
hops = 1
link = { rate = "500 kbit/s", delay = { uniform = ["20 ms", "30 ms"] }, packet_error_rate = 0.01 }

[[network.fault]]
kind = "outage"
hop = 1
first = "3 s"
every = "7 s"
lasts = "1 s"

[[flow]]
from = 0
to = 1
application = { transfer = "300 kB" }
tcp = { recovery = "newreno", min_rto = "3 s", window = "64 kB" }
aid = "atcp"

[[flow]]
from = 0
to = 1
application = "ftp"
tcp = "linux"
"#;

const ARMS: usize = 6 * 19;

fn link() -> TestDir {
    let bench = TestDir::new();
    bench.file("link.toml", LINK);
    bench
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_document_has_cells_and_recommendations() {
    let bench = link();
    let command = ["compare", "link.toml", "--quick", "--json", "--out", "out"];
    let document = bench.document(&[&command[..], &["--figures", "svg"]].concat());
    let figures = names(&bench.path("out/figures"));
    for name in ["relative-linux.svg", "relative-bbr3.svg", "network-link.svg"] {
        assert!(figures.contains(&name.to_owned()), "{figures:?}");
    }
    for key in ["schema", "version", "seeds", "cells", "recommendations"] {
        assert!(keys(&document).contains(&key), "{key}");
    }
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), ARMS);
    for cell in cells {
        for key in [
            "network",
            "tcp",
            "aid",
            "reading",
            "kernel",
            "n",
            "throughput_bps",
            "relative",
            "ci90",
            "p_holm",
            "completed",
            "completion_s",
            "neighbour_share",
        ] {
            assert!(keys(cell).contains(&key), "{key}: {cell}");
        }
        assert_eq!((&cell["network"], &cell["kernel"]), (&"link".into(), &false.into()));
        assert_eq!(cell["n"].as_u64().unwrap(), document["seeds"].as_array().unwrap().len() as u64);
        let share = cell["neighbour_share"].as_f64().unwrap();
        assert!(share > 0.0 && share < 1.0, "{cell}");
        assert!(
            cell["completed"].as_u64().unwrap() <= 4
                && cell["completion_s"].as_f64().unwrap() > 0.0
        );
        if cell["aid"] == "none" {
            assert_eq!((&cell["relative"], &cell["reading"]), (&1.0.into(), &Value::Null));
            assert_eq!((&cell["ci90"], &cell["p_holm"]), (&vec![1.0, 1.0].into(), &Value::Null));
        }
    }
    let recommendations = document["recommendations"].as_array().unwrap();
    assert_eq!(recommendations.len(), 1);
    for key in ["network", "sentence", "aid", "tcp", "evidence"] {
        assert!(keys(&recommendations[0]).contains(&key), "{key}");
    }
    assert_eq!(names(&bench.path("out")), ["figures", "index.html", "results.json"]);
    let page = fs::read_to_string(bench.path("out/index.html")).unwrap();
    // Where carry is behind stands first, then what to use, then the rest.
    let parts = [
        "which driftway recommends",
        "What to use",
        "QUIC or UDP",
        "Throughput relative to the same TCP without an aid",
        "Completion of short flows",
        "What it costs the neighbour",
        "Who can use what",
        "All cells",
    ];
    let places: Vec<_> =
        parts.iter().map(|part| page.find(part).unwrap_or_else(|| panic!("{part}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!page.contains("src=") && page.contains("default-src 'none'"));
    let text = bench.stdout(&["compare", "link.toml", "--quick"]);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("kbit/s") && text.contains("QUIC or UDP"), "{text}");
}

/// The same command continues with the runs that are missing, and gives the same bytes but for the computing time.
#[test]
fn a_killed_comparison_continues() {
    let without_timing = |bench: &TestDir| {
        let mut document = bench.document(&["compare", "link.toml", "--quick", "--json"]);
        document["timing"] = Value::Null;
        serde_json::to_string(&document).unwrap()
    };
    let bench = link();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"));
    command.current_dir(bench.0.path()).env("DRIFTWAY_CACHE", bench.path(".cache"));
    command.args(["compare", "link.toml", "--quick", "--jobs", "1", "--out", "out"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let stored = || -> usize {
        let versions = fs::read_dir(bench.path(".cache")).into_iter().flatten().flatten();
        versions.flat_map(|of| fs::read_dir(of.path()).into_iter().flatten().flatten()).count()
    };
    while stored() < 5 {
        assert!(child.try_wait().unwrap().is_none(), "the comparison was too fast to be killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the comparison was too fast to be killed");
    assert!(stored() < ARMS && !bench.path("out/results.json").exists());
    assert_eq!(without_timing(&bench), without_timing(&link()));
}

#[test]
fn wrong_input_is_refused_and_nothing_is_written() {
    let bench = link();
    bench.file("broken.toml", &LINK.replace("hops = 1", "hosp = 1"));
    fs::create_dir(bench.path("more")).unwrap();
    bench.file("more/link.toml", LINK);
    bench.file("copies.toml", &LINK.replacen("from = 0", "from = 0\ncopies = 2", 1));
    let udp = LINK.split("[[flow]]").next().unwrap();
    let udp = format!(
        "{udp}[[flow]]\nfrom = 0\nto = 1\ntransport = 'udp'\napplication = {{ cbr = {{ every = '1 s', size = '9 B' }} }}\n"
    );
    bench.file("udp.toml", &udp);
    for (arguments, message) in [
        (&["--network", "trian"][..], "did you mean `train`?"),
        (&["broken.toml"], "broken.toml:7:1: unknown key `hosp`"),
        (&["nowhere.toml"], "nowhere.toml"),
        (&["link.toml", "more/link.toml"], "another scenario is called link"),
        (&["copies.toml"], "has copies"),
        (&["udp.toml"], "no [[flow]] of TCP"),
        (&["--network", "adhoc-dsr", "--kernel"], "adhoc-dsr is not emulated: it has radios"),
        (&["link.toml", "--jobs", "0"], "at least 1"),
        (&["link.toml", "--out", "link.toml"], "that is a file, not a directory"),
    ] {
        let more = if arguments.contains(&"--out") { &[][..] } else { &["--out", "out"] };
        let all = [&["compare"], arguments, more].concat();
        bench.driftway(&all).assert().code(2).stdout("").stderr(contains(message));
        assert!(!bench.path("out").exists(), "{arguments:?}");
    }
}
