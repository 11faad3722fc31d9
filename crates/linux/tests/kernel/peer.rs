//! The kernel's TCP as peer: a socket that follows a list of steps.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use driftway_linux::{KernelTcp, Namespace, kernel_tcp};
use socket2::{Domain, SockRef, Socket, Type};

use crate::stream_digest::{StreamDigest, pattern};

/// A step of a peer.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends this many bytes of its [`pattern`].
    Send(u64),
    /// Receives this many bytes.
    Receive(u64),
    /// Receives until the other end's end of data.
    ReceiveAll,
    /// Sends this many bytes and at the same time receives until the other end's end of data;
    /// closes its own direction after sending.
    Exchange(u64),
    /// Closes its own direction, and continues receiving.
    HalfClose,
    /// Does nothing for a while: arriving data fill its buffer and close its window.
    Pause(Duration),
    /// Takes a snapshot for [`Outcome::snapshots`].
    Snapshot,
    /// Closes with a RST.
    Reset,
}

/// Socket options of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Congestion control algorithm; explicit, because defaults of machines differ.
    pub congestion_control: &'static str,
    /// Receive buffer (bytes), if not the kernel's choice.
    pub receive_buffer: Option<usize>,
    /// The pattern it sends: 0 or 1. It expects the other.
    pub sends: u64,
}

/// Result of a peer.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Data passed to the kernel.
    pub sent: StreamDigest,
    /// Data received.
    pub received: StreamDigest,
    /// The kernel's state of the connection at each [`Step::Snapshot`].
    pub snapshots: Vec<KernelTcp>,
    /// The error that ended it before its last step.
    pub error: Option<io::ErrorKind>,
}

/// A running peer.
pub struct Peer {
    thread: JoinHandle<Outcome>,
    done: Receiver<()>,
}

impl Peer {
    /// Connects in `namespace` from `local` (port 0: any) to `remote` and follows `steps`.
    pub fn connect(
        namespace: &Namespace,
        local: SocketAddrV4,
        remote: SocketAddrV4,
        options: Options,
        steps: &[Step],
    ) -> io::Result<Self> {
        let socket = open(namespace, options)?;
        socket.bind(&SocketAddr::V4(local).into())?;
        Self::start(namespace, options, steps, move || {
            socket.connect(&SocketAddr::V4(remote).into())?;
            Ok(socket.into())
        })
    }

    /// Listens in `namespace` at `address` (port 0: any), accepts one connection and follows
    /// `steps`. Also returns its address.
    pub fn listen(
        namespace: &Namespace,
        address: SocketAddrV4,
        options: Options,
        steps: &[Step],
    ) -> io::Result<(Self, SocketAddrV4)> {
        let socket = open(namespace, options)?;
        socket.bind(&SocketAddr::V4(address).into())?;
        socket.listen(1)?;
        let local = socket.local_addr()?.as_socket_ipv4().ok_or(io::ErrorKind::Unsupported)?;
        let peer = Self::start(namespace, options, steps, move || Ok(socket.accept()?.0.into()))?;
        Ok((peer, local))
    }

    fn start(
        namespace: &Namespace,
        options: Options,
        steps: &[Step],
        open: impl FnOnce() -> io::Result<TcpStream> + Send + 'static,
    ) -> io::Result<Self> {
        let steps = steps.to_vec();
        let (ended, done): (Sender<()>, _) = mpsc::channel();
        // Inside, because snapshots query the kernel of the thread's namespace.
        let thread = namespace.run(move || {
            thread::spawn(move || {
                let mut outcome = Outcome::default();
                let result = open().and_then(|stream| {
                    steps.iter().try_for_each(|step| outcome.follow(&stream, options, *step))
                });
                outcome.error = result.err().map(|error| error.kind());
                drop(ended);
                outcome
            })
        })?;
        Ok(Self { thread, done })
    }

    /// Returns whether it has done all its steps, or failed.
    pub fn is_done(&self) -> bool {
        matches!(self.done.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    }

    /// Waits for its end, and fails after a minute.
    pub fn outcome(self) -> Outcome {
        let waited = self.done.recv_timeout(Duration::from_secs(60));
        assert_eq!(waited, Err(mpsc::RecvTimeoutError::Disconnected), "the peer hangs");
        self.thread.join().expect("the peer panicked")
    }
}

impl Outcome {
    fn follow(&mut self, stream: &TcpStream, options: Options, step: Step) -> io::Result<()> {
        match step {
            Step::Send(bytes) => send(stream, options.sends, &mut self.sent, bytes)?,
            Step::Receive(bytes) => {
                receive(stream, options.sends ^ 1, &mut self.received, bytes)?;
            }
            Step::ReceiveAll => {
                receive(stream, options.sends ^ 1, &mut self.received, u64::MAX)?;
            }
            Step::Exchange(bytes) => {
                let Self { sent, received, .. } = self;
                let (sending, receiving) = thread::scope(|scope| {
                    let sender = scope.spawn(|| {
                        send(stream, options.sends, sent, bytes)?;
                        stream.shutdown(Shutdown::Write)
                    });
                    let receiving = receive(stream, options.sends ^ 1, received, u64::MAX);
                    (sender.join().expect("no panic in send"), receiving)
                });
                sending.and(receiving)?;
            }
            Step::HalfClose => stream.shutdown(Shutdown::Write)?,
            Step::Pause(span) => thread::sleep(span),
            Step::Snapshot => {
                let (SocketAddr::V4(local), SocketAddr::V4(remote)) =
                    (stream.local_addr()?, stream.peer_addr()?)
                else {
                    unreachable!("an IPv4 socket")
                };
                self.snapshots.push(kernel_tcp(local, remote)?);
            }
            // A linger time of zero makes the close send a reset.
            Step::Reset => SockRef::from(stream).set_linger(Some(Duration::ZERO))?,
        }
        Ok(())
    }
}

fn open(namespace: &Namespace, options: Options) -> io::Result<Socket> {
    let socket = namespace.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    socket.set_tcp_congestion(options.congestion_control.as_bytes())?;
    if let Some(bytes) = options.receive_buffer {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(socket)
}

fn send(mut stream: &TcpStream, key: u64, sent: &mut StreamDigest, bytes: u64) -> io::Result<()> {
    let mut buffer = [0; 16_384];
    let end = sent.bytes() + bytes;
    while sent.bytes() < end {
        let len = buffer.len().min(usize::try_from(end - sent.bytes()).unwrap_or(usize::MAX));
        pattern(key, sent.bytes(), &mut buffer[..len]);
        // Bytes that write does not accept are generated again: each depends only on its offset.
        let taken = stream.write(&buffer[..len])?;
        sent.update(key, &buffer[..taken]);
    }
    Ok(())
}

/// Receives up to `bytes` bytes or the end of data.
fn receive(
    mut stream: &TcpStream,
    key: u64,
    received: &mut StreamDigest,
    bytes: u64,
) -> io::Result<()> {
    let mut buffer = [0; 16_384];
    let mut left = bytes;
    while left > 0 {
        let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let len = stream.read(&mut buffer[..room])?;
        if len == 0 {
            break;
        }
        received.update(key, &buffer[..len]);
        left -= len as u64;
    }
    Ok(())
}
