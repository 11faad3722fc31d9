//! The current legs of all stations.

use driftway_base::StationId;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use crate::leg::Leg;

/// Current legs of the stations, one array per coordinate.
#[derive(Clone, Debug)]
pub(super) struct Legs {
    /// Start of the leg in nanoseconds: integers, which a float represents exactly for the first
    /// 104 days.
    pub since: TiVec<StationId, f64>,
    pub x: TiVec<StationId, f64>,
    pub y: TiVec<StationId, f64>,
    /// Metres per nanosecond.
    pub vx: TiVec<StationId, f64>,
    pub vy: TiVec<StationId, f64>,
    /// Distance moved before the leg (m).
    pub distance_before: TiVec<StationId, f64>,
}

impl Legs {
    pub fn new(stations: usize) -> Self {
        let zeros = || ti_vec![0.0; stations];
        Self {
            since: zeros(),
            x: zeros(),
            y: zeros(),
            vx: zeros(),
            vy: zeros(),
            distance_before: zeros(),
        }
    }

    /// Returns the distance that a station has moved (m).
    pub fn distance_moved(&self, station: StationId, now: f64) -> f64 {
        let (vx, vy) = (self.vx[station], self.vy[station]);
        self.distance_before[station] + (vx * vx + vy * vy).sqrt() * (now - self.since[station])
    }

    pub fn set(&mut self, station: StationId, leg: &Leg) {
        self.since[station] = leg.since.as_nanos() as f64;
        (self.x[station], self.y[station]) = (leg.x, leg.y);
        (self.vx[station], self.vy[station]) = (leg.vx, leg.vy);
    }

    /// Same as [`Leg::at`].
    #[inline]
    pub fn at(&self, station: StationId, now: f64) -> (f64, f64) {
        let passed = now - self.since[station];
        (self.x[station] + self.vx[station] * passed, self.y[station] + self.vy[station] * passed)
    }

    /// Computes the squared distances of all stations from a position.
    pub fn distances_squared(
        &self,
        now: f64,
        (x0, y0): (f64, f64),
        squares: &mut TiSlice<StationId, f64>,
    ) {
        // Slices of equal length, so that the loop needs no bounds checks.
        let squares = &mut squares.raw;
        let n = squares.len();
        let (since, x, y) = (&self.since.raw[..n], &self.x.raw[..n], &self.y.raw[..n]);
        let (vx, vy) = (&self.vx.raw[..n], &self.vy.raw[..n]);
        for i in 0..n {
            let passed = now - since[i];
            let dx = x[i] + vx[i] * passed - x0;
            let dy = y[i] + vy[i] * passed - y0;
            squares[i] = dx * dx + dy * dy;
        }
    }
}
