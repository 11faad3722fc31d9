//! A dead-man switch in the kernel: packets are shown only as long as this process says that it
//! works.
//!
//! The rules that show packets ask a set whose one element expires. A packet of our own that comes
//! by the table renews it, and is dropped there. No change of nf_tables is needed for that: each
//! would wait for whoever loads a long list of rules, and would have other programs that read the
//! rules in order to change them begin anew.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use driftway_base::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, setsockopt,
    socket, sockopt,
};

/// How long packets are shown after a renewal.
pub const EXPIRES: Duration = Duration::from_secs(1);
/// How often it is renewed: two may fail.
const PERIOD: Duration = Duration::from_millis(250);
/// What tells such a packet from all others: its socket's priority, which takes CAP_NET_ADMIN.
pub const PRIORITY: u32 = 0x5715_0001;
/// An IPv4 header and nothing behind it, of the protocol that no packet on a network has. The kernel
/// fills in length and checksum.
const PACKET: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 255, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];

/// Renews the element in time.
pub struct Alive {
    socket: OwnedFd,
    due: Instant,
}

impl Alive {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?;
        setsockopt(&socket, sockopt::Priority, &(PRIORITY as i32))?;
        Ok(Self { socket, due: Instant::ZERO })
    }

    /// When the next renewal is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Renews it if that is due; says whether it was.
    ///
    /// # Errors
    /// The rules are gone, or what the kernel says.
    pub fn renew(&mut self, now: Instant) -> io::Result<bool> {
        if now < self.due {
            return Ok(false);
        }
        self.due = now + PERIOD;
        // To this host whatever addresses it has, even with the loopback interface down.
        let here = SockaddrIn::new(0, 0, 0, 0, 0);
        match sendto(self.socket.as_raw_fd(), &PACKET, &here, MsgFlags::empty()) {
            // It was dropped, so it came by the rule.
            Err(Errno::EPERM) => Ok(true),
            // Out of memory for a moment: the next one comes before it expires.
            Err(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN | Errno::EINTR) => Ok(true),
            Err(errno) => Err(errno.into()),
            Ok(_) => Err(io::Error::new(io::ErrorKind::NotFound, "its rules are gone")),
        }
    }
}
