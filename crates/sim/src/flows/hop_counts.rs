//! Hops of packets.

/// A sum of hops over packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopCounts {
    sum: u64,
    packets: u64,
}

impl HopCounts {
    /// Adds a packet.
    pub fn add(&mut self, hops: u32) {
        self.sum += u64::from(hops);
        self.packets += 1;
    }

    /// The mean; `None` without packets.
    pub fn mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.sum as f64 / self.packets as f64)
    }
}
