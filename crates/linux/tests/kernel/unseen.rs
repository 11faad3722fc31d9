//! Packets that are not intercepted pass unchanged, and are counted.

use std::fs;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::net::{
    Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, TcpListener, TcpStream,
};
use std::thread;
use std::time::Duration;

use driftway_base::Seq;
use driftway_linux::{Namespace, ShimSettings, UnseenCounts};
use driftway_wire::{Body, IpHeader, Packet, Payload, TcpFlags, TcpSegment};
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpFastOpenConnect;
use socket2::{Domain, Protocol, Socket, Type};

use crate::kernel_counters::kernel_counter;
use crate::pair::{DEVICE, HERE, THERE, pair};
use crate::shimmed::RunningShim;
use crate::stream_digest::{StreamDigest, pattern};

tests![
    each_kind_passes_and_is_counted,
    packets_on_other_interfaces_are_not_counted,
    untracked_connections_are_counted,
];

const IPIP: i32 = 4;
const SCTP: i32 = 132;
const PATIENCE: Duration = Duration::from_secs(5);

fn each_kind_passes_and_is_counted() {
    let [near, far] = pair(false).unwrap();
    for namespace in [&near, &far] {
        // Addresses are usable at once, without duplicate address detection.
        namespace.set_sysctl(&format!("net/ipv6/conf/{DEVICE}/accept_dad"), "0").unwrap();
        namespace.set_sysctl(&format!("net/ipv6/conf/{DEVICE}/disable_ipv6"), "0").unwrap();
    }
    let shim = RunningShim::start(&near, &ShimSettings::default());
    assert_eq!(UnseenCounts { ipv6_other: 0, ..shim.snapshot().unseen }, UnseenCounts::default());
    let mut expected = UnseenCounts::default();

    datagrams([&near, &far], 100, 10, 7);
    expected.udp += 17;
    // Three fragments of each on the link; below the kernel's UDP it is one datagram.
    datagrams([&near, &far], 4000, 2, 1);
    (expected.udp, expected.fragments_out, expected.fragments_in) = (expected.udp + 3, 6, 3);
    datagrams_of(IPIP, [&near, &far], 5, 2);
    expected.tunnels += 7;
    datagrams_of(SCTP, [&near, &far], 3, 3);
    expected.other += 6;

    // TCP in two fragments is reassembled before the interception.
    let before = shim.snapshot();
    tcp_in_pieces(&far);
    expected.fragments_in += 2;
    let arrived = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(10));
        // With the answer to it: it belongs to no connection.
        shim.snapshot().counts.preexisting == before.counts.preexisting + 2
    });
    assert!(arrived, "{:?}", shim.snapshot());

    let before = shim.snapshot();
    let segments = segments(&near);
    tcp_over_ipv6([&near, &far]);
    let stood = shim.snapshot();
    expected.ipv6_tcp = self::segments(&near) - segments;
    assert!(expected.ipv6_tcp > 100, "{expected:?}");
    assert_eq!(UnseenCounts { ipv6_other: 0, ..stood.unseen }, expected);
    // Neighbour solicitations.
    assert!(stood.unseen.ipv6_other > 0, "{stood:?}");
    assert_eq!(
        (stood.counts, stood.daemon_counts),
        (before.counts, before.daemon_counts),
        "no packet was intercepted"
    );
    shim.stop();
}

fn packets_on_other_interfaces_are_not_counted() {
    let [near, far] = pair(false).unwrap();
    let settings =
        ShimSettings { interfaces: vec!["elsewhere0".into()], ..ShimSettings::default() };
    let shim = RunningShim::start(&near, &settings);
    datagrams([&near, &far], 100, 3, 3);
    assert_eq!(shim.stop().unseen, UnseenCounts::default());
    let settings =
        ShimSettings { interfaces: vec!["elsewhere0".into(), DEVICE.into()], ..settings };
    let shim = RunningShim::start(&near, &settings);
    datagrams([&near, &far], 100, 3, 3);
    assert_eq!(shim.stop().unseen, UnseenCounts { udp: 6, ..UnseenCounts::default() });
}

/// One without timestamps, and one with an option unknown to the shim.
fn untracked_connections_are_counted() {
    let [near, far] = pair(false).unwrap();
    let shim = RunningShim::start(&near, &ShimSettings::default());
    near.set_sysctl("net/ipv4/tcp_timestamps", "0").unwrap();
    carry([&near, &far], 7000, false);
    let counts = shim.snapshot().counts;
    assert_eq!((counts.no_timestamps, counts.unknown_option, counts.flows), (1, 0, 0));
    near.set_sysctl("net/ipv4/tcp_timestamps", "1").unwrap();
    // TCP Fast Open: the SYN requests a cookie (RFC 7413 §4.1.1).
    carry([&near, &far], 7001, true);
    let counts = shim.stop().counts;
    assert_eq!((counts.no_timestamps, counts.unknown_option, counts.flows), (1, 1, 0));
    assert!(counts.preexisting > 100, "{counts:?}");
}

/// A connection with or without Fast Open.
fn carry([near, far]: [&Namespace; 2], port: u16, fast_open: bool) {
    let to = SocketAddrV4::new(THERE, port);
    let listener = far.run(|| TcpListener::bind(to)).unwrap().unwrap();
    let receives = thread::spawn(move || receive(&listener));
    let socket = near.run(|| Socket::new(Domain::IPV4, Type::STREAM, None)).unwrap().unwrap();
    setsockopt(&socket, TcpFastOpenConnect, &fast_open).unwrap();
    socket.connect(&SocketAddr::V4(to).into()).unwrap();
    let sent = send(socket.into());
    assert!(receives.join().unwrap().is_as_sent(&sent));
}

/// Datagrams of this length there and back.
fn datagrams([near, far]: [&Namespace; 2], bytes: usize, there: usize, back: usize) {
    let open = |namespace: &Namespace, at: Ipv4Addr| {
        let socket = namespace.run(|| UdpSocket::bind((at, 9000))).unwrap().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let (here, far) = (open(near, HERE), open(far, THERE));
    let mut sent = vec![0; bytes];
    pattern(0, 0, &mut sent);
    let mut buffer = vec![0; bytes + 1];
    let ways = [(&here, &far, THERE, there), (&far, &here, HERE, back)];
    for (from, to, address, count) in ways {
        for _ in 0..count {
            from.send_to(&sent, (address, 9000)).unwrap();
            assert_eq!(to.recv(&mut buffer).unwrap(), bytes);
            assert_eq!(buffer[..bytes], sent);
        }
    }
}

/// Packets of an IP protocol that no kernel here processes, so that only these sockets receive
/// them.
fn datagrams_of(protocol: i32, [near, far]: [&Namespace; 2], there: usize, back: usize) {
    let open = |namespace: &Namespace| {
        let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(protocol)));
        let socket = namespace.run(open).unwrap().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let (here, far) = (open(near), open(far));
    let ways = [(&here, &far, THERE, there), (&far, &here, HERE, back)];
    for (from, mut to, address, count) in ways {
        for _ in 0..count {
            let address = SocketAddr::V4(SocketAddrV4::new(address, 0));
            from.send_to(&[7; 100], &address.into()).unwrap();
            let mut buffer = [0; 200];
            assert_eq!(to.read(&mut buffer).unwrap(), 120);
            assert_eq!(buffer[20..120], [7; 100]);
        }
    }
}

/// A segment of no connection from the far end, in two fragments.
fn tcp_in_pieces(far: &Namespace) {
    let segment = TcpSegment {
        source_port: 5000,
        destination_port: 5001,
        seq: Seq(1),
        ack: Seq(1),
        flags: TcpFlags::ACK,
        payload: Payload::new(1, 0, 1000),
        ..TcpSegment::default()
    };
    let mut ip = IpHeader::new(THERE, HERE);
    (ip.dont_fragment, ip.identification) = (false, 77);
    let whole = Packet { ip, body: Body::Tcp(segment) };
    let mut bytes = vec![0; whole.len() as usize];
    whole.encode(&mut bytes, Payload::fill_pattern).unwrap();
    let open = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)));
    let socket = far.run(open).unwrap().unwrap();
    let (header, body) = bytes.split_at(20);
    let (first, second) = body.split_at(512);
    // More fragments; offset 64 units of 8 bytes. The kernel fills in length and checksum.
    for (flags, part) in [([0x20, 0], first), ([0, 64], second)] {
        let mut piece = [header, part].concat();
        piece[6..8].copy_from_slice(&flags);
        socket.send_to(&piece, &SocketAddr::V4(SocketAddrV4::new(HERE, 0)).into()).unwrap();
    }
}

fn link_local(namespace: &Namespace) -> Ipv6Addr {
    let read = || fs::read_to_string("/proc/thread-self/net/if_inet6");
    for _ in 0..300 {
        let text = namespace.run(read).unwrap().unwrap();
        if let Some(line) = text.lines().find(|line| line.ends_with(DEVICE)) {
            return u128::from_str_radix(&line[..32], 16).unwrap().into();
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("no address of IPv6");
}

fn tcp_over_ipv6([near, far]: [&Namespace; 2]) {
    let to = |namespace: &Namespace| {
        let index = namespace.run(|| if_nametoindex(DEVICE)).unwrap().unwrap();
        SocketAddrV6::new(link_local(far), 7000, 0, index)
    };
    let listener = far.run(|| TcpListener::bind(to(far))).unwrap().unwrap();
    let receives = thread::spawn(move || receive(&listener));
    let sent = send(near.run(|| TcpStream::connect(to(near))).unwrap().unwrap());
    assert!(receives.join().unwrap().is_as_sent(&sent));
    // The last acknowledgments.
    thread::sleep(Duration::from_millis(200));
}

fn receive(listener: &TcpListener) -> StreamDigest {
    let (mut stream, mut received) = (listener.accept().unwrap().0, StreamDigest::default());
    let mut buffer = [0; 16_384];
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return received,
            len => received.update(0, &buffer[..len]),
        }
    }
}

/// Sends a megabyte, and waits for the other end to close.
fn send(mut stream: TcpStream) -> StreamDigest {
    let (mut sent, mut bytes) = (StreamDigest::default(), vec![0; 1_000_000]);
    pattern(0, 0, &mut bytes);
    stream.write_all(&bytes).unwrap();
    sent.update(0, &bytes);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    sent
}

/// TCP segments sent and received by a namespace.
fn segments(namespace: &Namespace) -> u64 {
    let count = |name| kernel_counter(namespace, "Tcp", name);
    ["InSegs", "OutSegs", "RetransSegs"].map(count).iter().sum()
}
