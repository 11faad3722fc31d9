//! What can be set.

use driftway_aid::carry::{CarryOptions, CwndAfterOutage};
use driftway_base::Duration;

/// How a [`Shim`](crate::Shim) behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Flows that are followed at most.
    pub flows: usize,
    /// Bytes of stored packets of one flow at most.
    pub store_per_flow: usize,
    /// Bytes of stored packets of all flows at most.
    pub store: usize,
    /// carry's: undo what losses did, on flows that have negotiated ECN and timestamps.
    pub undo_losses: bool,
    /// After an outage, first acknowledge one byte of what the peer has acknowledged, with the
    /// original's echo: this is what undoes the local TCP's timeouts. Never more than the peer has
    /// acknowledged. `false`: no acknowledgment is made up but the one that ends the outage.
    pub undo_ack: bool,
    /// carry's: the window after an outage. With [`Cwnd::Reset`] nothing is undone, so that the local
    /// TCP begins with one segment, and the shim's own repair, too.
    pub cwnd: CwndAfterOutage,
    /// As a receiver, acknowledge the last two bytes of what has arrived only when more arrives, or after
    /// 40 ms: they wake up a sender without a shim when this host's link is back (RouteRestored).
    pub hold_back: bool,
    /// carry's: least time between probes while disconnected; they come every round trip. Of several
    /// flows to the same host one does so, the others take as long as if they took turns.
    pub probe_min: Duration,
    /// carry's: the time between probes once the outage has lasted for `probe_fast`. With any aid the shim
    /// probes at least that often, or once a round trip if that is longer.
    pub probe_max: Duration,
    /// carry's: for so long probes come every round trip.
    pub probe_fast: Duration,
    /// Acknowledgments are held at most for so long, or for four round trips if that is more, also if the
    /// path is said to be gone again meanwhile.
    pub hold_max: Duration,
    /// A flow of which the local TCP has sent nothing for so long, while disconnected with data
    /// outstanding, is forgotten: TCP has given it up. Longer than the longest timeout of Linux, 120 s.
    pub forget_after: Duration,
    /// carry's: suspect that there is no path after so many retransmissions of the oldest segment
    /// without a sign of the peer, or after more where losses are frequent. `None`: only signals say so.
    pub suspect_after: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flows: 4096,
            store_per_flow: 4 << 20,
            store: 64 << 20,
            undo_losses: true,
            undo_ack: true,
            cwnd: CwndAfterOutage::Keep,
            hold_back: false,
            probe_min: Duration::from_millis(50),
            probe_max: Duration::from_secs(1),
            probe_fast: Duration::from_secs(120),
            hold_max: Duration::from_secs(1),
            forget_after: Duration::from_secs(300),
            suspect_after: Some(CarryOptions::SUSPECT_AFTER),
        }
    }
}

impl Config {
    /// What the aid is made from that a [`Shim`](crate::Shim) uses unless it is given another.
    pub fn carry_options(&self) -> CarryOptions {
        CarryOptions {
            undo_losses: self.undo_losses,
            cwnd: self.cwnd,
            probe_min: self.probe_min,
            probe_max: self.probe_max,
            probe_fast: self.probe_fast,
            suspect_after: self.suspect_after.unwrap_or(CarryOptions::NEVER),
        }
    }
}
