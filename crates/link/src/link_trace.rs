//! Measured rate, delay and errors of a link that hold from one row of a table to the next.

use alloc::sync::Arc;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Rate};

/// Rows of a trace, column by column. A column without values leaves its quantity as the link has
/// it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceRows {
    /// Times from which the rows hold: the first is zero, each later than the one before.
    pub times: Vec<Duration>,
    /// Rates (bit/s); zero: nothing leaves.
    pub rates: Vec<u64>,
    /// Propagation delays.
    pub delays: Vec<Duration>,
    /// Frame error rates.
    pub errors: Vec<f64>,
}

/// Rate, delay and errors over time, each of which may be missing. Clones share the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    rows: Arc<TraceRows>,
    repeats: bool,
    /// Bits × 10⁹ that can leave in a period.
    period_work: u128,
}

impl LinkTrace {
    /// Creates a trace. If it `repeats`, it begins again at the time of its last row, whose values
    /// hold only in a trace of one row; else the last row holds forever. `None` if the times are not
    /// as described, a column has another number of values, all are missing, or nothing ever leaves.
    pub fn new(rows: TraceRows, repeats: bool) -> Option<Self> {
        let TraceRows { times, rates, delays, errors } = &rows;
        let fits = |len: usize| len == 0 || len == times.len();
        let in_order = times.is_sorted_by(|one, next| one < next);
        let is_valid = times.first() == Some(&Duration::ZERO)
            && in_order
            && [rates.len(), delays.len(), errors.len()].into_iter().all(fits)
            && rates.len() + delays.len() + errors.len() > 0;
        if !is_valid {
            return None;
        }
        let repeats = repeats && times.len() > 1;
        let spans = times.iter().zip(times.iter().skip(1));
        let spans = spans.map(|(from, until)| until.saturating_sub(*from));
        let work = rates.iter().zip(spans).map(|(rate, span)| work_of(*rate, span));
        let period_work = work.fold(0, u128::saturating_add);
        let lasts = if repeats { 0 } else { rates.last().copied().unwrap_or_default() };
        let leaves = rates.is_empty() || period_work > 0 || lasts > 0;
        leaves.then(|| Self { rows: Arc::new(rows), repeats, period_work })
    }

    /// Returns the rows.
    pub fn rows(&self) -> &TraceRows {
        &self.rows
    }

    /// Returns true if the trace begins again at its last row.
    pub const fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the mean rate of a period, or until the last row; of one row, its rate. `None` if the
    /// trace has no rates.
    pub fn mean_rate(&self) -> Option<Rate> {
        let TraceRows { times, rates, .. } = &*self.rows;
        let last = *rates.last()?;
        let period = times.last().map_or(0, |time| time.as_nanos());
        let mean = self.period_work.checked_div(period.into());
        Some(Rate::from_bps(mean.and_then(|mean| u64::try_from(mean).ok()).unwrap_or(last)))
    }

    /// Returns the shortest and the longest delay; `None` if the trace has no delays.
    pub fn delay_bounds(&self) -> Option<(Duration, Duration)> {
        let delays = &self.rows.delays;
        Some((*delays.iter().min()?, *delays.iter().max()?))
    }

    /// Returns this trace without its rates, delays or errors; `None` if nothing is left.
    pub fn without(&self, rates: bool, delays: bool, errors: bool) -> Option<Self> {
        if !(rates || delays || errors) {
            return Some(self.clone());
        }
        let mut rows = TraceRows::clone(&self.rows);
        if rates {
            rows.rates = Vec::new();
        }
        if delays {
            rows.delays = Vec::new();
        }
        if errors {
            rows.errors = Vec::new();
        }
        Self::new(rows, self.repeats)
    }
}

/// Bits × 10⁹ that leave at a rate (bit/s) in this time.
const fn work_of(rate: u64, span: Duration) -> u128 {
    rate as u128 * span.as_nanos() as u128
}

/// The row of a trace that holds at an instant.
#[derive(Clone, Debug)]
pub(crate) struct RowCursor {
    trace: LinkTrace,
    /// Start of the period.
    base: Instant,
    row: usize,
}

impl RowCursor {
    pub(crate) const fn new(trace: LinkTrace) -> Self {
        Self { trace, base: Instant::ZERO, row: 0 }
    }

    pub(crate) fn has_rates(&self) -> bool {
        !self.trace.rows.rates.is_empty()
    }

    /// Returns the rate at an instant (bit/s), if the trace has rates.
    pub(crate) fn rate_bps(&self, at: Instant) -> Option<u64> {
        let TraceRows { times, rates, .. } = &*self.trace.rows;
        let period = times.last().map_or(0, |last| last.as_nanos());
        let passed = match self.trace.repeats {
            true => at.as_nanos().checked_rem(period).unwrap_or_default(),
            false => at.as_nanos(),
        };
        let row = times.partition_point(|from| from.as_nanos() <= passed).saturating_sub(1);
        rates.get(row).copied()
    }

    /// Returns the delay at an instant, if the trace has delays.
    pub(crate) fn delay(&mut self, at: Instant) -> Option<Duration> {
        if self.trace.rows.delays.is_empty() {
            return None;
        }
        self.seek(at);
        self.trace.rows.delays.get(self.row).copied()
    }

    /// Returns the frame error rate at an instant, if the trace has errors.
    pub(crate) fn error_rate(&mut self, at: Instant) -> Option<f64> {
        if self.trace.rows.errors.is_empty() {
            return None;
        }
        self.seek(at);
        self.trace.rows.errors.get(self.row).copied()
    }

    /// Returns the end of a transmission that begins at `start`: what a row does not transmit is
    /// left for the next. The far future if it never ends.
    pub(crate) fn end_of_transmission(&mut self, start: Instant, bytes: u32) -> Instant {
        self.seek(start);
        let mut left = u128::from(bytes) * 8 * 1_000_000_000;
        let (mut at, mut base, mut row) = (start, self.base, self.row);
        let rows = &self.trace.rows;
        loop {
            let rate = rows.rates.get(row).copied().unwrap_or_default();
            let next = rows.times.get(row + 1).map(|time| base + *time);
            let span = next.map_or(Duration::MAX, |next| next.since(at));
            if left <= work_of(rate, span) {
                let nanos = left.checked_div(rate.into()).map_or(0, |_| left.div_ceil(rate.into()));
                return at + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
            }
            let Some(next) = next.filter(|next| *next < Instant::FAR_FUTURE) else {
                return Instant::FAR_FUTURE;
            };
            left -= work_of(rate, span);
            (at, row) = (next, row + 1);
            if self.trace.repeats && row + 1 >= rows.times.len() {
                let period = next.since(base);
                (base, row) = (next, 0);
                // Whole periods, but not the last one, at whose end the frame may have ended before.
                let periods = left.saturating_sub(1) / self.trace.period_work.max(1);
                let periods = u64::try_from(periods).unwrap_or(u64::MAX);
                left -= self.trace.period_work * u128::from(periods);
                base += period.times(periods);
                at = base;
            }
        }
    }

    /// Finds the row that holds at `now`.
    fn seek(&mut self, now: Instant) {
        let times = &self.trace.rows.times;
        let period = times.last().copied().unwrap_or_default();
        if now < self.base || (self.trace.repeats && now.since(self.base) >= period) {
            let periods = match self.trace.repeats {
                true => now.as_nanos() / period.as_nanos().max(1),
                false => 0,
            };
            self.base = Instant::ZERO + period.times(periods);
            self.row = 0;
        }
        let passed = now.since(self.base);
        let holds = |row: usize| times.get(row).is_some_and(|from| *from <= passed);
        if !holds(self.row) || holds(self.row + 1) {
            self.row = times.partition_point(|from| *from <= passed).saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    /// Rates of 8 kbit/s, 0 and 16 kbit/s from 0 s, 10 s and 20 s, until 30 s.
    fn rates(repeats: bool) -> LinkTrace {
        let rows = TraceRows {
            times: [0, 10, 20, 30].map(secs).into(),
            rates: [8_000, 0, 16_000, 4_000].into(),
            ..TraceRows::default()
        };
        LinkTrace::new(rows, repeats).unwrap()
    }

    fn ends(trace: &LinkTrace, start: u64, bytes: u32) -> Instant {
        RowCursor::new(trace.clone()).end_of_transmission(at(start), bytes)
    }

    #[test]
    fn the_rate_is_that_of_the_row_that_holds() {
        let of = |repeats: bool, second: u64| {
            RowCursor::new(rates(repeats)).rate_bps(at(second)).unwrap()
        };
        for (second, rate) in [(0, 8_000), (9, 8_000), (10, 0), (29, 16_000)] {
            assert_eq!((of(true, second), of(false, second)), (rate, rate), "{second} s");
        }
        // The last row's values hold only without repetition.
        assert_eq!((of(true, 30), of(false, 30)), (8_000, 4_000));
        assert_eq!((of(true, 75), of(false, 75)), (0, 4_000));
    }

    #[test]
    fn a_transmission_goes_on_at_the_rate_of_the_next_row() {
        let once = rates(false);
        assert_eq!(ends(&once, 0, 1000), at(1));
        assert_eq!(ends(&once, 0, 10_000), at(10), "exactly a row");
        // 2000 bytes until 10 s, none until 20 s, 2000 more in one second.
        assert_eq!(ends(&once, 8, 4000), at(21));
        assert_eq!(ends(&once, 12, 2000), at(21));
        // The last row holds: 1000 bytes until 30 s, and 500 in one second.
        assert_eq!(ends(&once, 29, 2500), at(31));
        assert_eq!(ends(&once, 1_000_000, 500), at(1_000_001));
    }

    #[test]
    fn a_repeated_trace_begins_again_at_its_last_row() {
        let again = rates(true);
        // 2000 bytes until 30 s, and 1000 in one second.
        assert_eq!(ends(&again, 29, 3000), at(31));
        assert_eq!(ends(&again, 42, 2000), at(51));
        // A period has 10 000 + 20 000 bytes.
        assert_eq!(ends(&again, 0, 30_000), at(30));
        assert_eq!(ends(&again, 0, 300_000), at(300));
        assert_eq!(ends(&again, 0, 301_000), at(301));
        assert_eq!(again.mean_rate(), Some(Rate::from_bps(8_000)));
    }

    #[test]
    fn nothing_leaves_after_a_last_row_without_rate() {
        let rows = TraceRows {
            times: [0, 1].map(secs).into(),
            rates: [8_000, 0].into(),
            ..TraceRows::default()
        };
        let once = LinkTrace::new(rows, false).unwrap();
        assert_eq!(ends(&once, 0, 1000), at(1));
        assert_eq!(ends(&once, 0, 1001), Instant::FAR_FUTURE);
    }

    #[test]
    fn values_hold_until_the_next_row() {
        let rows = TraceRows {
            times: [0, 10, 20].map(secs).into(),
            delays: [1, 2, 3].map(secs).into(),
            errors: [0.0, 0.5, 1.0].into(),
            ..TraceRows::default()
        };
        let mut once = RowCursor::new(LinkTrace::new(rows.clone(), false).unwrap());
        let mut again = RowCursor::new(LinkTrace::new(rows, true).unwrap());
        for (time, first, repeated) in
            [(0, 1, 1), (9, 1, 1), (10, 2, 2), (25, 3, 1), (35, 3, 2), (4, 1, 1), (19, 2, 2)]
        {
            assert_eq!(once.delay(at(time)), Some(secs(first)), "{time}");
            assert_eq!(again.delay(at(time)), Some(secs(repeated)), "{time}");
        }
        assert_eq!(once.error_rate(at(11)), Some(0.5));
        assert!(!once.has_rates());
    }

    #[test]
    fn invalid_rows_are_refused() {
        let rows = |times: &[u64], rates: &[u64]| TraceRows {
            times: times.iter().copied().map(secs).collect(),
            rates: rates.into(),
            ..TraceRows::default()
        };
        for (times, rates, repeats) in [
            (&[][..], &[][..], false),
            (&[1], &[1], false),
            (&[0, 0], &[1, 1], false),
            (&[0, 2, 1], &[1, 1, 1], false),
            (&[0, 1], &[1], false),
            (&[0, 1], &[], false),
            (&[0, 1], &[0, 0], false),
            (&[0, 1], &[0, 9], true),
        ] {
            assert_eq!(LinkTrace::new(rows(times, rates), repeats), None, "{times:?}");
        }
    }
}
