//! Estimate of the bottleneck queue, to attribute losses to a full queue.
//!
//! A queue that drops packets does so at one length, whereas other losses occur at any length. A loss at
//! about the queue length of earlier losses is therefore attributed to the queue, unless as many losses occur
//! when the queue is shorter than half of that length. This must be observed often enough not to be chance,
//! because a wrong decision takes bandwidth from flows that do respond to the queue.

use driftway_base::Duration;

/// Queue length of the bottleneck, estimated from RTTs, and losses by queue length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueEstimate {
    /// Minimum RTT.
    min_rtt: Option<Duration>,
    /// Queue length (as delay) at the last losses.
    full_length: Duration,
    /// Losses with a queue longer than half of that, and with a shorter one.
    long_queue: LossCount,
    short_queue: LossCount,
}

/// Number of losses and amount of acknowledged data (bytes).
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

/// Number of losses with a short queue that is not considered chance.
const MIN_SHORT_QUEUE_LOSSES: u64 = 8;

/// Counts are halved after this amount of data, because paths change.
const HALVING_BYTES: u64 = 8 << 20;

impl QueueEstimate {
    pub fn on_round_trip(&mut self, srtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(srtt, |least| least.min(srtt)));
    }

    /// Minimum RTT.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// Present queue length.
    fn length(&self, srtt: Option<Duration>) -> Option<Duration> {
        Some(srtt?.saturating_sub(self.min_rtt?))
    }

    fn tally(&mut self, queue: Duration) -> &mut LossCount {
        if queue > self.full_length.over(2) { &mut self.long_queue } else { &mut self.short_queue }
    }

    /// The peer has acknowledged `bytes` more.
    pub fn on_acknowledged(&mut self, bytes: u32, srtt: Option<Duration>) {
        let Some(queue) = self.length(srtt) else { return };
        self.tally(queue).bytes += u64::from(bytes);
        if self.long_queue.bytes + self.short_queue.bytes > HALVING_BYTES {
            self.long_queue.halve();
            self.short_queue.halve();
        }
    }

    /// A packet was lost. Returns true if the queue may have been full.
    pub fn on_loss(&mut self, srtt: Option<Duration>) -> bool {
        let Some(queue) = self.length(srtt) else { return false };
        self.tally(queue).losses += 1;
        if self.min_rtt.is_some_and(|least| queue <= least.over(4)) {
            return false;
        }
        let full =
            queue > self.full_length.over(4).times(3) && queue <= self.full_length.over(8).times(9);
        // An overestimated length decays.
        let less = if full { Duration::ZERO } else { self.full_length.over(16) };
        self.full_length = self.full_length.saturating_sub(less).max(queue);
        full && !self.is_loss_independent_of_length()
    }

    /// Returns true if the loss rate with a short queue is at least half of that with a long one.
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

    /// An estimate for an empty path with an RTT of 100 ms.
    fn queue() -> QueueEstimate {
        let mut queue = QueueEstimate::default();
        queue.on_round_trip(Duration::from_millis(100));
        queue
    }

    /// Sends flights of 40 segments, in rounds of twenty with a queue growing to 80 ms; one segment in `full`
    /// is lost with a full queue, and one in `otherwise` without. Returns how many losses at the full queue
    /// length were attributed to the queue, and their total number.
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
    fn a_queue_as_long_as_at_the_last_loss_may_be_full() {
        let mut queue = queue();
        let mut blamed = Vec::new();
        for srtt in [120, 120, 140, 140, 160, 140, 155] {
            blamed.push(queue.on_loss(ms(srtt)));
        }
        // No queue; first time; same length; longer; shorter than before; same length.
        assert_eq!(blamed, [false, false, false, true, false, false, true]);
        assert!(!QueueEstimate::default().on_loss(ms(100)) && !queue.on_loss(None));
    }

    #[test]
    fn losses_at_the_full_length_only_are_attributed_to_the_queue() {
        let [blamed, losses] = rounds(&mut queue(), 100, u64::MAX);
        assert!(losses > 50 && blamed >= losses - 1, "{blamed} of {losses}");
    }

    #[test]
    fn losses_at_all_lengths_are_not_attributed_to_the_queue() {
        let [blamed, losses] = rounds(&mut queue(), 100, 100);
        assert!(losses > 50 && blamed < losses / 20, "{blamed} of {losses}");
    }

    #[test]
    fn other_losses_at_the_full_length_are_attributed_to_the_queue() {
        let [blamed, losses] = rounds(&mut queue(), 2, 100);
        assert!(losses > 2000 && blamed > losses / 2, "{blamed} of {losses}");
    }
}
