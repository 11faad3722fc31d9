//! A dead-man switch in the kernel: packets are intercepted only while this process renews it.
//!
//! The interception rules look up a set whose single element expires. A marker packet of this
//! process renews the element at a rule.

use std::io;

use driftway_base::{Duration, Instant};

use super::marker::MarkerSocket;

/// Lifetime of a renewal.
pub const EXPIRY: Duration = Duration::from_secs(1);
/// Renewal interval: two may fail.
const PERIOD: Duration = Duration::from_millis(250);
/// Priority of the marker packets.
pub const PRIORITY: u32 = 0x5715_0001;
/// A bare IPv4 header with protocol 255 (reserved). The kernel fills in length and checksum.
const PACKET: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 1, 255, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];

/// Renews the element periodically.
pub struct DeadManSwitch {
    socket: MarkerSocket,
    due: Instant,
}

impl DeadManSwitch {
    /// Opens the switch in the calling thread's namespace.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: MarkerSocket::open(PRIORITY)?, due: Instant::ZERO })
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
        // If one is lost, the next comes before the expiry.
        self.socket.send(&PACKET).map(|_| true)
    }
}
