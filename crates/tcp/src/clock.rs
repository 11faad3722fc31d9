//! The clock of TCP's timers.
//!
//! 4.4BSD counts slow ticks of 500 ms: a timer set to two ticks expires at the second tick from
//! now, 0.5 to 1 s later, and a round trip is as long as the number of ticks within it. ns-2 rounds
//! round trips to 100 or 10 ms; Linux counts milliseconds.

use driftway_base::{Duration, Instant};

/// Shortest time to which a timer is set: with less, a timer that is rearmed each time it expires
/// would keep time from advancing.
pub(crate) const MIN_TIMER_SPAN: Duration = Duration::from_millis(1);

/// Tick lengths of the clock; zero means exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clock {
    /// Tick in which round trips are measured.
    pub rtt_tick: Duration,
    /// Tick at whose multiples timers expire.
    pub timer_tick: Duration,
    /// Time elapsed in the first tick at time zero.
    pub phase: Duration,
}

impl Clock {
    /// A clock with one tick for round trips and timers.
    pub const fn uniform(tick: Duration, phase: Duration) -> Self {
        Self { rtt_tick: tick, timer_tick: tick, phase }
    }

    /// Number of ticks of length `tick` that have begun by `now`.
    const fn ticks(self, now: Instant, tick: Duration) -> u64 {
        let phase = if tick.is_zero() { 0 } else { self.phase.as_nanos() % tick.as_nanos() };
        now.as_nanos().saturating_add(phase) / if tick.is_zero() { 1 } else { tick.as_nanos() }
    }

    /// Time between two instants in whole round-trip ticks.
    pub const fn measure_rtt(self, start: Instant, end: Instant) -> Duration {
        if self.rtt_tick.is_zero() {
            return end.since(start);
        }
        let ticks = self.ticks(end, self.rtt_tick).saturating_sub(self.ticks(start, self.rtt_tick));
        self.rtt_tick.times(ticks)
    }

    /// Instant at which a timer set to `span` now expires: on a tick, at least one tick away.
    pub fn deadline(self, now: Instant, span: Duration) -> Instant {
        self.deadline_with_tick(now, span, self.timer_tick)
    }

    /// Returns the same as [`deadline`](Self::deadline), for a timer with a `tick` of its own.
    pub fn deadline_with_tick(self, now: Instant, span: Duration, tick: Duration) -> Instant {
        if tick.is_zero() {
            return now + span.max(MIN_TIMER_SPAN);
        }
        let count = span.as_nanos().div_ceil(tick.as_nanos()).max(1);
        let at = self.ticks(now, tick).saturating_add(count).saturating_mul(tick.as_nanos());
        Instant::from_nanos(at.saturating_sub(self.phase.as_nanos() % tick.as_nanos()))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const BSD: Clock = Clock::uniform(Duration::from_millis(500), Duration::from_millis(100));

    #[test]
    fn two_slow_ticks_last_half_a_second_to_one() {
        // Ticks at 400, 900, 1400 ms …
        let rto = Duration::from_secs(1);
        assert_eq!(BSD.deadline(Instant::from_millis(400), rto), Instant::from_millis(1400));
        assert_eq!(BSD.deadline(Instant::from_millis(399), rto), Instant::from_millis(900));
        assert_eq!(BSD.deadline(Instant::from_millis(899), rto), Instant::from_millis(1400));
    }

    #[test]
    fn a_round_trip_is_measured_in_its_ticks() {
        let at = Instant::from_millis;
        assert_eq!(BSD.measure_rtt(at(401), at(899)), Duration::ZERO);
        assert_eq!(BSD.measure_rtt(at(399), at(401)), Duration::from_millis(500));
        assert_eq!(BSD.measure_rtt(at(399), at(1401)), Duration::from_millis(1500));
        let exact = Clock::default();
        assert_eq!(exact.measure_rtt(at(3), at(10)), Duration::from_millis(7));
        assert_eq!(exact.deadline(at(3), Duration::from_millis(7)), at(10));
    }

    #[test]
    fn the_shortest_timer_is_one_tick() {
        assert_eq!(
            BSD.deadline(Instant::from_millis(400), Duration::ZERO),
            Instant::from_millis(900)
        );
    }
}
