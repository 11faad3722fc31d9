//! The place at which a node's packets leave its kernel and enter the network.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use crate::Tun;
use crate::attachment::Attachment;

/// A device of a node's kernel, or an interface of the host in its place.
pub enum Port {
    /// A device.
    Device(Tun),
    /// An interface.
    Attached(Attachment),
}

impl Port {
    /// Reads the next packet or frame; returns its length, or `None` if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Device(tun) => tun.receive(buffer),
            Self::Attached(attachment) => attachment.receive(buffer),
        }
    }

    /// Sends a packet or frame.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Device(tun) => tun.send(bytes),
            Self::Attached(attachment) => attachment.send(bytes),
        }
    }

    /// The device, if it is one.
    pub const fn device(&self) -> Option<&Tun> {
        match self {
            Self::Device(tun) => Some(tun),
            Self::Attached(_) => None,
        }
    }

    /// Returns true for the error of a port that takes no packet: it is no IP packet, or the interface is down, full or
    /// gone.
    pub fn is_refusal(&self, error: &io::Error) -> bool {
        use Errno::{EAGAIN, EINVAL, EIO, EMSGSIZE, ENETDOWN, ENOBUFS, ENODEV, ENXIO};
        match (self, error.raw_os_error().map(Errno::from_raw)) {
            (_, Some(EINVAL | EIO)) => true,
            (Self::Attached(_), Some(errno)) => {
                matches!(errno, EAGAIN | EMSGSIZE | ENETDOWN | ENOBUFS | ENODEV | ENXIO)
            }
            _ => false,
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Device(tun) => tun.as_fd(),
            Self::Attached(attachment) => attachment.as_fd(),
        }
    }
}
