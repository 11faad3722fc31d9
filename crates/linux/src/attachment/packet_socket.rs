//! A socket for all frames of an interface (packet(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvfrom, send,
    setsockopt, socket, sockopt,
};

/// Kind of a frame that the host itself has sent over the interface (linux/if_packet.h).
const OUTGOING: u8 = 4;
/// Buffer for frames that arrive while this process does not run (bytes).
const RECEIVE_BUFFER: usize = 4 << 20;

/// A socket for all frames of an interface.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    index: usize,
}

impl PacketSocket {
    /// Opens a socket for an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// `NotFound`: there is no such interface. Otherwise any error of the kernel.
    pub fn open(interface: &str) -> io::Result<Self> {
        let addresses = getifaddrs()?.filter(|of| of.interface_name == interface);
        let mut links = addresses.filter_map(|of| of.address?.as_link_addr().copied());
        let link = links.next().ok_or(io::ErrorKind::NotFound)?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let family = AddressFamily::Packet;
        let socket = socket(family, SockType::Raw, flags, SockProtocol::EthAll)?;
        bind(socket.as_raw_fd(), &link)?;
        setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        Ok(Self { socket, index: link.ifindex() })
    }

    /// Reads the next frame that has come from the other end; `None` if there is none.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), buffer) {
                // Before it was bound, the socket got frames of all interfaces.
                Ok((len, Some(from)))
                    if from.ifindex() == self.index && from.pkttype() != OUTGOING =>
                {
                    return Ok(Some(len));
                }
                // The interface is down, or gone: reported once, and nothing follows until it is up.
                Ok(_) | Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(Errno::EAGAIN) => return Ok(None),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        send(self.socket.as_raw_fd(), frame, MsgFlags::empty())?;
        Ok(())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
