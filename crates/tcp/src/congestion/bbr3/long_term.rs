//! The long-term bound of bytes in flight (draft-ietf-ccwg-bbr-04 §5.3.3.4, §5.5.10.2): what was in
//! flight when probing lost too much; probing raises it again, slowly at first.

/// Losses that a probe may cause, as a part of what is in flight (§2.7: LossThresh).
const LOSS_THRESHOLD: f64 = 0.02;
/// Part of the bound that is left to others (§2.7: Headroom).
const HEADROOM: f64 = 0.15;
/// The growth of the bound doubles up to this many times.
const MOST_ROUNDS: u32 = 30;

/// The bound, and its growth in ProbeBW_UP.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// inflight_longterm; `None`: no loss has set it.
    pub in_flight: Option<f64>,
    /// Acknowledged bytes for one byte of growth (probe_up_cnt).
    acked_per_byte: f64,
    rounds: u32,
    acked: f64,
}

/// True if `lost` bytes of `in_flight` are too many (IsInflightTooHigh).
pub(super) fn is_too_high(lost: f64, in_flight: f64) -> bool {
    lost > in_flight * LOSS_THRESHOLD
}

/// The bytes in flight at which losses crossed the threshold, when a segment of `size` bytes is lost
/// as one of `lost` bytes of `in_flight`, both with it (BBRInflightAtLoss).
pub(super) fn in_flight_at_loss(size: f64, lost: f64, in_flight: f64) -> f64 {
    let (before, lost_before) = (in_flight - size, lost - size);
    before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)
}

impl LongTerm {
    /// Lets the bound grow from the start again.
    pub fn reset_growth(&mut self) {
        (self.rounds, self.acked) = (0, 0.0);
    }
    /// Doubles the growth in a round (BBRRaiseInflightLongtermSlope).
    pub fn raise_slope(&mut self, cwnd: f64, mss: f64) {
        let growth = mss * (1_u64 << self.rounds.min(MOST_ROUNDS)) as f64;
        self.rounds = (self.rounds + 1).min(MOST_ROUNDS);
        self.acked_per_byte = (cwnd / growth).max(1.0);
    }
    /// Raises the bound to what was in flight without much loss.
    pub fn raise_to(&mut self, in_flight: f64) {
        self.in_flight = self.in_flight.map(|bound| bound.max(in_flight));
    }
    /// Raises the bound for `acked` bytes in ProbeBW_UP, if the window reaches it
    /// (BBRProbeInflightLongtermUpward).
    pub fn grow(&mut self, acked: f64) {
        self.acked += acked;
        if self.acked >= self.acked_per_byte && self.acked_per_byte > 0.0 {
            let growth = self.acked / self.acked_per_byte;
            self.acked = 0.0;
            self.in_flight = self.in_flight.map(|bound| bound + growth);
        }
    }
    /// The bound less the headroom, at least `least` (BBRInflightWithHeadroom).
    pub fn with_headroom(&self, mss: f64, least: f64) -> Option<f64> {
        self.in_flight.map(|bound| (bound - mss.max(HEADROOM * bound)).max(least))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn two_per_cent_lost_are_too_many() {
        assert!(!is_too_high(2000.0, 100_000.0));
        assert!(is_too_high(3000.0, 100_000.0));
        // 49 of 1000 arrive for each that is lost: with 100 in flight the third lost is too many.
        let at = in_flight_at_loss(1000.0, 3000.0, 100_000.0);
        assert!((98_900.0..99_000.0).contains(&at), "{at}");
    }

    #[test]
    fn the_bound_grows_by_one_two_and_four_segments_in_a_round() {
        let mut bound = LongTerm { in_flight: Some(10_000.0), ..LongTerm::default() };
        let mut sizes = std::vec![];
        for _ in 0..3 {
            bound.raise_slope(10_000.0, 1000.0);
            (0..10).for_each(|_| bound.grow(1000.0));
            sizes.extend(bound.in_flight);
        }
        assert_eq!(sizes, [11_000.0, 13_000.0, 17_000.0]);
        assert_eq!(bound.with_headroom(1000.0, 4000.0), Some(14_450.0));
        bound.raise_to(20_000.0);
        bound.raise_to(10_000.0);
        assert_eq!(bound.in_flight, Some(20_000.0));
    }
}
