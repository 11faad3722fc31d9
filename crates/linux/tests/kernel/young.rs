//! Connections that are over after some packets pass by the shim; others are carried from then on.

use driftway_shim::FlowState;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use driftway_linux::{Namespace, ShimSettings, ShimSnapshot};
use socket2::{Domain, Socket, Type};

use crate::pair::{HERE, THERE, pair};
use crate::shimmed::RunningShim;

tests![
    short_connections_are_not_intercepted,
    a_connection_is_carried_after_some_bytes_or_a_second,
    a_port_that_is_used_again,
    a_half_closed_connection_is_carried,
];

const PORT: u16 = 7000;
/// More than passes by.
const LONG: usize = 200_000;

/// A shim at either end, or none.
fn shims(ends: &[Namespace; 2]) -> [RunningShim; 2] {
    [0, 1].map(|end| RunningShim::start(&ends[end], &ShimSettings::default()))
}

/// A connection from the first namespace to the second, from this port (0: any).
fn connect(ends: &[Namespace; 2], listener: &TcpListener, port: u16) -> [TcpStream; 2] {
    let socket = ends[0].run(|| Socket::new(Domain::IPV4, Type::STREAM, None)).unwrap().unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SocketAddr::from((HERE, port)).into()).unwrap();
    socket.connect(&SocketAddr::from((THERE, PORT)).into()).unwrap();
    let (far, _) = listener.accept().unwrap();
    [TcpStream::from(socket), far]
}

fn listen(ends: &[Namespace; 2]) -> TcpListener {
    ends[1].run(|| TcpListener::bind((THERE, PORT))).unwrap().unwrap()
}

/// Sends `len` bytes from one end to the other.
fn send(from: &mut TcpStream, to: &mut TcpStream, len: usize) {
    thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![7; len]).unwrap());
        to.read_exact(&mut vec![0; len]).unwrap();
    });
}

fn nap(ms: u64) {
    thread::sleep(std::time::Duration::from_millis(ms));
}

/// Nothing is wrong, and this many flows were tracked.
fn tracked(snapshot: &ShimSnapshot, flows: u64) {
    let counts = snapshot.counts;
    assert_eq!(
        (counts.flows, counts.tracking_lost, counts.preexisting),
        (flows, 0, 0),
        "{counts:?}"
    );
}

fn short_connections_are_not_intercepted() {
    const COUNT: u64 = 300;
    let ends = pair(true).unwrap();
    let shims = shims(&ends);
    let listener = listen(&ends);
    for _ in 0..COUNT {
        let [mut near, mut far] = connect(&ends, &listener, 0);
        send(&mut near, &mut far, 100);
        send(&mut far, &mut near, 1000);
        near.shutdown(Shutdown::Write).unwrap();
        assert_eq!(far.read(&mut [0]).unwrap(), 0);
    }
    nap(1500);
    for shim in shims {
        let snapshot = shim.stop();
        let counts = snapshot.counts;
        assert_eq!((counts.tracking_lost, counts.preexisting), (0, 0), "{counts:?}");
        // The first one is not short if the cable takes a second until it has a carrier.
        assert!(counts.flows <= 1 && counts.intercepted < 20, "{counts:?}");
        assert!(snapshot.unseen.young >= 8 * (COUNT - 1), "{snapshot:?}");
        assert!(snapshot.flows.is_empty(), "{snapshot:?}");
    }
}

fn a_connection_is_carried_after_some_bytes_or_a_second() {
    let ends = pair(true).unwrap();
    for namespace in &ends {
        namespace.set_sysctl("net/ipv4/tcp_ecn", "1").unwrap();
    }
    let shims = shims(&ends);
    let listener = listen(&ends);
    let [mut near, mut far] = connect(&ends, &listener, 0);
    send(&mut near, &mut far, 1000);
    shims.iter().for_each(|shim| tracked(&shim.snapshot(), 0));
    send(&mut near, &mut far, LONG);
    nap(50);
    for shim in &shims {
        let snapshot = shim.snapshot();
        tracked(&snapshot, 1);
        let [flow] = snapshot.flows[..] else { panic!("{snapshot:?}") };
        assert!(flow.ecn && flow.state == FlowState::Open && flow.outstanding == 0, "{flow:?}");
    }
    // The segment that shows the time to the sender, and its acknowledgment.
    assert!(shims[0].snapshot().flows[0].srtt.is_some());

    let [mut idle, mut there] = connect(&ends, &listener, 0);
    nap(1100);
    shims.iter().for_each(|shim| tracked(&shim.snapshot(), 1));
    send(&mut there, &mut idle, 10);
    send(&mut idle, &mut there, 10);
    nap(100);
    shims.iter().for_each(|shim| tracked(&shim.snapshot(), 2));
    drop([idle, there, near, far]);
    nap(200);
    for shim in shims {
        let snapshot = shim.stop();
        assert!(snapshot.flows.is_empty(), "{snapshot:?}");
    }
}

/// The first connection ends by a reset, and the next one has its addresses and ports.
fn a_port_that_is_used_again() {
    let ends = pair(true).unwrap();
    let shims = shims(&ends);
    let listener = listen(&ends);
    for round in 1..=20 {
        let [mut near, mut far] = connect(&ends, &listener, 40_000);
        send(&mut near, &mut far, LONG);
        send(&mut far, &mut near, LONG);
        for shim in &shims {
            let snapshot = shim.snapshot();
            tracked(&snapshot, round);
            assert_eq!(snapshot.flows.len(), 1, "{snapshot:?}");
        }
        socket2::SockRef::from(&near).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(near);
        assert!(far.read(&mut [0]).is_err());
    }
    for shim in shims {
        let counts = shim.stop().counts;
        assert_eq!((counts.implausible, counts.retransmissions_in_repair), (0, 0), "{counts:?}");
    }
}

/// Its FIN passes by, and the data of the other direction follow.
fn a_half_closed_connection_is_carried() {
    let ends = pair(true).unwrap();
    let shims = shims(&ends);
    let listener = listen(&ends);
    let [mut near, mut far] = connect(&ends, &listener, 0);
    send(&mut near, &mut far, 100);
    near.shutdown(Shutdown::Write).unwrap();
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
    send(&mut far, &mut near, LONG);
    for shim in &shims {
        let snapshot = shim.snapshot();
        tracked(&snapshot, 1);
        assert_eq!(snapshot.flows.len(), 1, "{snapshot:?}");
    }
    drop(far);
    assert_eq!(near.read(&mut [0]).unwrap(), 0);
    nap(200);
    for shim in shims {
        let snapshot = shim.stop();
        assert!(snapshot.flows.is_empty(), "{snapshot:?}");
    }
}
