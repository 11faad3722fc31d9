//! The clock of TCP's timers.
//!
//! 4.4BSD counts slow ticks of 500 ms: a timer set to two ticks expires at the second tick from
//! now, 0.5 to 1 s later, and a round trip is as long as the number of ticks within it. ns-2 rounds
//! round trips to 100 or 10 ms. Linux sorts timers into a wheel, whose buckets are the longer, the farther away they are.

use driftway_base::{Duration, Instant};

/// Shortest time to which a timer is set: with less, a timer that is rearmed each time it expires
/// would keep time from advancing.
pub(crate) const MIN_TIMER_SPAN: Duration = Duration::from_millis(1);

/// Ticks from which a timer is in the second level of the wheel, which has 64 buckets a level (LVL_START).
const SECOND_LEVEL: u64 = 63;
/// A bucket is as long as 8 of the level below (LVL_CLK_SHIFT).
const LEVEL_SHIFT: u32 = 3;
/// The highest level (LVL_DEPTH is 9 from 100 ticks a second).
const LAST_LEVEL: u32 = 8;

/// Tick lengths of the clock; zero means exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clock {
    /// Tick in which round trips are measured.
    pub rtt_tick: Duration,
    /// Tick at whose multiples timers expire.
    pub timer_tick: Duration,
    /// Timers expire as in the timer wheel of Linux (since 4.8): at the end of a bucket, which is a tick long for a
    /// timer of less than 63 ticks, 8 ticks for one of less than 504, 64 for one of less than 4032, and so on. The
    /// kernel's own documentation is in kernel/time/timer.c.
    pub wheel: bool,
    /// Time elapsed in the first tick at time zero; with a wheel in its longest bucket.
    pub phase: Duration,
}

impl Clock {
    /// A clock with one tick for round trips and timers.
    pub const fn uniform(tick: Duration, phase: Duration) -> Self {
        Self { rtt_tick: tick, timer_tick: tick, wheel: false, phase }
    }

    /// Number of ticks of length `tick` that have begun by `now`.
    const fn ticks(self, now: Instant, tick: Duration) -> u64 {
        let tick_nanos = if tick.is_zero() { 1 } else { tick.as_nanos() };
        now.as_nanos().saturating_add(self.phase_in(tick_nanos)) / tick_nanos
    }

    /// Time elapsed at time zero in a tick of this length (ns).
    const fn phase_in(self, tick_nanos: u64) -> u64 {
        let phase = self.phase.as_nanos();
        // A division takes longer than all the rest.
        if phase < tick_nanos { phase } else { phase % tick_nanos }
    }

    /// Time between two instants in whole round-trip ticks.
    pub const fn measure_rtt(self, start: Instant, end: Instant) -> Duration {
        if self.rtt_tick.is_zero() {
            return end.since(start);
        }
        let ticks = self.ticks(end, self.rtt_tick).saturating_sub(self.ticks(start, self.rtt_tick));
        self.rtt_tick.times(ticks)
    }

    /// Ticks of the longest bucket of the wheel.
    pub const LONGEST_BUCKET: u64 = 1 << (LEVEL_SHIFT * LAST_LEVEL);

    /// Instant at which a timer set to `span` now expires: on a tick, at least one tick away.
    pub fn deadline(self, now: Instant, span: Duration) -> Instant {
        if self.wheel && !self.timer_tick.is_zero() {
            return self.end_of_bucket(now, span);
        }
        self.deadline_with_tick(now, span, self.timer_tick)
    }

    /// Returns the same as [`deadline`](Self::deadline), for a delayed acknowledgment, which is exact without a wheel.
    pub fn ack_deadline(self, now: Instant, delay: Duration) -> Instant {
        let tick = if self.wheel { self.timer_tick } else { Duration::ZERO };
        Self { timer_tick: tick, ..self }.deadline(now, delay)
    }

    /// The first tick after time zero.
    pub fn first_tick(self) -> Instant {
        self.deadline_with_tick(Instant::ZERO, Duration::ZERO, self.timer_tick)
    }

    /// Time that Linux adds to the timers of RACK and of tail loss probes (TCP_TIMEOUT_MIN), so that they do not expire
    /// in the tick in which they are set.
    pub const fn short_timer_margin(self) -> Duration {
        if self.wheel { Duration::from_millis(2) } else { Duration::ZERO }
    }

    /// Unit of the retransmission timeout, which Linux keeps in whole ticks; zero: exact.
    pub const fn timeout_unit(self) -> Duration {
        if self.wheel { self.timer_tick } else { Duration::ZERO }
    }

    /// End of the bucket of the wheel that a timer is sorted into, which is later than the timer is due.
    fn end_of_bucket(self, now: Instant, span: Duration) -> Instant {
        let tick = self.timer_tick.as_nanos();
        let count = span.as_nanos().div_ceil(tick).max(1);
        let level = (0..LAST_LEVEL).find(|level| count < SECOND_LEVEL << (LEVEL_SHIFT * level));
        let shift = LEVEL_SHIFT * level.unwrap_or(LAST_LEVEL);
        let phase = self.phase.as_nanos();
        let due = (now.as_nanos().saturating_add(phase) / tick).saturating_add(count);
        let end = ((due >> shift) + 1).saturating_mul(1 << shift).saturating_mul(tick);
        Instant::from_nanos(end.saturating_sub(phase))
    }

    /// Returns the same as [`deadline`](Self::deadline), for a timer with a `tick` of its own.
    pub fn deadline_with_tick(self, now: Instant, span: Duration, tick: Duration) -> Instant {
        if tick.is_zero() {
            return now + span.max(MIN_TIMER_SPAN);
        }
        let count = span.as_nanos().div_ceil(tick.as_nanos()).max(1);
        let at = self.ticks(now, tick).saturating_add(count).saturating_mul(tick.as_nanos());
        Instant::from_nanos(at.saturating_sub(self.phase_in(tick.as_nanos())))
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
    fn a_timer_of_the_wheel_expires_at_the_end_of_its_bucket() {
        let tick = Duration::from_millis(4);
        let wheel = Clock { timer_tick: tick, wheel: true, ..Clock::default() };
        let after = |now, span| {
            let now = Instant::from_millis(now);
            wheel.deadline(now, Duration::from_millis(span)).since(now).as_nanos() / 1_000_000
        };
        // Less than 63 ticks: up to a tick late, and never early.
        assert_eq!([after(0, 40), after(3, 40), after(1, 37)], [44, 41, 43]);
        assert_eq!([after(0, 248), after(0, 249)], [252, 256]);
        // 63 to 503 ticks: buckets of 32 ms; from 504 ticks on of 256 ms; from 4032 on of 2048 ms.
        assert_eq!(
            [after(0, 252), after(4, 252), after(0, 1000), after(0, 2012)],
            [256, 284, 1024, 2016]
        );
        assert_eq!([after(0, 2016), after(0, 8000), after(0, 16_000)], [2048, 8192, 16_128]);
        assert_eq!(after(0, 16_128), 16_384);
        assert_eq!(wheel.ack_deadline(Instant::ZERO, tick.times(10)), Instant::from_millis(44));
        // A phase moves all buckets.
        let moved = Clock { phase: Duration::from_millis(250), ..wheel };
        assert_eq!(
            moved.deadline(Instant::ZERO, Duration::from_secs(3)),
            Instant::from_millis(3078)
        );
        let far = wheel.deadline(Instant::ZERO, Duration::from_nanos(u64::MAX));
        assert!(far > Instant::from_millis(1 << 40));
    }

    #[test]
    fn the_shortest_timer_is_one_tick() {
        assert_eq!(
            BSD.deadline(Instant::from_millis(400), Duration::ZERO),
            Instant::from_millis(900)
        );
    }
}
