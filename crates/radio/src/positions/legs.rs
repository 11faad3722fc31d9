//! The current legs of all nodes.

use crate::leg::Leg;

/// Current legs of the nodes, one array per coordinate.
#[derive(Clone, Debug)]
pub(super) struct Legs {
    /// Start of the leg in nanoseconds: integers, which a float represents exactly for the first
    /// 104 days.
    pub since: Box<[f64]>,
    pub x: Box<[f64]>,
    pub y: Box<[f64]>,
    /// Metres per nanosecond.
    pub vx: Box<[f64]>,
    pub vy: Box<[f64]>,
    /// Distance moved before the leg (m).
    pub distance_before: Box<[f64]>,
}

impl Legs {
    pub fn new(nodes: usize) -> Self {
        let zeros = || vec![0.0; nodes].into_boxed_slice();
        Self {
            since: zeros(),
            x: zeros(),
            y: zeros(),
            vx: zeros(),
            vy: zeros(),
            distance_before: zeros(),
        }
    }

    /// Returns the distance that a node has moved (m).
    pub fn distance_moved(&self, node: usize, now: f64) -> f64 {
        let (vx, vy) = (self.vx[node], self.vy[node]);
        self.distance_before[node] + (vx * vx + vy * vy).sqrt() * (now - self.since[node])
    }

    pub fn set(&mut self, node: usize, leg: &Leg) {
        self.since[node] = leg.since.as_nanos() as f64;
        (self.x[node], self.y[node]) = (leg.x, leg.y);
        (self.vx[node], self.vy[node]) = (leg.vx, leg.vy);
    }

    /// Same as [`Leg::at`].
    #[inline]
    pub fn at(&self, node: usize, now: f64) -> (f64, f64) {
        let passed = now - self.since[node];
        (self.x[node] + self.vx[node] * passed, self.y[node] + self.vy[node] * passed)
    }

    /// Computes the squared distances of all nodes from a position.
    pub fn distances_squared(&self, now: f64, (x0, y0): (f64, f64), squares: &mut [f64]) {
        // Slices of equal length, so that the loop needs no bounds checks.
        let n = squares.len();
        let (since, x, y) = (&self.since[..n], &self.x[..n], &self.y[..n]);
        let (vx, vy) = (&self.vx[..n], &self.vy[..n]);
        for i in 0..n {
            let passed = now - since[i];
            let dx = x[i] + vx[i] * passed - x0;
            let dy = y[i] + vy[i] * passed - y0;
            squares[i] = dx * dx + dy * dy;
        }
    }
}
