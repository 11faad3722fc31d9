//! The kernel's TCP at the other end: a socket that follows a list of steps.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::{KernelTcp, Namespace, kernel_tcp};
use socket2::{Domain, SockRef, Socket, Type};

/// What a peer does next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Sends the next this many bytes of its [`pattern`].
    Send(u64),
    /// Receives this many bytes.
    Receive(u64),
    /// Receives up to the other's end of data.
    ReceiveAll,
    /// Sends this many bytes and at the same time receives up to the other's end of data; ends its
    /// own data when all is sent.
    Exchange(u64),
    /// Ends its data, goes on receiving.
    HalfClose,
    /// Does nothing for a while: what arrives fills its buffer and closes its window.
    Pause(Duration),
    /// Takes a snapshot for [`Outcome::snapshots`].
    Snapshot,
    /// Closes with a RST.
    Reset,
}

/// The socket options of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Its congestion control: always said, because a machine's default may be any.
    pub congestion_control: &'static str,
    /// Its receive buffer (bytes), if not the kernel's choice.
    pub receive_buffer: Option<usize>,
    /// Which pattern it sends: 0 or 1. It expects the other.
    pub sends: u64,
}

/// What became of a peer.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Bytes given to the kernel.
    pub sent: u64,
    /// Bytes received, each of them as expected.
    pub received: u64,
    /// The offset of the first byte that was not what the other's pattern has there.
    pub wrong_at: Option<u64>,
    /// The kernel's view of the connection at each [`Step::Snapshot`].
    pub snapshots: Vec<KernelTcp>,
    /// The error that ended it before its last step.
    pub error: Option<io::ErrorKind>,
}

/// A peer at work.
pub struct Peer {
    thread: JoinHandle<Outcome>,
    done: Receiver<()>,
}

/// `bytes` of pattern `key` from `offset` on: what a byte is depends on where it stands, so that
/// bytes that are lost, doubled or moved show.
pub fn pattern(key: u64, offset: u64, bytes: &mut [u8]) {
    for (i, byte) in (offset..).zip(bytes) {
        let mixed = ((i / 8) ^ (key << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *byte = (mixed ^ mixed >> 29).to_be_bytes()[(i % 8) as usize];
    }
}

/// The offset of the first of `bytes`, which stand at `offset`, that is not as in pattern `key`.
pub fn first_wrong(key: u64, offset: u64, bytes: &[u8]) -> Option<u64> {
    let mut expected = vec![0; bytes.len()];
    pattern(key, offset, &mut expected);
    let at = bytes.iter().zip(&expected).position(|(is, should)| is != should)?;
    Some(offset + at as u64)
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
    /// `steps`. Also gives the address that it listens at.
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
        // Inside, because snapshots ask the kernel of the thread's namespace.
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

    /// Has it done all its steps, or failed?
    pub fn is_done(&self) -> bool {
        matches!(self.done.try_recv(), Err(mpsc::TryRecvError::Disconnected))
    }

    /// Waits for its end. A peer that takes longer than a minute fails the test: there is no
    /// better use of a hung one.
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
            Step::Receive(bytes) => self.receive(stream, options, bytes)?,
            Step::ReceiveAll => self.receive(stream, options, u64::MAX)?,
            Step::Exchange(bytes) => {
                let mut sent = self.sent;
                let (sending, receiving) = thread::scope(|scope| {
                    let sender = scope.spawn(|| {
                        send(stream, options.sends, &mut sent, bytes)?;
                        stream.shutdown(Shutdown::Write)
                    });
                    let receiving = self.receive(stream, options, u64::MAX);
                    (sender.join().expect("no panic in send"), receiving)
                });
                self.sent = sent;
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
            // A linger time of zero makes the close that follows a reset.
            Step::Reset => SockRef::from(stream).set_linger(Some(Duration::ZERO))?,
        }
        Ok(())
    }

    /// Receives up to `bytes` bytes or the end of data.
    fn receive(&mut self, mut stream: &TcpStream, options: Options, bytes: u64) -> io::Result<()> {
        let mut buffer = [0; 16_384];
        let mut left = bytes;
        while left > 0 {
            let room = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let len = stream.read(&mut buffer[..room])?;
            if len == 0 {
                break;
            }
            let wrong = first_wrong(options.sends ^ 1, self.received, &buffer[..len]);
            self.wrong_at = self.wrong_at.or(wrong);
            self.received += len as u64;
            left -= len as u64;
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

fn send(mut stream: &TcpStream, key: u64, sent: &mut u64, bytes: u64) -> io::Result<()> {
    let mut buffer = [0; 16_384];
    let end = *sent + bytes;
    while *sent < end {
        let len = buffer.len().min(usize::try_from(end - *sent).unwrap_or(usize::MAX));
        pattern(key, *sent, &mut buffer[..len]);
        *sent += stream.write(&buffer[..len])? as u64;
        // What write did not take is made again: a byte depends only on where it stands.
    }
    Ok(())
}
