//! A congestion control that keeps a window, whatever happens: a control with a model, which loss recovery leaves alone.

use driftway::base::{Declared, options};
use driftway::tcp::congestion::{
    AckedData, CongestionControl, CongestionWindow, ControlOptions, Established, PacingRate,
};
use driftway::{Duration, Instant};

options! {
    /// Its options, as in `growth = { name = "steady", segments = 20 }`.
    pub struct SteadyOptions {
        /// Window in segments.
        segments: count(10, 2..=1000),
        /// Data leaves at the window per round trip, instead of when the window permits.
        paced: flag(false),
    }
}

impl Declared<ControlOptions, Box<dyn CongestionControl>> for SteadyOptions {
    const NAME: &'static str = "steady";
    const SUMMARY: &'static str = "Keeps one window.";

    fn build(self, _: &ControlOptions) -> Box<dyn CongestionControl> {
        Box::new(Steady { options: self, bytes: 0, rtt: None })
    }
}

#[derive(Debug)]
struct Steady {
    options: SteadyOptions,
    bytes: u32,
    rtt: Option<Duration>,
}

impl CongestionControl for Steady {
    fn has_model(&self) -> bool {
        true
    }

    fn on_established(&mut self, _: Instant, _: &CongestionWindow, by: Established) {
        self.rtt = by.rtt;
    }

    fn on_ack(&mut self, _: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        self.bytes = self.options.segments * acked.mss;
        self.rtt = acked.srtt;
        window.cwnd = self.bytes;
    }

    fn on_loss(&mut self, _: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
        window.ssthresh
    }

    fn on_undo(&mut self) {}

    fn pacing_rate(&self) -> Option<PacingRate> {
        let rtt = self.rtt.filter(|rtt| self.options.paced && !rtt.is_zero())?;
        let bytes_per_second = f64::from(self.bytes) * 1e9 / rtt.as_nanos() as f64;
        Some(PacingRate { bytes_per_second, quantum: 3000 })
    }
}
