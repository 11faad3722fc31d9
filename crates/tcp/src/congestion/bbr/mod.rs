//! BBR, version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016), with what
//! Linux 6 adds: room for aggregated acknowledgments, and the detection of policers.
//!
//! The model of the path is its bandwidth, the maximum of the delivery rate over ten rounds, and its
//! round-trip time, the minimum over ten seconds. Data is paced at the bandwidth times a gain, with
//! at most twice their product in flight. A loss changes the window for a round, not the model.
//!
//! | event | meaning to the model |
//! |---|---|
//! | ECN echo | nothing, as in Linux |
//! | request for a response to congestion ([`Act::ReduceCwnd`](driftway_base::Act)) | a round of packet conservation, as after a loss |
//! | frozen timers | time that has not passed |
//! | window set by an aid | the window from which the next one grows; to that of a new connection: the path is forgotten, Startup begins |
//! | undo | the window from before; the detection of a full pipe and of a policer begins again |

mod ack_aggregation;
mod gain_cycle;
mod long_term;
mod min_rtt;
mod mode;
mod recovery_window;

use alloc::string::String;

use driftway_base::{Duration, Instant, RandomStream};

use self::ack_aggregation::AckAggregation;
use self::gain_cycle::{GainCycle, PhaseState};
use self::long_term::{LongTerm, Totals};
use self::min_rtt::MinRtt;
use self::mode::{Event, HIGH_GAIN, MODES, Mode};
use self::recovery_window::{RecoveryStep, RecoveryWindow};
use super::contract::{
    AckedData, CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions, Established,
    MAX_WINDOW, PacingRate, SentData,
};
use super::path::{FullPipe, PACING_MARGIN, RoundMaximum, Rounds, bytes};

/// Least window in segments, with which every second segment may be acknowledged.
const MIN_SEGMENTS: u32 = 4;
/// Initial window in segments, until a round-trip time is known.
const INITIAL_SEGMENTS: u32 = 10;
/// A burst is as long as this part of a second, and has two segments from this rate on (bytes per
/// second).
const BURSTS_PER_SECOND: f64 = 1024.0;
const TWO_SEGMENTS_RATE: f64 = 150_000.0;
/// Most bytes of a burst. As many are added to it on the shortest paths, and half of them for each
/// half of a millisecond of the round trip.
const MOST_BURST: u32 = 65_536;
const SHORT_RTT_NANOS: u64 = 512_000;
/// Rounds over which the maximum of the bandwidth is taken: the present one and ten more.
const BANDWIDTH_ROUNDS: usize = 11;

/// BBR, version 1.
#[derive(Debug)]
pub struct Bbr {
    random: RandomStream,
    mss: u32,
    mode: Mode,
    rounds: Rounds,
    bandwidth: RoundMaximum<BANDWIDTH_ROUNDS>,
    long_term: LongTerm,
    aggregation: AckAggregation,
    full_pipe: FullPipe,
    cycle: GainCycle,
    min_rtt: MinRtt,
    recovery: RecoveryWindow,
    /// Data was sent after an idle time, and not acknowledged yet.
    idle_restart: bool,
    /// The pacing rate was computed from a round-trip time.
    rtt_seen: bool,
    /// Pacing rate (bytes per second); zero until the first acknowledgment.
    pacing_rate: f64,
    /// Bytes sent.
    sent: u64,
    totals: Totals,
    last_delivery: Instant,
}

/// The state diagram in the DOT language.
pub(super) fn diagram() -> String {
    MODES.diagram()
}

impl ControlDescriptor for Bbr {
    const NAME: &'static str = "bbr";
    const NEEDS_LOG: bool = true;

    fn from_options(options: &ControlOptions) -> Self {
        Self {
            random: RandomStream::new(options.seed, "bbr", 0),
            mss: 1,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: RoundMaximum::default(),
            long_term: LongTerm::default(),
            aggregation: AckAggregation::default(),
            full_pipe: FullPipe::default(),
            cycle: GainCycle::default(),
            min_rtt: MinRtt::default(),
            recovery: RecoveryWindow::default(),
            idle_restart: false,
            rtt_seen: false,
            pacing_rate: 0.0,
            sent: 0,
            totals: Totals::default(),
            last_delivery: Instant::ZERO,
        }
    }
}

impl Bbr {
    /// The bandwidth that counts (bytes per second): that of a policer, or the maximum.
    fn bandwidth(&self) -> f64 {
        self.long_term.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// Gain of the pacing rate.
    fn pacing_gain(&self) -> f64 {
        let of_cycle = if self.long_term.rate().is_some() { 1.0 } else { self.cycle.gain() };
        self.mode.pacing_gain(of_cycle)
    }

    fn apply(&mut self, now: Instant, event: Event) {
        let before = self.mode;
        self.mode = MODES.next(before, event);
        if self.mode == Mode::ProbeBw && before != Mode::ProbeBw {
            self.cycle.start(now, &mut self.random);
        }
    }

    /// `gain` times the product of `bandwidth` and the round-trip time, in whole segments.
    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        let mss = f64::from(self.mss);
        match self.min_rtt.get() {
            Some(rtt) => whole_up(bandwidth * rtt.as_secs_f64() * gain / mss) * mss,
            None => f64::from(INITIAL_SEGMENTS) * mss,
        }
    }

    /// Segments of a burst, as the window has room for it.
    fn burst_segments(&self) -> f64 {
        let least = if self.pacing_rate < TWO_SEGMENTS_RATE { 1.0 } else { 2.0 };
        whole(self.pacing_rate / BURSTS_PER_SECOND / f64::from(self.mss)).max(least)
    }

    /// Bytes of a burst as it leaves: on short paths more, where it costs less (Linux:
    /// `tcp_tso_rtt_log`).
    fn burst(&self) -> u32 {
        let halvings = self.min_rtt.get().map_or(u64::MAX, |rtt| rtt.as_nanos() / SHORT_RTT_NANOS);
        let more = if halvings < 32 { MOST_BURST >> halvings } else { 0 };
        let mss = f64::from(self.mss);
        let whole = whole((self.pacing_rate / BURSTS_PER_SECOND + f64::from(more)) / mss);
        bytes(whole.max(self.burst_segments()) * mss).min(MOST_BURST.max(2 * self.mss))
    }

    /// Adds to a number of bytes in flight what bursts and delayed acknowledgments need: three
    /// bursts, an even number of segments, and two more while probing.
    fn with_bursts(&self, in_flight: f64) -> f64 {
        let mss = f64::from(self.mss);
        let segments = whole_up(in_flight / mss) + 3.0 * self.burst_segments();
        let mut segments = 2.0 * whole((segments + 1.0) / 2.0);
        if self.mode == Mode::ProbeBw && self.cycle.is_probing() {
            segments += 2.0;
        }
        segments * mss
    }

    /// Bytes in flight for `gain` times the product of the maximum bandwidth and the round-trip
    /// time.
    fn flight(&self, gain: f64) -> f64 {
        self.with_bursts(self.bdp(self.bandwidth.get(), gain))
    }

    /// Of `in_flight` bytes, those that are still in flight when the next burst leaves, with that
    /// burst while more is sent than leaves.
    fn flight_at_departure(&self, in_flight: u32, acked: &AckedData) -> f64 {
        let mut at_departure = f64::from(in_flight);
        if self.pacing_gain() > 1.0 {
            at_departure += self.burst_segments() * f64::from(self.mss);
        }
        let delivered = self.bandwidth() * acked.pacing_wait.as_secs_f64();
        (at_departure - delivered).max(0.0)
    }

    fn update_model(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        self.update_bandwidth(now, window, acked);
        if self.mode == Mode::ProbeBw {
            let state = PhaseState {
                min_rtt: self.min_rtt.get(),
                lost: acked.lost > 0,
                in_flight: self.flight_at_departure(acked.prior_in_flight, acked),
                probed: self.flight(self.cycle.gain()),
                held: self.flight(1.0),
            };
            self.cycle.advance(now, &state);
        }
        let limited = acked.rate.is_some_and(|sample| sample.app_limited);
        if !self.full_pipe.was_reached() && self.rounds.has_started() && !limited {
            self.full_pipe.on_round(self.bandwidth.get());
        }
        if self.mode == Mode::Startup && self.full_pipe.was_reached() {
            self.apply(now, Event::PipeFull);
            window.ssthresh = bytes(self.flight(1.0));
        }
        if self.mode == Mode::Drain
            && self.flight_at_departure(acked.in_flight, acked) <= self.flight(1.0)
        {
            self.apply(now, Event::QueueDrained);
        }
        self.update_min_rtt(now, window, acked);
    }

    fn update_bandwidth(&mut self, now: Instant, window: &CongestionWindow, acked: &AckedData) {
        self.rounds.on_nothing_delivered();
        let Some(sample) = acked.rate else { return };
        self.totals = Totals { delivered: sample.total_delivered, lost: sample.total_lost };
        self.last_delivery = now;
        // A sample shorter than the path is none, and starts no round.
        let Some(rate) = sample.bytes_per_second() else { return };
        self.rounds.on_delivered(sample.prior_delivered, sample.total_delivered);
        if self.rounds.has_started() {
            self.recovery.conserves = false;
        }
        let probing = self.mode == Mode::ProbeBw;
        if self.long_term.on_ack(now, acked, &sample, &self.rounds, probing) {
            self.cycle.start(now, &mut self.random);
        }
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.add(self.rounds.count(), rate);
        }
        if acked.bytes > 0 {
            let (round, bandwidth) = (self.rounds.count(), self.bandwidth());
            self.aggregation.on_acked(now, round, acked.bytes, bandwidth, window.cwnd);
        }
    }

    fn update_min_rtt(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        let expired = self.min_rtt.update(now, acked.rtt);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.apply(now, Event::MinRttExpired);
            self.recovery.save(window.cwnd, true);
            self.min_rtt.begin_probe();
        }
        if self.mode == Mode::ProbeRtt {
            let is_low = acked.in_flight <= MIN_SEGMENTS * self.mss;
            if self.min_rtt.on_probe_ack(now, is_low, self.rounds.has_started()) {
                self.rounds.restart(self.totals.delivered);
            }
            self.end_probe_rtt(now, window, false);
        }
        if acked.rate.is_some() {
            self.idle_restart = false;
        }
    }

    fn end_probe_rtt(&mut self, now: Instant, window: &mut CongestionWindow, idle: bool) {
        if !self.min_rtt.end_probe(now, idle) {
            return;
        }
        self.recovery.restore(window);
        let event = match self.full_pipe.was_reached() {
            true => Event::MinRttMeasured,
            false => Event::MinRttMeasuredInStartup,
        };
        self.apply(now, event);
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bandwidth() * gain * PACING_MARGIN;
        if self.full_pipe.was_reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Before the bandwidth is known: the window in a round-trip time, or in a millisecond.
    fn start_pacing(&mut self, window: &CongestionWindow, rtt: Option<Duration>) {
        self.rtt_seen = rtt.is_some();
        let rtt = rtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        let bandwidth = f64::from(window.cwnd) / rtt.as_secs_f64();
        self.pacing_rate = bandwidth * HIGH_GAIN * PACING_MARGIN;
    }

    fn set_cwnd(&mut self, window: &mut CongestionWindow, acked: &AckedData) {
        if acked.bytes > 0 {
            match self.recovery.on_ack(window, acked) {
                RecoveryStep::Began => self.rounds.restart(self.totals.delivered),
                RecoveryStep::Conserves => {}
                RecoveryStep::Open => self.grow(window, acked.bytes),
            }
            window.cwnd = window.cwnd.clamp(self.mss, MAX_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_SEGMENTS * self.mss);
        }
    }

    fn grow(&self, window: &mut CongestionWindow, acked: u32) {
        let bandwidth = self.bandwidth();
        let mut target = self.bdp(bandwidth, self.mode.cwnd_gain());
        if self.full_pipe.was_reached() {
            target += self.aggregation.room(bandwidth);
        }
        let target = bytes(self.with_bursts(target));
        let grown = window.cwnd.saturating_add(acked);
        // As in Linux, the SYN is delivered like a segment.
        let initial = u64::from(INITIAL_SEGMENTS - 1) * u64::from(self.mss);
        if self.full_pipe.was_reached() {
            window.cwnd = grown.min(target);
        } else if window.cwnd < target || self.totals.delivered < initial {
            window.cwnd = grown;
        }
        window.cwnd = window.cwnd.max(MIN_SEGMENTS * self.mss);
    }
}

impl CongestionControl for Bbr {
    fn has_model(&self) -> bool {
        true
    }

    fn on_established(&mut self, now: Instant, window: &CongestionWindow, by: Established) {
        self.mss = by.mss.max(1);
        self.min_rtt.start(now, by.rtt);
        self.aggregation.restart(now);
        self.start_pacing(window, by.rtt);
    }

    fn on_sent(&mut self, now: Instant, window: &mut CongestionWindow, sent: SentData) {
        self.sent = self.sent.saturating_add(u64::from(sent.bytes));
        if !sent.after_idle {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            // At the bandwidth, not faster: the queue is empty, but so is the path.
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.end_probe_rtt(now, window, true),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        self.mss = acked.mss.max(1);
        self.update_model(now, window, acked);
        if !self.rtt_seen && acked.srtt.is_some() {
            self.start_pacing(window, acked.srtt);
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(window, acked);
    }

    /// Keeps the window for the end of recovery. The model has no slow-start threshold.
    fn on_loss(&mut self, _: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
        self.recovery.save(window.cwnd, self.mode == Mode::ProbeRtt);
        window.ssthresh
    }

    /// An ECN echo says nothing to this version.
    fn on_ecn(&mut self, _: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
        window.ssthresh
    }

    fn on_reduction_requested(&mut self, _: Instant, _: &mut CongestionWindow) {
        self.recovery.conserves = true;
        self.rounds.restart(self.totals.delivered);
    }

    fn on_timeout(&mut self) {
        self.recovery.on_timeout();
        self.full_pipe.forget_baseline();
        self.long_term.on_timeout(self.last_delivery, &self.totals);
    }

    fn on_undo(&mut self) {
        if !self.full_pipe.was_reached() {
            self.full_pipe.restart(0.0);
        }
        self.long_term.reset();
    }

    fn on_window_assigned(&mut self, now: Instant, window: &CongestionWindow, anew: bool) {
        if !anew {
            self.recovery.replace(window.cwnd);
            return;
        }
        let options = ControlOptions { seed: self.random.next_u64(), ..ControlOptions::default() };
        let forgotten = MODES.next(self.mode, Event::PathForgotten);
        let (mss, sent, totals) = (self.mss, self.sent, self.totals);
        *self = Self { mode: forgotten, mss, sent, totals, ..Self::from_options(&options) };
        self.min_rtt.start(now, None);
        self.rounds.restart(totals.delivered);
        self.aggregation.restart(now);
        self.recovery.replace(window.cwnd);
    }

    fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        self.aggregation.postpone(now, frozen_for);
        self.cycle.postpone(now, frozen_for);
        self.long_term.postpone(now, frozen_for);
        self.min_rtt.postpone(now, frozen_for);
    }

    fn pacing_rate(&self) -> Option<PacingRate> {
        if self.pacing_rate <= 0.0 {
            return None;
        }
        Some(PacingRate { bytes_per_second: self.pacing_rate, quantum: self.burst() })
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

/// The whole part of a number that is not negative.
fn whole(number: f64) -> f64 {
    (number as u64) as f64
}

/// The same, rounded up.
fn whole_up(number: f64) -> f64 {
    let whole = whole(number);
    if whole < number { whole + 1.0 } else { whole }
}

#[cfg(test)]
mod test;
