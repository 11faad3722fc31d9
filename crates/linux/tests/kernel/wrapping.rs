//! Connections of this kernel whose sequence numbers wrap around.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;

use driftway_linux::{Namespace, PathEnd, ShimSettings};
use nix::libc;
use nix::sys::socket::sockopt::{self, TcpRepair};
use nix::sys::socket::{getsockopt, setsockopt};
use socket2::{Domain, Socket, Type};

use crate::shim_daemon::{cut, marking};
use crate::shimmed::{RunningPath, RunningShim};
use crate::stream_digest::{StreamDigest, pattern};

tests![our_numbers_wrap, the_peers_numbers_wrap];

const PORT: u16 = 7000;
/// Bytes in each direction.
const BYTES: u64 = 1_200_000;

/// Socket option: the queue concerned by the next one (linux/tcp.h).
#[derive(Clone, Copy, Debug)]
struct TcpRepairQueue;
nix::setsockopt_impl!(
    TcpRepairQueue,
    libc::IPPROTO_TCP,
    libc::TCP_REPAIR_QUEUE,
    u32,
    sockopt::SetStruct<'_, u32>
);
/// Socket option: the initial sequence number.
#[derive(Clone, Copy, Debug)]
struct TcpQueueSeq;
nix::setsockopt_impl!(
    TcpQueueSeq,
    libc::IPPROTO_TCP,
    libc::TCP_QUEUE_SEQ,
    u32,
    sockopt::SetStruct<'_, u32>
);
nix::getsockopt_impl!(
    TcpQueueSeq,
    libc::IPPROTO_TCP,
    libc::TCP_QUEUE_SEQ,
    u32,
    sockopt::GetStruct<u32>
);
const SEND_QUEUE: u32 = 2;
/// Ends the repair mode without a window probe.
const OFF: u32 = u32::MAX;

/// A socket in a namespace whose SYN will have this sequence number.
pub fn numbered(namespace: &Namespace, isn: u32) -> Socket {
    let socket = namespace.run(|| Socket::new(Domain::IPV4, Type::STREAM, None)).unwrap().unwrap();
    socket.set_tcp_congestion(b"cubic").unwrap();
    setsockopt(&socket, TcpRepair, &1).unwrap();
    setsockopt(&socket, TcpRepairQueue, &SEND_QUEUE).unwrap();
    setsockopt(&socket, TcpQueueSeq, &isn).unwrap();
    setsockopt(&socket, TcpRepair, &0).unwrap();
    socket
}

/// The sequence number that it sends next.
fn sends_next(socket: &Socket) -> u32 {
    setsockopt(&socket, TcpRepair, &1).unwrap();
    setsockopt(&socket, TcpRepairQueue, &SEND_QUEUE).unwrap();
    let next = getsockopt(&socket, TcpQueueSeq).unwrap();
    setsockopt(&socket, TcpRepair, &OFF).unwrap();
    next
}

/// Sends and receives `BYTES` at once; returns digests of both directions.
fn exchange(stream: TcpStream, sends: u64) -> [StreamDigest; 2] {
    let mut writes = stream.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let (mut sent, mut buffer) = (StreamDigest::default(), [0; 16_384]);
        while sent.bytes() < BYTES {
            let room = (BYTES - sent.bytes()).min(buffer.len() as u64) as usize;
            pattern(sends, sent.bytes(), &mut buffer[..room]);
            let taken = writes.write(&buffer[..room]).unwrap();
            sent.update(sends, &buffer[..taken]);
        }
        writes.shutdown(Shutdown::Write).unwrap();
        sent
    });
    let (mut reads, mut received, mut buffer) = (stream, StreamDigest::default(), [0; 65_536]);
    reads.set_read_timeout(Some(std::time::Duration::from_secs(50))).unwrap();
    loop {
        match reads.read(&mut buffer).unwrap() {
            0 => return [writer.join().unwrap(), received],
            len => received.update(1 - sends, &buffer[..len]),
        }
    }
}

/// A transfer in both directions, with losses and a cut, of a connection opened by `opens` whose
/// numbers wrap after so many bytes.
fn wraps(opens: PathEnd, after: u32) {
    let path = RunningPath::start(
        &marking("packet_error_rate = 0.005", &cut("500 ms", "700 ms")),
        8,
        true,
    );
    let shim = RunningShim::start(path.near(), &ShimSettings::default());
    let listens = opens.other();
    let to = SocketAddrV4::new(path.addresses[listens as usize], PORT);
    let listener = path.running.end(listens).run(|| TcpListener::bind(to)).unwrap().unwrap();
    let accepts = thread::spawn(move || exchange(listener.accept().unwrap().0, 1));
    // The SYN occupies a number, too.
    let socket = numbered(path.running.end(opens), 0_u32.wrapping_sub(after + 1));
    socket.connect(&SocketAddr::V4(to).into()).unwrap();
    assert_eq!(sends_next(&socket), 0_u32.wrapping_sub(after));
    let [sent, received] = exchange(socket.into(), 0);
    let [sent_there, received_there] = accepts.join().unwrap();
    for (sent, received) in [(sent, received_there), (sent_there, received)] {
        sent.assert_complete(BYTES);
        assert!(received.is_as_sent(&sent), "{after}: {sent:?} {received:?}");
    }
    let stood = shim.stop();
    let counts = stood.counts;
    assert_eq!((counts.flows, counts.tracking_lost, counts.implausible), (1, 0, 0), "{stood:?}");
    assert_eq!((counts.outages, counts.survived), (1, 1), "{after}: {stood:?}");
    path.running.stop().unwrap();
}

/// Wraps at the same time before, in and after the cut, and in the handshake.
fn everywhere(opens: PathEnd) {
    let cases = [0, 150_000, 400_000, 900_000];
    let runs = cases.map(|after| thread::spawn(move || wraps(opens, after)));
    runs.into_iter().for_each(|run| run.join().unwrap());
}

fn our_numbers_wrap() {
    everywhere(PathEnd::Near);
}

fn the_peers_numbers_wrap() {
    everywhere(PathEnd::Far);
}
