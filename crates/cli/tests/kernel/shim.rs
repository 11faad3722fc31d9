//! `driftway shim`.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use driftway_linux::{Emulation, Namespace, PathEnd, RunningEmulation, ShimDaemon, end_nodes};
use driftway_scenario::Scenario;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

pub const TESTS: &[(&str, fn())] = &[
    ("a_shim_starts_reports_and_stops", a_shim_starts_reports_and_stops),
    ("a_signal_ends_a_shim", a_signal_ends_a_shim),
    ("a_killed_shim_leaves_nothing", a_killed_shim_leaves_nothing),
    ("a_wrong_socket_path_is_named", a_wrong_socket_path_is_named),
    ("a_shim_keeps_one_capability", a_shim_keeps_one_capability),
];

const SCENARIO: &str = r#"
name = "a hop"
duration = "60 s"
[network]
kind = "path"
hops = 1
[network.link]
rate = "10 Mbit/s"
delay = "5 ms"
[[flow]]
from = 0
to = 1
application = "ftp"
"#;

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("driftway"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Output of `driftway shim` with these arguments in a namespace.
pub fn shim(namespace: &Namespace, arguments: &[&str]) -> Output {
    let arguments = [&["shim"], arguments].concat();
    namespace.spawn(&mut command(&arguments)).unwrap().wait_with_output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn is_running(namespace: &Namespace) -> bool {
    shim(namespace, &["status"]).status.success()
}

/// Exit status and standard error of a process.
pub fn wait_for_exit(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().unwrap();
    (output.status, text(&output.stderr).to_owned())
}

/// Starts a shim and waits until it is running.
pub fn start(namespace: &Namespace, arguments: &[&str]) -> Child {
    let mut child = namespace.spawn(&mut command(&[&["shim"], arguments].concat())).unwrap();
    for _ in 0..500 {
        if is_running(namespace) {
            return child;
        }
        if child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    panic!("the shim does not start: {}", text(&output.stderr));
}

/// The kernel's routes, addresses, devices and their settings.
fn configuration(namespace: &Namespace) -> String {
    let read = || {
        let mut all = String::new();
        for table in ["route", "fib_trie", "arp"] {
            all += &fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap();
        }
        for device in ["all", "default", "lo", "tun0"] {
            for setting in ["rp_filter", "forwarding", "accept_local", "route_localnet"] {
                let path = format!("/proc/sys/net/ipv4/conf/{device}/{setting}");
                all += &fs::read_to_string(&path).unwrap();
            }
        }
        let devices = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        all.extend(devices.lines().filter_map(|line| line.split(':').next()));
        all
    };
    namespace.run(read).unwrap()
}

/// Both ends of a connection from the near to the far end of a running path.
fn connect_over_path(
    running: &RunningEmulation,
    [_, far]: [Ipv4Addr; 2],
) -> (TcpStream, TcpStream) {
    let listen = || TcpListener::bind((far, 7000)).unwrap();
    let listener = running.end(PathEnd::Far).run(listen).unwrap();
    let connect = || TcpStream::connect((far, 7000)).unwrap();
    let sends = running.end(PathEnd::Near).run(connect).unwrap();
    (sends, listener.accept().unwrap().0)
}

fn start_path() -> (RunningEmulation, [Ipv4Addr; 2]) {
    let scenario = Scenario::parse("s.toml", SCENARIO, &[]).unwrap();
    let emulation = Emulation::new(&scenario, 1, 1500, &end_nodes(&scenario)).unwrap();
    let addresses = PathEnd::BOTH.map(|end| emulation.address(end));
    (emulation.start().unwrap(), addresses)
}

fn a_shim_starts_reports_and_stops() {
    let (running, addresses) = start_path();
    let near = running.end(PathEnd::Near);
    let before = configuration(near);
    let child = start(near, &["--interface", "tun0"]);
    let (mut sends, mut receives) = connect_over_path(&running, addresses);
    sends.write_all(&[7; 100_000]).unwrap();
    receives.read_exact(&mut [0; 100_000]).unwrap();

    let output = shim(near, &["status", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &document["flows"][0];
    assert_eq!(flow["destination"], format!("{}:7000", addresses[1]));
    assert_eq!(flow["state"], "open");
    assert!(flow["kernel"]["cwnd"].as_u64().unwrap() >= 10, "{document}");
    assert!(flow["kernel"]["rto_s"].as_f64().unwrap() >= 0.2, "{document}");
    // A packet of TCP's may have several segments. Nothing is wrong with this flow.
    assert!(document["driver"]["outgoing"].as_u64().unwrap() >= 1, "{document}");
    assert!(document["counts"]["watched"].as_u64().unwrap() > 10, "{document}");
    let table = shim(near, &["status"]).stdout;
    let table = text(&table);
    assert!(table.contains(&format!("{}:7000", addresses[1])), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(!table.contains('\x1b'), "{table}");

    let ask = || {
        let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let path = format!("/run/driftway/shim-{namespace}.sock");
        let mut stream = UnixStream::connect(path).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let metrics = near.run(ask).unwrap();
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    assert!(metrics.contains("\ndriftway_shim_flows{state=\"open\"} 1\n"), "{metrics}");

    let second = shim(near, &[]);
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("driftway shim stop"), "{second:?}");

    let stopped = shim(near, &["stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let log = text(&ended.stderr);
    assert!(log.contains("running") && log.contains("stopped"), "{log}");
    assert_eq!(configuration(near), before);
    assert!(!near.run(ShimDaemon::remove_leftovers).unwrap().unwrap());
    // The connection continues.
    sends.write_all(&[7; 1000]).unwrap();
    receives.read_exact(&mut [0; 1000]).unwrap();
    running.stop().unwrap();
}

fn a_signal_ends_a_shim() {
    let namespace = Namespace::new().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let child = start(&namespace, &["--log", "error"]);
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
        let number = || fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
        let path = format!("/run/driftway/shim-{}.sock", namespace.run(number).unwrap());
        assert!(!fs::exists(&path).unwrap(), "{path} is left");
    }
    let wrong = shim(&namespace, &["--interface", "lo"]);
    assert_eq!(wrong.status.code(), Some(2));
}

fn a_killed_shim_leaves_nothing() {
    let namespace = Namespace::new().unwrap();
    for _ in 0..2 {
        let mut child = start(&namespace, &[]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!namespace.run(ShimDaemon::remove_leftovers).unwrap().unwrap());
        let status = shim(&namespace, &["status"]);
        assert_eq!(status.status.code(), Some(1));
        assert!(text(&status.stderr).contains("no shim answers at /run/driftway"), "{status:?}");
    }
    let stop = shim(&namespace, &["stop"]);
    assert!(stop.status.success(), "{stop:?}");
    assert!(text(&stop.stderr).contains("no shim is running"), "{stop:?}");
}

fn a_wrong_socket_path_is_named() {
    let namespace = Namespace::new().unwrap();
    let status = || {
        let output = shim(&namespace, &["status", "--socket", "/nowhere/else.sock"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        text(&output.stderr).to_owned()
    };
    assert!(status().contains("no shim answers at /nowhere/else.sock (as --socket says"));
    let stop = shim(&namespace, &["stop", "--socket", "/nowhere/else.sock"]);
    assert!(text(&stop.stderr).contains("its socket would be /nowhere/else.sock"), "{stop:?}");
    let child = start(&namespace, &[]);
    let says = status();
    assert!(
        says.contains(&format!("one is running in this network namespace, process {}", child.id())),
        "{says}"
    );
    assert!(shim(&namespace, &["stop"]).status.success());
    assert!(wait_for_exit(child).0.success());
}

fn a_shim_keeps_one_capability() {
    let namespace = Namespace::new().unwrap();
    let mut child = start(&namespace, &[]);
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        assert_eq!(line(set), ["0000000000001000"], "{set} CAP_NET_ADMIN is bit 12");
    }
    let users = line("Uid:");
    assert!(users.iter().all(|user| *user == users[0] && user != "0"), "{users:?}");
    assert_eq!(line("NoNewPrivs:"), ["1"]);
    child.kill().unwrap();
    child.wait().unwrap();
}
