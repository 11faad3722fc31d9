//! Kernels at both ends of a path of the simulator.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::thread;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_linux::{Emulation, EmulationReport, PathEnd, RealClock, RunningEmulation, end_nodes};
use driftway_scenario::Scenario;
use driftway_wire::{Body, IcmpMessage, Packet, UnreachableCode};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::Ipv4RecvErr;
use socket2::{Domain, Protocol, Socket, Type};

use crate::peer::{Options, Outcome, Peer, Step};

tests![
    round_trips_take_the_configured_time,
    tcp_fills_the_bottleneck_and_no_more,
    packets_are_lost_at_the_configured_rate,
    a_cut_is_reported_to_the_sender_and_passes_nothing,
    marks_of_queues_reach_the_kernel,
    a_path_faster_than_this_machine_has_warnings,
    nothing_is_left_of_a_running_path,
    an_interface_that_is_down_refuses_packets_until_it_is_up,
    a_deleted_interface_ends_the_emulation_with_a_report,
    an_address_of_nobody_is_reported_at_once,
    packets_to_a_router_are_counted_at_their_sender,
    multicast_and_broadcast_reach_neighbours_only,
];

const PORT: u16 = 7000;

/// A scenario with `hops`, and additional keys of `[network]` and of `link`.
pub fn scenario(hops: u32, link: &str, more: &str) -> Scenario {
    let text = format!(
        "name = \"e\"\nduration = \"60 s\"\n[network]\nkind = \"path\"\nhops = {hops}\n\
         [network.link]\n{link}\n{more}\n[[flow]]\nfrom = 0\nto = {hops}\napplication = \"ftp\"\n"
    );
    Scenario::parse("e.toml", &text, &[]).unwrap()
}

pub fn emulation(scenario: &Scenario, seed: u64) -> Emulation {
    Emulation::new(scenario, seed, 1500, &end_nodes(scenario)).unwrap()
}

fn start(hops: u32, link: &str, more: &str) -> (RunningEmulation, [Ipv4Addr; 2]) {
    let emulation = emulation(&scenario(hops, link, more), 1);
    let addresses = PathEnd::BOTH.map(|end| emulation.address(end));
    (emulation.start().unwrap(), addresses)
}

/// One at a time: real-time tests compete for the CPU.
static REAL_TIME: Mutex<()> = Mutex::new(());

/// The measurement of a run without warnings. On a busy machine it is repeated later and later; a
/// machine that never keeps up fails.
pub fn run_until_trusted<T>(run: impl Fn() -> (T, EmulationReport)) -> T {
    let _turn = REAL_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut doubts = Vec::new();
    for attempt in 0..12 {
        thread::sleep(std::time::Duration::from_secs(attempt));
        let (measured, report) = run();
        doubts = report.measurement_warnings();
        if doubts.is_empty() {
            return measured;
        }
        println!("once more: {doubts:?}");
    }
    panic!("this machine does not keep up: {doubts:?}");
}

fn udp(running: &RunningEmulation, end: PathEnd, address: Ipv4Addr) -> UdpSocket {
    let bind = || UdpSocket::bind((address, PORT));
    let socket = running.end(end).run(bind).unwrap().unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    socket
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn sleep_until(clock: &RealClock, at: Instant) {
    thread::sleep(std::time::Duration::from_nanos(clock.until(at).as_nanos()));
}

/// Numbers in the datagrams received by `socket`, until its timeout.
fn numbers(socket: &UdpSocket) -> Vec<u32> {
    let mut buffer = [0; 2000];
    let mut numbers = Vec::new();
    while socket.recv(&mut buffer).is_ok() {
        numbers.push(u32::from_be_bytes(*buffer.first_chunk().unwrap()));
    }
    numbers
}

fn round_trips_take_the_configured_time() {
    let (mut trips, late) = run_until_trusted(round_trips);
    trips.sort();
    // 125 bytes take 1 ms at 1 Mbit/s: three hops there and back take 6 × 11 ms.
    let exact = millis(66);
    assert!(trips[0] >= exact, "{trips:?}");
    // The rest is the processing time of the kernels and of this process.
    assert!(trips[0] <= exact + late.times(2) + millis(1), "{trips:?}");
    assert!(trips[10] <= exact + late.times(2) + millis(2), "{trips:?}");
}

/// Round trips of twenty packets of 125 bytes, and the maximum lateness.
fn round_trips() -> ((Vec<Duration>, Duration), EmulationReport) {
    let link = "rate = \"1 Mbit/s\"\ndelay = \"10 ms\"";
    let (running, [near, far]) = start(3, link, "");
    let (here, there) = (udp(&running, PathEnd::Near, near), udp(&running, PathEnd::Far, far));
    let echo = thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((len, from)) = there.recv_from(&mut buffer) {
            there.send_to(&buffer[..len], from).unwrap();
        }
    });
    let clock = RealClock::start();
    let mut trips = Vec::new();
    for _ in 0..20 {
        let sent = clock.now();
        here.send_to(&[7; 125 - 28], (far, PORT)).unwrap();
        here.recv(&mut [0; 200]).unwrap();
        trips.push(clock.now().since(sent));
    }
    echo.join().unwrap();
    let report = running.stop().unwrap();
    let [there, back] = report.counts.by_kernel[..] else { panic!("{report:?}") };
    assert_eq!((there.delivered, there.bytes, back.delivered), (20, 2500, 20));
    assert!(report.counts.drops.is_empty(), "{:?}", report.counts);
    ((trips, report.lateness.max()), report)
}

/// Sends `bytes` from near to far with the kernels' TCP; returns the sender's state and the
/// duration.
fn transfer(
    running: &RunningEmulation,
    [near, far]: [Ipv4Addr; 2],
    bytes: u64,
) -> (Outcome, Duration) {
    let options = Options { congestion_control: "cubic", receive_buffer: None, sends: 0 };
    let (listens, to) = Peer::listen(
        running.end(PathEnd::Far),
        SocketAddrV4::new(far, PORT),
        Options { sends: 1, ..options },
        &[Step::Receive(bytes)],
    )
    .unwrap();
    let clock = RealClock::start();
    let sends = Peer::connect(
        running.end(PathEnd::Near),
        SocketAddrV4::new(near, 0),
        to,
        options,
        &[Step::Send(bytes), Step::Snapshot, Step::HalfClose, Step::ReceiveAll],
    )
    .unwrap();
    let received = listens.outcome();
    let took = clock.now().since(Instant::ZERO);
    assert_eq!(received.error, None);
    received.received.assert_complete(bytes);
    let sent = sends.outcome();
    assert_eq!(sent.error, None);
    (sent, took)
}

fn tcp_fills_the_bottleneck_and_no_more() {
    // The second of three hops is the bottleneck.
    let link = "rate = \"10 Mbit/s\"\ndelay = \"30 ms\"\nqueue = { packets = 100 }";
    let narrow = "[[network.override]]\nhop = 2\nrate = \"2 Mbit/s\"";
    let bytes = 1_500_000;
    let took = run_until_trusted(|| {
        let (running, addresses) = start(3, link, narrow);
        let (_, took) = transfer(&running, addresses, bytes);
        (took, running.stop().unwrap())
    });
    // 1448 of 1500 bytes are payload.
    let ideal = bytes as f64 * 8.0 * 1500.0 / 1448.0 / 2e6;
    let ratio = took.as_secs_f64() / ideal;
    assert!((1.0..1.1).contains(&ratio), "{ratio}");
}

fn packets_are_lost_at_the_configured_rate() {
    let link = "rate = \"100 Mbit/s\"\ndelay = \"5 ms\"\npacket_error_rate = 0.1\n\
                queue = { packets = 5000 }";
    let (running, [near, far]) = start(1, link, "");
    let (here, there) = (udp(&running, PathEnd::Near, near), udp(&running, PathEnd::Far, far));
    let receiver = thread::spawn(move || numbers(&there));
    for n in 0..4000_u32 {
        here.send_to(&n.to_be_bytes(), (far, PORT)).unwrap();
        if n % 20 == 0 {
            thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    let arrived = receiver.join().unwrap();
    let report = running.stop().unwrap();
    assert!(arrived.is_sorted(), "in order");
    let lost = 4000 - arrived.len() as u64;
    // Four standard deviations of 4000 trials: ± 76.
    assert!((324..=476).contains(&lost), "{lost}");
    assert_eq!(report.counts.drops, BTreeMap::from([("bit-error", lost)]));
}

fn a_cut_is_reported_to_the_sender_and_passes_nothing() {
    let cut = "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"1 s\"\nlasts = \"1 s\"";
    let link = "rate = \"10 Mbit/s\"\ndelay = \"2 ms\"";
    let emulation = emulation(&scenario(3, link, cut), 1);
    let [near, far] = PathEnd::BOTH.map(|end| emulation.address(end));
    let listener = emulation.end(PathEnd::Far).run(|| TcpListener::bind((far, PORT)));
    let listener = listener.unwrap().unwrap();
    let accepts = thread::spawn(move || {
        // One before the cut, one after it.
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    });
    let icmp = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4));
    let icmp = emulation.end(PathEnd::Near).run(icmp).unwrap().unwrap();
    icmp.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
    let running = emulation.start().unwrap();
    let clock = RealClock::start();
    let (here, there) = (udp(&running, PathEnd::Near, near), udp(&running, PathEnd::Far, far));
    // Longer than the cut.
    there.set_read_timeout(Some(std::time::Duration::from_millis(1500))).unwrap();
    let receiver = thread::spawn(move || numbers(&there));

    let connect = || {
        let to = SocketAddr::from((far, PORT));
        running.end(PathEnd::Near).run(|| TcpStream::connect(to)).unwrap()
    };
    connect().unwrap();
    let (mut tried, mut unsure) = (None, Vec::new());
    // The number is the send time (ms).
    for n in (200..2800_u32).step_by(10) {
        sleep_until(&clock, Instant::ZERO + millis(n.into()));
        let n = clock.now().as_millis() as u32;
        here.send_to(&n.to_be_bytes(), (far, PORT)).unwrap();
        if clock.now().as_millis() as u32 > n + 10 {
            unsure.push(n);
        }
        if n > 1200 && tried.is_none() {
            tried = Some(connect().map(drop));
        }
    }
    connect().unwrap();
    accepts.join().unwrap();
    let arrived = receiver.join().unwrap();
    // A raw ICMP socket receives whole packets.
    let (mut errors, mut buffer, mut icmp) = (0, [0; 2000], icmp);
    while let Ok(len) = icmp.read(&mut buffer) {
        let error = Packet::decode(&buffer[..len]).unwrap().packet;
        let Body::Icmp(IcmpMessage::Unreachable { code, quoted }) = error.body else {
            panic!("{error:?}")
        };
        // On a slow machine the receiver may have ended before the last datagram.
        if code == UnreachableCode::Port {
            continue;
        }
        assert_eq!(code, UnreachableCode::Host);
        assert_eq!((error.ip.source, quoted.destination), (Ipv4Addr::new(10, 0, 0, 2), far));
        errors += 1;
    }
    let report = running.stop().unwrap();

    assert_eq!(tried.unwrap().unwrap_err().kind(), ErrorKind::HostUnreachable);
    // Datagrams in flight at the start of the cut, or sent late, prove nothing.
    let inside = |n: &&u32| (1020..1980).contains(*n) && !unsure.contains(*n);
    assert_eq!(arrived.iter().filter(inside).count(), 0, "{arrived:?}");
    assert!(arrived.iter().filter(|n| **n < 980).count() > 50, "{arrived:?}");
    assert!(arrived.iter().filter(|n| **n > 2020).count() > 50, "{arrived:?}");
    let refused = report.counts.drops["unreachable"];
    assert!(refused > 50, "{report:?}");
    assert_eq!(errors, refused, "one error a packet");
    assert_eq!(report.counts.icmp_from_routers, refused);
}

fn marks_of_queues_reach_the_kernel() {
    let link = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
                queue = { packets = 200, ecn_threshold = 20 }";
    let (running, addresses) = start(2, link, "");
    for end in PathEnd::BOTH {
        running.end(end).set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
    }
    let (sent, _) = transfer(&running, addresses, 3_000_000);
    let report = running.stop().unwrap();
    assert!(sent.snapshots[0].ecn(), "{sent:?}");
    assert!(report.marked > 0, "{report:?}");
    assert!(report.counts.drops.is_empty(), "marked instead: {report:?}");
}

fn a_path_faster_than_this_machine_has_warnings() {
    let (running, [near, far]) = start(1, "rate = \"100 Gbit/s\"\ndelay = \"0 s\"", "");
    let (here, there) = (udp(&running, PathEnd::Near, near), udp(&running, PathEnd::Far, far));
    let receiver = thread::spawn(move || numbers(&there));
    for n in 0..100_u32 {
        here.send_to(&n.to_be_bytes(), (far, PORT)).unwrap();
    }
    assert!(!receiver.join().unwrap().is_empty());
    let report: EmulationReport = running.stop().unwrap();
    assert_eq!(report.tolerance.shortest_hop, Some(Duration::from_nanos(120)));
    assert_eq!(report.warnings().len(), 1, "{report:?}");
    assert_eq!(report.measurement_warnings().len(), 1, "{report:?}");
}

fn nothing_is_left_of_a_running_path() {
    let (running, _) = start(1, "rate = \"1 Mbit/s\"\ndelay = \"1 ms\"", "");
    let near = running.end(PathEnd::Near);
    // One that ends on SIGTERM, one that ignores it, and one whose parent has ended.
    for script in ["sleep 1000", "trap '' TERM; sleep 1000; sleep 1000", "sleep 1000 & exit 0"] {
        let mut child = near.spawn(std::process::Command::new("sh").args(["-c", script])).unwrap();
        if script.ends_with("exit 0") {
            child.wait().unwrap();
        } else {
            // Reaps it.
            thread::spawn(move || child.wait());
        }
    }
    thread::sleep(std::time::Duration::from_millis(200));
    near.end_processes(std::time::Duration::from_millis(300)).unwrap();
    let inside = near.run(|| std::fs::read_link("/proc/thread-self/ns/net").unwrap()).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let still = processes
        .filter_map(|process| std::fs::read_link(process.path().join("ns/net")).ok())
        .filter(|network| *network == inside);
    assert_eq!(still.count(), 0);
    running.stop().unwrap();
}

fn ip(running: &RunningEmulation, end: PathEnd, arguments: &[&str]) {
    let mut ip = std::process::Command::new("ip");
    let status = running.end(end).spawn(ip.args(arguments)).unwrap().wait().unwrap();
    assert!(status.success(), "{arguments:?}");
}

/// Name of the device at an end.
fn device(running: &RunningEmulation, end: PathEnd) -> String {
    let names = running.end(end).run(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
    let names = names.unwrap().unwrap();
    let mut names =
        names.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    names.rfind(|name| *name != "lo").unwrap().to_owned()
}

fn an_interface_that_is_down_refuses_packets_until_it_is_up() {
    let (running, [near, far]) = start(1, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
    let (here, there) = (udp(&running, PathEnd::Near, near), udp(&running, PathEnd::Far, far));
    let device = device(&running, PathEnd::Far);
    for (state, arrives) in [("up", true), ("down", false), ("up", true)] {
        ip(&running, PathEnd::Far, &["link", "set", &device, state]);
        here.send_to(&[1; 4], (far, PORT)).unwrap();
        assert_eq!(there.recv(&mut [0; 100]).is_ok(), arrives, "{state}");
    }
    assert!(!running.has_ended());
    let report = running.stop().unwrap();
    assert_eq!((report.refused, report.deleted), (1, None), "{report:?}");
}

fn a_deleted_interface_ends_the_emulation_with_a_report() {
    let (running, [near, far]) = start(1, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
    let here = udp(&running, PathEnd::Near, near);
    here.send_to(&[1; 4], (far, PORT)).unwrap();
    let device = device(&running, PathEnd::Far);
    ip(&running, PathEnd::Far, &["link", "del", &device]);
    for _ in 0..500 {
        if running.has_ended() {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(running.has_ended());
    let report = running.stop().unwrap();
    assert_eq!(report.deleted.map(driftway_base::NodeId::index), Some(1), "{report:?}");
    assert_eq!(report.counts.by_kernel[0].entered, 1, "{report:?}");
    assert!(report.warnings().iter().any(|why| why.contains("deleted")), "{report:?}");
}

fn an_address_of_nobody_is_reported_at_once() {
    let (running, [near, _]) = start(1, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
    let here = udp(&running, PathEnd::Near, near);
    // As a resolver: without it Linux reports only that a port is closed.
    setsockopt(&here, Ipv4RecvErr, &true).unwrap();
    here.connect("10.255.255.53:53").unwrap();
    here.send(&[1; 4]).unwrap();
    let clock = RealClock::start();
    assert_eq!(here.recv(&mut [0; 100]).unwrap_err().kind(), ErrorKind::HostUnreachable);
    assert!(clock.now() < Instant::ZERO + millis(400));
    let nobody = SocketAddr::from((Ipv4Addr::new(10, 9, 9, 9), PORT));
    let tried = running.end(PathEnd::Near).run(|| TcpStream::connect(nobody)).unwrap();
    assert_eq!(tried.unwrap_err().kind(), ErrorKind::HostUnreachable);
    let report = running.stop().unwrap();
    assert!(report.counts.drops["unknown-destination"] >= 2, "{report:?}");
}

fn packets_to_a_router_are_counted_at_their_sender() {
    let (running, [near, _]) = start(2, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
    let here = udp(&running, PathEnd::Near, near);
    for _ in 0..3 {
        here.send_to(&[1; 4], (Ipv4Addr::new(10, 0, 0, 2), PORT)).unwrap();
    }
    thread::sleep(std::time::Duration::from_millis(200));
    let report = running.stop().unwrap();
    let sent = report.counts.by_kernel[0];
    assert_eq!((sent.entered, sent.delivered, sent.to_routers), (3, 0, 3), "{report:?}");
    assert!(sent.first_entered.is_some());
}

/// Sends a datagram to each of these addresses from a node of four, and returns what the others receive.
pub fn heard_by_others(running: &RunningEmulation, from: usize, to: &[Ipv4Addr]) -> Vec<Vec<u8>> {
    let group = Ipv4Addr::new(224, 0, 0, 251);
    let socket = |node: usize| {
        let bind = || {
            let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
            let own = Ipv4Addr::new(10, 0, 0, node as u8 + 1);
            socket.join_multicast_v4(&group, &own).unwrap();
            socket.set_broadcast(true).unwrap();
            socket.set_multicast_loop_v4(false).unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
            socket
        };
        running.namespace(driftway_base::NodeId::from(node)).unwrap().run(bind).unwrap()
    };
    let sockets: Vec<_> = (0..4).map(socket).collect();
    for (number, address) in to.iter().enumerate() {
        sockets[from].send_to(&[number as u8], (*address, PORT)).unwrap();
    }
    let receive = |(node, socket): (usize, &UdpSocket)| {
        let (mut buffer, mut numbers) = ([0; 10], Vec::new());
        while node != from && socket.recv(&mut buffer).is_ok() {
            numbers.push(buffer[0]);
        }
        numbers
    };
    sockets.iter().enumerate().map(receive).collect()
}

pub const TO_MANY: [Ipv4Addr; 3] =
    [Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::BROADCAST, Ipv4Addr::new(10, 255, 255, 255)];

fn multicast_and_broadcast_reach_neighbours_only() {
    let scenario = scenario(3, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "");
    let nodes: Vec<_> = (0..4).map(driftway_base::NodeId::new).collect();
    let running = Emulation::new(&scenario, 1, 1500, &nodes).unwrap().start().unwrap();
    let heard = heard_by_others(&running, 1, &TO_MANY);
    assert_eq!(heard, [vec![0, 1, 2], vec![], vec![0, 1, 2], vec![]]);
    let report = running.stop().unwrap();
    assert_eq!(report.counts.icmp_from_routers, 0, "{report:?}");
}
