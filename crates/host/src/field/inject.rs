//! Packets of our own, out into the network or up to the local TCP.

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};

use base::Ipv4Addr;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendmsg,
    setsockopt, socket, sockopt,
};
use shim::To;

/// What tells our packets from the local TCP's: the socket's priority. Not a mark, by which policy
/// routing could send them elsewhere; as a queueing discipline reads it, it is the priority of all.
pub const PRIORITY: u32 = 0x5715_0000;

/// A raw socket that takes whole packets.
pub struct Injector(OwnedFd);

impl Injector {
    /// In the calling thread's namespace.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Raw)?;
        setsockopt(&socket, sockopt::Priority, &(PRIORITY as i32))?;
        Ok(Self(socket))
    }

    /// Sends an IPv4 packet. What is for the local TCP comes in by the loopback interface, whoever
    /// it seems to be from.
    ///
    /// # Errors
    /// What the kernel says: no route, no room.
    pub fn send(&self, to: To, packet: &[u8]) -> io::Result<()> {
        let (Some(source), Some(destination)) = (address(packet, 12), address(packet, 16)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // Rules of policy routing may ask for the source, which a raw socket does not look for.
        let from = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(source.octets()) },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        let control = [ControlMessage::Ipv4PacketInfo(&from)];
        let control = match to {
            To::Network => &control[..],
            To::Local => &[],
        };
        let [a, b, c, d] = destination.octets();
        let address = SockaddrIn::new(a, b, c, d, 0);
        let bytes = [IoSlice::new(packet)];
        match sendmsg(self.0.as_raw_fd(), &bytes, control, MsgFlags::empty(), Some(&address)) {
            Ok(_) => Ok(()),
            Err(Errno::EINTR) => Err(io::ErrorKind::Interrupted.into()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Where an IPv4 packet is to go.
pub fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    address(packet, 16)
}

fn address(packet: &[u8], at: usize) -> Option<Ipv4Addr> {
    packet.get(at..)?.first_chunk().map(|bytes| Ipv4Addr::from(*bytes))
}
