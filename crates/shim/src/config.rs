//! Configuration.

use driftway_aid::carry::{CarryOptions, CwndAfterOutage};
use driftway_base::Duration;

/// Configuration of a [`Shim`](crate::Shim).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum number of tracked flows.
    pub flows: usize,
    /// Maximum size of one flow's stored packets (bytes).
    pub store_per_flow: usize,
    /// Maximum size of all flows' stored packets (bytes).
    pub store: usize,
    /// carry: undo reductions for losses, on flows that have negotiated ECN and timestamps.
    pub undo_losses: bool,
    /// carry: the routers of the paths are known to mark before they drop.
    pub queues_mark: bool,
    /// After an outage, first send a synthetic acknowledgment of one byte that the peer has
    /// acknowledged, with the original's timestamp: this undoes the local TCP's timeouts. `false`:
    /// the only synthetic acknowledgment is the one that ends the outage.
    pub undo_ack: bool,
    /// carry: the congestion window after an outage. With [`CwndAfterOutage::Reset`] nothing is undone: the
    /// local TCP and the shim's repair begin with one segment.
    pub cwnd: CwndAfterOutage,
    /// As a receiver, acknowledge the last two received bytes only when more arrive, or after 40
    /// ms. Acknowledging them after an outage of this host's link (RouteRestored) makes a sender
    /// without a shim resume.
    pub hold_back: bool,
    /// carry: minimum probe interval while disconnected; probes are sent once per RTT. Of several
    /// flows to the same host one probes at this interval, the others in turns.
    pub probe_min: Duration,
    /// carry: probe interval once the outage has lasted for `probe_fast`. With any aid the shim
    /// probes at least this often, or once per RTT if that is longer.
    pub probe_max: Duration,
    /// carry: time from the start of an outage during which probes are sent once per RTT.
    pub probe_fast: Duration,
    /// Maximum time for which acknowledgments are withheld from the local TCP, or four RTTs if that
    /// is longer; also if the path is reported lost again meanwhile. With any aid, also the maximum
    /// time for which it withholds acknowledgments from the peer while this host's link is up.
    pub hold_max: Duration,
    /// A flow whose local TCP has sent nothing for this long, while disconnected with data
    /// outstanding, is removed: TCP has given it up. Longer than Linux' maximum RTO, 120 s.
    pub forget_after: Duration,
    /// carry: retransmissions of the oldest segment without an answer after which an outage is
    /// suspected, more where losses are frequent. `None`: only signals report an outage.
    pub suspect_after: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flows: 4096,
            store_per_flow: 4 << 20,
            store: 64 << 20,
            undo_losses: true,
            queues_mark: false,
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
    /// Least value of `probe_min` and `probe_max`.
    pub const MIN_PROBE_INTERVAL: Duration = CarryOptions::MIN_SPAN;
    /// Greatest value of `suspect_after`; more is never.
    pub const MAX_SUSPECT_AFTER: u32 = CarryOptions::NEVER - 1;

    /// Options of the default aid of a [`Shim`](crate::Shim), carry.
    pub fn carry_options(&self) -> CarryOptions {
        CarryOptions {
            undo_losses: self.undo_losses,
            queues_mark: self.queues_mark,
            cwnd: self.cwnd,
            probe_min: self.probe_min,
            probe_max: self.probe_max,
            probe_fast: self.probe_fast,
            suspect_after: self.suspect_after.unwrap_or(CarryOptions::NEVER),
        }
    }
}
