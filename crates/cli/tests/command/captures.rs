//! Captures and event logs of wireless networks.

use std::io::Write;

use predicates::prelude::*;
use predicates::str::contains;

use crate::*;

/// Four nodes in a row; the third moves away.
pub const CHAIN: &str = r#"
name = "a chain that breaks"
duration = "20 s"

[network]
kind = "adhoc"
area = ["2 km", "1 km"]
mobility = { model = "constant-velocity", positions = [["0 m", "100 m"], ["200 m", "100 m"], ["400 m", "100 m"], ["600 m", "100 m"]], velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"], ["0 m/s", "0 m/s"]] }
routing = { protocol = "aodv" }

[[flow]]
from = 0
to = 3
start = "1 s"
application = "ftp"
tcp = { recovery = "reno", mss = "1000 B", window = 8 }
"#;

fn chain_dir() -> TestDir {
    let bench = TestDir::new();
    bench.file("chain.toml", CHAIN);
    bench
}

/// Fields of each frame, as tshark prints them; `None` if tshark is not installed, which is a failure
/// if `DRIFTWAY_NEED_TSHARK` is set.
fn tshark(path: &Path, options: &[&str], fields: &[&str]) -> Option<Vec<String>> {
    let mut command = std::process::Command::new("tshark");
    command.arg("-n").args(options).arg("-r").arg(path).args(["-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let needed = std::env::var_os("DRIFTWAY_NEED_TSHARK").is_some();
            assert!(!needed, "DRIFTWAY_NEED_TSHARK is set, but tshark is not installed");
            // Not with a macro, whose output the test harness captures.
            let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed");
            return None;
        }
        other => other.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn wireshark_decodes_a_run() {
    let bench = chain_dir();
    for (routing, arp, wanted) in [
        (r#"{ protocol = "aodv" }"#, "true", &["TCP", "AODV", "ARP", "ICMP", "802.11"][..]),
        (r#"{ protocol = "dsr" }"#, "false", &["TCP", "DSR", "ICMP", "802.11"]),
    ] {
        let (routing, arp) = (format!("network.routing={routing}"), format!("network.arp={arp}"));
        let run = ["run", "chain.toml", "--pcap", "run.pcapng", "--set", &routing, "--set", &arp];
        let output = bench.stdout(&run);
        assert!(output.contains("wireshark run.pcapng"), "{output}");
        let fields = ["_ws.malformed", "_ws.col.Protocol"];
        let Some(frames) = tshark(&bench.path("run.pcapng"), &[], &fields) else { return };
        let mut seen: Vec<&str> = Vec::new();
        for frame in &frames {
            let (malformed, protocol) = frame.split_once('\t').unwrap();
            assert_eq!(malformed, "", "{frame}");
            if !seen.contains(&protocol) {
                seen.push(protocol);
            }
        }
        assert!(wanted.iter().all(|protocol| seen.contains(protocol)), "{routing}: {seen:?}");
        let filter = ["-Y", "frame.comment contains \"dropped at node\""];
        let comments = tshark(&bench.path("run.pcapng"), &filter, &["frame.comment"]).unwrap();
        assert!(!comments.is_empty(), "{routing}");
        let wrong = "wlan.fcs.status == 0 || ip.checksum.status == 0 || tcp.checksum.status == 0";
        let filter = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", wrong];
        let wrong = tshark(&bench.path("run.pcapng"), &filter, &["frame.number"]).unwrap();
        assert!(wrong.is_empty(), "{routing}: {wrong:?}");
    }
}

#[test]
fn wireshark_reads_every_kind_of_dsr_option() {
    let bench = chain_dir();
    let dsr = "network.routing={ protocol = \"dsr\" }";
    bench.stdout(&["run", "chain.toml", "--pcap", "run.pcapng", "--set", dsr]);
    let fields = ["dsr.option.type", "tcp.len"];
    let Some(frames) = tshark(&bench.path("run.pcapng"), &[], &fields) else { return };
    let (mut options, mut segments) = (Vec::new(), 0);
    for frame in &frames {
        let (kinds, len) = frame.split_once('\t').unwrap();
        for option in kinds.split(',').filter(|option| !option.is_empty()) {
            if !options.contains(&option) {
                options.push(option);
            }
        }
        segments += usize::from(!kinds.is_empty() && len == "1000");
    }
    // Route Request, Route Reply, Route Error, Source Route (RFC 4728 §6).
    assert!(["1", "2", "3", "96"].iter().all(|kind| options.contains(kind)), "{options:?}");
    assert!(segments > 100, "TCP behind DSR: {segments}");
}

#[test]
fn an_event_log_is_plotted() {
    let bench = chain_dir();
    let run = ["run", "chain.toml", "--runs", "2", "--out", "results", "--events"];
    bench.stdout(&run);
    let logs = || {
        let all = names(&bench.path("results"));
        all.into_iter().filter(|name| name.starts_with("events-")).collect::<Vec<_>>()
    };
    assert_eq!(logs(), ["events-seed-1.csv"]);
    let text = fs::read_to_string(bench.path("results/events-seed-1.csv")).unwrap();
    for part in
        [",air,sent,", ",routing,link-failure,", ",routing,route-lost,", ",mobility,position,"]
    {
        assert!(text.contains(part), "{part}");
    }
    bench.stdout(&["report", "results"]);
    let page = fs::read_to_string(bench.path("results/index.html")).unwrap();
    for title in ["Time–sequence", "Routes: ", "Interface queues: ", "Movement: "] {
        assert!(page.contains(title), "{title}");
    }
    bench.stdout(&[&run[..], &["--trace"]].concat());
    assert_eq!(logs(), ["events-seed-1.csv", "events-seed-2.csv"]);

    let broken = text.replacen(",air,", ",water,", 1);
    fs::write(bench.path("results/events-seed-1.csv"), broken).unwrap();
    bench
        .driftway(&["report", "results"])
        .assert()
        .code(2)
        .stderr(contains("events-seed-1.csv").and(contains("line: ")));
}

#[test]
fn a_path_has_an_event_log() {
    let bench = TestDir::new();
    bench.stdout(&["run", "s.toml", "--out", "results", "--events"]);
    let text = fs::read_to_string(bench.path("results/events-seed-1.csv")).unwrap();
    assert!(text.contains(",tcp,sent,") && text.contains(",aid,state,normal,"));
    for event in ["enqueued", "sent", "delivered"] {
        assert!(text.contains(&format!(",link,{event},")), "{event}");
    }
    bench.stdout(&["report", "results"]);
}

#[test]
fn a_path_has_a_capture() {
    let bench = TestDir::new();
    let output = bench.stdout(&["run", "s.toml", "--pcap", "run.pcapng"]);
    assert!(output.contains("wireshark run.pcapng"), "{output}");
    assert!(fs::metadata(bench.path("run.pcapng")).unwrap().len() > 10_000);
    let (filter, fields) = (["-Y", "tcp.len > 0"], ["frame.interface_name", "ip.src"]);
    let Some(frames) = tshark(&bench.path("run.pcapng"), &filter, &fields) else { return };
    assert!(frames.iter().any(|frame| frame == "node-0-wire-1\t10.0.0.1"), "{frames:?}");
}

#[test]
fn positions_have_an_interval_or_are_left_out() {
    let bench = chain_dir();
    let seconds = |interval: &str| {
        let run = ["run", "chain.toml", "--out", "results", "--events", "--positions", interval];
        bench.stdout(&run);
        let text = fs::read_to_string(bench.path("results/events-seed-1.csv")).unwrap();
        let rows = text.lines().filter(|row| row.contains(",0,mobility,position,"));
        rows.map(|row| row.split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(seconds("off").is_empty());
    assert_eq!(seconds("5 s")[..3], ["0.000000000", "5.000000000", "10.000000000"]);
}

#[test]
fn an_impossible_capture_is_an_error_before_any_run() {
    let bench = chain_dir();
    fs::create_dir(bench.path("taken")).unwrap();
    let tdma = "network.mac={ kind = \"tdma\" }";
    let cases: &[(&[&str], &str)] = &[
        (&["chain.toml", "--pcap", "c", "--runs", "3"], "a capture is of one run"),
        (&["chain.toml", "--pcap", "c", "--set", tdma], "not those of 802.11"),
        (&["chain.toml", "--pcap", "taken"], "is a directory"),
        (&["chain.toml", "--pcap", "nowhere/c"], "no directory nowhere"),
        (&["chain.toml", "--pcap", "/dev/null"], "not a regular file"),
        (&["chain.toml", "--pcap", "/proc/c"], "cannot write into /proc"),
        (&["chain.toml", "--events"], "--out"),
        (&["chain.toml", "--positions", "5s"], "--events"),
        (&["chain.toml", "--out", "o", "--events", "--positions", "0s"], "not a time above 0"),
        (&["chain.toml", "--out", "o", "--events", "--positions", "often"], "often"),
    ];
    let before = names(bench.0.path());
    for (arguments, says) in cases {
        let arguments = [&["run"], *arguments].concat();
        bench.driftway(&arguments).assert().code(2).stdout("").stderr(contains(*says));
        assert_eq!(names(bench.0.path()), before, "{arguments:?}");
    }
}

#[test]
fn a_killed_run_leaves_no_capture() {
    let bench = chain_dir();
    bench.file("long.toml", &CHAIN.replace("20 m/s", "0 m/s").replace("20 s", "20000 s"));
    let run = ["run", "long.toml", "--pcap", "run.pcapng"];
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("driftway"))
        .current_dir(bench.0.path())
        .args(run)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the run was too fast to be killed");
    assert!(!bench.path("run.pcapng").exists());
}
