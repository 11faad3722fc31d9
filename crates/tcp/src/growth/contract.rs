//! What a window growth is, and what it works on.

use core::fmt;

use driftway_base::{Duration, Instant};

use crate::options::Options;

/// What a growth works on (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestionWindow {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
}

/// The largest window that can be advertised (RFC 7323 §2.3); cwnd never needs more.
pub const MAX_WINDOW: u32 = 65_535 << 14;

/// An acknowledgment of new data, as a growth is notified of it.
#[derive(Clone, Copy, Debug)]
pub struct AckedData {
    /// Bytes newly acknowledged.
    pub bytes: u32,
    /// Segment size (bytes).
    pub mss: u32,
    /// Does slow start take all the bytes, up to ssthresh, or a segment at the most?
    pub byte_counting: bool,
    /// Smoothed round-trip time, once known.
    pub srtt: Option<Duration>,
    /// Was the window, and not the application or the peer, what limited sending? If not, and the
    /// window is validated, the connection keeps it from growing, whatever the policy does.
    pub cwnd_limited: bool,
}

/// A policy of window growth.
///
/// Events only: [`on_ack`](Growth::on_ack) outside loss recovery, [`on_congestion`](Growth::on_congestion)
/// once per reduction, [`on_pause`](Growth::on_pause) any number of times. The caller owns the window.
pub trait WindowGrowth: Send + fmt::Debug {
    /// New data was acknowledged outside of recovery.
    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: AckedData);
    /// Congestion, or a loss taken for it: returns the new slow-start threshold, at least two
    /// segments. `flight` is what was outstanding (bytes).
    fn on_congestion(&mut self, now: Instant, window: &CongestionWindow, flight: u32, mss: u32) -> u32;
    /// Until an acknowledgment of what the window limited, something else keeps data back: the
    /// application, the peer, an aid.
    fn on_pause(&mut self, now: Instant) {
        let _ = now;
    }
    /// The last reduction was because of a timeout, or is to be treated as one.
    fn on_timeout(&mut self) {}
    /// The last reduction is taken back.
    fn on_undo(&mut self);
}

/// What is known of a policy before there is a connection.
pub trait GrowthDescriptor: WindowGrowth + Default + 'static {
    /// Its name in a scenario.
    const NAME: &'static str;
    /// Whether it is as old as TCP's congestion control: it goes with every recovery.
    const CLASSIC: bool = false;

    /// A new one, with the connection's options.
    fn from_options(options: &Options) -> Self {
        let _ = options;
        Self::default()
    }
}

/// Slow start (RFC 5681 §3.1, equation 2). What it leaves for congestion avoidance: all where it does
/// not apply; where it counts bytes, what would lead beyond ssthresh; or nothing.
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
