//! Connections that the shim does not carry, beside others that it does: IPv6, Fast Open, MPTCP, no
//! timestamps.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use driftway_linux::{Namespace, PathEnd, ShimSettings};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpFastOpenConnect;
use socket2::{Domain, Protocol, Socket, Type};

use crate::kernel_counters::kernel_counter;
use crate::pair::{DEVICE, THERE, netlink_request, pair, plug};
use crate::shim_daemon::{cut, marking};
use crate::shimmed::{RunningPath, RunningShim};
use crate::stream_digest::StreamDigest;
use crate::streams::{connect, exchange, exchange_after, listen, nap, send, socket};
use crate::wired;

tests![
    both_families_at_the_same_time,
    fast_open_with_data_in_the_syn,
    multipath_tcp_and_its_fallbacks,
    no_timestamps_with_losses_and_a_cut,
];

const PORT: u16 = 7000;
const HERE_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const THERE_6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn shims(ends: &[Namespace; 2]) -> [RunningShim; 2] {
    [0, 1].map(|end| RunningShim::start(&ends[end], &ShimSettings::default()))
}

/// A connection that is not carried takes as long as without a shim. Other work on the machine hits one arm more
/// than the other.
fn assert_as_fast(shimmed: Duration, plain: Duration) {
    assert!(shimmed <= 2 * plain + Duration::from_secs(2), "{shimmed:?}, else {plain:?}");
}

/// Runs something with and without shims at the same time, and returns both durations.
fn in_two_arms<T: Send>(run: impl Fn(bool) -> T + Sync) -> [T; 2] {
    thread::scope(|scope| {
        [true, false]
            .map(|shimmed| {
                let run = &run;
                scope.spawn(move || run(shimmed))
            })
            .map(|arm| arm.join().unwrap())
    })
}

/// Gives the cable an address of IPv6, which stays when the cable is plugged out.
fn add_ipv6(namespace: &Namespace, own: Ipv6Addr) -> io::Result<()> {
    for (setting, value) in [("accept_dad", "0"), ("keep_addr_on_down", "1"), ("disable_ipv6", "0")]
    {
        namespace.set_sysctl(&format!("net/ipv6/conf/{DEVICE}/{setting}"), value)?;
    }
    namespace.run(|| {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet6;
        message.header.prefix_len = 64;
        // Usable at once, without duplicate address detection: until it ends, another address would be
        // the source. (The setting `accept_dad` ends it soon, but not at once.)
        message.header.flags = AddressHeaderFlags::Nodad;
        message.header.index = if_nametoindex(DEVICE)?;
        message.attributes.push(AddressAttribute::Local(IpAddr::V6(own)));
        netlink_request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    })?
}

/// A program with sockets of IPv6 alone reaches IPv4 by mapped addresses (RFC 4291 §2.5.5.2).
fn both_families_at_the_same_time() {
    const BYTES: [u64; 2] = [3_000_000, 1_000_000];
    let [shimmed, plain] = in_two_arms(|shimmed| {
        let ends = pair(false).unwrap();
        ends[0].run(|| wired::shape(DEVICE, 12_500_000, 200_000)).unwrap().unwrap();
        for (namespace, own) in ends.iter().zip([HERE_6, THERE_6]) {
            add_ipv6(namespace, own).unwrap();
        }
        let shims = shimmed.then(|| shims(&ends));
        // One socket for both families.
        let listener = listen(&ends[1], (Ipv6Addr::UNSPECIFIED, PORT));
        let ways: [(Domain, IpAddr); 3] = [
            (Domain::IPV4, THERE.into()),
            (Domain::IPV6, THERE.to_ipv6_mapped().into()),
            (Domain::IPV6, THERE_6.into()),
        ];
        let streams = ways.map(|(family, to)| {
            let open = || Socket::new(family, Type::STREAM, None);
            connect(ends[0].run(open).unwrap().unwrap(), &listener, (to, PORT))
        });
        let times = thread::scope(|scope| {
            let running = streams.each_ref().map(|ends| scope.spawn(move || exchange(ends, BYTES)));
            nap(200);
            ends[1].run(|| plug(false)).unwrap().unwrap();
            nap(1200);
            ends[1].run(|| plug(true)).unwrap().unwrap();
            running.map(|exchange| exchange.join().unwrap())
        });
        for shim in shims.into_iter().flatten() {
            let stood = shim.stop();
            let counts = stood.counts;
            assert_eq!((counts.flows, counts.tracking_lost), (2, 0), "{stood:?}");
            assert_eq!((counts.outages, counts.survived), (2, 2), "{stood:?}");
            assert_eq!(counts.not_ipv4, 0, "{stood:?}");
            // A repeated FIN and its answer may come after the end of a flow.
            assert!(counts.preexisting <= 4, "{stood:?}");
            // At least the segments with data.
            assert!(stood.unseen.ipv6_tcp > (BYTES[0] + BYTES[1]) / 1440, "{stood:?}");
        }
        times
    });
    for (shimmed, plain) in shimmed.into_iter().zip(plain) {
        assert_as_fast(shimmed, plain);
    }
}

/// A connection with Fast Open, whose first bytes are written before it is open.
fn fast_open(near: &Namespace, listener: &TcpListener) -> ([TcpStream; 2], StreamDigest) {
    let socket = socket(near);
    setsockopt(&socket, TcpFastOpenConnect, &true).unwrap();
    socket.connect(&SocketAddr::from((THERE, PORT)).into()).unwrap();
    let (near, mut sent) = (TcpStream::from(socket), StreamDigest::default());
    send(&near, 0, &mut sent, 1000);
    ([near, listener.accept().unwrap().0], sent)
}

fn fast_open_with_data_in_the_syn() {
    const SHORT: [u64; 2] = [500, 2000];
    const LONG: [u64; 2] = [1_000_000, 500_000];
    let ends = pair(true).unwrap();
    let [near, far] = &ends;
    near.set_sysctl("net/ipv4/tcp_fastopen", "1").unwrap();
    // The server's half, for each listener.
    far.set_sysctl("net/ipv4/tcp_fastopen", "1026").unwrap();
    let [client, server] = shims(&ends);
    let listener = listen(far, (THERE, PORT));
    let run = |bytes| {
        let (streams, sent) = fast_open(near, &listener);
        exchange_after(&streams, bytes, [sent, StreamDigest::default()]);
    };
    // The first one requests the cookie; the others have data in the SYN.
    [LONG, SHORT, LONG, SHORT].into_iter().for_each(run);
    let accepted = || {
        [(near, "TCPFastOpenActive"), (far, "TCPFastOpenPassive")]
            .map(|(end, name)| kernel_counter(end, "TcpExt", name))
    };
    assert_eq!(accepted(), [3, 3]);
    // The server ignores data in the SYN, and they are sent again.
    far.set_sysctl("net/ipv4/tcp_fastopen", "0").unwrap();
    run(LONG);
    assert_eq!(accepted(), [3, 3]);
    nap(100);
    let [client, server] = [client, server].map(RunningShim::stop);
    assert_eq!((client.counts.unknown_option, client.counts.flows), (5, 0), "{client:?}");
    assert!(client.counts.preexisting > 0, "{client:?}");
    // Only the SYN-ACK with the cookie has the option. Otherwise the server's end is known: its
    // SYN-ACK says how much of the SYN's data it has accepted.
    let counts = server.counts;
    assert_eq!((counts.unknown_option, counts.flows), (1, 2), "{server:?}");
    assert_eq!((counts.tracking_lost, counts.implausible), (0, 0), "{server:?}");
    assert!(client.flows.is_empty() && server.flows.is_empty(), "{client:?} {server:?}");
}

/// A socket of MPTCP, or of TCP where the kernel has no other; whether it is one of MPTCP.
fn multipath_socket(namespace: &Namespace, wanted: bool) -> (Socket, bool) {
    let open = || Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP));
    match wanted.then(|| namespace.run(open).unwrap()) {
        Some(Ok(socket)) => (socket, true),
        _ => (socket(namespace), false),
    }
}

fn multipath_tcp_and_its_fallbacks() {
    let ends = pair(true).unwrap();
    let shims = shims(&ends);
    let mut expected = [(0, 0); 2];
    for (client, server) in [(true, true), (true, false), (false, true), (false, false)] {
        let to = SocketAddr::from((THERE, PORT));
        let (listener, server) = multipath_socket(&ends[1], server);
        listener.set_reuse_address(true).unwrap();
        listener.bind(&to.into()).unwrap();
        listener.listen(1).unwrap();
        let (socket, client) = multipath_socket(&ends[0], client);
        let both = kernel_counter(&ends[1], "MPTcpExt", "MPCapableACKRX");
        let streams = connect(socket, &listener.into(), to);
        exchange(&streams, [2_000_000, 1_000_000]);
        let both = kernel_counter(&ends[1], "MPTcpExt", "MPCapableACKRX") - both;
        assert_eq!(both, u64::from(client && server), "{client} {server}");
        drop(streams);
        nap(100);
        // The client's SYN has the option if it offers MPTCP, the server's SYN-ACK if it accepts.
        for ((shim, expected), is_multipath) in
            shims.iter().zip(&mut expected).zip([client, client && server])
        {
            *(if is_multipath { &mut expected.0 } else { &mut expected.1 }) += 1;
            let stood = shim.snapshot();
            let counts = stood.counts;
            assert_eq!((counts.unknown_option, counts.flows), *expected, "{stood:?}");
            assert_eq!((counts.tracking_lost, counts.implausible), (0, 0), "{stood:?}");
        }
    }
    shims.into_iter().for_each(|shim| drop(shim.stop()));
}

fn no_timestamps_with_losses_and_a_cut() {
    let runs = PathEnd::BOTH.map(|without| {
        thread::spawn(move || {
            let [shimmed, plain] = in_two_arms(|shimmed| without_timestamps(without, shimmed));
            assert_as_fast(shimmed, plain);
        })
    });
    runs.into_iter().for_each(|run| run.join().unwrap());
}

/// A connection over a bad path, with one end without timestamps.
fn without_timestamps(without: PathEnd, shimmed: bool) -> Duration {
    let scenario = marking("packet_error_rate = 0.002", &cut("500 ms", "700 ms"));
    let path = RunningPath::start(&scenario, 12, true);
    let ends = PathEnd::BOTH.map(|end| path.running.end(end));
    path.running.end(without).set_sysctl("net/ipv4/tcp_timestamps", "0").unwrap();
    let shims = shimmed.then(|| ends.map(|end| RunningShim::start(end, &ShimSettings::default())));
    let to = (path.addresses[1], PORT);
    let streams = connect(socket(ends[0]), &listen(ends[1], to), to);
    let time = exchange(&streams, [800_000, 400_000]);
    nap(100);
    for shim in shims.into_iter().flatten() {
        let stood = shim.stop();
        let counts = stood.counts;
        assert_eq!((counts.no_timestamps, counts.flows, counts.outages), (1, 0, 0), "{stood:?}");
        assert_eq!((counts.stored, counts.undo_acks, counts.probes), (0, 0, 0), "{stood:?}");
    }
    path.running.stop().unwrap();
    time
}
