//! A TUN device: IP packets in and out of a kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use driftway_base::{Duration, Ipv4Addr};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::netlink;

/// How many packets the kernel keeps for us: room for those that come while we do not run.
const QUEUE: u32 = 5000;

/// The end of a cable whose other end is a network interface of a kernel. Whole IP packets, one at
/// a time; never blocks but in [`wait`](Tun::wait). The interface goes away with this value.
pub struct Tun {
    device: SyncDevice,
    mtu: u16,
}

impl Tun {
    /// Makes an interface in the calling thread's namespace, up, where the kernel has `address` and
    /// reaches the rest of the `prefix` bits wide network through it, with this MTU (bytes).
    ///
    /// # Errors
    /// What the kernel says; see [`available`](crate::available) for what it takes.
    pub fn open(address: Ipv4Addr, prefix: u8, mtu: u16) -> io::Result<Self> {
        let device = DeviceBuilder::new()
            .ipv4(address, prefix, None)
            .mtu(mtu)
            .tx_queue_len(QUEUE)
            .build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self { device, mtu })
    }

    /// The largest packet it carries (bytes).
    pub const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The interface's name.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn name(&self) -> io::Result<String> {
        self.device.name()
    }

    /// Packets that the kernel dropped because nobody took them in time. To be asked in the
    /// namespace of the interface.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn overflows(&self) -> io::Result<u64> {
        netlink::tx_dropped(self.device.if_index()?)
    }

    /// Takes the next packet that the kernel sent into `buffer` and gives its length; `None` if
    /// there is none. A packet longer than `buffer` is cut to it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the kernel a packet. It takes it or drops it, as a network would; there is nothing to
    /// wait for.
    ///
    /// # Errors
    /// `InvalidInput` if `packet` is not one; else what the kernel says.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.device.send(packet).map(|_| ())
    }

    /// Waits until the kernel sends a packet, at most for `timeout` ([`Duration::MAX`]: for ever),
    /// and says whether there is one. An interrupting signal ends it early.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let mut watched = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
        let timeout = (timeout != Duration::MAX)
            .then(|| TimeSpec::from_duration(std::time::Duration::from_nanos(timeout.as_nanos())));
        match ppoll(&mut watched, timeout, None) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
