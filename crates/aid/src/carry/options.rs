//! Options of carry.

use driftway_base::{Duration, named, options};

named! {
    /// TCP's congestion window after an outage.
    pub enum CwndAfterOutage {
        /// The previous window; ssthresh is kept as well. This is correct if the path has not changed. Without
        /// SACK half of it, or one segment after an outage of the host's own link, and ssthresh is at least
        /// the previous window.
        Keep = "keep",
        /// The initial window of a new connection, as liu-singh-2001 §III-C requires for a new route.
        Reset = "reset",
    }
}

options! {
    /// Options of carry.
    pub struct CarryOptions {
        /// Reductions of the congestion window for losses are undone unless the network signals
        /// congestion; this needs ECN.
        undo_losses: flag(true),
        /// The routers of the path are known to mark before they drop (ECN): losses without an echo of
        /// congestion are undone at once. Without this knowledge a trial has to show first that they are
        /// not congestion.
        queues_mark: flag(false),
        /// Congestion window after an outage.
        cwnd: word(CwndAfterOutage::Keep),
        /// Minimum interval between two probes of an outage. They are sent every round-trip time unless
        /// that is shorter.
        probe_min: time(50 ms, Self::MIN_SPAN..),
        /// Interval between two probes of a reported outage that has lasted longer than `probe_fast` or
        /// is one of the host's own link, and the longest of an outage that is only suspected, where an
        /// interval is a sixteenth of the silence so far, and half a second at most.
        probe_max: time(1 s, Self::MIN_SPAN..),
        /// Duration of a reported outage after which probes are sent only every `probe_max`.
        probe_fast: time(120 s, Self::MIN_SPAN..),
        /// Number of unanswered retransmissions of the oldest segment after which an outage is suspected;
        /// more are required if losses are frequent. 255: outages are detected by signals only.
        suspect_after: count(Self::SUSPECT_AFTER, 1..=Self::NEVER),
    }
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
