//! Delivery opportunities: the capacity of a link as it was measured, packet by packet (the traces
//! of Winstein, Sivaraman & Balakrishnan, NSDI 2013, as mahimahi replays them).

use alloc::sync::Arc;

use driftway_base::{Duration, Instant, Rate};

/// Bytes of IP packets that may leave at one opportunity.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// Times at which up to [`OPPORTUNITY_BYTES`] may leave a link, in ascending order; at one of them
/// several opportunities are possible. What an opportunity leaves over goes to the next queued
/// frame, whose rest waits for the next opportunity; without a queued frame it is lost. Clones share
/// the times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// Milliseconds since the start of a period.
    times: Arc<[u32]>,
    repeats: bool,
}

impl Opportunities {
    /// Creates a trace from milliseconds. If it `repeats`, it begins again at the last one; else
    /// nothing leaves after it. `None` if the times are not in ascending order, or there is none
    /// above zero.
    pub fn new(times: Arc<[u32]>, repeats: bool) -> Option<Self> {
        let lasts = times.last().is_some_and(|last| *last > 0);
        (lasts && times.is_sorted()).then_some(Self { times, repeats })
    }

    /// Returns the milliseconds of a period.
    pub fn times(&self) -> &[u32] {
        &self.times
    }

    /// Returns true if the trace begins again at its end.
    pub const fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the duration of a period.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.times.last().copied().map_or(0, u64::from))
    }

    /// Returns the mean rate of a period.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8 * 1000;
        let rate = bits / u128::from(self.period().as_millis().max(1));
        Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Returns the number of opportunities up to an instant, which is included.
    pub fn count_until(&self, until: Instant) -> u64 {
        let Cursor { base, next, .. } = Cursor::after(self, until);
        let periods = base.as_nanos() / self.period().as_nanos().max(1);
        periods.saturating_mul(self.times.len() as u64).saturating_add(next as u64)
    }
}

/// The next opportunity of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    trace: Opportunities,
    /// Start of the period.
    base: Instant,
    /// Index of the next opportunity in it.
    next: usize,
}

impl Cursor {
    pub(crate) fn new(trace: &Opportunities) -> Self {
        Self { trace: trace.clone(), base: Instant::ZERO, next: 0 }
    }

    fn after(trace: &Opportunities, now: Instant) -> Self {
        let mut cursor = Self::new(trace);
        cursor.skip_through(now);
        cursor
    }

    pub(crate) const fn trace(&self) -> &Opportunities {
        &self.trace
    }

    /// Returns the time of the next opportunity; the far future after the last one.
    pub(crate) fn next_at(&self) -> Instant {
        let ahead = |millis: &u32| self.base + Duration::from_millis(u64::from(*millis));
        self.trace.times.get(self.next).map_or(Instant::FAR_FUTURE, ahead)
    }

    /// Uses the next opportunity.
    pub(crate) fn advance(&mut self) {
        self.next = self.next.saturating_add(1);
        if self.trace.repeats && self.next >= self.trace.times.len() {
            self.base += self.trace.period();
            self.next = 0;
        }
    }

    /// Skips the opportunities up to an instant, which is included.
    pub(crate) fn skip_through(&mut self, now: Instant) {
        if self.next_at() > now {
            return;
        }
        let period = self.trace.period();
        if self.trace.repeats && now.since(self.base) >= period {
            let periods = now.since(self.base).as_nanos() / period.as_nanos().max(1);
            self.base += period.times(periods);
            self.next = 0;
        }
        let passed = now.since(self.base).as_millis();
        let rest = self.trace.times.get(self.next..).unwrap_or_default();
        self.next += rest.partition_point(|millis| u64::from(*millis) <= passed);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use alloc::vec::Vec;

    fn trace(times: &[u32], repeats: bool) -> Opportunities {
        Opportunities::new(times.into(), repeats).unwrap()
    }

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// The times of the first opportunities.
    fn first(trace: &Opportunities, count: usize) -> Vec<u64> {
        let mut cursor = Cursor::new(trace);
        let next = |_| {
            let at = cursor.next_at();
            cursor.advance();
            (at < Instant::FAR_FUTURE).then(|| at.as_millis())
        };
        (0..count).map_while(next).collect()
    }

    #[test]
    fn a_trace_begins_again_at_its_last_opportunity() {
        assert_eq!(first(&trace(&[0, 2, 2, 5], true), 9), [0, 2, 2, 5, 5, 7, 7, 10, 10]);
        assert_eq!(first(&trace(&[3, 5], true), 5), [3, 5, 8, 10, 13]);
        assert_eq!(first(&trace(&[3, 5], false), 5), [3, 5]);
    }

    #[test]
    fn traces_without_duration_or_order_are_refused() {
        for times in [&[][..], &[0], &[0, 0], &[2, 1]] {
            assert_eq!(Opportunities::new(times.into(), true), None, "{times:?}");
        }
    }

    #[test]
    fn skipping_equals_advancing() {
        for (times, repeats) in [(&[0, 2, 2, 5][..], true), (&[3, 5], true), (&[1, 1, 4], false)] {
            let trace = trace(times, repeats);
            for now in 0..40 {
                let mut stepped = Cursor::new(&trace);
                let mut used = 0;
                while stepped.next_at() <= ms(now) {
                    stepped.advance();
                    used += 1;
                }
                let skipped = Cursor::after(&trace, ms(now));
                assert_eq!(skipped.next_at(), stepped.next_at(), "{times:?} {now}");
                assert_eq!(trace.count_until(ms(now)), used, "{times:?} {now}");
            }
        }
        let far = Cursor::after(&trace(&[3, 5], true), Instant::FAR_FUTURE);
        assert_eq!(far.next_at(), Instant::FAR_FUTURE);
    }

    #[test]
    fn the_mean_rate_is_that_of_a_period() {
        assert_eq!(trace(&[1, 2, 3, 4], true).mean_rate(), Rate::from_bps(12_000_000));
        assert_eq!(trace(&[1000], true).mean_rate(), Rate::from_bps(12_000));
    }
}
