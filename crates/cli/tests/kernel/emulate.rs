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
struct TestDir(tempfile::TempDir);

impl TestDir {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.0.path().join("s.toml"), SCENARIO).unwrap();
        place
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("driftway"));
        command.current_dir(self.0.path()).stdin(Stdio::null()).args(arguments);
        command
    }

    /// Exit status, standard output and standard error.
    fn emulate(&self, arguments: &[&str]) -> (ExitStatus, String, String) {
        let output = self.command(&[&["emulate", "s.toml"], arguments].concat()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status, text(output.stdout), text(output.stderr))
    }

    /// Command lines of the processes in this directory: all that an emulation starts.
    fn processes(&self) -> Vec<String> {
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

fn wait_for_exit(mut child: Child) -> ExitStatus {
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
    let (status, _, err) = place.emulate(&["--far", "exit 4", "--", "sleep", "0.1"]);
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
    assert!(document["because"][0].as_str().unwrap().contains("shortest hop"), "{out}");
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
fn namespaces(place: &TestDir) -> Vec<std::path::PathBuf> {
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

fn processes_in(namespaces: &[std::path::PathBuf]) -> usize {
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
const RADIOS: &str = r#"
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
    let options = ["--at", "1", &server, "--at", "1", "exit 3", "--at", "far", &fetch];
    let (status, out, err) = place.emulate(&options);
    assert_eq!((status.code(), out.as_str()), (Some(5), PAGE), "{err}");
    assert!(err.contains("The program at node 1 exited by itself, with status 3."), "{err}");
    assert!(err.contains("from node 1: "), "{err}");
}
