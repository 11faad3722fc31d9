//! The state of BBR version 3, and its events.

use driftway_base::{Duration, Instant, RandomStream, Seq};

use super::ack_aggregation::AckAggregation;
use super::cycle::Cycle;
use super::long_term::LongTerm;
use super::min_rtt::MinRtt;
use super::mode::{Event, MODES, Mode, STARTUP_PACING_GAIN};
use super::short_term::ShortTerm;
use crate::congestion::contract::{CongestionWindow, ControlOptions, Established};
use crate::congestion::path::{FullPipe, PACING_MARGIN, RoundMaximum, Rounds};

/// Cycles over which the maximum of the bandwidth is taken (MaxBwFilterLen).
const BANDWIDTH_CYCLES: usize = 2;

/// BBR, version 3.
#[derive(Debug)]
pub struct Bbr3 {
    pub(super) random: RandomStream,
    pub(super) mss: u32,
    pub(super) initial_cwnd: u32,
    pub(super) mode: Mode,
    pub(super) rounds: Rounds,
    /// max_bw, and the count of cycles by which it ages (cycle_count).
    pub(super) bandwidth: RoundMaximum<BANDWIDTH_CYCLES>,
    pub(super) cycles: u64,
    pub(super) short_term: ShortTerm,
    pub(super) long_term: LongTerm,
    pub(super) aggregation: AckAggregation,
    pub(super) full_pipe: FullPipe,
    pub(super) cycle: Cycle,
    pub(super) min_rtt: MinRtt,
    /// Losses of data that was sent while probing count towards the long-term bound
    /// (bw_probe_samples).
    pub(super) probe_samples: bool,
    /// Ranges lost in this round, and the end of the last one.
    pub(super) lost_ranges: u32,
    pub(super) lost_end: Option<Seq>,
    /// Loss recovery was in progress at the last acknowledgment, or has begun since.
    pub(super) recovering: bool,
    /// The window to which recovery and ProbeRTT return (bytes).
    pub(super) prior_cwnd: u32,
    /// The bounds before the last loss, for an undo.
    pub(super) prior_bounds: PriorBounds,
    /// The window was full in this round, and in the one before.
    pub(super) cwnd_limited: [bool; 2],
    pub(super) idle_restart: bool,
    /// Pacing rate (bytes per second).
    pub(super) pacing_rate: f64,
    /// Bytes delivered so far.
    pub(super) delivered: u64,
}

/// The bounds of the model before a loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriorBounds {
    pub bandwidth: Option<f64>,
    pub in_flight: Option<f64>,
    pub long_term: Option<f64>,
}

impl Bbr3 {
    /// A control for a connection that is not established yet.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: RandomStream::new(seed, "bbr3", 0),
            mss: 1,
            initial_cwnd: 1,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: RoundMaximum::default(),
            cycles: 1,
            short_term: ShortTerm::default(),
            long_term: LongTerm::default(),
            aggregation: AckAggregation::default(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::default(),
            min_rtt: MinRtt::default(),
            probe_samples: false,
            lost_ranges: 0,
            lost_end: None,
            recovering: false,
            prior_cwnd: 0,
            prior_bounds: PriorBounds::default(),
            cwnd_limited: [false; 2],
            idle_restart: false,
            pacing_rate: 0.0,
            delivered: 0,
        }
    }

    /// Starts the model (BBROnInit) with a window of `cwnd` bytes.
    pub(super) fn start(&mut self, now: Instant, cwnd: u32, by: Established) {
        self.mss = by.mss.max(1);
        self.initial_cwnd = cwnd;
        self.min_rtt.start(now, by.rtt);
        self.aggregation.restart(now);
        let rtt = by.rtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        let bandwidth = f64::from(cwnd) / rtt.as_secs_f64();
        self.pacing_rate = STARTUP_PACING_GAIN * bandwidth;
    }

    /// Forgets the path.
    pub(super) fn forget_path(&mut self, now: Instant, window: &CongestionWindow) {
        let options = ControlOptions { seed: self.random.next_u64(), ..ControlOptions::default() };
        let mode = MODES.next(self.mode, Event::PathForgotten);
        let delivered = self.delivered;
        let mut rounds = Rounds::default();
        rounds.restart(delivered);
        let by = Established { mss: self.mss, rtt: None };
        *self = Self { mode, delivered, rounds, ..Self::new(options.seed) };
        self.start(now, window.cwnd, by);
        self.prior_cwnd = window.cwnd;
    }

    /// Follows a transition.
    pub(super) fn apply(&mut self, event: Event) {
        self.mode = MODES.next(self.mode, event);
    }

    /// The segment size.
    pub(super) fn segment(&self) -> f64 {
        f64::from(self.mss)
    }

    /// The bandwidth within all bounds (BBRBoundBWForModel; bytes per second).
    pub(super) fn bounded_bandwidth(&self) -> f64 {
        let most = self.bandwidth.get();
        self.short_term.bandwidth.map_or(most, |bound| most.min(bound))
    }

    /// The window was full at some time in the last round (C.is_cwnd_limited).
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited.contains(&true)
    }

    /// Sets the pacing rate (BBRSetPacingRateWithGain).
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bounded_bandwidth() * PACING_MARGIN;
        if self.full_pipe.was_reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Keeps the window from before recovery or ProbeRTT (BBRSaveCwnd).
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let modulated = self.recovering || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(cwnd) } else { cwnd };
    }
}
