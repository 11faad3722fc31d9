//! Options of carry.

use driftway_base::Duration;

/// TCP's congestion window after an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CwndAfterOutage {
    /// cwnd and ssthresh are kept. Correct if the path has not changed.
    #[default]
    Keep,
    /// The initial window of a new connection, as liu-singh-2001 §III-C requires for a new route.
    Reset,
}

/// Options of carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarryOptions {
    /// Undo window reductions for losses, if ECN is in use.
    pub undo_losses: bool,
    /// The routers of the path are known to mark before they drop: losses without an echo of congestion are
    /// undone at once. Otherwise that has to be observed, or a trial has to show that losses are not congestion.
    pub queues_mark: bool,
    /// Congestion window after an outage.
    pub cwnd: CwndAfterOutage,
    /// Minimum probe interval; otherwise it is one RTT.
    pub probe_min: Duration,
    /// Probe interval after an outage of `probe_fast`.
    pub probe_max: Duration,
    /// Duration for which probes are sent every RTT.
    pub probe_fast: Duration,
    /// Number of unanswered retransmissions of the oldest segment after which an outage is suspected; more
    /// are required if losses are frequent. [`CarryOptions::NEVER`]: outages are detected by signals only.
    pub suspect_after: u32,
}

impl CarryOptions {
    /// Minimum probe interval.
    pub const MIN_SPAN: Duration = Duration::from_millis(1);
    /// More retransmissions of one segment than any TCP sends before it gives up (RFC 9293 §3.8.3; Linux:
    /// 15).
    pub const NEVER: u32 = 255;
    /// One repeated loss may be chance on any path.
    pub const SUSPECT_AFTER: u32 = 2;
}

impl Default for CarryOptions {
    fn default() -> Self {
        Self {
            undo_losses: true,
            queues_mark: false,
            cwnd: CwndAfterOutage::Keep,
            probe_min: Duration::from_millis(50),
            probe_max: Duration::from_secs(1),
            probe_fast: Duration::from_secs(120),
            suspect_after: Self::SUSPECT_AFTER,
        }
    }
}
