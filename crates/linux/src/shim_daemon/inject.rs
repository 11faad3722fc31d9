//! Injection of segments into the local TCP.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendmsg, setsockopt,
    socket, sockopt,
};

/// Priority of the socket's packets, by which rules recognize them: they may only go to this host,
/// over the loopback interface.
pub const INJECTED_PRIORITY: u32 = 0x5715_0000;

/// A raw socket for segments injected into the local TCP.
pub struct Injector(OwnedFd);

impl Injector {
    /// Opens a socket in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?;
        setsockopt(&socket, sockopt::Priority, &(INJECTED_PRIORITY as i32))?;
        Ok(Self(socket))
    }

    /// Injects an IPv4 packet with any source address into the local TCP.
    ///
    /// # Errors
    /// Any error of the kernel: the destination is no address of this host any more, or there is no
    /// room.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        let destination = packet.get(16..).and_then(|rest| rest.first_chunk());
        let [a, b, c, d] = *destination.ok_or(io::ErrorKind::InvalidInput)?;
        let address = SockaddrIn::new(a, b, c, d, 0);
        let bytes = [IoSlice::new(packet)];
        match sendmsg(self.0.as_raw_fd(), &bytes, &[], MsgFlags::empty(), Some(&address)) {
            Ok(_) => Ok(()),
            Err(Errno::EINTR) => Err(io::ErrorKind::Interrupted.into()),
            Err(errno) => Err(errno.into()),
        }
    }
}
