//! A transfer from one end of a path to the other with the kernel's TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use driftway_base::Instant;
use driftway_linux::{PathEnd, RealClock, RunningEmulation};
use nix::libc;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt,
};

/// Port of the first transfer over a path.
pub const FIRST_PORT: u16 = 7000;
/// Interval at which blocking calls return to check the deadline.
const DEADLINE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes written or read at once.
const CHUNK_BYTES: usize = 16_384;
/// Period of the payload's pattern: not a power of two, so that segments differ from each other.
const PAYLOAD_PERIOD: u64 = 251;

/// `TCP_WINDOW_CLAMP` (tcp(7)), the largest window that a receiver advertises; nix lacks it.
#[derive(Clone, Copy, Debug)]
struct WindowClamp;
nix::setsockopt_impl!(
    WindowClamp,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    u32,
    nix::sys::socket::sockopt::SetStruct<u32>
);

/// `TCP_RTO_MAX_MS` (linux/tcp.h, since Linux 6.15), the largest retransmission timeout (ms); libc lacks it.
#[derive(Clone, Copy, Debug)]
struct RtoMax;
nix::setsockopt_impl!(
    RtoMax,
    libc::IPPROTO_TCP,
    TCP_RTO_MAX_MS,
    u32,
    nix::sys::socket::sockopt::SetStruct<u32>
);
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Returns whether the kernel can limit the retransmission timeout of a socket.
///
/// # Errors
/// No socket can be created.
pub fn has_rto_max(milliseconds: u32) -> io::Result<bool> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    Ok(setsockopt(&socket, RtoMax, &milliseconds).is_ok())
}

/// A transfer's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The kernel's name of the sender's congestion control.
    pub congestion_control: &'a str,
    /// Limit on the sender's retransmission timeout (ms), if any.
    pub rto_max_ms: Option<u32>,
    /// Size of the transfer; without an end, the largest number.
    pub bytes: u64,
    /// Largest window that the receiver advertises (bytes).
    pub window: u32,
    /// Port of the receiver.
    pub port: u16,
    /// Time at which the transfer is aborted; nothing that arrives later counts.
    pub deadline: Instant,
    /// Aborts the transfer as soon as it is set.
    pub stop: &'a AtomicBool,
}

/// Result of a transfer.
#[derive(Clone, Debug)]
pub struct TransferResult {
    /// Bytes received.
    pub bytes: u64,
    /// Arrival of the last byte, if all arrived.
    pub complete: Option<Instant>,
    /// Error of the sending kernel, if it aborted the connection.
    pub refused: Option<String>,
}

impl Transfer<'_> {
    /// Sends from the near to the far end, until all bytes have arrived or the deadline has passed.
    ///
    /// # Errors
    /// A failed system call of the receiver, or received bytes that differ from those sent.
    pub fn run(
        self,
        running: &RunningEmulation,
        far: Ipv4Addr,
        clock: RealClock,
    ) -> io::Result<TransferResult> {
        let listen = || -> io::Result<TcpListener> {
            let listener = TcpListener::bind((far, self.port))?;
            setsockopt(&listener, WindowClamp, &self.window)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = running.end(PathEnd::Far).run(listen)??;
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let sends = scope.spawn(|| {
                let near = running.end(PathEnd::Near);
                let sent = near.run(|| self.send(far, clock, &done))?;
                done.store(true, Ordering::Relaxed);
                sent
            });
            let arrived = self.receive(&listener, clock, &done);
            done.store(true, Ordering::Relaxed);
            let sent = sends.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // A connection aborted by the kernel is a result, not an error.
            let refused = sent.err().map(|error| error.to_string());
            arrived.map(|arrived| TransferResult { refused, ..arrived })
        })
    }

    fn is_over(&self, clock: RealClock, done: &AtomicBool) -> bool {
        done.load(Ordering::Relaxed)
            || self.stop.load(Ordering::Relaxed)
            || clock.now() >= self.deadline
    }

    fn send(&self, far: Ipv4Addr, clock: RealClock, done: &AtomicBool) -> io::Result<()> {
        let socket = socket_with(self.congestion_control)?;
        if let Some(milliseconds) = self.rto_max_ms {
            setsockopt(&socket, RtoMax, &milliseconds)?;
        }
        connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(far, self.port)))?;
        let mut stream = TcpStream::from(socket);
        stream.set_write_timeout(Some(DEADLINE_POLL_INTERVAL))?;
        stream.set_read_timeout(Some(DEADLINE_POLL_INTERVAL))?;
        let (mut sent, mut buffer) = (0, [0; CHUNK_BYTES]);
        while !self.is_over(clock, done) {
            let room = (self.bytes - sent).min(CHUNK_BYTES as u64) as usize;
            for (at, byte) in (sent..).zip(&mut buffer[..room]) {
                *byte = payload_byte(at);
            }
            // Linux aborts a closed connection after about a hundred seconds without an answer
            // (tcp_orphan_retries), and the paper's outages are longer: stay open.
            let result = match room {
                0 => stream.read(&mut [0]),
                _ => stream.write(&buffer[..room]),
            };
            match result {
                Ok(taken) => sent += taken as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        listener: &TcpListener,
        clock: RealClock,
        done: &AtomicBool,
    ) -> io::Result<TransferResult> {
        let mut arrived = TransferResult { bytes: 0, complete: None, refused: None };
        let mut stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if is_timeout(&error) && !self.is_over(clock, done) => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(error) if is_timeout(&error) => return Ok(arrived),
                Err(error) => return Err(error),
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(DEADLINE_POLL_INTERVAL))?;
        let mut buffer = [0; CHUNK_BYTES];
        while arrived.bytes < self.bytes && !self.is_over(clock, done) {
            let len = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if is_timeout(&error) => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            };
            let now = clock.now();
            if now > self.deadline {
                break;
            }
            if (arrived.bytes..).zip(&buffer[..len]).any(|(at, byte)| *byte != payload_byte(at)) {
                let what =
                    format!("received bytes differ from those sent, after {}", arrived.bytes);
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            arrived.bytes += len as u64;
            arrived.complete = (arrived.bytes == self.bytes).then_some(now);
        }
        Ok(arrived)
    }
}

/// A socket with this congestion control. It is set before the socket connects, because a previous one
/// may leave its pacing rate behind.
///
/// # Errors
/// A congestion control that the kernel does not have.
pub fn socket_with(congestion_control: &str) -> io::Result<OwnedFd> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, sockopt::TcpCongestion, &congestion_control.into())?;
    Ok(socket)
}

/// Returns true if a call only timed out. (A connection that timed out gives ETIMEDOUT.)
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn payload_byte(at: u64) -> u8 {
    (at % PAYLOAD_PERIOD) as u8
}
