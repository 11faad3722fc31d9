//! May a loss have been that of a full queue?
//!
//! A queue that drops does so at one length; what else loses, loses at any. So a loss with a queue about
//! as long as at those before is laid to its charge. Unless as much is lost where it can't have been
//! full: with a queue that is not half as long. That has to be seen often enough to be no chance, for the
//! price of a wrong acquittal is the share of those who heed the same queue.

use driftway_base::Duration;

/// How long the bottleneck's queue is, as round trips show it, and what was lost at which length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// The shortest round trip.
    least: Option<Duration>,
    /// How long the queue was (in time) when something was lost.
    full: Duration,
    /// With a queue of more than half of that, and with a shorter one.
    long: Tally,
    short: Tally,
}

/// Losses, and what was acknowledged meanwhile (bytes).
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

/// So many losses with a short queue are no chance.
const ENOUGH: u64 = 8;

/// After so many bytes, what was counted counts half: paths change.
const REMEMBERED: u64 = 8 << 20;

impl Queue {
    pub fn on_round_trip(&mut self, srtt: Duration) {
        self.least = Some(self.least.map_or(srtt, |least| least.min(srtt)));
    }

    /// The shortest round trip.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }

    /// How long it is now.
    fn length(&self, srtt: Option<Duration>) -> Option<Duration> {
        Some(srtt?.saturating_sub(self.least?))
    }

    fn tally(&mut self, queue: Duration) -> &mut Tally {
        if queue > self.full.over(2) { &mut self.long } else { &mut self.short }
    }

    /// The peer has acknowledged so much more.
    pub fn on_acknowledged(&mut self, bytes: u32, srtt: Option<Duration>) {
        let Some(queue) = self.length(srtt) else { return };
        self.tally(queue).bytes += u64::from(bytes);
        if self.long.bytes + self.short.bytes > REMEMBERED {
            self.long.halve();
            self.short.halve();
        }
    }

    /// Something was lost. May the queue have been full?
    pub fn on_loss(&mut self, srtt: Option<Duration>) -> bool {
        let Some(queue) = self.length(srtt) else { return false };
        self.tally(queue).losses += 1;
        if self.least.is_some_and(|least| queue <= least.over(4)) {
            return false;
        }
        let full = queue > self.full.over(4).times(3) && queue <= self.full.over(8).times(9);
        // A measurement that was too long is forgotten by and by.
        let less = if full { Duration::ZERO } else { self.full.over(16) };
        self.full = self.full.saturating_sub(less).max(queue);
        full && !self.is_acquitted()
    }

    /// Is as much lost with a short queue, as far as one can tell: at least half of it?
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

    /// One with an empty path of 100 ms.
    fn queue() -> Queue {
        let mut queue = Queue::default();
        queue.on_round_trip(Duration::from_millis(100));
        queue
    }

    /// Rounds of twenty flights of 40 segments, each with a longer queue, up to 80 ms; of so many
    /// segments one is lost, with a full queue and otherwise. How often the queue was blamed for the
    /// losses at its full length, and how many these were.
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
    fn one_that_is_as_long_as_at_the_last_loss_may_be_full() {
        let mut queue = queue();
        let mut blamed = Vec::new();
        for srtt in [120, 120, 140, 140, 160, 140, 155] {
            blamed.push(queue.on_loss(ms(srtt)));
        }
        // None to speak of; never as long; as long; longer; it has been longer; as long.
        assert_eq!(blamed, [false, false, false, true, false, false, true]);
        assert!(!Queue::default().on_loss(ms(100)) && !queue.on_loss(None));
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
