//! Flows whose packets pass: they are in a set of nf_tables, and marker packets add and remove them.

use std::io;

use driftway_base::FlowKey;

use super::marker::MarkerSocket;

/// Priorities of the marker packets, which differ by one bit.
pub const WATCH_PRIORITY: u32 = 0x5715_0002;
pub const INTERCEPT_PRIORITY: u32 = 0x5715_0003;
pub const PRIORITY_MASK: u32 = !1;

/// The set's user.
pub struct WatchedFlows {
    watch: MarkerSocket,
    intercept: MarkerSocket,
}

impl WatchedFlows {
    /// Opens the sockets in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open() -> io::Result<Self> {
        let watch = MarkerSocket::open(WATCH_PRIORITY)?;
        let intercept = MarkerSocket::open(INTERCEPT_PRIORITY)?;
        Ok(Self { watch, intercept })
    }

    /// Lets the packets of a flow pass for a minute. If the marker is lost, they are intercepted.
    ///
    /// # Errors
    /// As [`MarkerSocket::send`].
    pub fn watch(&self, flow: FlowKey) -> io::Result<()> {
        self.watch.send(&marker(flow)).map(drop)
    }

    /// Has the packets of a flow intercepted from now on. If the marker is lost, the next copy of a
    /// packet causes another one.
    ///
    /// # Errors
    /// As [`MarkerSocket::send`].
    pub fn intercept(&self, flow: FlowKey) -> io::Result<()> {
        self.intercept.send(&marker(flow)).map(drop)
    }
}

/// A packet with the flow's addresses and ports, of protocol 255 (reserved).
fn marker(FlowKey { source, destination }: FlowKey) -> [u8; 24] {
    let mut packet = [0; 24];
    (packet[0], packet[3], packet[8], packet[9]) = (0x45, 24, 1, 255);
    packet[12..16].copy_from_slice(&source.address.octets());
    packet[16..20].copy_from_slice(&destination.address.octets());
    packet[20..22].copy_from_slice(&source.port.to_be_bytes());
    packet[22..24].copy_from_slice(&destination.port.to_be_bytes());
    packet
}
