//! What stands between two nodes: a factor of the pair's power, frozen for a run or changing as they
//! move.

use driftway_base::RandomStream;

use super::from_db;

/// No pair is further from the mean than this many standard deviations. One in 370 would be; the
/// model is made from measurements that say nothing about those.
pub(super) const MOST: f64 = 3.0;

/// Up to so many nodes the pairs' factors are kept, 4 MB at most; above they are drawn each time.
const KEPT: u32 = 1024;

/// So many values a decorrelation distance are drawn; between two of them, a factor lies between.
const DRAWN: f64 = 10.0;

/// The factor of each pair.
#[derive(Clone, Debug)]
pub(super) struct Shadowing {
    deviation_db: f64,
    seed: u64,
    /// Of each [`pair`]; empty for more nodes than are kept.
    kept: Box<[f64]>,
    changing: Option<Changing>,
}

/// The place of the pair of two nodes among all, in order of the higher number.
fn pair(one: u32, other: u32) -> usize {
    let (low, high) = (one.min(other) as usize, one.max(other) as usize);
    high * high.saturating_sub(1) / 2 + low
}

impl Shadowing {
    /// Factors in dB have this deviation; where a distance (m) is given, they change as nodes move.
    pub fn new(deviation_db: f64, decorrelation: Option<f64>, nodes: u32, seed: u64) -> Self {
        let mut shadowing = Self { deviation_db, seed, kept: Box::default(), changing: None };
        let pairs = || (0..nodes).flat_map(|high| (0..high).map(move |low| (low, high)));
        if nodes <= KEPT {
            shadowing.kept = pairs().map(|(low, high)| shadowing.draw(low, high)).collect();
        }
        shadowing.changing = decorrelation.map(|distance| {
            let streams = pairs().map(|(low, high)| stream(seed, low, high));
            Changing::new(distance, streams)
        });
        shadowing
    }

    /// Of the power between two nodes at the start.
    pub fn factor(&self, one: u32, other: u32) -> f64 {
        self.kept.get(pair(one, other)).copied().unwrap_or_else(|| self.draw(one, other))
    }

    /// The same when the two together have moved by so much (m).
    pub fn factor_after(&mut self, one: u32, other: u32, moved: f64) -> f64 {
        match &mut self.changing {
            Some(changing) => {
                from_db(changing.deviate(pair(one, other), moved) * self.deviation_db)
            }
            None => self.factor(one, other),
        }
    }

    fn draw(&self, one: u32, other: u32) -> f64 {
        from_db(normal(&mut stream(self.seed, one, other)) * self.deviation_db)
    }
}

fn stream(seed: u64, one: u32, other: u32) -> RandomStream {
    let (low, high) = (one.min(other), one.max(other));
    RandomStream::new(seed, "shadowing", u64::from(low) << 32 | u64::from(high))
}

/// A normal deviate by the polar method, drawn again while it is too far out.
fn normal(random: &mut RandomStream) -> f64 {
    loop {
        let (u, v) = (2.0 * random.unit() - 1.0, 2.0 * random.unit() - 1.0);
        let s = u * u + v * v;
        if s <= 0.0 || s >= 1.0 {
            continue;
        }
        let normal = u * (-2.0 * libm::log(s) / s).sqrt();
        if normal.abs() <= MOST {
            return normal;
        }
    }
}

/// Factors whose correlation falls exponentially with the way that both nodes have made since
/// (gudmundson-1991, for one end that moves; the product for two).
///
/// A first-order autoregression a pair, drawn in steps of the way: what a pair's factor is depends on
/// where its nodes have been alone, not on who has asked.
#[derive(Clone, Debug)]
struct Changing {
    /// The way from one draw to the next (m).
    step: f64,
    /// How much of a draw is in the next, and the deviation of what is new in it.
    kept: f64,
    new: f64,
    pairs: Box<[Pair]>,
}

#[derive(Clone, Debug)]
struct Pair {
    random: RandomStream,
    /// How many steps are behind `here`.
    steps: u64,
    /// In standard deviations.
    here: f64,
    next: f64,
}

impl Changing {
    fn new(decorrelation: f64, streams: impl Iterator<Item = RandomStream>) -> Self {
        let kept = libm::exp(-1.0 / DRAWN);
        let new = (1.0 - kept * kept).sqrt();
        let pair = |mut random: RandomStream| {
            let here = normal(&mut random);
            let next = kept * here + new * normal(&mut random);
            Pair { random, steps: 0, here, next }
        };
        Self { step: decorrelation / DRAWN, kept, new, pairs: streams.map(pair).collect() }
    }

    fn deviate(&mut self, pair: usize, moved: f64) -> f64 {
        let place = moved / self.step;
        let pair = &mut self.pairs[pair];
        while pair.steps < place as u64 {
            pair.here = pair.next;
            pair.next = self.kept * pair.here + self.new * normal(&mut pair.random);
            pair.steps += 1;
        }
        let between = (place - pair.steps as f64).clamp(0.0, 1.0);
        (pair.here + (pair.next - pair.here) * between).clamp(-MOST, MOST)
    }
}
