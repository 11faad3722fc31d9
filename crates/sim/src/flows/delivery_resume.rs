//! The time from the end of an outage to the next data for the receiving application.

use driftway_base::{Duration, Instant};

/// The delays between ends of outages and the next bytes delivered. An outage after which nothing is
/// delivered before the next one ends as well has a delay of its own, which includes the next one.
#[derive(Debug, Default)]
pub struct DeliveryResumeDelays {
    /// The ends of outages after which nothing has been delivered yet.
    waiting: Vec<Instant>,
    sum: Duration,
    count: u64,
    longest: Option<Duration>,
    /// The number of outages that have ended.
    ended: usize,
    /// The delay after each outage; `None`: nothing has been delivered since.
    each: Vec<Option<Duration>>,
}

/// The maximum number of outages whose delays are kept one by one.
pub const MAX_OUTAGES_LISTED: usize = 1000;

impl DeliveryResumeDelays {
    /// Records the end of an outage.
    pub fn on_outage_end(&mut self, now: Instant) {
        self.waiting.push(now);
        self.ended += 1;
        if self.each.len() < MAX_OUTAGES_LISTED {
            self.each.push(None);
        }
    }

    /// Records the delivery of new data.
    pub fn on_delivered(&mut self, now: Instant) {
        let first = self.ended - self.waiting.len();
        for (outage, since) in self.waiting.drain(..).enumerate() {
            let delay = now.since(since);
            if let Some(kept) = self.each.get_mut(first + outage) {
                *kept = Some(delay);
            }
            self.sum = self.sum + delay;
            self.count += 1;
            self.longest = self.longest.max(Some(delay));
        }
    }

    /// The mean delay; `None` if nothing was delivered after an outage.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum.over(self.count))
    }

    /// The delay after each outage, in order, of the first [`MAX_OUTAGES_LISTED`]; `None`: nothing was
    /// delivered after it.
    pub fn each(&self) -> &[Option<Duration>] {
        &self.each
    }

    /// The longest delay. `waits_until`: the end of the run, if the flow still has data to deliver
    /// then. `None` if there was no outage.
    pub fn longest(&self, waits_until: Option<Instant>) -> Option<Duration> {
        let first = self.waiting.first();
        self.longest.max(waits_until.and_then(|end| Some(end.since(*first?))))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const fn secs(at: u64) -> Instant {
        Instant::from_secs(at)
    }

    const fn seconds(span: u64) -> Option<Duration> {
        Some(Duration::from_secs(span))
    }

    #[test]
    fn a_delay_ends_with_the_first_delivery() {
        let mut delays = DeliveryResumeDelays::default();
        assert_eq!((delays.mean(), delays.longest(Some(secs(99)))), (None, None));
        delays.on_delivered(secs(1));
        delays.on_outage_end(secs(10));
        delays.on_delivered(secs(14));
        delays.on_delivered(secs(15));
        delays.on_outage_end(secs(20));
        delays.on_delivered(secs(22));
        assert_eq!((delays.mean(), delays.longest(Some(secs(99)))), (seconds(3), seconds(4)));
    }

    /// Nothing is delivered between two outages: both wait for the same byte.
    #[test]
    fn each_outage_has_its_own_delay() {
        let mut delays = DeliveryResumeDelays::default();
        delays.on_outage_end(secs(10));
        delays.on_outage_end(secs(20));
        delays.on_delivered(secs(24));
        assert_eq!((delays.mean(), delays.longest(None)), (seconds(9), seconds(14)));
        delays.on_outage_end(secs(30));
        delays.on_delivered(secs(31));
        delays.on_outage_end(secs(40));
        assert_eq!(delays.each(), [seconds(14), seconds(4), seconds(1), None]);
    }

    #[test]
    fn the_list_of_delays_is_bounded() {
        let mut delays = DeliveryResumeDelays::default();
        for n in 0..=MAX_OUTAGES_LISTED as u64 {
            delays.on_outage_end(secs(2 * n));
            delays.on_delivered(secs(2 * n + 1));
        }
        assert_eq!(delays.each(), vec![seconds(1); MAX_OUTAGES_LISTED]);
        assert_eq!(delays.count, MAX_OUTAGES_LISTED as u64 + 1);
    }

    #[test]
    fn an_endless_wait_counts_for_the_longest_delay_alone() {
        let mut delays = DeliveryResumeDelays::default();
        delays.on_outage_end(secs(10));
        delays.on_delivered(secs(12));
        delays.on_outage_end(secs(20));
        delays.on_outage_end(secs(30));
        assert_eq!((delays.mean(), delays.longest(Some(secs(45)))), (seconds(2), seconds(25)));
        assert_eq!(delays.longest(None), seconds(2), "it had nothing to deliver");
    }
}
