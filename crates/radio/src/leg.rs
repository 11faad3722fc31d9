//! Legs: straight segments of a station's trajectory at constant speed.

use driftway_base::Instant;

/// A leg: from `since` to `until` the station is at `(x, y) + (vx, vy) × (t − since)`.
///
/// A position is computed from the start of its leg, never from an earlier position, so that
/// queries do not change it. The next leg starts at its own position, not at the end of this one,
/// which is rounded to nanoseconds: the two differ by less than the distance moved in a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Start.
    pub since: Instant,
    /// Start of the next leg; `FAR_FUTURE` for the last.
    pub until: Instant,
    /// Metres.
    pub x: f64,
    /// Metres.
    pub y: f64,
    /// Metres per nanosecond, so that the inner loop multiplies by integers.
    pub vx: f64,
    /// Metres per nanosecond.
    pub vy: f64,
}

impl Leg {
    /// Creates a leg at rest.
    pub const fn at_rest(since: Instant, until: Instant, (x, y): (f64, f64)) -> Self {
        Self { since, until, x, y, vx: 0.0, vy: 0.0 }
    }

    /// Creates the leg from one position to another at `speed` m/s. With no distance (or no speed)
    /// it takes no time.
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

    /// Creates the leg from one position to another between `since` and a later `until`.
    pub fn between(since: Instant, until: Instant, from: (f64, f64), to: (f64, f64)) -> Self {
        let nanos = until.since(since).as_nanos() as f64;
        let (vx, vy) = ((to.0 - from.0) / nanos, (to.1 - from.1) / nanos);
        Self { since, until, x: from.0, y: from.1, vx, vy }
    }

    /// Returns the position at a time.
    pub fn at(&self, now: Instant) -> (f64, f64) {
        let passed = now.as_nanos() as f64 - self.since.as_nanos() as f64;
        (self.x + self.vx * passed, self.y + self.vy * passed)
    }

    /// Returns the speed in metres per nanosecond.
    pub fn speed(&self) -> f64 {
        (self.vx * self.vx + self.vy * self.vy).sqrt()
    }
}

/// Returns the instant `seconds` after `since`, rounded to the nearest nanosecond.
pub(crate) fn seconds_after(since: Instant, seconds: f64) -> Instant {
    since + driftway_base::Duration::from_nanos((seconds * 1e9 + 0.5) as u64)
}
