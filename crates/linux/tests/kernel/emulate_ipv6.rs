//! IPv6 between kernels.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use driftway_base::NodeId;
use driftway_linux::{Emulation, RunningEmulation};
use driftway_scenario::Scenario;
use driftway_wire::{Icmpv6Message, Ipv6Header};
use socket2::{Domain, Protocol, Socket, Type};

tests![
    every_byte_arrives_over_ipv6,
    routers_answer_and_report_over_ipv6,
    routing_on_demand_refuses_ipv6,
    ipv6_multicast_reaches_neighbours_only,
    a_small_mtu_is_without_ipv6,
];

const PORT: u16 = 7000;
const BYTES: usize = 300_000;

fn path(hops: u32) -> Scenario {
    crate::emulate::scenario(hops, "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"", "")
}

fn radios(routing: &str) -> Scenario {
    crate::emulate_radio::scenario(3, "200 m", routing)
}

fn start(scenario: &Scenario, nodes: &[u32], mtu: u16) -> RunningEmulation {
    let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId::new).collect();
    Emulation::new(scenario, 1, mtu, &nodes).unwrap().start().unwrap()
}

fn address(node: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, node + 1)
}

fn at<R: Send>(running: &RunningEmulation, node: u32, work: impl FnOnce() -> R + Send) -> R {
    running.namespace(NodeId::new(node)).unwrap().run(work).unwrap()
}

/// Sends bytes with the kernels' TCP; returns them as they arrived.
fn transfer(running: &RunningEmulation, bytes: &[u8]) -> Vec<u8> {
    let listener = at(running, 2, || TcpListener::bind((address(2), PORT))).unwrap();
    let received = thread::spawn(move || {
        let (mut stream, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), address(0));
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    let mut stream = at(running, 0, || TcpStream::connect((address(2), PORT))).unwrap();
    stream.write_all(bytes).unwrap();
    drop(stream);
    received.join().unwrap()
}

fn every_byte_arrives_over_ipv6() {
    let bytes: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
    for scenario in [path(2), radios("static")] {
        let running = start(&scenario, &[0, 2], 1500);
        assert_eq!(transfer(&running, &bytes), bytes);
        let report = running.stop().unwrap();
        let [there, back] = report.counts.by_kernel[..] else { panic!("{report:?}") };
        assert!(there.bytes > BYTES as u64 && back.delivered > 10, "{report:?}");
        // The kernels send nothing but what programs want.
        assert_eq!((report.counts.ipv6_refused, report.counts.not_ip), (0, 0), "{report:?}");
        assert!(!report.counts.drops.contains_key("unknown-destination"), "{report:?}");
    }
}

fn icmp(running: &RunningEmulation) -> Socket {
    let socket = at(running, 0, || Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)));
    let socket = socket.unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

/// The type of the next message that is no request, and the node that sent it.
fn next_message(socket: &mut Socket) -> (u8, Ipv6Addr) {
    let mut peeked = [std::mem::MaybeUninit::uninit(); 8];
    loop {
        let from = socket.peek_from(&mut peeked).unwrap().1;
        // A raw socket of ICMPv6 reads messages without headers.
        let mut message = [0; 2000];
        assert!(socket.read(&mut message).unwrap() >= 8);
        if message[0] != 128 {
            return (message[0], *from.as_socket_ipv6().unwrap().ip());
        }
    }
}

fn routers_answer_and_report_over_ipv6() {
    let running = start(&path(3), &[0, 3], 1500);
    let mut socket = icmp(&running);
    let mut packet = [0; 100];
    let header = Ipv6Header::new(address(0), address(1));
    let echo = Icmpv6Message::Echo { reply: false, identifier: 1, sequence: 2, data: b"hello" };
    let len = echo.encode(&header, &mut packet).unwrap();
    socket.send_to(&packet[40..len], &SocketAddr::from((address(1), 0)).into()).unwrap();
    assert_eq!(next_message(&mut socket), (129, address(1)));
    // The first router forwards it, and the second one reports it. The far kernel reports a closed port.
    let datagrams = at(&running, 0, || UdpSocket::bind((address(0), PORT))).unwrap();
    let datagrams = Socket::from(datagrams);
    for (hops, expected) in [(2, (3, address(2))), (3, (1, address(3)))] {
        datagrams.set_unicast_hops_v6(hops).unwrap();
        // The error about the one before is read with it.
        let sent = || datagrams.send_to(&[1; 1000], &SocketAddr::from((address(3), PORT)).into());
        sent().or_else(|_| sent()).unwrap();
        assert_eq!(next_message(&mut socket), expected);
    }
    let nobody = at(&running, 0, || TcpStream::connect("[fd00::99]:80")).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::HostUnreachable, "{nobody}");
    running.stop().unwrap();
}

fn routing_on_demand_refuses_ipv6() {
    for routing in ["aodv", "dsr"] {
        let running = start(&radios(routing), &[0, 2], 1500);
        let refused = at(&running, 0, || TcpStream::connect((address(2), PORT))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{refused}");
        let report = running.stop().unwrap();
        assert!(report.counts.ipv6_refused > 0, "{report:?}");
    }
}

/// All nodes of the link, and a group of programs (mDNS).
fn ipv6_multicast_reaches_neighbours_only() {
    let group: Ipv6Addr = "ff02::fb".parse().unwrap();
    let all: Ipv6Addr = "ff02::1".parse().unwrap();
    let chain = crate::emulate_radio::scenario(4, "200 m", "static");
    for scenario in [path(3), chain] {
        let running = start(&scenario, &[0, 1, 2, 3], 1500);
        let socket = |node: u32| {
            at(&running, node, || {
                let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, PORT)).unwrap();
                socket.join_multicast_v6(&group, 2).unwrap();
                socket.set_multicast_loop_v6(false).unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                socket
            })
        };
        let sockets: Vec<UdpSocket> = (0..4).map(socket).collect();
        for (number, to) in [group, all].into_iter().enumerate() {
            let to = std::net::SocketAddrV6::new(to, PORT, 0, 2);
            sockets[1].send_to(&[number as u8], to).unwrap();
        }
        let receive = |socket: &UdpSocket| {
            let (mut buffer, mut heard) = ([0; 10], Vec::new());
            while socket.recv(&mut buffer).is_ok() {
                heard.push(buffer[0]);
            }
            heard
        };
        let heard: Vec<_> = sockets.iter().map(receive).collect();
        assert_eq!(heard, [vec![0, 1], vec![], vec![0, 1], vec![]]);
        running.stop().unwrap();
    }
}

/// RFC 8200 §5: 1280 bytes.
fn a_small_mtu_is_without_ipv6() {
    let running = start(&path(2), &[0, 2], 1279);
    let error = at(&running, 0, || TcpStream::connect((address(2), PORT))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{error}");
    running.stop().unwrap();
}
