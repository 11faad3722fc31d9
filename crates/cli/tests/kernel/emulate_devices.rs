//! `driftway emulate` with Ethernet, attached interfaces and IPv6.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::emulate::{
    RADIOS, TestDir, document, ip, namespaces, occurrences, processes_in, wait_for_exit,
};
use crate::test_programs::{PAGE, command_line};

pub const TESTS: &[(&str, fn())] = &[
    ("kernels_route_frames_between_neighbours", kernels_route_frames_between_neighbours),
    ("without_routing_over_the_air_kernels_route", without_routing_over_the_air_kernels_route),
    ("a_container_is_a_node_of_a_routed_network", a_container_is_a_node_of_a_routed_network),
    ("a_container_is_a_node_with_frames", a_container_is_a_node_with_frames),
    ("a_container_sends_over_radios", a_container_sends_over_radios),
    ("devices_that_cannot_be_are_errors", devices_that_cannot_be_are_errors),
    ("programs_use_ipv6_by_name_and_address", programs_use_ipv6),
    ("nothing_of_all_devices_is_left_after_sigkill", nothing_of_all_devices_is_left),
];

/// Routes of the ends of three nodes over the one in the middle, as a routing daemon would set them.
const ROUTES_0: &str = "ip route add 10.0.0.3 via 10.0.0.2; ip -6 route add fd00::3 via fd00::2;";
const ROUTES_2: &str = "ip route add 10.0.0.1 via 10.0.0.2; ip -6 route add fd00::1 via fd00::2;";

/// The time to live of a packet of three nodes shows that the one in the middle has forwarded it.
fn fetch_over_the_middle(place: &TestDir, options: &[&str]) {
    let serve = |local: &str| format!("env DRIFTWAY_LOCAL={local} {}", command_line("serve"));
    let both = format!("{ROUTES_2} {} & exec {}", serve("fd00::3"), serve("10.0.0.3"));
    let fetch = |remote: &str| format!("DRIFTWAY_REMOTE={remote} {}", command_line("fetch"));
    // Without the route, the node is asked for its hardware address, and does not hear that.
    let ask = format!(
        "{} 2>&1 | grep -c 'No route to host'; {ROUTES_0} {}; {}; cat /sys/class/net/eth0/address; \
         ip -6 addr show dev eth0 | grep -c 'inet6 fe80::ff:fe00:0/64'",
        fetch("10.0.0.3"),
        fetch("10.0.0.3"),
        fetch("fd00::3"),
    );
    let main = ["--far", &both, "--ready", "8000", "--", "sh", "-c", &ask];
    let (status, out, err) = place.emulate(&[options, &main].concat());
    assert!(status.success(), "{out} {err}");
    assert_eq!(out, format!("1\n{PAGE}{PAGE}02:00:00:00:00:00\n1\n"), "{err}");
}

fn kernels_route_frames_between_neighbours() {
    let place = TestDir::new();
    fetch_over_the_middle(&place, &["--ethernet", "--pcap", "p.pcapng", "--out", "o", "--events"]);
    // Requests of ARP, and segments from the first node to the second, over the first link.
    let capture = fs::read(place.0.path().join("p.pcapng")).unwrap();
    let from = |to: [u8; 6], kind: [u8; 2]| [&to[..], &[2, 0, 0, 0, 0, 0], &kind].concat();
    assert!(occurrences(&capture, &from([0xff; 6], [8, 6])) >= 1);
    assert!(occurrences(&capture, &from([2, 0, 0, 0, 0, 1], [8, 0])) >= 3);
    assert!(occurrences(&capture, &from([2, 0, 0, 0, 0, 1], [0x86, 0xdd])) >= 3);
    assert!(occurrences(&capture, PAGE.as_bytes()) >= 4);
}

fn without_routing_over_the_air_kernels_route() {
    let place = TestDir::new();
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    fetch_over_the_middle(&place, &["--set", "network.routing=none", "--pcap", "p.pcapng"]);
    let capture = fs::read(place.0.path().join("p.pcapng")).unwrap();
    // LLC and SNAP with ARP, and with IPv6.
    assert!(occurrences(&capture, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 6, 0, 1, 8, 0]) >= 1);
    assert!(occurrences(&capture, &[0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd, 0x60]) >= 3);
}

/// A network namespace with a pair of interfaces to it, as a container has it. Programs that are started inside
/// end with it.
struct Container {
    name: String,
    outside: String,
    programs: Vec<Child>,
}

impl Container {
    fn new(number: u32, addresses: &[&str]) -> Self {
        let id = std::process::id();
        let (name, outside) = (format!("dwc{number}-{id}"), format!("c{number}-{id}"));
        assert!(ip(&["netns", "add", &name]));
        let made = Self { name: name.clone(), outside: outside.clone(), programs: Vec::new() };
        let pair =
            ["link", "add", &outside, "type", "veth", "peer", "name", "eth0", "netns", &name];
        assert!(ip(&pair));
        // As container engines set it: nobody speaks IPv6 at the host's end.
        fs::write(format!("/proc/sys/net/ipv6/conf/{outside}/disable_ipv6"), "1").unwrap();
        assert!(ip(&["link", "set", &outside, "up"]));
        for arguments in [&["link", "set", "lo", "up"][..], &["link", "set", "eth0", "up"]] {
            assert!(ip(&[&["-n", &name], arguments].concat()));
        }
        for address in addresses {
            let family = if address.contains(':') { "-6" } else { "-4" };
            let add = ["-n", &name, family, "addr", "add", address, "dev", "eth0"];
            assert!(ip(&if family == "-6" {
                [&add[..], &["nodad"]].concat()
            } else {
                add.to_vec()
            }));
        }
        made
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "sh", "-c", line]).stdin(Stdio::null());
        command
    }

    /// Starts a line of a shell; what it starts has to replace the shell.
    fn start(&mut self, line: &str) {
        self.programs.push(self.command(line).spawn().unwrap());
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
        ip(&["link", "del", &self.outside]);
        ip(&["netns", "del", &self.name]);
    }
}

const BYTES: &str = "3000000";

/// The programs of a container and of a node at the other end, in both directions, with segments that its kernel leaves
/// to be divided.
fn talk_with_a_container(place: &TestDir, container: &mut Container, options: &[&str]) {
    let attach = format!("far={}", container.outside);
    for local in ["10.0.0.3", "fd00::3"] {
        container.start(&format!("DRIFTWAY_LOCAL={local} exec {}", command_line("serve")));
    }
    let verify = format!("DRIFTWAY_LOCAL=10.0.0.1 exec {}", command_line("verify"));
    let fetch = |remote: &str| format!("DRIFTWAY_REMOTE={remote} {}", command_line("fetch"));
    let (four, six) = (fetch("10.0.0.3"), fetch("fd00::3"));
    let child = place
        .command(&["emulate", "s.toml", "--attach", &attach])
        .args(options)
        .args(["--", "sh", "-c", &format!("sleep 0.3; {four}; {six}; {verify}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It connects when the other end listens.
    let send = format!("DRIFTWAY_REMOTE=10.0.0.1 {} {BYTES} 2>/dev/null", command_line("pattern"));
    container.start(&format!("for n in $(seq 100); do {send} && break; sleep 0.2; done"));
    let output = child.wait_with_output().unwrap();
    let (out, err) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(out, format!("{PAGE}{PAGE}{BYTES} bytes\n"), "{err}");
    assert!(Path::new("/sys/class/net").join(&container.outside).exists());
}

fn a_container_is_a_node_of_a_routed_network() {
    let place = TestDir::new();
    let mut container = Container::new(1, &["10.0.0.3/8", "fd00::3/64"]);
    talk_with_a_container(&place, &mut container, &[]);
    // To the container the network has one hardware address, and its nodes are counted as others.
    let neighbours = container.command("ip neigh show dev eth0").output().unwrap();
    let neighbours = String::from_utf8(neighbours.stdout).unwrap();
    let mut known = neighbours.lines().filter(|line| line.contains("lladdr"));
    assert!(known.all(|line| line.contains("02:00:00:00:00:02")), "{neighbours}");
    let attach = format!("far={}", container.outside);
    let fetch = format!("DRIFTWAY_REMOTE=10.0.0.3 {}", command_line("fetch"));
    let document = document(&place, &["--attach", &attach, "--", "sh", "-c", &fetch]);
    assert_eq!(document["nodes"][1]["node"], 2, "{document}");
    assert!(document["nodes"][1]["delivered"].as_u64().unwrap() >= 3, "{document}");
    assert!(document["backward"]["delivered_bytes"].as_u64().unwrap() > 100, "{document}");
}

fn a_container_is_a_node_with_frames() {
    let place = TestDir::new();
    let mut container = Container::new(2, &["10.0.0.3/8", "fd00::3/64"]);
    for route in [
        ["route", "add", "10.0.0.1", "via", "10.0.0.2"],
        ["route", "add", "fd00::1", "via", "fd00::2"],
    ] {
        let family = if route[2].contains(':') { "-6" } else { "-4" };
        assert!(ip(&[&["-n", &container.name, family][..], &route].concat()));
    }
    let near = format!("{ROUTES_0} sleep 1000");
    talk_with_a_container(&place, &mut container, &["--ethernet", "--at", "0", &near]);
}

fn a_container_sends_over_radios() {
    let place = TestDir::new();
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let mut container = Container::new(3, &["10.0.0.3/8"]);
    container.start(&format!("DRIFTWAY_LOCAL=10.0.0.3 exec {}", command_line("serve")));
    let attach = format!("2={}", container.outside);
    let fetch = format!("sleep 0.5; DRIFTWAY_REMOTE=10.0.0.3 {}", command_line("fetch"));
    let (status, out, err) = place.emulate(&["--attach", &attach, "--at", "0", &fetch]);
    assert!(status.success(), "{err}");
    assert_eq!(out, PAGE, "{err}");
}

fn devices_that_cannot_be_are_errors() {
    let place = TestDir::new();
    let container = Container::new(4, &[]);
    let own = &container.outside;
    let (far, near, wrong) = (format!("far={own}"), format!("0={own}"), format!("far={own}x"));
    let hint = format!("did you mean `{own}`?");
    for (arguments, says) in [
        (&["--attach", &wrong, "--", "true"][..], hint.as_str()),
        (&["--attach", "far=lo", "--", "true"], "the host has no such interface"),
        (&["--attach", "far", "--", "true"], "NODE=INTERFACE"),
        (&["--attach", &near, "--", "true"], "COMMAND: node 0 is what is behind"),
        (&["--attach", &far, "--far", "true", "--", "true"], "--far: node 2 is what is behind"),
        (&["--attach", &far, "--attach", &far, "--", "true"], "is given twice"),
        (&["--attach", &far, "--uplink", &format!("1={own}"), "--", "true"], "is given twice"),
        (&["--attach", "9=x", "--", "true"], "there is no such node"),
    ] {
        let (status, _, err) = place.emulate(arguments);
        assert_eq!(status.code(), Some(2), "{arguments:?} {err}");
        assert!(err.contains(says), "{err}");
    }
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let (status, _, err) = place.emulate(&["--ethernet", "--", "true"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(
        err.contains("AODV over the air") && err.contains("--set network.routing=none"),
        "{err}"
    );
    let (status, _, err) = place.emulate(&["--set", "network.routing=non", "--", "true"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains("did you mean `none`?"), "{err}");
}

fn programs_use_ipv6() {
    let place = TestDir::new();
    let serve = format!("DRIFTWAY_LOCAL=fd00::3 exec {}", command_line("serve"));
    let fetch = format!("DRIFTWAY_REMOTE=fd00::3 {}", command_line("fetch"));
    let ask = format!("{fetch}; getent ahostsv6 n2 | head -n 1 | cut -d ' ' -f 1");
    let (status, out, err) =
        place.emulate(&["--far", &serve, "--ready", "8000", "--", "sh", "-c", &ask]);
    assert!(status.success(), "{err}");
    assert_eq!(out, format!("{PAGE}fd00::3\n"));
    assert!(!err.contains("IPv6"), "{err}");
    let serve = format!("DRIFTWAY_LOCAL=fd01::1 exec {}", command_line("serve"));
    let fetch = format!("DRIFTWAY_REMOTE=fd01::1 {}", command_line("fetch"));
    let further =
        ["--address", "far=fd01::1", "--far", &serve, "--ready", "8000", "--", "sh", "-c", &fetch];
    let (status, out, err) = place.emulate(&further);
    assert!(status.success(), "{err}");
    assert_eq!(out, PAGE);
    let fetch = format!("DRIFTWAY_REMOTE=fd00::3 {}", command_line("fetch"));
    // Over AODV it is refused, counted, and no name stands for it.
    fs::write(place.0.path().join("s.toml"), RADIOS).unwrap();
    let ask = format!("{fetch} 2>&1 | grep -q 'Permission denied' && ! grep -q fd00 /etc/hosts");
    let document = document(&place, &["--at", "2", "sleep 100", "--at", "0", &ask]);
    assert!(document["ipv6_refused"].as_u64().unwrap() > 0, "{document}");
    assert!(document["notes"].to_string().contains("IPv6 is refused"), "{document}");
}

/// With an uplink, an attached interface, Ethernet, a capture, an event log and a command of `ctl`.
fn nothing_of_all_devices_is_left() {
    let place = TestDir::new();
    let (uplink, container) = (Container::new(5, &[]), Container::new(6, &["10.0.0.3/8"]));
    let forwarding = format!("/proc/sys/net/ipv4/conf/{}/forwarding", uplink.outside);
    let forwards = || fs::read_to_string(&forwarding).unwrap();
    let before = forwards();
    let (up, attach) = (format!("1={}", uplink.outside), format!("far={}", container.outside));
    let other = "mount -t tmpfs x /mnt; ip link add d0 type dummy; setsid sh -c \"trap '' TERM; sleep 1000\" & \
                 sleep 1000";
    let mut child = place
        .command(&["emulate", "s.toml", "--ethernet", "--uplink", &up, "--attach", &attach])
        .args(["--pcap", "p", "--out", "o", "--events", "--at", "1", other, "--", "sleep", "1002"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let runs = |word| place.processes().iter().any(|line| line.split('\0').nth(1) == Some(word));
    let wait_until = |what: &dyn Fn() -> bool| {
        (0..1000).any(|_| {
            what() || {
                sleep(Duration::from_millis(10));
                false
            }
        })
    };
    assert!(wait_until(&|| runs("1002")));
    let exec = ["ctl", "--emulation", &pid, "exec", "0", "--", "sleep", "1003"];
    let by_hand = place.command(&exec).stderr(Stdio::null()).spawn().unwrap();
    assert!(wait_until(&|| runs("1003")));
    let veth = format!("/sys/class/net/dw{pid}");
    assert!(Path::new(&veth).exists() && forwards() == "1\n");
    let inside = namespaces(&place);
    assert_eq!(inside.len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = wait_for_exit(by_hand).code();
    assert!(matches!(ended, Some(137 | 143)), "{ended:?}");
    let is_gone = || {
        place.processes().is_empty()
            && processes_in(&inside) == 0
            && !Path::new(&veth).exists()
            && forwards() == before
    };
    assert!(wait_until(&is_gone), "{:?} {}", place.processes(), forwards());
    let unix = fs::read_to_string("/proc/net/unix").unwrap();
    assert!(!unix.contains(&format!("driftway/emulate/{pid}\n")), "{unix}");
    assert!(!fs::read_to_string("/proc/mounts").unwrap().contains("/mnt tmpfs"));
    // A socket of packets at the attached interface would be listed; its index is the first column but six.
    let index =
        fs::read_to_string(format!("/sys/class/net/{}/ifindex", container.outside)).unwrap();
    let sockets = fs::read_to_string("/proc/net/packet").unwrap();
    let bound = sockets.lines().skip(1).filter_map(|line| line.split_whitespace().nth(4));
    assert!(bound.into_iter().all(|of| of != index.trim()), "{sockets}");
    // The table of rules has the name of the process, so that the same one can be made again.
    let rules = Command::new("nft").args(["list", "tables"]).output();
    if let Ok(rules) = rules {
        assert!(!String::from_utf8_lossy(&rules.stdout).contains(&pid));
    }
}
