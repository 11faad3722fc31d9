//! Long-term bandwidth sampling: a policer drops what is beyond its rate once its bucket is empty.
//! If two intervals with many losses have about the same rate, that rate is used.

use driftway_base::{Duration, Instant};

use crate::congestion::contract::AckedData;
use crate::congestion::path::Rounds;
use crate::delivery_rate::RateSample;

/// Rounds in an interval: at least, and at most.
const ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * ROUNDS;
/// Lost part of what is delivered that makes a policer likely.
const LOSS_RATE: f64 = 50.0 / 256.0;
/// Two rates are the same if they differ by less than this part, or by that many bytes per second.
const SAME_PART: f64 = 1.0 / 8.0;
const SAME_BYTES: f64 = 500.0;
/// Rounds for which the rate is used.
const USED_ROUNDS: u32 = 48;
/// Shortest interval.
const SHORTEST: Duration = Duration::from_millis(1);

/// The sampled rate and the interval in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    is_sampling: bool,
    in_use: bool,
    /// The rate of the last interval (bytes per second); zero without one.
    rate: f64,
    rounds: u32,
    started_at: Instant,
    delivered_before: u64,
    lost_before: u64,
}

/// Bytes delivered and lost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub delivered: u64,
    pub lost: u64,
}

impl LongTerm {
    /// The rate, while it is used.
    pub fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// Ends sampling, and the use of its rate.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Handles an acknowledgment. True if the rate has been used long enough: probing begins again.
    pub fn on_ack(
        &mut self,
        now: Instant,
        acked: &AckedData,
        sample: &RateSample,
        rounds: &Rounds,
        probing: bool,
    ) -> bool {
        if self.in_use {
            self.rounds += u32::from(probing && rounds.has_started());
            let over = self.rounds >= USED_ROUNDS;
            if over {
                self.reset();
            }
            return over;
        }
        if !self.is_sampling {
            // An interval begins and ends with a loss, to see the bucket empty at both ends.
            if acked.lost == 0 {
                return false;
            }
            self.begin(now, sample);
            self.is_sampling = true;
        }
        if sample.app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(rounds.has_started());
        if self.rounds < ROUNDS {
            return false;
        }
        if self.rounds > MOST_ROUNDS {
            self.reset();
            return false;
        }
        if acked.lost > 0 {
            self.end(now, sample);
        }
        false
    }

    /// Handles a timeout, as a loss after a round; the last acknowledgment came at `last_ack`.
    pub fn on_timeout(&mut self, last_ack: Instant, last: &Totals) {
        if self.in_use || self.is_sampling {
            self.rounds += 1;
        } else {
            self.is_sampling = true;
            (self.rounds, self.started_at) = (0, last_ack);
            (self.delivered_before, self.lost_before) = (last.delivered, last.lost);
        }
    }

    fn begin(&mut self, now: Instant, sample: &RateSample) {
        (self.rounds, self.started_at) = (0, now);
        self.delivered_before = sample.total_delivered;
        self.lost_before = sample.total_lost;
    }

    fn end(&mut self, now: Instant, sample: &RateSample) {
        let delivered = sample.total_delivered.saturating_sub(self.delivered_before) as f64;
        let lost = sample.total_lost.saturating_sub(self.lost_before) as f64;
        let span = now.since(self.started_at);
        if delivered <= 0.0 || lost < LOSS_RATE * delivered || span < SHORTEST {
            return;
        }
        let rate = delivered / span.as_secs_f64();
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0 && (difference <= self.rate * SAME_PART || difference <= SAME_BYTES) {
            (self.rate, self.in_use, self.rounds) = ((rate + self.rate) / 2.0, true, 0);
            return;
        }
        self.rate = rate;
        self.begin(now, sample);
    }

    /// Postpones its time by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.started_at = (self.started_at + frozen_for).min(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;

    /// Rounds of 100 ms in which `delivered` bytes arrive and `lost` get lost.
    struct Path {
        long_term: LongTerm,
        rounds: Rounds,
        totals: Totals,
        now: Instant,
    }

    impl Path {
        fn round(&mut self, delivered: u64, lost: u64) -> Option<f64> {
            self.now += Duration::from_millis(100);
            let prior = self.totals.delivered;
            self.totals.delivered += delivered;
            self.totals.lost += lost;
            self.rounds.on_delivered(prior, self.totals.delivered);
            let sample = RateSample {
                delivered,
                interval: Some(Duration::from_millis(100)),
                app_limited: false,
                prior_delivered: prior,
                total_delivered: self.totals.delivered,
                total_lost: self.totals.lost,
                lost,
                sent_in_flight: 0,
                prior_at: self.now,
            };
            let acked = AckedData { lost: lost as u32, ..acked(delivered as u32) };
            self.long_term.on_ack(self.now, &acked, &sample, &self.rounds, true);
            self.long_term.rate()
        }
    }

    fn path() -> Path {
        let (long_term, rounds) = (LongTerm::default(), Rounds::default());
        Path { long_term, rounds, totals: Totals::default(), now: Instant::ZERO }
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer() {
        let mut path = path();
        let rates: std::vec::Vec<_> = (0..9).map(|_| path.round(100_000, 40_000)).collect();
        // The first loss begins the first interval; four rounds make one.
        assert!(rates.iter().take(7).all(Option::is_none), "{rates:?}");
        assert!(rates.iter().any(|rate| rate.is_some_and(|r| (r - 1e6).abs() < 1e5)), "{rates:?}");
        // It is used for 48 rounds.
        let left = (0..60).take_while(|_| path.round(100_000, 0).is_some()).count();
        assert!((46..=48).contains(&left), "{left}");
    }

    #[test]
    fn a_few_losses_are_no_policer() {
        let mut path = path();
        assert!((0..100).all(|_| path.round(100_000, 10_000).is_none()));
    }
}
