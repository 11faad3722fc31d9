//! Marker packets: packets of this process by which rules change a set, and which they drop.
//!
//! They need no nf_tables transaction, which would have to wait for other programs' transactions, and
//! would invalidate the ruleset generation that they have read. A set is changed when `send` returns.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, setsockopt,
    socket, sockopt,
};

/// A socket for marker packets of one kind.
pub struct MarkerSocket(OwnedFd);

impl MarkerSocket {
    /// Opens a socket in the calling thread's namespace. Its priority, which only a process with
    /// CAP_NET_ADMIN can set, identifies the packets.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open(priority: u32) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?;
        setsockopt(&socket, sockopt::Priority, &(priority as i32))?;
        Ok(Self(socket))
    }

    /// Sends a packet to the rule; returns whether it has got there. The kernel may be out of memory
    /// at present.
    ///
    /// # Errors
    /// The rules are gone, or any error of the kernel.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        // The unspecified address reaches this host with any addresses, even with the loopback
        // interface down.
        let here = SockaddrIn::new(0, 0, 0, 0, 0);
        match sendto(self.0.as_raw_fd(), packet, &here, MsgFlags::empty()) {
            // Dropped, so it has reached the rule.
            Err(Errno::EPERM) => Ok(true),
            Err(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN | Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno.into()),
            Ok(_) => {
                Err(io::Error::new(io::ErrorKind::NotFound, "the interception rules are gone"))
            }
        }
    }
}
