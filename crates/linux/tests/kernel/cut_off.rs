//! Connections that end or begin, and forged packets, during an outage.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;

use driftway_base::{Instant, Ipv4Addr, Seq};
use driftway_linux::{PathEnd, ShimSettings, kernel_state};
use driftway_tcp::State;
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, QuotedPacket, TcpFlags, TcpSegment, UnreachableCode,
};
use nix::libc;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::shim_daemon::{cut, marking, millis, secs};
use crate::shimmed::{RunningPath, RunningShim, Transfer, Until};
use crate::stream_digest::{StreamDigest, pattern};
use crate::wrapping::numbered;

tests![
    a_connection_begun_in_a_cut_is_there_after_it,
    both_ends_close_in_a_cut,
    we_reset_in_a_cut,
    the_peer_resets_in_a_cut,
    forged_packets_are_ignored,
];

const PORT: u16 = 7000;

/// A connection from near to far over a path with a cut from 1 to 2.5 s.
struct Connected {
    path: RunningPath,
    shim: RunningShim,
    ends: [SocketAddrV4; 2],
}

fn connected() -> (Connected, [TcpStream; 2]) {
    let path = RunningPath::start(&marking("", &cut("1 s", "1500 ms")), 9, true);
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    let to = SocketAddrV4::new(path.addresses[1], PORT);
    let listener = path.running.end(PathEnd::Far).run(|| TcpListener::bind(to));
    let listener = listener.unwrap().unwrap();
    let near = path.near().run(|| TcpStream::connect(to)).unwrap().unwrap();
    let far = listener.accept().unwrap().0;
    let (SocketAddr::V4(from), SocketAddr::V4(to)) =
        (near.local_addr().unwrap(), near.peer_addr().unwrap())
    else {
        unreachable!("IPv4")
    };
    for stream in [&near, &far] {
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    }
    (Connected { path, shim, ends: [from, to] }, [near, far])
}

impl Connected {
    fn is_forgotten(&self) -> bool {
        let stood = self.shim.snapshot();
        stood.flows.is_empty() && stood.memory.0 == 0
    }
    /// Returns whether `what` holds within a second and a half after the cut.
    fn soon(&self, what: impl Fn() -> bool) -> bool {
        while self.path.clock.now() < Instant::ZERO + secs(4) {
            if what() {
                return true;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        false
    }
    fn end(self) {
        self.shim.stop();
        self.path.running.stop().unwrap();
    }
}

fn write(mut stream: &TcpStream, key: u64, digest: &mut StreamDigest, bytes: usize) {
    let mut buffer = vec![0; bytes];
    pattern(key, digest.bytes(), &mut buffer);
    stream.write_all(&buffer).unwrap();
    digest.update(key, &buffer);
}

fn read_all(mut stream: &TcpStream, key: u64) -> StreamDigest {
    let (mut received, mut buffer) = (StreamDigest::default(), [0; 16_384]);
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return received,
            len => received.update(key, &buffer[..len]),
        }
    }
}

fn a_connection_begun_in_a_cut_is_there_after_it() {
    // With ICMP errors the kernel would give up at once, with or without the shim (RFC 5461 §4.1).
    let silent = cut("300 ms", "1200 ms") + "signal = \"none\"\n";
    let path = RunningPath::start(&marking("", &silent), 9, true);
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    path.sleep_until(millis(500));
    let arrived = Transfer::start(&path, "cubic", Until::Bytes(200_000)).finish();
    assert!(arrived.log[0].0 > Instant::ZERO + millis(1500), "{:?}", arrived.log[0]);
    let stood = shim.stop();
    assert_eq!((stood.counts.flows, stood.counts.outages), (1, 0), "{stood:?}");
    path.running.stop().unwrap();
}

fn both_ends_close_in_a_cut() {
    let (c, [near, far]) = connected();
    let (mut sent, mut sent_back) = (StreamDigest::default(), StreamDigest::default());
    write(&near, 0, &mut sent, 50_000);
    write(&far, 1, &mut sent_back, 50_000);
    c.path.sleep_until(millis(1300));
    write(&near, 0, &mut sent, 30_000);
    write(&far, 1, &mut sent_back, 30_000);
    c.path.sleep_until(millis(1500));
    near.shutdown(Shutdown::Write).unwrap();
    far.shutdown(Shutdown::Write).unwrap();
    let [there, back] = thread::scope(|scope| {
        let there = scope.spawn(|| read_all(&far, 0));
        let back = scope.spawn(|| read_all(&near, 1));
        [there, back].map(|reads| reads.join().unwrap())
    });
    assert!(there.is_as_sent(&sent), "{there:?}");
    assert!(back.is_as_sent(&sent_back), "{back:?}");
    assert!(c.soon(|| c.is_forgotten()), "{:?}", c.shim.snapshot());
    // Both have sent a FIN, so that both, or the first one, are in TIME-WAIT.
    let state = |end: PathEnd| {
        let [from, to] = if end == PathEnd::Near { c.ends } else { [c.ends[1], c.ends[0]] };
        match c.path.running.end(end).run(|| kernel_state(from, to)).unwrap() {
            Err(error) if error.kind() == ErrorKind::NotFound => State::Closed,
            state => state.unwrap(),
        }
    };
    let over = |state| matches!(state, State::TimeWait | State::Closed);
    assert!(
        c.soon(|| PathEnd::BOTH.map(state).into_iter().all(over)),
        "{:?}",
        PathEnd::BOTH.map(state)
    );
    assert!(PathEnd::BOTH.map(state).contains(&State::TimeWait), "{:?}", PathEnd::BOTH.map(state));
    let counts = c.shim.snapshot().counts;
    assert_eq!((counts.outages, counts.survived), (1, 1), "{counts:?}");
    c.end();
}

/// Closes with a RST.
fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
}

fn we_reset_in_a_cut() {
    let (c, [near, mut far]) = connected();
    let mut sent = StreamDigest::default();
    write(&near, 0, &mut sent, 50_000);
    c.path.sleep_until(millis(1300));
    write(&near, 0, &mut sent, 30_000);
    c.path.sleep_until(millis(1600));
    assert!(c.shim.snapshot().memory.0 > 0, "the shim keeps what cannot leave");
    // Its RST cannot be delivered.
    reset(near);
    thread::sleep(std::time::Duration::from_millis(50));
    assert!(c.is_forgotten(), "{:?}", c.shim.snapshot());
    c.path.sleep_until(millis(2000));
    // The peer learns of it when it sends something.
    far.write_all(&[7; 100]).unwrap();
    let mut buffer = [0; 65_536];
    let error = loop {
        match far.read(&mut buffer) {
            Ok(0) => panic!("no end was sent"),
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(c.path.clock.now() > Instant::ZERO + millis(2500), "after the cut");
    c.end();
}

fn the_peer_resets_in_a_cut() {
    let (c, [mut near, far]) = connected();
    let mut sent = StreamDigest::default();
    write(&near, 0, &mut sent, 50_000);
    c.path.sleep_until(millis(1300));
    write(&near, 0, &mut sent, 30_000);
    c.path.sleep_until(millis(1600));
    reset(far);
    // The first probe after the cut meets a kernel without the connection.
    assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let at = c.path.clock.now();
    assert!(at > Instant::ZERO + millis(2500), "after the cut: {at:?}");
    assert!(c.soon(|| c.is_forgotten()), "{:?}", c.shim.snapshot());
    assert_eq!(c.shim.snapshot().counts.resets_rejected, 0);
    c.end();
}

/// An off-path attacker who knows both endpoints, but no sequence numbers, forges resets and ICMP
/// errors.
fn forged_packets_are_ignored() {
    let path = RunningPath::start(&marking("", ""), 10, true);
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    let to = SocketAddrV4::new(path.addresses[1], PORT);
    let far = path.running.end(PathEnd::Far);
    let listener = far.run(|| TcpListener::bind(to)).unwrap().unwrap();
    // Data in flight begin here, and end within a million.
    let first = 1000;
    let socket = numbered(path.near(), first);
    socket.connect(&SocketAddr::V4(to).into()).unwrap();
    let near = TcpStream::from(socket);
    let SocketAddr::V4(from) = near.local_addr().unwrap() else { unreachable!("IPv4") };
    let reads = thread::spawn(move || read_all(&listener.accept().unwrap().0, 0));
    let writes = thread::spawn(move || {
        let mut sent = StreamDigest::default();
        (0..20).for_each(|_| write(&near, 0, &mut sent, 50_000));
        sent
    });

    let raw = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(libc::IPPROTO_RAW)));
    let raw = far.run(raw).unwrap().unwrap();
    let forge = |from: Ipv4Addr, body: Body| {
        let packet = Packet { ip: IpHeader::new(from, path.addresses[0]), body };
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, |_, _| {}).unwrap();
        let to = SocketAddrV4::new(path.addresses[0], 0);
        raw.send_to(&bytes, &SocketAddr::V4(to).into()).unwrap();
    };
    path.sleep_until(millis(300));
    for n in 0..40_u32 {
        forge(
            *to.ip(),
            Body::Tcp(TcpSegment {
                source_port: to.port(),
                destination_port: from.port(),
                seq: Seq(n.wrapping_mul(0x0666_6667)),
                ack: Seq(first),
                flags: TcpFlags::RST.with(TcpFlags::ACK),
                ..TcpSegment::default()
            }),
        );
        let quoted = Packet {
            ip: IpHeader::new(*from.ip(), *to.ip()),
            body: Body::Tcp(TcpSegment {
                source_port: from.port(),
                destination_port: to.port(),
                seq: Seq(first + 10_000_000 * (n + 1)),
                flags: TcpFlags::ACK,
                ..TcpSegment::default()
            }),
        };
        let quoted = QuotedPacket::of(&quoted).unwrap();
        let code = UnreachableCode::Host;
        forge(*to.ip(), Body::Icmp(IcmpMessage::Unreachable { code, quoted }));
        thread::sleep(std::time::Duration::from_millis(10));
    }
    let (sent, received) = (writes.join().unwrap(), reads.join().unwrap());
    assert!(received.is_as_sent(&sent), "{received:?}");
    let counts = shim.stop().counts;
    assert_eq!((counts.resets_rejected, counts.icmp_rejected), (40, 40), "{counts:?}");
    assert_eq!(
        (counts.outages, counts.tracking_lost, counts.icmp_accepted),
        (0, 0, 0),
        "{counts:?}"
    );
    path.running.stop().unwrap();
}
