//! The contract of a window growth, and the window on which it works.

use core::fmt;

use driftway_base::{Duration, Instant};

use crate::options::Options;

/// Congestion window and slow-start threshold (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionWindow {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

/// Largest window that can be advertised (RFC 7323 §2.3); cwnd never needs more.
pub const MAX_WINDOW: u32 = 65_535 << 14;

/// An acknowledgment of new data, as a window growth gets it.
#[derive(Clone, Copy, Debug)]
pub struct AckedData {
    /// Bytes newly acknowledged.
    pub bytes: u32,
    /// Segment size (bytes).
    pub mss: u32,
    /// Slow start counts all acknowledged bytes, up to ssthresh, instead of at most one segment.
    pub byte_counting: bool,
    /// Smoothed round-trip time, once measured.
    pub srtt: Option<Duration>,
    /// Sending was limited by cwnd, not by the application or the peer. Otherwise, with window
    /// validation, the connection keeps the window from growing, whatever the policy does.
    pub cwnd_limited: bool,
}

/// A policy of window growth.
///
/// Events only: [`on_ack`](WindowGrowth::on_ack) outside loss recovery,
/// [`on_congestion`](WindowGrowth::on_congestion) once per reduction,
/// [`on_pause`](WindowGrowth::on_pause) any number of times. The caller owns the window.
pub trait WindowGrowth: Send + fmt::Debug {
    /// Handles an acknowledgment of new data outside of recovery.
    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: AckedData);
    /// Handles congestion: returns the new slow-start threshold, at least two segments. `flight_size` is
    /// FlightSize (bytes).
    fn on_congestion(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32;
    /// Notes that sending is limited by something other than cwnd (the application, the peer, an
    /// aid) until an acknowledgment that is cwnd-limited.
    fn on_pause(&mut self, now: Instant) {
        let _ = now;
    }
    /// Marks the last reduction as caused by a timeout.
    fn on_timeout(&mut self) {}
    /// Undoes the last reduction.
    fn on_undo(&mut self);
}

/// Constants and constructor of a window growth.
pub trait GrowthDescriptor: WindowGrowth + Default + 'static {
    /// Name in a scenario.
    const NAME: &'static str;
    /// Belongs to the original congestion control (Jacobson 1988) and so combines with every
    /// recovery.
    const CLASSIC: bool = false;

    /// A new policy with the connection's options.
    fn from_options(options: &Options) -> Self {
        let _ = options;
        Self::default()
    }
}

/// Slow start (RFC 5681 §3.1, equation 2). Returns the part left for congestion avoidance: all
/// outside of slow start; with byte counting, the bytes beyond ssthresh; otherwise nothing.
pub fn slow_start(window: &mut CongestionWindow, acked: AckedData) -> Option<AckedData> {
    let room = window.ssthresh.saturating_sub(window.cwnd);
    if room == 0 {
        return Some(acked);
    }
    let most = if acked.byte_counting { room } else { acked.mss };
    let grown = acked.bytes.min(most);
    window.cwnd = window.cwnd.saturating_add(grown).min(MAX_WINDOW);
    let bytes = acked.bytes - grown;
    (acked.byte_counting && bytes > 0).then_some(AckedData { bytes, ..acked })
}
