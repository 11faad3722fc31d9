//! What stands between two nodes: a factor of the pair's power, frozen for a run.

use base::RandomStream;

use super::from_db;

/// No pair is further from the mean than this many standard deviations. One in 370 would be; the
/// model is made from measurements that say nothing about those.
pub(super) const MOST: f64 = 3.0;

/// Up to so many nodes the pairs' factors are kept, 4 MB at most; above they are drawn each time.
const KEPT: u32 = 1024;

/// The factor of each pair.
#[derive(Clone, Debug)]
pub(super) struct Shadowing {
    deviation_db: f64,
    seed: u64,
    /// Of the pair (i, j), i < j, at j·(j−1)/2 + i; empty for more nodes than are kept.
    kept: Box<[f64]>,
}

impl Shadowing {
    pub fn new(deviation_db: f64, nodes: u32, seed: u64) -> Self {
        let mut shadowing = Self { deviation_db, seed, kept: Box::default() };
        if nodes <= KEPT {
            let pairs = (0..nodes).flat_map(|high| (0..high).map(move |low| (low, high)));
            shadowing.kept = pairs.map(|(low, high)| shadowing.draw(low, high)).collect();
        }
        shadowing
    }

    /// Of the power between two nodes.
    pub fn factor(&self, one: u32, other: u32) -> f64 {
        let (low, high) = (one.min(other), one.max(other));
        let pair = high as usize * (high as usize).saturating_sub(1) / 2 + low as usize;
        self.kept.get(pair).copied().unwrap_or_else(|| self.draw(low, high))
    }

    /// A normal deviate by the polar method, drawn again while it is too far out.
    fn draw(&self, low: u32, high: u32) -> f64 {
        let pair = u64::from(low) << 32 | u64::from(high);
        let mut random = RandomStream::new(self.seed, "shadowing", pair);
        loop {
            let (u, v) = (2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0);
            let s = u * u + v * v;
            if s <= 0.0 || s >= 1.0 {
                continue;
            }
            let normal = u * (-2.0 * libm::log(s) / s).sqrt();
            if normal.abs() <= MOST {
                return from_db(normal * self.deviation_db);
            }
        }
    }
}
