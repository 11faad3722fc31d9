//! A congestion control without a model: one segment more in each round trip, and less after a loss by a chosen part.

use driftway::Instant;
use driftway::base::{Declared, options};
use driftway::tcp::congestion::{
    AckedData, CongestionControl, CongestionWindow, ControlOptions, MAX_WINDOW, slow_start,
};

options! {
    /// Its options, as in `growth = { name = "halving", kept = 0.7 }`.
    pub struct HalvingOptions {
        /// Part of the data in flight that is left after a loss.
        kept: number(0.5, 0.1..=0.9),
    }
}

impl Declared<ControlOptions, Box<dyn CongestionControl>> for HalvingOptions {
    const NAME: &'static str = "halving";
    const SUMMARY: &'static str = "Additive increase, multiplicative decrease.";

    fn build(self, _: &ControlOptions) -> Box<dyn CongestionControl> {
        Box::new(Halving(self))
    }
}

#[derive(Debug)]
struct Halving(HalvingOptions);

impl CongestionControl for Halving {
    fn on_ack(&mut self, _: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        let Some(acked) = slow_start(window, acked) else { return };
        let squared = u64::from(acked.mss) * u64::from(acked.mss);
        let increment = (squared / u64::from(window.cwnd.max(1))).max(1) as u32;
        window.cwnd = window.cwnd.saturating_add(increment).min(MAX_WINDOW);
    }

    fn on_loss(&mut self, _: Instant, _: &CongestionWindow, flight_size: u32, mss: u32) -> u32 {
        ((f64::from(flight_size) * self.0.kept) as u32).max(2 * mss)
    }

    fn on_undo(&mut self) {}
}
