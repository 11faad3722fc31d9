//! A TUN or TAP device: IP packets, or Ethernet frames, to and from a kernel.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use driftway_base::{Duration, Ipv4Addr};
use driftway_wire::HardwareAddr;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::netlink::{self, CarrierSwitch};

/// Transmit queue length: packets that arrive while this process does not run.
const QUEUE: u32 = 5000;
/// Name of an interface for Ethernet frames.
const ETHERNET_NAME: &str = "eth0";

/// The user-space end of a TUN interface. It transfers whole IP packets, one at a time, and blocks
/// only in [`wait`](Tun::wait). The interface is removed with this value.
pub struct Tun {
    device: SyncDevice,
    mtu: u16,
}

impl Tun {
    /// Creates an interface in the calling thread's namespace and brings it up, with the kernel's
    /// `address`, a route for its network of `prefix` bits, and this MTU (bytes).
    ///
    /// # Errors
    /// Any error of the kernel; see [`check_requirements`](crate::check_requirements) for the requirements.
    pub fn open(address: Ipv4Addr, prefix: u8, mtu: u16) -> io::Result<Self> {
        Self::build(DeviceBuilder::new(), address, prefix, mtu)
    }

    /// Creates the same for Ethernet frames, with this hardware address.
    ///
    /// # Errors
    /// The same.
    pub fn open_ethernet(
        hardware: HardwareAddr,
        address: Ipv4Addr,
        prefix: u8,
        mtu: u16,
    ) -> io::Result<Self> {
        let builder = DeviceBuilder::new().layer(Layer::L2).name(ETHERNET_NAME);
        Self::build(builder.mac_addr(hardware.0), address, prefix, mtu)
    }

    fn build(builder: DeviceBuilder, address: Ipv4Addr, prefix: u8, mtu: u16) -> io::Result<Self> {
        let builder = builder.ipv4(address, prefix, None).mtu(mtu).tx_queue_len(QUEUE);
        let device = builder.build_sync()?;
        device.set_nonblocking(true)?;
        Ok(Self { device, mtu })
    }

    /// A switch for the interface's carrier, which is on at first. Without it the kernel sends
    /// nothing over the interface; packets that are written to the device still reach the kernel. To
    /// be called in the interface's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub(crate) fn carrier_switch(&self) -> io::Result<CarrierSwitch> {
        CarrierSwitch::open(self.device.if_index()?)
    }

    /// Gives the interface a further address. To be called in its namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub(crate) fn add_address(&self, address: IpAddr, prefix: u8) -> io::Result<()> {
        netlink::add_address(self.device.if_index()?, address, prefix)
    }

    /// Adds a route over the interface: to a network, or the default route of IPv4. To be called in its namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub(crate) fn add_route(&self, to: Option<(IpAddr, u8)>) -> io::Result<()> {
        netlink::add_route(to, None, self.device.if_index()?)
    }

    /// The MTU (bytes).
    pub const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Name of the interface.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn name(&self) -> io::Result<String> {
        self.device.name()
    }

    /// Packets that the kernel dropped because they were not read in time. To be called in the
    /// interface's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn overflows(&self) -> io::Result<u64> {
        netlink::tx_dropped(self.device.if_index()?)
    }

    /// Reads the next packet of the kernel into `buffer` and returns its length; `None` if there is
    /// none. A packet longer than `buffer` is truncated.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet to the kernel, which accepts or drops it, as a network would.
    ///
    /// # Errors
    /// `InvalidInput` if `packet` is no IP packet; otherwise any error of the kernel.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.device.send(packet).map(|_| ())
    }

    /// Waits until the kernel sends a packet, at most for `timeout` ([`Duration::MAX`]: no limit),
    /// and returns whether there is one. A signal ends the wait early.
    ///
    /// # Errors
    /// Any error of the kernel.
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
