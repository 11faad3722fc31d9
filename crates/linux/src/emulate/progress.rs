//! The progress of a running network, for other threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters that the packet loop updates.
#[derive(Debug, Default)]
pub struct Progress {
    /// Packets passed to kernels.
    pub delivered: AtomicU64,
    /// Kernels that have sent a packet.
    has_sent: Vec<AtomicBool>,
}

impl Progress {
    /// Creates the progress of a network with this number of kernels.
    pub fn new(kernels: usize) -> Self {
        let has_sent = std::iter::repeat_with(AtomicBool::default).take(kernels).collect();
        Self { delivered: AtomicU64::new(0), has_sent }
    }

    /// Records that a kernel has sent a packet.
    pub fn on_sent(&self, kernel: usize) {
        if let Some(has_sent) = self.has_sent.get(kernel) {
            has_sent.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a kernel has sent a packet.
    pub fn has_sent(&self, kernel: usize) -> bool {
        self.has_sent.get(kernel).is_some_and(|has_sent| has_sent.load(Ordering::Relaxed))
    }
}
