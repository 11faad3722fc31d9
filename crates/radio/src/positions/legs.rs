//! The current legs of stations.

use driftway_base::StationId;
use typed_index_collections::{TiVec, ti_vec};

use crate::leg::Leg;

/// Current legs of all stations by number, and how far they have moved.
#[derive(Clone, Debug)]
pub(super) struct Legs {
    pub current: LegArrays,
    /// Distance moved before the leg (m).
    pub distance_before: TiVec<StationId, f64>,
}

impl Legs {
    pub fn new(stations: usize) -> Self {
        Self { current: LegArrays::new(stations), distance_before: ti_vec![0.0; stations] }
    }

    /// Returns the distance that a station has moved (m).
    pub fn distance_moved(&self, station: StationId, now: f64) -> f64 {
        let place = station.index();
        let speed = self.current.speed_squared(place).sqrt();
        self.distance_before[station] + speed * (now - self.current.since[place])
    }
}

/// Legs, one array per coordinate, so that the compiler vectorizes the loop over them.
#[derive(Clone, Debug)]
pub(super) struct LegArrays {
    /// Start of the leg in nanoseconds: integers, which a float represents exactly for the first
    /// 104 days.
    since: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Metres per nanosecond.
    vx: Vec<f64>,
    vy: Vec<f64>,
}

impl LegArrays {
    /// Creates this number of legs at rest.
    pub fn new(count: usize) -> Self {
        let zeros = || vec![0.0; count];
        Self { since: zeros(), x: zeros(), y: zeros(), vx: zeros(), vy: zeros() }
    }

    /// Creates an empty list with room for this number of legs.
    pub fn with_capacity(count: usize) -> Self {
        let none = || Vec::with_capacity(count);
        Self { since: none(), x: none(), y: none(), vx: none(), vy: none() }
    }

    pub fn clear(&mut self) {
        let Self { since, x, y, vx, vy } = self;
        [since, x, y, vx, vy].into_iter().for_each(Vec::clear);
    }

    pub fn set(&mut self, place: usize, leg: &Leg) {
        self.since[place] = leg.since.as_nanos() as f64;
        (self.x[place], self.y[place]) = (leg.x, leg.y);
        (self.vx[place], self.vy[place]) = (leg.vx, leg.vy);
    }

    /// Appends a copy of another's leg.
    pub fn push(&mut self, from: &Self, place: usize) {
        self.since.push(from.since[place]);
        self.x.push(from.x[place]);
        self.y.push(from.y[place]);
        self.vx.push(from.vx[place]);
        self.vy.push(from.vy[place]);
    }

    /// Returns the squared speed (square metres per square nanosecond).
    pub fn speed_squared(&self, place: usize) -> f64 {
        let (vx, vy) = (self.vx[place], self.vy[place]);
        vx * vx + vy * vy
    }

    /// Same as [`Leg::at`].
    #[inline]
    pub fn at(&self, place: usize, now: f64) -> (f64, f64) {
        let passed = now - self.since[place];
        (self.x[place] + self.vx[place] * passed, self.y[place] + self.vy[place] * passed)
    }

    /// Computes the squared distances of as many stations as `squares` has room for, from `start` on, from
    /// a position.
    #[inline]
    pub fn distances_squared(
        &self,
        start: usize,
        now: f64,
        (x0, y0): (f64, f64),
        squares: &mut [f64],
    ) {
        // Slices of equal length, so that the loop needs no bounds checks.
        let n = squares.len();
        let range = start..start + n;
        let (since, x, y) =
            (&self.since[range.clone()], &self.x[range.clone()], &self.y[range.clone()]);
        let (vx, vy) = (&self.vx[range.clone()], &self.vy[range]);
        let (since, x, y, vx, vy) = (&since[..n], &x[..n], &y[..n], &vx[..n], &vy[..n]);
        for i in 0..n {
            let passed = now - since[i];
            let dx = x[i] + vx[i] * passed - x0;
            let dy = y[i] + vy[i] * passed - y0;
            squares[i] = dx * dx + dy * dy;
        }
    }
}
