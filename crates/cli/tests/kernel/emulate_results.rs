//! `driftway emulate --out`: results in the form of those of `driftway run`.

use std::fs;
use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::test_programs::command_line;

pub const TESTS: &[(&str, fn())] = &[
    ("connections_are_the_flows_of_an_emulation", connections_are_flows),
    ("a_report_draws_an_emulation_as_a_run", a_report_draws_an_emulation),
    ("a_saturating_flow_gets_every_opportunity", a_saturating_flow_gets_every_opportunity),
];

const BYTES: u64 = 1_000_000;

/// 4 Mbit/s for a second, then nothing for a second, then half; losses besides.
const SCENARIO: &str = r#"
name = "a link that pauses"
duration = "60 s"
[network]
kind = "path"
hops = 2
[network.link]
trace = { file = "link.csv" }
queue = { packets = 40 }
[[network.override]]
hop = 2
trace = { file = "fast.csv" }
[[network.fault]]
kind = "outage"
hop = 2
first = "2500 ms"
lasts = "200 ms"
[[flow]]
from = 0
to = 2
application = "ftp"
"#;

/// A directory with results of an emulation in `o`.
fn emulated() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
    write("s.toml", SCENARIO);
    write("link.csv", "time_s,rate_bps,delay_s\n0,4e6,0.01\n1,0,0.01\n2,2e6,0.01\n600,2e6,0.01\n");
    write(
        "fast.csv",
        "time_s,rate_bps,delay_s,packet_error_rate\n0,1e8,0.005,0.01\n600,1e8,0.005,0.01\n",
    );
    let sink = command_line("sink");
    let send = format!("exec {} {BYTES}", command_line("send"));
    let words = ["emulate", "s.toml", "--seed", "3", "--out", "o", "--far", &sink];
    let mut command = Command::new(cargo_bin("driftway"));
    command.current_dir(place.path()).args(words).args(["--", "sh", "-c", &send]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    place
}

fn rows(place: &tempfile::TempDir, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(place.path().join("o").join(name)).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().skip(1).map(cells).collect()
}

fn connections_are_flows() {
    let place = emulated();
    let text = fs::read_to_string(place.path().join("o/results.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["schema"], &document["emulated"]), (&2.into(), &true.into()));
    let run = &document["runs"][0];
    assert_eq!(run["seed"], 3);
    let flows = run["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 1, "{text}");
    let flow = &flows[0];
    assert_eq!((&flow["source"], &flow["destination"]), (&0.into(), &2.into()));
    assert_eq!((&flow["delivered_bytes"], &flow["outcome"]), (&BYTES.into(), &"complete".into()));
    assert!(flow["tcp"].as_str().unwrap().starts_with("kernel+"), "{flow}");
    let number = |key: &str| flow[key].as_f64().unwrap_or_else(|| panic!("{key}: {flow}"));
    // 4 Mbit in the first second and, after a pause, the other half at 2 Mbit/s.
    let completion_s = number("completion_s");
    assert!((3.9..20.0).contains(&completion_s), "{flow}");
    assert!((number("throughput_bps") * completion_s / 8e6 - 1.0).abs() < 1e-6, "{flow}");
    assert!(number("rtt_s") >= 0.03 && number("rtt_s") < 5.0, "{flow}");
    // A hundredth of some seven hundred segments is lost.
    assert!(number("retransmissions") >= 1.0 && number("retransmission_ratio") < 0.5, "{flow}");
    assert!(number("goodput_ratio") <= 1.0 && number("goodput_ratio") > 0.5, "{flow}");
    for unknown in ["timeouts", "fast_retransmits", "delay_s", "probes"] {
        assert_eq!(flow[unknown], Value::Null, "{unknown}");
    }
    let links = run["links"].as_array().unwrap();
    assert_eq!(links.len(), 4);
    assert!(links[0]["bytes"].as_u64().unwrap() > BYTES, "{links:?}");
    assert!(run["drops"]["bit-error"].as_u64().unwrap() >= 1, "{run}");

    let capacity = |hop: &str, from: f64, to: f64| -> Vec<f64> {
        let rows = rows(&place, "samples-seed-3-links.csv").into_iter();
        let of = rows.filter(|row| row[1] == hop && row[2] == "forward");
        let in_time = of.filter(|row| (from..to).contains(&row[0].parse::<f64>().unwrap()));
        in_time.map(|row| row[3].parse().unwrap()).collect()
    };
    for (from, to, rate) in [(0.0, 0.9, 4e6), (1.1, 1.9, 0.0), (2.1, 3.0, 2e6)] {
        let found = capacity("1", from, to);
        assert!(found.len() >= 3 && found.iter().all(|of| *of == rate), "{rate}: {found:?}");
    }
    // Cut.
    assert!(capacity("2", 2.55, 2.69).iter().all(|of| *of == 0.0));
    let samples = rows(&place, "samples-seed-3-flows.csv");
    let delivered: Vec<u64> = samples.iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(delivered.is_sorted() && *delivered.last().unwrap() <= BYTES, "{delivered:?}");
    assert!(samples.iter().any(|row| !row[3].is_empty() && !row[4].is_empty()), "{samples:?}");
    let faults = rows(&place, "trace-seed-3-network.csv");
    assert_eq!((faults.len(), faults[0][2].as_str()), (2, "outage"), "{faults:?}");
}

fn a_report_draws_an_emulation() {
    let place = emulated();
    let mut command = Command::new(cargo_bin("driftway"));
    let output = command.current_dir(place.path()).args(["report", "o"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("One emulation in real time"), "{said}");
    let page = fs::read_to_string(place.path().join("o/index.html")).unwrap();
    for part in [
        "Over time: seed 3",
        "capacity, hop 1 forward",
        "throughput, 10.0.0.1:",
        "round trip, 10.0.0.1:",
        "queue, hop 1 forward",
        "cwnd, 10.0.0.1:",
        "driftway emulate o/scenario.toml --seed 3",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("to the byte"), "an emulation is not repeated to the byte");
}

/// Equality up to a packet: those that leave after a pause of 12 s have waited through it.
fn a_saturating_flow_gets_every_opportunity() {
    let place = tempfile::tempdir().unwrap();
    let times: Vec<u64> = (2000..2500).chain(14_500..15_500).filter(|ms| ms % 3 > 0).collect();
    let lines: Vec<String> = times.iter().map(u64::to_string).collect();
    fs::write(place.path().join("x.up"), lines.join("\n") + "\n").unwrap();
    let scenario = "name = 'pauses'\nduration = '60 s'\n[network]\nkind = 'path'\nhops = 1\n\
                    link = { rate = { trace = 'x.up' }, delay = '1 ms', queue = { packets = 100 } }\n\
                    [[flow]]\nfrom = 0\nto = 1\ntransport = 'udp'\n\
                    application = { cbr = { every = '100 us', size = '1472 B' } }\n";
    fs::write(place.path().join("s.toml"), scenario).unwrap();
    let mut command = Command::new(cargo_bin("driftway"));
    command.current_dir(place.path()).args(["emulate", "s.toml", "--json", "--out", "o", "--"]);
    command.args(["sh", "-c", &format!("exec {} 16", command_line("flood"))]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let sent = &document["forward"];
    let (delivered, bytes) =
        (sent["delivered"].as_u64().unwrap(), sent["delivered_bytes"].as_u64().unwrap());
    assert!(delivered.abs_diff(times.len() as u64) <= 1, "{delivered} of {}: {sent}", times.len());
    assert_eq!(bytes, delivered * 1500);
    // The samples have the same capacity: its mean over the time of the trace.
    let rows = rows(&place, "samples-seed-1-links.csv").into_iter();
    let (mut before, mut bits) = (0.0, 0.0);
    for row in rows.filter(|row| row[2] == "forward") {
        let [at, capacity] = [0, 3].map(|column| row[column].parse::<f64>().unwrap());
        bits += capacity * (at - before);
        before = at;
    }
    assert!((bits / 12_000.0 - times.len() as f64).abs() < 1.0, "{bits}");
}
