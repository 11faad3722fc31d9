//! A leg: a straight piece of a node's way, at one speed.

use driftway_base::Instant;

/// From `since` until `until` a node is at `(x, y) + (vx, vy) × (t − since)`.
///
/// A position is computed from the start of its leg, never from the position before, so it is the
/// same whoever asks and however often. The next leg starts where a node is said to be, not where
/// this one ends after rounding to nanoseconds: the two differ by less than a nanosecond's way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Leg {
    pub since: Instant,
    /// The next leg holds from here on; `FAR_FUTURE` for the last.
    pub until: Instant,
    /// Metres.
    pub x: f64,
    /// Metres.
    pub y: f64,
    /// Metres per nanosecond, so that the hot loop multiplies by integers as they are.
    pub vx: f64,
    /// Metres per nanosecond.
    pub vy: f64,
}

impl Leg {
    /// Stays at a place.
    pub const fn at_rest(since: Instant, until: Instant, (x, y): (f64, f64)) -> Self {
        Self { since, until, x, y, vx: 0.0, vy: 0.0 }
    }

    /// The way from one place to another at `speed` m/s, and when it is done. A way of no length
    /// (or at no speed) takes no time.
    pub fn towards(since: Instant, from: (f64, f64), to: (f64, f64), speed: f64) -> Self {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = (dx * dx + dy * dy).sqrt();
        if length <= 0.0 || speed <= 0.0 {
            return Self::at_rest(since, since, from);
        }
        let per_nano = speed * 1e-9 / length;
        Self {
            since,
            until: seconds_after(since, length / speed),
            x: from.0,
            y: from.1,
            vx: dx * per_nano,
            vy: dy * per_nano,
        }
    }

    /// The way from one place to another that takes from `since` until `until`, which is later.
    pub fn between(since: Instant, until: Instant, from: (f64, f64), to: (f64, f64)) -> Self {
        let nanos = until.since(since).as_nanos() as f64;
        let (vx, vy) = ((to.0 - from.0) / nanos, (to.1 - from.1) / nanos);
        Self { since, until, x: from.0, y: from.1, vx, vy }
    }

    /// Where a node on this leg is.
    pub fn at(&self, now: Instant) -> (f64, f64) {
        let passed = now.as_nanos() as f64 - self.since.as_nanos() as f64;
        (self.x + self.vx * passed, self.y + self.vy * passed)
    }

    /// Metres per nanosecond.
    pub fn speed(&self) -> f64 {
        (self.vx * self.vx + self.vy * self.vy).sqrt()
    }
}

/// The nanosecond nearest to `seconds` after `since`.
pub(crate) fn seconds_after(since: Instant, seconds: f64) -> Instant {
    since + driftway_base::Duration::from_nanos((seconds * 1e9 + 0.5) as u64)
}
