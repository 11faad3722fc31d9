//! Estimate of the bottleneck queue, to attribute losses to a full queue.
//!
//! A queue that drops packets does so at one length, whereas other losses occur at any length. A loss at
//! about the queue length of earlier losses is therefore attributed to the queue, unless as many losses occur
//! when the queue is shorter than half of that length. This must be observed often enough not to be chance,
//! because a wrong decision takes bandwidth from flows that do respond to the queue.

use driftway_base::Duration;

/// Queue length of the bottleneck, estimated from RTTs, and losses by queue length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// Minimum RTT.
    least: Option<Duration>,
    /// Queue length (as delay) at the last losses.
    full: Duration,
    /// Losses with a queue longer than half of that, and with a shorter one.
    long: Tally,
    short: Tally,
}

/// Number of losses and amount of acknowledged data (bytes).
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    losses: u64,
    bytes: u64,
}

impl Tally {
    fn halve(&mut self) {
        (self.losses, self.bytes) = (self.losses / 2, self.bytes / 2);
    }
}

/// Number of losses with a short queue that is not considered chance.
const ENOUGH: u64 = 8;

/// Counts are halved after this amount of data, because paths change.
const REMEMBERED: u64 = 8 << 20;

impl Queue {
    pub fn on_round_trip(&mut self, srtt: Duration) {
        self.least = Some(self.least.map_or(srtt, |least| least.min(srtt)));
    }

    /// Minimum RTT.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }

    /// Present queue length.
    fn length(&self, srtt: Option<Duration>) -> Option<Duration> {
        Some(srtt?.saturating_sub(self.least?))
    }

    fn tally(&mut self, queue: Duration) -> &mut Tally {
        if queue > self.full.over(2) { &mut self.long } else { &mut self.short }
    }

    /// The peer has acknowledged `bytes` more.
    pub fn on_acknowledged(&mut self, bytes: u32, srtt: Option<Duration>) {
        let Some(queue) = self.length(srtt) else { return };
        self.tally(queue).bytes += u64::from(bytes);
        if self.long.bytes + self.short.bytes > REMEMBERED {
            self.long.halve();
            self.short.halve();
        }
    }

    /// A packet was lost. Returns true if the queue may have been full.
    pub fn on_loss(&mut self, srtt: Option<Duration>) -> bool {
        let Some(queue) = self.length(srtt) else { return false };
        self.tally(queue).losses += 1;
        if self.least.is_some_and(|least| queue <= least.over(4)) {
            return false;
        }
        let full = queue > self.full.over(4).times(3) && queue <= self.full.over(8).times(9);
        // An overestimated length decays.
        let less = if full { Duration::ZERO } else { self.full.over(16) };
        self.full = self.full.saturating_sub(less).max(queue);
        full && !self.is_acquitted()
    }

    /// Returns true if the loss rate with a short queue is at least half of that with a long one.
    fn is_acquitted(&self) -> bool {
        self.short.losses >= ENOUGH
            && u128::from(self.long.losses) * u128::from(self.short.bytes)
                <= 2 * u128::from(self.short.losses) * u128::from(self.long.bytes)
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
    fn queue() -> Queue {
        let mut queue = Queue::default();
        queue.on_round_trip(Duration::from_millis(100));
        queue
    }

    /// Sends flights of 40 segments, in rounds of twenty with a queue growing to 80 ms; one segment in `full`
    /// is lost with a full queue, and one in `otherwise` without. Returns how many losses at the full queue
    /// length were attributed to the queue, and their total number.
    fn rounds(queue: &mut Queue, full: u64, otherwise: u64) -> [u32; 2] {
        let mut random = driftway_base::RandomStream::new(1, "losses", 0);
        let mut counts = [0; 2];
        for flight in 0..4000 {
            let srtt = 100 + 80 * (flight % 20) / 19;
            for _ in 0..40 {
                queue.on_acknowledged(SEGMENT, ms(srtt));
                let at_full = srtt == 180;
                if random.below(if at_full { full } else { otherwise }) == 0 {
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
        assert!(!Queue::default().on_loss(ms(100)) && !queue.on_loss(None));
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
