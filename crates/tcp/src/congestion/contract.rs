//! The contract of a congestion control, and the window on which it works.

use core::fmt;

use driftway_base::{Duration, Instant, Seq, SeqRange, named};

use crate::delivery_rate::RateSample;
use crate::recovery_phase::RecoveryPhase;

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

/// An acknowledgment, as a congestion control gets it.
#[derive(Clone, Copy, Debug)]
pub struct AckedData {
    /// Bytes by which the window may grow: newly acknowledged, or with `linux_growth` and for a
    /// control with a model newly delivered, those acknowledged and SACKed for the first time.
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
    /// Round-trip time of the newest segment among those that it delivers and that were sent once;
    /// `None` without a log of sent segments.
    pub rtt: Option<Duration>,
    /// SND.UNA.
    pub una: Seq,
    /// SND.MAX: data sent from now on begins there.
    pub max: Seq,
    /// Phase of loss recovery.
    pub phase: RecoveryPhase,
    /// Bytes in the network before and after it.
    pub prior_in_flight: u32,
    /// See `prior_in_flight`.
    pub in_flight: u32,
    /// Bytes that it has shown to be lost.
    pub lost: u32,
    /// Delivery rate; `None` for a control without a model, or if it delivers nothing.
    pub rate: Option<RateSample>,
    /// Time until pacing lets the next burst leave, for a control with a model.
    pub pacing_wait: Duration,
}

/// A connection that has just been established.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// Segment size (bytes).
    pub mss: u32,
    /// Round-trip time of the handshake, unless its first segment was lost.
    pub rtt: Option<Duration>,
}

/// A segment that loss recovery has found lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostSegment {
    /// Its sequence numbers.
    pub range: SeqRange,
    /// Bytes in the network after it was sent.
    pub sent_in_flight: u32,
    /// Bytes lost since it was sent, its own included.
    pub lost: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Sending was limited by the application when it was sent.
    pub app_limited: bool,
}

/// Data that is sent for the first time or again, window probes excluded.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    /// Its length (bytes).
    pub bytes: u32,
    /// Bytes in the network before it.
    pub in_flight: u32,
    /// Nothing was in flight, because the application had nothing to send.
    pub after_idle: bool,
}

/// A congestion control.
///
/// *Properties*: [`has_model`](CongestionControl::has_model),
/// [`wants_round_trips`](CongestionControl::wants_round_trips). *Events*:
/// [`on_established`](CongestionControl::on_established),
/// [`on_segment_lost`](CongestionControl::on_segment_lost) before the `on_ack` that follows;
/// [`on_ack`](CongestionControl::on_ack) outside of loss recovery, or, with a model, always;
/// [`on_loss`](CongestionControl::on_loss) or [`on_ecn`](CongestionControl::on_ecn) once per
/// reduction; [`on_timeout`](CongestionControl::on_timeout) after the `on_loss` of a timeout;
/// [`on_sent`](CongestionControl::on_sent), [`on_pause`](CongestionControl::on_pause),
/// [`on_undo`](CongestionControl::on_undo), [`on_thaw`](CongestionControl::on_thaw), and those of
/// an aid: [`on_reduction_requested`](CongestionControl::on_reduction_requested),
/// [`on_window_assigned`](CongestionControl::on_window_assigned). *Queries*:
/// [`pacing_rate`](CongestionControl::pacing_rate),
/// [`limits_itself`](CongestionControl::limits_itself).
///
/// The window belongs to the [`CongestionState`](super::CongestionState), which passes it to each event that may change
/// it.
pub trait CongestionControl: Send + fmt::Debug {
    /// Sets the window from a model of the path, at each acknowledgment and in every phase; loss
    /// recovery then says what is lost and leaves the window alone.
    fn has_model(&self) -> bool {
        false
    }
    /// Needs the round-trip time of each acknowledgment ([`AckedData::rtt`]).
    fn wants_round_trips(&self) -> bool {
        self.has_model()
    }
    /// Handles the end of the handshake.
    fn on_established(&mut self, now: Instant, window: &CongestionWindow, by: Established) {
        let _ = (now, window, by);
    }
    /// Handles a transmission of data.
    fn on_sent(&mut self, now: Instant, window: &mut CongestionWindow, sent: SentData) {
        let _ = (now, window, sent);
    }
    /// Handles an acknowledgment that may change the window.
    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData);
    /// Handles a loss: returns the new slow-start threshold, at least two segments. `flight_size` is
    /// FlightSize (bytes).
    fn on_loss(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32;
    /// Handles an ECN echo, as a loss by default (RFC 3168 §6.1.2): returns the new slow-start
    /// threshold.
    fn on_ecn(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32 {
        self.on_loss(now, window, flight_size, mss)
    }
    /// Handles a segment that is lost, for a control with a model.
    fn on_segment_lost(&mut self, now: Instant, window: &CongestionWindow, lost: &LostSegment) {
        let _ = (now, window, lost);
    }
    /// Handles the request of an aid for a response to congestion, for a control with a model.
    fn on_reduction_requested(&mut self, now: Instant, window: &mut CongestionWindow) {
        let _ = (now, window);
    }
    /// Notes that an aid has set the window. `anew`: to that of a new connection, since nothing is
    /// known of the path.
    fn on_window_assigned(&mut self, now: Instant, window: &CongestionWindow, anew: bool) {
        let _ = (now, window, anew);
    }
    /// Notes that sending is limited by something other than cwnd (the application, the peer, an
    /// aid) until an acknowledgment that is cwnd-limited.
    fn on_pause(&mut self, now: Instant) {
        let _ = now;
    }
    /// Marks the last reduction as caused by a timeout.
    fn on_timeout(&mut self) {}
    /// Undoes the last reduction.
    fn on_undo(&mut self);
    /// Notes that timers were frozen for `frozen_for` until `now`: that time is no measure of the
    /// path (chandran-1998 §4).
    fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        let _ = (now, frozen_for);
    }
    /// Rate at which data is to leave; `None`: as the window permits.
    fn pacing_rate(&self) -> Option<PacingRate> {
        None
    }
    /// Keeps less in flight than the path would hold, so that samples of the delivery rate count as
    /// limited by the application.
    fn limits_itself(&self) -> bool {
        false
    }
}

/// Rate at which data leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingRate {
    /// Bytes per second, including those of no header.
    pub bytes_per_second: f64,
    /// Bytes that may leave at once.
    pub quantum: u32,
}

named! {
    /// The end of slow start before losses.
    #[derive(Default)]
    pub enum HystartKind {
        /// Slow start ends with a loss.
        #[default]
        None = "none",
        /// HyStart of Linux: slow start ends with a train of ACKs of half a round trip, or with a delay.
        Linux = "linux",
        /// HyStart++ (RFC 9406): after a delay, five slower round trips.
        Rfc9406 = "rfc9406",
    }
}

/// Part of a connection's configuration that concerns its congestion control.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlOptions {
    /// The end of slow start before losses.
    pub hystart: HystartKind,
    /// The window grows as in Linux ([`Config::linux_growth`](crate::Config)).
    pub linux_growth: bool,
    /// Data is paced by the connection.
    pub pacing: bool,
    /// Seed for a control that draws random numbers.
    pub seed: u64,
}

/// Constants and constructor of a congestion control.
pub trait ControlDescriptor: CongestionControl + Sized + 'static {
    /// Name in a scenario.
    const NAME: &'static str;
    /// Belongs to the original congestion control (Jacobson 1988) and so combines with every
    /// recovery.
    const CLASSIC: bool = false;
    /// Combines with recoveries that detect losses by time only, since it needs the log of sent
    /// segments.
    const NEEDS_LOG: bool = false;

    /// A new control.
    fn from_options(options: &ControlOptions) -> Self;
}

/// Slow start (RFC 5681 §3.1, equation 2). Returns the part left for congestion avoidance: all
/// outside of slow start; with byte counting, the bytes beyond ssthresh; otherwise nothing.
pub fn slow_start(window: &mut CongestionWindow, acked: &AckedData) -> Option<AckedData> {
    grow_to_ssthresh(window, acked.bytes, acked).map(|bytes| AckedData { bytes, ..*acked })
}

/// Slow start by `bytes`, whatever `acked` has; returns the bytes left for congestion avoidance.
pub(super) fn grow_to_ssthresh(
    window: &mut CongestionWindow,
    bytes: u32,
    acked: &AckedData,
) -> Option<u32> {
    let room = window.ssthresh.saturating_sub(window.cwnd);
    if room == 0 {
        return Some(bytes);
    }
    let most = if acked.byte_counting { room } else { acked.mss };
    let grown = bytes.min(most);
    window.cwnd = window.cwnd.saturating_add(grown).min(MAX_WINDOW);
    let left = bytes - grown;
    (acked.byte_counting && left > 0).then_some(left)
}
