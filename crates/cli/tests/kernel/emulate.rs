//! `driftway emulate`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::test_programs::{PAGE, command_line};

pub const TESTS: &[(&str, fn())] = &[
    ("the_command_has_the_addresses_and_its_status_is_returned", the_command_has_the_address),
    ("the_far_program_starts_first_and_ends_last", the_far_program_is_there_first),
    ("one_document_has_all_results", one_document_has_all_results),
    ("drops_and_lateness_are_reported", drops_and_lateness_are_reported),
    ("a_signal_ends_all_processes", a_signal_ends_all_processes),
    ("sigkill_ends_all_processes", sigkill_ends_all_processes),
    ("a_failed_start_leaves_nothing", a_failed_start_leaves_nothing),
    ("invalid_input_is_an_error_before_the_emulation", invalid_input_is_an_error),
    ("a_line_that_cannot_be_run_is_an_error", a_line_that_cannot_be_run_is_an_error),
    ("programs_run_at_nodes_with_radios", programs_run_at_nodes_with_radios),
    ("programs_run_at_any_node_of_a_path", programs_run_at_any_node_of_a_path),
    ("twenty_programs_start_with_the_network", twenty_programs_start_with_the_network),
    ("a_program_without_a_socket_does_not_delay_the_network", a_silent_program_delays_nothing),
    ("readiness_and_delays_are_kept", readiness_and_delays_are_kept),
    ("a_program_that_fails_at_once_ends_the_emulation", an_early_failure_ends_the_emulation),
    ("an_interface_may_go_down_and_be_deleted", an_interface_may_go_down_and_be_deleted),
    ("nodes_know_each_other_by_name", nodes_know_each_other_by_name),
    ("nodes_are_apart_unless_they_share", nodes_are_apart_unless_they_share),
    ("programs_block_no_signals", programs_block_no_signals),
    ("nothing_of_a_node_is_left_after_sigkill", nothing_of_a_node_is_left_after_sigkill),
    ("ctl_looks_into_an_emulation_and_changes_it", ctl_changes_an_emulation),
    ("ctl_moves_nodes_and_switches_radios", ctl_moves_nodes_and_switches_radios),
    ("ctl_refuses_what_is_impossible", ctl_refuses_what_is_impossible),
    ("captures_and_events_have_every_hop", captures_and_events_have_every_hop),
    ("an_uplink_leads_out_and_leaves_nothing", an_uplink_leads_out_and_leaves_nothing),
    ("nodes_have_further_addresses", nodes_have_further_addresses),
];

const SCENARIO: &str = r#"
name = "two hops"
duration = "600 s"

[network]
kind = "path"
hops = 2

[network.link]
rate = "10 Mbit/s"
delay = "5 ms"

[[flow]]
from = 0
to = 2
application = "ftp"
"#;

/// A directory with the scenario. It also identifies the processes of a test, which run in it.
pub struct TestDir(pub tempfile::TempDir);

impl TestDir {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.0.path().join("s.toml"), SCENARIO).unwrap();
        place
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("driftway"));
        command.current_dir(self.0.path()).stdin(Stdio::null()).args(arguments);
        command
    }

    /// Exit status, standard output and standard error.
    pub fn emulate(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let output = self.command(&[&["emulate", "s.toml"], arguments].concat()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status, text(output.stdout), text(output.stderr))
    }

    /// Command lines of the processes in this directory: all that an emulation starts.
    pub fn processes(&self) -> Vec<String> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let here = self.0.path().canonicalize().unwrap();
        let ours = processes.filter(|process| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|place| place == here)
        });
        ours.map(|process| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default())
            .collect()
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.processes(), [""; 0], "processes are left");
        }
    }
}

pub fn wait_for_exit(mut child: Child) -> ExitStatus {
    for _ in 0..1000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the process does not exit");
}

fn the_command_has_the_address() {
    let place = TestDir::new();
    let (status, out, err) =
        place.emulate(&["--", "sh", "-c", "echo $DRIFTWAY_LOCAL $DRIFTWAY_REMOTE; exit 7"]);
    assert_eq!((status.code(), out.as_str()), (Some(7), "10.0.0.1 10.0.0.3\n"));
    assert!(err.contains("two hops") && err.contains("lateness:"), "{err}");
    let (status, _, _) = place.emulate(&["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(status.code(), Some(137));
    // The command exits and leaves a process behind.
    let (status, _, _) = place.emulate(&["--", "sh", "-c", "sleep 1000 & exit 0"]);
    assert!(status.success());
}

fn the_far_program_is_there_first() {
    let place = TestDir::new();
    let (server, fetch) = (command_line("serve"), command_line("fetch"));
    let (status, out, err) = place.emulate(&["--far", &server, "--", "sh", "-c", &fetch]);
    assert!(status.success(), "{status} {err}");
    assert_eq!(out, PAGE);
    let (status, _, err) =
        place.emulate(&["--keep-going", "--far", "exit 4", "--", "sleep", "0.1"]);
    assert!(status.success());
    assert!(err.contains("exited by itself, with status 4"), "{err}");
}

fn one_document_has_all_results() {
    let place = TestDir::new();
    let (server, fetch) = (command_line("serve"), format!("echo noise; {}", command_line("fetch")));
    let options = ["--json", "--seed", "3", "--out", "o", "--far", &server];
    let (status, out, err) = place.emulate(&[&options[..], &["--", "sh", "-c", &fetch]].concat());
    assert!(status.success(), "{err}");
    assert!(err.contains("noise"), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["seed"], 3);
    assert_eq!(document["exit_status"], 0);
    assert_eq!(document["far_exit_status"], Value::Null);
    assert_eq!(document["forward"]["from"], "10.0.0.1");
    assert_eq!(document["backward"]["from"], "10.0.0.3");
    for direction in ["forward", "backward"] {
        let packets = document[direction]["packets"].as_u64().unwrap();
        // Those of the handshake and one more; the number of acknowledgments depends on the kernel.
        assert!(packets >= 2, "{out}");
        assert!(document[direction]["delivered"].as_u64().unwrap() >= 2, "{out}");
    }
    assert!(document["backward"]["delivered_bytes"].as_u64().unwrap() > PAGE.len() as u64);
    assert!(document["lateness"]["p99_s"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_to_string(place.0.path().join("o/emulation.json")).unwrap(), out);
    assert!(place.0.path().join("o/scenario.toml").exists());
}

fn drops_and_lateness_are_reported() {
    let place = TestDir::new();
    let talk = command_line("talk");
    let set = ["--set", "network.link.packet_error_rate=0.5"];
    let (_, _, err) = place.emulate(&[&set[..], &["--", "sh", "-c", &talk]].concat());
    assert!(err.contains("bit-error"), "{err}");
    let set =
        ["--set", "network.link.rate=100 Gbit/s", "--set", "network.link.delay=0 s", "--json"];
    let (_, out, _) = place.emulate(&[&set[..], &["--", "sh", "-c", &talk]].concat());
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["trusted"], false, "{out}");
    assert!(document["because"][0].as_str().unwrap().contains("own jitter"), "{out}");
}

/// An emulation with programs that start others, or ignore termination signals.
fn start_unresponsive_programs(place: &TestDir) -> Child {
    let far = "trap '' TERM INT; sleep 1000; sleep 1000";
    let near = "sleep 1000 & sleep 1001 & exec sleep 1002";
    let mut command = place.command(&["emulate", "s.toml", "--far", far, "--"]);
    let child = command
        .args(["sh", "-c", near])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = || place.processes().iter().any(|line| line.split('\0').nth(1) == Some("1002"));
    for _ in 0..500 {
        if running() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    assert!(running());
    child
}

fn a_signal_ends_all_processes() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let place = TestDir::new();
        let child = start_unresponsive_programs(&place);
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let ended = wait_for_exit(child);
        assert_eq!((ended.code(), ended.signal()), (Some(status), None));
    }
}

fn sigkill_ends_all_processes() {
    let place = TestDir::new();
    let mut child = start_unresponsive_programs(&place);
    let namespaces = namespaces(&place);
    assert_eq!(namespaces.len(), 2);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let left = || place.processes().len() + processes_in(&namespaces);
    for _ in 0..1000 {
        if left() == 0 {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    let left = place.processes();
    // Clean up after the failed test.
    for line in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = line.file_name().to_string_lossy().parse() else { continue };
        if network(&line.path()).is_some_and(|network| namespaces.contains(&network)) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
    panic!("left: {left:?}");
}

fn network(process: &std::path::Path) -> Option<std::path::PathBuf> {
    fs::read_link(process.join("ns/net")).ok()
}

/// Network namespaces of the processes in the directory, except that of the test.
pub fn namespaces(place: &TestDir) -> Vec<std::path::PathBuf> {
    let here = place.0.path().canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let inside =
        processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|c| c == here));
    let own = network("/proc/self".as_ref());
    let mut namespaces: Vec<_> = inside.filter_map(|process| network(&process)).collect();
    namespaces.sort();
    namespaces.dedup();
    namespaces.retain(|network| Some(network) != own.as_ref());
    namespaces
}

pub fn processes_in(namespaces: &[std::path::PathBuf]) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let networks = processes.filter_map(|process| network(&process.path()));
    networks.filter(|network| namespaces.contains(network)).count()
}

fn a_failed_start_leaves_nothing() {
    let place = TestDir::new();
    let (status, out, err) =
        place.emulate(&["--out", "o", "--far", "sleep 1000", "--", "no-such-program", "-x"]);
    assert_eq!((status.code(), out.as_str()), (Some(2), ""));
    assert!(err.starts_with("error: cannot start no-such-program: "), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(!place.0.path().join("o").exists());
}

fn a_line_that_cannot_be_run_is_an_error() {
    let place = TestDir::new();
    for (arguments, says) in [
        (&["--far", "no-such-program", "--", "true"][..], "--far 'no-such-program'"),
        (&["--at", "1", "no-such-program", "--", "true"], "--at 1 'no-such-program'"),
        (&["--at", "0", "no-such-program"], "--at 0 'no-such-program'"),
        (&["--far", "/", "--", "true"], "cannot execute"),
    ] {
        let (status, out, err) = place.emulate(&[&["--out", "o"], arguments].concat());
        assert_eq!((status.code(), out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains("error: ") && err.contains(says), "{err}");
        assert!(!place.0.path().join("o").exists());
    }
    // It is found out when the command has ended, or, if that starts late, before.
    let late = "sleep 1.2; no-such-program";
    let (status, _, err) = place.emulate(&["--far", late, "--", "sleep", "1"]);
    assert!(matches!(status.code(), Some(1 | 2)), "{err}");
    assert!(err.contains("does not find a program"), "{err}");
}

fn invalid_input_is_an_error() {
    let place = TestDir::new();
    fs::write(place.0.path().join("taken"), "").unwrap();
    for (arguments, says) in [
        (&["--set", "network.hop=3", "--", "true"][..], "did you mean `hops`?"),
        (&["--out", "taken", "--", "true"], "a file, not a directory"),
        (&[], "COMMAND"),
        (&["--at", "3", "true"], "a number from 0 to 2, near (0) or far (2)"),
        (&["--at", "fra", "true"], "--at fra: there is no such node"),
        (&["--at", "1"], "2 values required"),
    ] {
        let (status, out, err) = place.emulate(arguments);
        assert_eq!((status.code(), out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(says), "{err}");
    }
}

/// Three nodes in a row; only neighbours hear each other.
pub const RADIOS: &str = r#"
name = "a chain"
duration = "600 s"

[network]
kind = "adhoc"
nodes = 3
mobility = { chain = "200 m" }
mac = { kind = "dcf", data_rate = "2 Mbit/s", basic_rate = "1 Mbit/s" }
routing = { protocol = "aodv" }

[[flow]]
from = 0
to = 2
application = "ftp"
"#;

fn programs_run_at_nodes_with_radios() {
    let place = TestDir::new();
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let (server, fetch) = (command_line("serve"), command_line("fetch"));
    let main = format!("echo $DRIFTWAY_NODE $DRIFTWAY_ADDRESS_1; {fetch}");
    let (status, out, err) = place.emulate(&["--json", "--at", "2", &server, "--at", "0", &main]);
    assert!(status.success(), "{err}");
    assert!(err.contains("0 10.0.0.2") && err.contains(PAGE), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&document["node"], &document["programs"][0]["node"]), (&0.into(), &2.into()));
    assert_eq!(document["nodes"].as_array().unwrap().len(), 2, "{out}");
    assert!(document["nodes"][1]["delivered"].as_u64().unwrap() >= 2, "{out}");
    assert_eq!(document["backward"]["from"], "10.0.0.3");
    // The old form: the sender and the receiver of the first flow.
    let (status, out, err) = place.emulate(&["--far", &server, "--", "sh", "-c", &fetch]);
    assert!(status.success(), "{err}");
    assert_eq!(out, PAGE);
}

fn programs_run_at_any_node_of_a_path() {
    let place = TestDir::new();
    let (server, fetch) = (command_line("serve"), command_line("fetch"));
    let fetch = format!("DRIFTWAY_REMOTE=$DRIFTWAY_ADDRESS_1 {fetch}; exit 5");
    let options =
        ["--keep-going", "--at", "1", &server, "--at", "1", "exit 3", "--at", "far", &fetch];
    let (status, out, err) = place.emulate(&options);
    assert_eq!((status.code(), out.as_str()), (Some(5), PAGE), "{err}");
    assert!(err.contains("The program at node 1 exited by itself, with status 3."), "{err}");
    assert!(err.contains("from node 1: "), "{err}");
}

/// The JSON document of an emulation that succeeds.
pub fn document(place: &TestDir, arguments: &[&str]) -> Value {
    let (status, out, err) = place.emulate(&[&["--json"], arguments].concat());
    assert!(status.success(), "{status} {err}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Twenty nodes send a datagram each: the network is there, and none has waited for another. On a busy
/// machine it is compared with the same programs without an emulation.
fn twenty_programs_start_with_the_network() {
    let place = TestDir::new();
    let hello = format!("exec {}", command_line("hello"));
    let numbers: Vec<String> = (1..20).map(|node| node.to_string()).collect();
    let mut arguments = vec!["--set", "network.hops=19", "--set", "flow.0.to=19"];
    for node in &numbers {
        arguments.extend(["--at", node, &hello]);
    }
    arguments.extend(["--", "sh", "-c", &hello]);
    let mut latest = Vec::new();
    for _ in 0..10 {
        let document = document(&place, &arguments);
        let nodes = document["nodes"].as_array().unwrap();
        let first = nodes.iter().map(|node| node["first_packet_s"].as_f64().unwrap());
        assert_eq!(first.clone().count(), 20);
        let last = first.fold(0.0, f64::max);
        println!("the last of the first packets came after {last} s");
        if last < 0.05 || last < 2.0 * time_of_twenty_programs(&hello) {
            return;
        }
        latest.push(last);
    }
    panic!("the last of the first packets came after {latest:?} s");
}

/// The time until twenty programs, all started at once by a shell, have sent a datagram (s).
fn time_of_twenty_programs(hello: &str) -> f64 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time")]
    let start = std::time::Instant::now();
    let mut shells: Vec<Child> = (0..20)
        .map(|_| {
            let mut shell = Command::new("sh");
            shell.args(["-c", hello]).env("DRIFTWAY_LOCAL", "127.0.0.1").env("DRIFTWAY_NODE", "1");
            shell.env("DRIFTWAY_TO", socket.local_addr().unwrap().to_string());
            shell.spawn().unwrap()
        })
        .collect();
    for _ in 0..20 {
        socket.recv(&mut [0; 10]).unwrap();
    }
    let elapsed = start.elapsed().as_secs_f64();
    for shell in &mut shells {
        shell.wait().unwrap();
    }
    println!("without an emulation: {elapsed} s");
    elapsed
}

fn a_silent_program_delays_nothing() {
    let place = TestDir::new();
    let talk = command_line("talk");
    let document = document(&place, &["--at", "1", "sleep 100", "--", "sh", "-c", &talk]);
    // A second, and what the machine takes for it.
    let started = document["started_s"].as_f64().unwrap();
    assert!((1.0..1.5).contains(&started), "{document}");
    // The program sends every 5 ms: nothing waited.
    assert!(document["lateness"]["p50_s"].as_f64().unwrap() < 0.1, "{document}");
}

fn readiness_and_delays_are_kept() {
    let place = TestDir::new();
    let (server, fetch) = (command_line("serve"), command_line("fetch"));
    let late = format!("sleep 1.3; exec {server}");
    let far = ["--far", &late, "--ready", "8000", "--", "sh", "-c", &fetch];
    let (status, out, err) = place.emulate(&far);
    assert!(status.success(), "{err}");
    assert_eq!(out, PAGE);
    let file = place.0.path().join("ready");
    let touch = format!("sleep 0.4; touch {}; sleep 100", file.display());
    let ready = format!("test -e {}", file.display());
    let first = document(&place, &["--far", &touch, "--ready", &ready, "--", "true"]);
    assert!((0.4..2.0).contains(&first["started_s"].as_f64().unwrap()), "{first}");
    let delayed = ["--after", "300ms", "--at", "1", "true", "--after", "200ms", "--", "sleep", "1"];
    let document = document(&place, &delayed);
    assert!((0.3..0.9).contains(&document["started_s"].as_f64().unwrap()), "{document}");
    let other = document["programs"][0]["started_s"].as_f64().unwrap();
    assert!((0.2..0.8).contains(&other), "{document}");
    for (arguments, says) in [
        (&["--ready", "80", "--far", "true", "--", "true"][..], "--ready: it follows"),
        (&["--at", "1", "true", "--ready", "80"], "nothing waits for it"),
        (&["--far", "true", "--after", "soon", "--", "true"], "invalid value 'soon'"),
    ] {
        let (status, _, err) = place.emulate(arguments);
        assert_eq!(status.code(), Some(2), "{err}");
        assert!(err.contains(says), "{err}");
    }
}

fn an_early_failure_ends_the_emulation() {
    let place = TestDir::new();
    let failing = ["--far", "sleep 0.2; exit 4", "--", "sleep", "100"];
    let (status, _, err) = place.emulate(&failing);
    assert_eq!(status.code(), Some(4), "{err}");
    assert!(err.contains("failed at once, with"), "{err}");
    let (status, _, err) =
        place.emulate(&["--keep-going", "--far", "exit 4", "--", "sh", "-c", "exit 5"]);
    assert_eq!(status.code(), Some(5), "{err}");
    // Success is no failure, and neither is what comes later.
    for late in ["exit 0", "sleep 1.3; exit 4"] {
        let (status, _, err) = place.emulate(&["--far", late, "--", "sleep", "1.6"]);
        assert!(status.success(), "{late}: {err}");
    }
}

fn an_interface_may_go_down_and_be_deleted() {
    let place = TestDir::new();
    let talk = format!("DRIFTWAY_REMOTE=$DRIFTWAY_ADDRESS_2 {}", command_line("talk"));
    // The command starts after one second.
    let flaps = "sleep 1.1; ip link set tun0 down; sleep 0.1; ip link set tun0 up; sleep 100";
    let document = document(&place, &["--far", flaps, "--", "sh", "-c", &talk]);
    assert!(document["refused"].as_u64().unwrap() > 0, "{document}");
    let deletes = "sleep 0.2; ip link del tun0; sleep 100";
    let (status, out, err) = place.emulate(&["--json", "--far", deletes, "--", "sleep", "100"]);
    assert_eq!(status.code(), Some(1), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert!(document["because"].to_string().contains("interface of node 2 was deleted"), "{out}");
}

fn nodes_know_each_other_by_name() {
    let place = TestDir::new();
    let ask = "hostname; getent ahosts n2 | grep STREAM | tr -s ' '; getent hosts n1 | tr -s ' '; \
               time=$(date +%s); getent hosts example.org; \
               test $(($(date +%s) - time)) -lt 4 && echo soon";
    let (status, out, err) = place.emulate(&["--", "sh", "-c", ask]);
    assert!(status.success(), "{err}");
    // Of both addresses that of IPv4 is the first.
    let both = "10.0.0.3 STREAM n2\nfd00::3 STREAM \n";
    assert_eq!(out, format!("n0\n{both}fd00::2 n1\nsoon\n"), "{err}");
}

fn nodes_are_apart_unless_they_share() {
    let place = TestDir::new();
    let outside = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let far = "hostname foo; echo 1 > /run/daemon.pid; echo 1 > /dev/shm/x; sleep 100";
    let near = "sleep 0.5; hostname; ls /run/daemon.pid /dev/shm/x; ls /sys/class/net | xargs; \
                ls -d /proc/[0-9]* | wc -l; ipcs -q | wc -l";
    let (status, out, err) = place.emulate(&["--far", far, "--", "sh", "-c", near]);
    assert!(status.success(), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["n0", "lo tun0"], "{out} {err}");
    // The first process, sh, ls, wc.
    assert!(lines[2].parse::<u32>().unwrap() < 10, "{out}");
    assert_eq!(fs::read_to_string("/proc/sys/kernel/hostname").unwrap(), outside);
    assert!(!std::path::Path::new("/run/daemon.pid").exists());
    let shared = "cat /proc/sys/kernel/hostname; readlink /proc/self/ns/pid /proc/self/ns/mnt";
    let (status, out, err) = place.emulate(&["--share", "--", "sh", "-c", shared]);
    assert!(status.success(), "{err}");
    let own = |name| fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
    let expected = format!("{outside}{}\n{}\n", own("pid").display(), own("mnt").display());
    assert_eq!(out, expected);
}

fn programs_block_no_signals() {
    let place = TestDir::new();
    for options in [&["--share"][..], &[]] {
        // A shell that did not notice the end of its child would wait for ever.
        let line = "sleep 0.1 & wait; grep SigBlk /proc/self/status";
        let (status, out, err) = place.emulate(&[options, &["--", "sh", "-c", line]].concat());
        assert!(status.success(), "{err}");
        assert_eq!(out, "SigBlk:\t0000000000000000\n", "{options:?}");
    }
}

/// Also processes that have left their session or were started by hand, and mounts that a program has made.
fn nothing_of_a_node_is_left_after_sigkill() {
    let place = TestDir::new();
    let far = "mount -t tmpfs x /mnt; setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" & \
               sleep 1000";
    let mut child = place
        .command(&[
            "emulate", "s.toml", "--pcap", "p", "--out", "o", "--events", "--far", far, "--",
        ])
        .args(["sleep", "1002"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let runs = |word| place.processes().iter().any(|line| line.split('\0').nth(1) == Some(word));
    for _ in 0..1000 {
        if runs("1002") {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let exec = ["ctl", "--emulation", &pid, "exec", "0", "--", "sleep", "1003"];
    let by_hand = place.command(&exec).stderr(Stdio::null()).spawn().unwrap();
    for _ in 0..1000 {
        if runs("1003") {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let namespaces = namespaces(&place);
    assert_eq!(namespaces.len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = wait_for_exit(by_hand).code();
    assert!(matches!(ended, Some(137 | 143)), "{ended:?}");
    let unix = fs::read_to_string("/proc/net/unix").unwrap();
    assert!(!unix.contains(&format!("driftway/emulate/{pid}\n")), "{unix}");
    for _ in 0..1000 {
        if place.processes().is_empty() && processes_in(&namespaces) == 0 {
            let mounts = fs::read_to_string("/proc/mounts").unwrap();
            assert!(!mounts.contains("/mnt tmpfs"), "{mounts}");
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("left: {:?}", place.processes());
}

/// An emulation whose command runs until the file `end` exists, and its process.
struct Controlled<'a> {
    place: &'a TestDir,
    child: Child,
}

impl<'a> Controlled<'a> {
    fn start(place: &'a TestDir, arguments: &[&str]) -> Self {
        let wait = "until test -e end; do sleep 0.05; done";
        let command = [&["emulate", "s.toml", "--json"], arguments, &["--", "sh", "-c", wait]];
        let child =
            place.command(&command.concat()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let started = Self { place, child: child.unwrap() };
        for _ in 0..1000 {
            let (status, out, _) = started.ctl(&["status", "--json"]);
            // The command has started.
            if status.success()
                && started.place.processes().iter().any(|line| line.contains("until"))
            {
                serde_json::from_str::<Value>(&out).unwrap();
                return started;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("the emulation does not answer");
    }

    fn ctl(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let pid = self.child.id().to_string();
        let arguments = [&["ctl", "--emulation", &pid], arguments].concat();
        let output = self.place.command(&arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status, text(output.stdout), text(output.stderr))
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let (status, out, err) = self.ctl(arguments);
        assert!(status.success(), "{arguments:?}: {err}");
        out
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.succeed(&["status", "--json"])).unwrap()
    }

    /// Ends it; returns its document.
    fn end(self) -> Value {
        fs::write(self.place.0.path().join("end"), "").unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn ctl_changes_an_emulation() {
    let place = TestDir::new();
    let emulation = Controlled::start(&place, &[]);
    let pid = emulation.child.id();
    let list = emulation.succeed(&["list"]);
    assert!(list.lines().any(|line| line.starts_with(&format!("{pid}: two hops"))), "{list}");
    let inside = emulation.ctl(&["exec", "far", "--", "sh", "-c", "hostname; echo $PWD; exit 9"]);
    let here = place.0.path().canonicalize().unwrap();
    assert_eq!(inside.0.code(), Some(9), "{}", inside.2);
    assert_eq!(inside.1, format!("n2\n{}\n", here.display()));
    let talk = format!("DRIFTWAY_REMOTE=10.0.0.3 {}", command_line("talk"));
    let sent = |document: &Value, key: &str| document["nodes"][0][key].as_u64().unwrap();
    emulation.succeed(&["exec", "n0", "--", "sh", "-c", &talk]);
    let status = emulation.status();
    assert_eq!(sent(&status, "sent"), 100, "{status}");
    assert_eq!(status["links"][1]["between"], serde_json::json!(["n1", "n2"]));
    assert_eq!(status["nodes"][0]["routes"][0]["by"], "n1", "{status}");
    // Nothing passes a link that is down; and a slow one takes its time.
    emulation.succeed(&["down", "link", "2"]);
    assert_eq!(emulation.status()["links"][1]["is_up"], false);
    emulation.succeed(&["exec", "n0", "--", "sh", "-c", &talk]);
    emulation.succeed(&["up", "link", "2"]);
    emulation.succeed(&["set", "network.link.rate=1 Mbit/s", "network.link.delay=1 ms"]);
    let text = emulation.succeed(&["status"]);
    assert!(text.contains("link 2: n1 to n2, up") && text.contains("changed at"), "{text}");
    let document = emulation.end();
    assert_eq!(document["nodes"][0]["delivered"], 100, "{document}");
    assert_eq!(document["drops"]["unreachable"], 100, "{document}");
    assert_eq!(document["reproducible"], false);
    let changes = document["changes"].as_array().unwrap();
    let words: Vec<&str> = changes.iter().map(|of| of["change"].as_str().unwrap()).collect();
    assert_eq!((words[2], words[4]), ("down link 2", "up link 2"), "{words:?}");
}

fn ctl_moves_nodes_and_switches_radios() {
    let place = TestDir::new();
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let emulation = Controlled::start(&place, &["--share"]);
    let position = |status: Value, node: usize| {
        let place = &status["nodes"][node]["position_m"];
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    };
    assert_eq!(position(emulation.status(), 2), (400.0, 0.0));
    emulation.succeed(&["move", "2", "100", "-50.5"]);
    assert_eq!(position(emulation.status(), 2), (100.0, -50.5));
    emulation.succeed(&["down", "radio", "n1"]);
    assert_eq!(emulation.status()["nodes"][1]["radio_is_on"], false);
    emulation.succeed(&["up", "radio", "1"]);
    // Without namespaces of its own, too: the node is in range now, and answers at once.
    let talk = format!("DRIFTWAY_REMOTE=10.0.0.3 {}", command_line("talk"));
    emulation.succeed(&["exec", "0", "--", "sh", "-c", &talk]);
    let document = emulation.end();
    assert!(document["nodes"][0]["delivered"].as_u64().unwrap() > 90, "{document}");
}

fn ctl_refuses_what_is_impossible() {
    let place = TestDir::new();
    let emulation = Controlled::start(&place, &[]);
    for (arguments, says) in [
        (&["set", "network.hops=3"][..], "cannot be changed while the network runs"),
        (&["set", "network.link.rate=fast"], "does not begin with a number"),
        (&["down", "link", "3"], "there is no such link"),
        (&["down", "link", "0"], "from 1"),
        (&["up", "link", "1"], "has not taken it down"),
        (&["down", "radio", "1"], "this node has no radio"),
        (&["move", "9", "1", "1"], "move 9: there is no such node"),
        (&["exec", "1", "--", "true"], "a router"),
        (&["exec", "0", "--", "no-such-program"], "cannot start no-such-program"),
    ] {
        let (status, _, err) = emulation.ctl(arguments);
        assert_eq!(status.code(), Some(2), "{arguments:?}: {err}");
        assert!(err.contains(says), "{err}");
    }
    let document = emulation.end();
    assert_eq!(document["changes"].as_array().unwrap().len(), 1, "{document}");
    let (status, _, err) = {
        let output = place.command(&["ctl", "--emulation", "1", "status"]).output().unwrap();
        (output.status, output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains("there is no such emulation"), "{err}");
}

pub fn occurrences(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).filter(|window| *window == wanted).count()
}

fn captures_and_events_have_every_hop() {
    let place = TestDir::new();
    let talk = command_line("talk");
    let record = ["--pcap", "p.pcapng", "--out", "o", "--events", "--", "sh", "-c", &talk];
    let document = document(&place, &record);
    assert_eq!(document["unrecorded"], 0, "{document}");
    let number = |node: usize, key: &str| document["nodes"][node][key].as_u64().unwrap() as usize;
    // The last ones may be under way at the end.
    let (packets, sent, replies) =
        (number(0, "delivered"), number(0, "packets"), number(1, "packets"));
    let capture = fs::read(place.0.path().join("p.pcapng")).unwrap();
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    // Two hops each: port 8000 to port 8000, ten bytes, and the bytes of the program.
    let datagram = [0x1f, 0x40, 0x1f, 0x40, 0, 10];
    // An ICMP error of the far end quotes it, over two hops.
    let found = occurrences(&capture, &datagram);
    assert!((2 * packets..=2 * (sent + replies)).contains(&found), "{found} {document}");
    assert!(occurrences(&capture, b"la") >= 2 * packets);
    let events = fs::read_to_string(place.0.path().join("o/events-seed-1.csv")).unwrap();
    let sent = events.lines().filter(|line| line.contains(",link,sent,")).count();
    assert!(sent >= 2 * packets, "{sent} {}", &events[..events.len().min(2000)]);
    assert!(place.0.path().join("o/emulation.json").exists());
    // Frames of 802.11 and messages of AODV.
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let record = ["--pcap", "p.pcapng", "--out", "o", "--events", "--", "sh", "-c", &talk];
    let (status, _, err) = place.emulate(&record);
    assert!(status.success(), "{err}");
    let events = fs::read_to_string(place.0.path().join("o/events-seed-1.csv")).unwrap();
    for wanted in ["rreq", "rrep", ",air,sent,", "position"] {
        assert!(events.contains(wanted), "{wanted}");
    }
    let capture = fs::read(place.0.path().join("p.pcapng")).unwrap();
    assert!(occurrences(&capture, b"la") >= 90);
    // Nothing is left of one that cannot start.
    for (arguments, says) in [
        (&["--pcap", "q.pcapng", "--", "no-such-program"][..], "cannot start"),
        (&["--pcap", "no/q.pcapng", "--", "true"], "no directory no"),
        (&["--events", "--", "true"], "--out <DIR>"),
    ] {
        let (status, _, err) = place.emulate(arguments);
        assert_eq!(status.code(), Some(2), "{err}");
        assert!(err.contains(says), "{err}");
        assert!(!place.0.path().join("q.pcapng").exists());
    }
}

pub fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output().unwrap();
    output.status.success()
}

/// A "real" interface: one end of a pair whose other end is in a namespace with a server.
fn an_uplink_leads_out_and_leaves_nothing() {
    let place = TestDir::new();
    let id = std::process::id();
    let (namespace, inside, outside) = (format!("dwt{id}"), format!("dwi{id}"), format!("dwo{id}"));
    assert!(ip(&["netns", "add", &namespace]));
    assert!(ip(&[
        "link", "add", &outside, "type", "veth", "peer", "name", &inside, "netns", &namespace
    ]));
    for arguments in [
        &["addr", "add", "198.51.100.1/24", "dev", &outside][..],
        &["link", "set", &outside, "up"],
        &["-n", &namespace, "addr", "add", "198.51.100.2/24", "dev", &inside],
        &["-n", &namespace, "link", "set", &inside, "up"],
        &["-n", &namespace, "link", "set", "lo", "up"],
    ] {
        assert!(ip(arguments), "{arguments:?}");
    }
    let server = format!("DRIFTWAY_LOCAL=198.51.100.2 exec {}", command_line("serve"));
    let mut server = Command::new("ip")
        .args(["netns", "exec", &namespace, "sh", "-c", &server])
        .spawn()
        .unwrap();
    for _ in 0..500 {
        if std::net::TcpStream::connect(("198.51.100.2", 8000)).is_ok() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let forwarding = format!("/proc/sys/net/ipv4/conf/{outside}/forwarding");
    let before = fs::read_to_string(&forwarding).unwrap();
    let uplink = format!("n1={outside}");
    let uplink = uplink.trim_start_matches('n');
    // From node 0 through node 1, which has no program of its own.
    let fetch = format!("DRIFTWAY_REMOTE=198.51.100.2 {}", command_line("fetch"));
    let first = place.emulate(&["--uplink", uplink, "--", "sh", "-c", &fetch]);
    let after = fs::read_to_string(&forwarding).unwrap();
    // And with SIGKILL.
    let mut child = place
        .command(&["emulate", "s.toml", "--uplink", uplink, "--", "sleep", "1002"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for _ in 0..500 {
        if fs::read_to_string(&forwarding).unwrap().trim() == "1" {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    sleep(Duration::from_millis(300));
    let during = fs::read_to_string(&forwarding).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let veth = format!("/sys/class/net/dw{}", child.id());
    let mut is_gone = false;
    for _ in 0..1000 {
        is_gone = fs::read_to_string(&forwarding).unwrap() == before
            && !std::path::Path::new(&veth).exists();
        if is_gone {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    ip(&["link", "del", &outside]);
    ip(&["netns", "del", &namespace]);
    assert!(first.0.success(), "{}", first.2);
    assert_eq!(first.1, PAGE);
    assert_eq!((before.as_str(), during.as_str(), after.as_str()), ("0\n", "1\n", "0\n"));
    assert!(is_gone);
    let (status, _, err) = place.emulate(&["--uplink", "1=nosuch0", "--", "true"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains("--uplink nosuch0: the host has no such interface"), "{err}");
}

fn nodes_have_further_addresses() {
    let place = TestDir::new();
    let server = format!("DRIFTWAY_LOCAL=192.168.7.1 exec {}", command_line("serve"));
    let fetch = format!("DRIFTWAY_REMOTE=192.168.7.1 {}", command_line("fetch"));
    let (status, out, err) = place.emulate(&[
        "--address",
        "far=192.168.7.1",
        "--far",
        &server,
        "--",
        "sh",
        "-c",
        &fetch,
    ]);
    assert!(status.success(), "{err}");
    assert_eq!(out, PAGE);
    for (address, says) in [
        ("0=10.0.0.3", "belongs to node 2"),
        ("0=224.0.0.1", "not an address of one host"),
        ("0=300.1.1.1", "an address, as in"),
        ("0=fd00::3", "belongs to node 2"),
        ("9=192.168.7.1", "there is no such node"),
    ] {
        let (status, _, err) = place.emulate(&["--address", address, "--", "true"]);
        assert_eq!(status.code(), Some(2), "{err}");
        assert!(err.contains(says), "{err}");
    }
}
