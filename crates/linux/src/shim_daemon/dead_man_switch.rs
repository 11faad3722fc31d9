//! A dead-man switch in the kernel: packets are intercepted only while this process renews it.
//!
//! The interception rules look up a set whose single element expires. A marker packet of this
//! process renews the element at a rule, and is dropped there. This needs no nf_tables transaction,
//! which would have to wait for other programs' transactions, and would invalidate the ruleset
//! generation that they have read.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use driftway_base::{Duration, Instant};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, setsockopt,
    socket, sockopt,
};

/// Lifetime of a renewal.
pub const EXPIRY: Duration = Duration::from_secs(1);
/// Renewal interval: two may fail.
const PERIOD: Duration = Duration::from_millis(250);
/// Priority of the marker packets' socket, which identifies them; setting it needs CAP_NET_ADMIN.
pub const PRIORITY: u32 = 0x5715_0001;
/// A bare IPv4 header with protocol 255 (reserved). The kernel fills in length and checksum.
const PACKET: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 255, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];

/// Renews the element periodically.
pub struct DeadManSwitch {
    socket: OwnedFd,
    due: Instant,
}

impl DeadManSwitch {
    /// Opens the switch in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?;
        setsockopt(&socket, sockopt::Priority, &(PRIORITY as i32))?;
        Ok(Self { socket, due: Instant::ZERO })
    }

    /// Time of the next renewal.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// Renews the element if that is due; returns whether it was.
    ///
    /// # Errors
    /// The rules are gone, or any error of the kernel.
    pub fn renew(&mut self, now: Instant) -> io::Result<bool> {
        if now < self.due {
            return Ok(false);
        }
        self.due = now + PERIOD;
        // The unspecified address reaches this host with any addresses, even with the loopback
        // interface down.
        let here = SockaddrIn::new(0, 0, 0, 0, 0);
        match sendto(self.socket.as_raw_fd(), &PACKET, &here, MsgFlags::empty()) {
            // Dropped, so it has reached the rule.
            Err(Errno::EPERM) => Ok(true),
            // Temporarily out of memory: the next one comes before the expiry.
            Err(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN | Errno::EINTR) => Ok(true),
            Err(errno) => Err(errno.into()),
            Ok(_) => {
                Err(io::Error::new(io::ErrorKind::NotFound, "the interception rules are gone"))
            }
        }
    }
}
