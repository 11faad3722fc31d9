//! Servers that share a port (`SO_REUSEPORT`), with short and long connections and an outage.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use driftway_linux::{Namespace, ShimSettings};

use crate::pair::{DEVICE, THERE, pair, plug};
use crate::shimmed::RunningShim;
use crate::stream_digest::StreamDigest;
use crate::streams::{PATIENCE, nap, receive, send, socket, try_receive, try_send};
use crate::wired;

tests![listeners_of_one_port];

const PORT: u16 = 7000;
const SERVERS: usize = 4;
const CLIENTS: usize = 8;
/// Connections of each client.
const ROUNDS: usize = 12;
/// Lengths of requests and of answers, in turns.
const LENGTHS: [u64; 3] = [300, 2_000, 400_000];

fn listener(far: &Namespace) -> TcpListener {
    let socket = socket(far);
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from((THERE, PORT)).into()).unwrap();
    socket.listen(64).unwrap();
    socket.into()
}

/// The connections, by their numbers, from which a server has read.
type Accepted = Mutex<BTreeSet<u8>>;

/// Answers each connection by as many bytes as it has received, until the clients are done.
fn serve(listener: &TcpListener, is_over: &AtomicBool, accepted: &Accepted) -> usize {
    listener.set_nonblocking(true).unwrap();
    let mut served = 0;
    thread::scope(|scope| {
        while !is_over.load(Ordering::Relaxed) {
            let Ok((mut stream, _)) = listener.accept() else {
                nap(1);
                continue;
            };
            served += 1;
            scope.spawn(move || {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                // Each connection has a pattern of its own, whose number comes first.
                let mut key = [0];
                stream.read_exact(&mut key).unwrap();
                assert!(accepted.lock().unwrap().insert(key[0]), "{} was accepted twice", key[0]);
                let received = receive(&stream, key[0].into());
                received.assert_complete(received.bytes());
                let mut sent = StreamDigest::default();
                send(&stream, u64::from(!key[0]), &mut sent, received.bytes());
                stream.shutdown(Shutdown::Write).unwrap();
            });
        }
    });
    served
}

/// Makes a request, again if its connection is reset before a server has accepted it: where the answer to a SYN has to be
/// repeated and there is no route for it, since the interface is down, Linux forgets the half-open connection, and the
/// client's data are answered by a reset. Without a shim it is the same.
fn request(near: &Namespace, key: u8, bytes: u64, accepted: &Accepted) {
    while let Err(error) = try_request(near, key, bytes) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        assert!(!accepted.lock().unwrap().contains(&key), "{key} was accepted, and then reset");
    }
}

fn try_request(near: &Namespace, key: u8, bytes: u64) -> io::Result<()> {
    let socket = socket(near);
    socket.connect(&SocketAddr::from((THERE, PORT)).into())?;
    let mut stream = std::net::TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&[key])?;
    try_send(&stream, key.into(), &mut StreamDigest::default(), bytes)?;
    stream.shutdown(Shutdown::Write)?;
    try_receive(&stream, u64::from(!key))?.assert_complete(bytes);
    Ok(())
}

fn listeners_of_one_port() {
    let ends = pair(true).unwrap();
    let [near, far] = &ends;
    near.run(|| wired::shape(DEVICE, 12_500_000, 200_000)).unwrap().unwrap();
    let shims = [0, 1].map(|end| RunningShim::start(&ends[end], &ShimSettings::default()));
    let listeners: Vec<_> = (0..SERVERS).map(|_| listener(far)).collect();
    let (is_over, accepted) = (AtomicBool::new(false), Accepted::default());
    let served: Vec<_> = thread::scope(|scope| {
        let servers =
            listeners.iter().map(|listener| scope.spawn(|| serve(listener, &is_over, &accepted)));
        let servers: Vec<_> = servers.collect();
        let clients = (0..CLIENTS).map(|client| {
            let accepted = &accepted;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let number = client * ROUNDS + round;
                    request(near, number as u8, LENGTHS[number % LENGTHS.len()], accepted);
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        nap(400);
        far.run(|| plug(false)).unwrap().unwrap();
        nap(1000);
        far.run(|| plug(true)).unwrap().unwrap();
        // A client that has failed keeps no server waiting.
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        let served = servers.into_iter().map(|server| server.join().unwrap()).collect();
        assert!(ended.iter().all(Result::is_ok), "a request has failed");
        served
    });
    assert!(served.iter().all(|served| *served > 0), "{served:?}");
    nap(300);
    let long = (CLIENTS * ROUNDS / LENGTHS.len()) as u64;
    for shim in shims {
        let stood = shim.stop();
        let counts = stood.counts;
        // Of the short ones, those that the outage makes long are carried, too. Some of the long ones
        // may count as older than the shim, and pass.
        assert!((long / 2..2 * long).contains(&counts.flows), "{stood:?}");
        assert!(stood.unseen.young > 0, "{stood:?}");
        assert_eq!(counts.tracking_lost, 0, "{stood:?}");
        // On a busy machine the copy of a segment may be read after a later segment that was intercepted.
        assert!(counts.implausible * 100 <= counts.watched + counts.intercepted, "{stood:?}");
        assert_eq!(counts.outages, counts.survived, "{stood:?}");
        assert_eq!(stood.memory.0, 0, "{stood:?}");
    }
}
