//! Connections over prepared sockets, and byte streams over them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use driftway_linux::{Namespace, RealClock};
use socket2::{Domain, SockRef, Socket, Type};

use crate::stream_digest::{StreamDigest, pattern};

/// Silence after which a connection has failed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A listener at this address of a namespace.
pub fn listen(namespace: &Namespace, at: impl Into<SocketAddr>) -> TcpListener {
    let at = at.into();
    namespace.run(|| TcpListener::bind(at)).unwrap().unwrap()
}

/// A TCP socket of a namespace.
pub fn socket(namespace: &Namespace) -> Socket {
    namespace.run(|| Socket::new(Domain::IPV4, Type::STREAM, None)).unwrap().unwrap()
}

/// Connects a socket to a listener by this address; returns both ends.
pub fn connect(
    socket: Socket,
    listener: &TcpListener,
    to: impl Into<SocketAddr>,
) -> [TcpStream; 2] {
    let to = to.into();
    let connects = || match socket.connect(&to.into()) {
        // A new cable takes up to a second until it has a carrier; until then nobody answers.
        Err(error) if error.kind() == io::ErrorKind::HostUnreachable => false,
        connected => {
            connected.unwrap_or_else(|error| panic!("{to}: {error}"));
            true
        }
    };
    assert!((0..3).any(|_| connects()), "{to} is out of reach");
    let ends = [TcpStream::from(socket), listener.accept().unwrap().0];
    for end in &ends {
        end.set_read_timeout(Some(PATIENCE)).unwrap();
        end.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    ends
}

/// Sends the next bytes of a stream of this pattern.
pub fn send(stream: &TcpStream, key: u64, sent: &mut StreamDigest, bytes: u64) {
    try_send(stream, key, sent, bytes).unwrap();
}

/// Does the same as [`send`], and returns the error of the connection.
pub fn try_send(
    mut stream: &TcpStream,
    key: u64,
    sent: &mut StreamDigest,
    bytes: u64,
) -> io::Result<()> {
    let (mut buffer, end) = ([0; 16_384], sent.bytes() + bytes);
    while sent.bytes() < end {
        let len = buffer.len().min((end - sent.bytes()) as usize);
        pattern(key, sent.bytes(), &mut buffer[..len]);
        let taken = stream.write(&buffer[..len])?;
        sent.update(key, &buffer[..taken]);
    }
    Ok(())
}

/// Receives until the other end's end of data.
pub fn receive(stream: &TcpStream, key: u64) -> StreamDigest {
    try_receive(stream, key).unwrap()
}

/// Does the same as [`receive`], and returns the error of the connection.
pub fn try_receive(mut stream: &TcpStream, key: u64) -> io::Result<StreamDigest> {
    let (mut received, mut buffer) = (StreamDigest::default(), [0; 65_536]);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(received),
            len => received.update(key, &buffer[..len]),
        }
    }
}

/// Sends so many bytes from either end to the other, at the same time, and closes both. Everything
/// arrives as it was sent. Returns the time.
pub fn exchange(ends: &[TcpStream; 2], bytes: [u64; 2]) -> Duration {
    exchange_after(ends, bytes, [StreamDigest::default(), StreamDigest::default()])
}

/// The same for connections over which these bytes have been sent, but not read.
pub fn exchange_after(
    ends: &[TcpStream; 2],
    bytes: [u64; 2],
    before: [StreamDigest; 2],
) -> Duration {
    let clock = RealClock::start();
    thread::scope(|scope| {
        let senders = (0..2).zip(ends).zip(bytes).zip(before);
        let sends: Vec<_> = senders
            .map(|(((key, end), bytes), mut sent)| {
                scope.spawn(move || {
                    send(end, key, &mut sent, bytes);
                    end.shutdown(Shutdown::Write).unwrap();
                    sent
                })
            })
            .collect();
        let receives: Vec<_> = (0..2)
            .zip(ends.iter().rev())
            .map(|(key, end)| scope.spawn(move || receive(end, key)))
            .collect();
        for (sends, receives) in sends.into_iter().zip(receives) {
            let (sent, received) = (sends.join().unwrap(), receives.join().unwrap());
            assert!(received.is_as_sent(&sent), "{received:?} of {sent:?}");
        }
    });
    Duration::from_nanos(clock.now().as_nanos())
}

/// Closes with a RST, so that no port waits for a late segment.
pub fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

pub fn nap(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

/// Waits until something holds, and fails after some seconds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    assert!(
        (0..500).any(|_| holds() || {
            nap(10);
            false
        }),
        "{what}"
    );
}
