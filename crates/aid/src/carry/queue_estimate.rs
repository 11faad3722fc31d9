//! May a loss have been that of a full queue?
//!
//! A queue that drops does so at one length; what else loses, loses at any. So a loss with a queue about
//! as long as at those before is laid to its charge. Unless as much is lost where it can't have been
//! full: with a queue that is not half as long. That has to be seen often enough to be no chance, for the
//! price of a wrong acquittal is the share of those who heed the same queue.

use driftway_base::Duration;

/// How long the bottleneck's queue is, as round trips show it, and what was lost at which length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueEstimate {
    /// The shortest round trip.
    min_rtt: Option<Duration>,
    /// How long the queue was (in time) when something was lost.
    full_length: Duration,
    /// With a queue of more than half of that, and with a shorter one.
    long_queue: LossCount,
    short_queue: LossCount,
}

/// Losses, and what was acknowledged meanwhile (bytes).
#[derive(Clone, Copy, Debug, Default)]
struct LossCount {
    losses: u64,
    bytes: u64,
}

impl LossCount {
    fn halve(&mut self) {
        (self.losses, self.bytes) = (self.losses / 2, self.bytes / 2);
    }
}

/// So many losses with a short queue are no chance.
const MIN_SHORT_QUEUE_LOSSES: u64 = 8;

/// After so many bytes, what was counted counts half: paths change.
const HALVING_BYTES: u64 = 8 << 20;

impl QueueEstimate {
    pub fn on_round_trip(&mut self, srtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(srtt, |least| least.min(srtt)));
    }

    /// The shortest round trip.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// How long it is now.
    fn length(&self, srtt: Option<Duration>) -> Option<Duration> {
        Some(srtt?.saturating_sub(self.min_rtt?))
    }

    fn tally(&mut self, queue: Duration) -> &mut LossCount {
        if queue > self.full_length.over(2) { &mut self.long_queue } else { &mut self.short_queue }
    }

    /// The peer has acknowledged so much more.
    pub fn on_acknowledged(&mut self, bytes: u32, srtt: Option<Duration>) {
        let Some(queue) = self.length(srtt) else { return };
        self.tally(queue).bytes += u64::from(bytes);
        if self.long_queue.bytes + self.short_queue.bytes > HALVING_BYTES {
            self.long_queue.halve();
            self.short_queue.halve();
        }
    }

    /// Something was lost. May the queue have been full?
    pub fn on_loss(&mut self, srtt: Option<Duration>) -> bool {
        let Some(queue) = self.length(srtt) else { return false };
        self.tally(queue).losses += 1;
        if self.min_rtt.is_some_and(|least| queue <= least.over(4)) {
            return false;
        }
        let full =
            queue > self.full_length.over(4).times(3) && queue <= self.full_length.over(8).times(9);
        // A measurement that was too long is forgotten by and by.
        let less = if full { Duration::ZERO } else { self.full_length.over(16) };
        self.full_length = self.full_length.saturating_sub(less).max(queue);
        full && !self.is_loss_independent_of_length()
    }

    /// Is as much lost with a short queue, as far as one can tell: at least half of it?
    fn is_loss_independent_of_length(&self) -> bool {
        self.short_queue.losses >= MIN_SHORT_QUEUE_LOSSES
            && u128::from(self.long_queue.losses) * u128::from(self.short_queue.bytes)
                <= 2 * u128::from(self.short_queue.losses) * u128::from(self.long_queue.bytes)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::vec::Vec;

    const SEGMENT: u32 = 1000;

    fn ms(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    /// One with an empty path of 100 ms.
    fn queue() -> QueueEstimate {
        let mut queue = QueueEstimate::default();
        queue.on_round_trip(Duration::from_millis(100));
        queue
    }

    /// Rounds of twenty flights of 40 segments, each with a longer queue, up to 80 ms; of so many
    /// segments one is lost, with a full queue and otherwise. How often the queue was blamed for the
    /// losses at its full length, and how many these were.
    fn rounds(queue: &mut QueueEstimate, full: u64, otherwise: u64) -> [u32; 2] {
        let mut random = driftway_base::RandomStream::new(1, "losses", 0);
        let mut counts = [0; 2];
        for flight in 0..4000 {
            let srtt = 100 + 80 * (flight % 20) / 19;
            for _ in 0..40 {
                queue.on_acknowledged(SEGMENT, ms(srtt));
                let at_full = srtt == 180;
                if random.uniform_below(if at_full { full } else { otherwise }) == 0 {
                    let blamed = queue.on_loss(ms(srtt));
                    counts[0] += u32::from(at_full && blamed);
                    counts[1] += u32::from(at_full);
                }
            }
        }
        counts
    }

    #[test]
    fn one_that_is_as_long_as_at_the_last_loss_may_be_full() {
        let mut queue = queue();
        let mut blamed = Vec::new();
        for srtt in [120, 120, 140, 140, 160, 140, 155] {
            blamed.push(queue.on_loss(ms(srtt)));
        }
        // None to speak of; never as long; as long; longer; it has been longer; as long.
        assert_eq!(blamed, [false, false, false, true, false, false, true]);
        assert!(!QueueEstimate::default().on_loss(ms(100)) && !queue.on_loss(None));
    }

    #[test]
    fn where_only_a_full_one_loses_it_is_blamed() {
        let [blamed, losses] = rounds(&mut queue(), 100, u64::MAX);
        assert!(losses > 50 && blamed >= losses - 1, "{blamed} of {losses}");
    }

    #[test]
    fn where_all_lengths_lose_alike_it_is_not() {
        let [blamed, losses] = rounds(&mut queue(), 100, 100);
        assert!(losses > 50 && blamed < losses / 20, "{blamed} of {losses}");
    }

    #[test]
    fn what_a_full_one_loses_besides_is_laid_to_its_charge() {
        let [blamed, losses] = rounds(&mut queue(), 2, 100);
        assert!(losses > 2000 && blamed > losses / 2, "{blamed} of {losses}");
    }
}
