//! A sequence of transfers from near to far, each with a number known at both ends.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use driftway_linux::Namespace;
use socket2::{Domain, Socket, Type};

use crate::stream_digest::{StreamDigest, pattern};

/// Size of each (bytes).
pub const EACH: u64 = 2_500_000;
/// Maximum silence of a connection: all cuts here are shorter.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Each connection begins with its number.
const NUMBER: usize = 8;

/// Sends all transfers; a failed one is repeated with another number.
///
/// `prepare` sets up a socket before it connects (a mark, an address).
pub fn send_all(
    near: &Namespace,
    to: SocketAddrV4,
    connections: u64,
    prepare: impl Fn(&Socket) -> io::Result<()>,
) -> Vec<io::Result<StreamDigest>> {
    let (mut sent, mut good) = (Vec::new(), 0);
    while good < connections && sent.len() < 4 * connections as usize {
        let one = connect(near, to, &prepare).and_then(|stream| send(stream, sent.len() as u64));
        good += u64::from(one.is_ok());
        sent.push(one);
    }
    sent
}

fn send(mut stream: TcpStream, number: u64) -> io::Result<StreamDigest> {
    stream.write_all(&number.to_be_bytes())?;
    let (mut sent, mut buffer) = (StreamDigest::default(), [0; 65_536]);
    while sent.bytes() < EACH {
        let room = (EACH - sent.bytes()).min(buffer.len() as u64) as usize;
        pattern(number, sent.bytes(), &mut buffer[..room]);
        let taken = stream.write(&buffer[..room])?;
        sent.update(number, &buffer[..taken]);
    }
    stream.shutdown(Shutdown::Write)?;
    match stream.read(&mut buffer)? {
        0 => Ok(sent),
        _ => Err(io::Error::other("the peer sent data")),
    }
}

/// Connects as applications do, which try again: at an ICMP error, or without a route, TCP gives up an
/// attempt at once (RFC 5461 §4.1).
fn connect(
    near: &Namespace,
    to: SocketAddrV4,
    prepare: impl Fn(&Socket) -> io::Result<()>,
) -> io::Result<TcpStream> {
    loop {
        let socket = near.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
        socket.set_tcp_congestion(b"cubic")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        prepare(&socket)?;
        match socket.connect(&SocketAddr::V4(to).into()) {
            Ok(()) => return Ok(socket.into()),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable
                ) =>
            {
                thread::sleep(std::time::Duration::from_millis(50));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The result of each connection, by its number.
pub type Received = Vec<(u64, io::Result<StreamDigest>)>;

pub fn listen(far: &Namespace, at: SocketAddrV4) -> io::Result<Socket> {
    let socket = far.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    socket.bind(&SocketAddr::V4(at).into())?;
    socket.listen(16)?;
    // Timeout of `accept`.
    socket.set_read_timeout(Some(std::time::Duration::from_millis(100)))?;
    Ok(socket)
}

pub fn receive_all(listener: &Socket, sent_all: &AtomicBool) -> Received {
    let mut received = Vec::new();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let mut number = [0; NUMBER];
                let mut stream = TcpStream::from(stream);
                let begun = stream
                    .set_read_timeout(Some(PATIENCE))
                    .and_then(|()| stream.read_exact(&mut number));
                // A connection without data was never used.
                if begun.is_ok() {
                    let number = u64::from_be_bytes(number);
                    received.push((number, receive(stream, number)));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if sent_all.load(Ordering::Relaxed) {
                    return received;
                }
            }
            // It was closed before it was accepted.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn receive(mut stream: TcpStream, number: u64) -> io::Result<StreamDigest> {
    let (mut received, mut buffer) = (StreamDigest::default(), vec![0; 65_536]);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(received),
            len => received.update(number, &buffer[..len]),
        }
    }
}
