//! What nodes hear of their neighbours' signals.
//!
//! A node knows the power of each packet that it receives or overhears. From how that changes it
//! knows how long a neighbour stays in reach, before a frame is lost.

use driftway_base::{Duration, Instant, Strength};

/// Samples nearer to each other than this say nothing of a trend.
const APART: Duration = Duration::from_millis(100);
/// The weight of a new sample in the trend: one in so many, as in TCP's round-trip time
/// (RFC 6298 §2.3).
const WEIGHT: f64 = 4.0;

/// Who was heard last, when, and how well, at each node.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// What is needed to receive a frame (dBm).
    least: f64,
    /// By node, sorted by neighbour.
    heard: Vec<Vec<Heard>>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    neighbour: u32,
    at: Instant,
    /// dBm
    power: f64,
    /// Decibels per second.
    trend: Option<f64>,
    /// The last sample of which the trend was made.
    since: (Instant, f64),
}

impl Neighbours {
    /// Of so many nodes, whose radios receive from this power on (W).
    pub fn new(nodes: usize, receive_power: f64) -> Self {
        Self { least: dbm(receive_power), heard: vec![Vec::new(); nodes] }
    }

    /// A node hears another with this power (W).
    pub fn on_heard(&mut self, now: Instant, node: u32, neighbour: u32, power: f64) {
        let Some(heard) = self.heard.get_mut(node as usize) else { return };
        let power = dbm(power);
        let new = Heard { neighbour, at: now, power, trend: None, since: (now, power) };
        match heard.binary_search_by_key(&neighbour, |heard| heard.neighbour) {
            Err(place) => heard.insert(place, new),
            Ok(place) => {
                let Some(known) = heard.get_mut(place) else { return };
                if now.since(known.at) > Strength::LASTS {
                    *known = new;
                } else {
                    known.goes_on(now, power);
                }
            }
        }
    }

    /// What a node knows of a neighbour; `None` if it has never heard it.
    pub fn strength(&self, node: u32, neighbour: u32) -> Option<Strength> {
        let heard = self.heard.get(node as usize)?;
        let place = heard.binary_search_by_key(&neighbour, |heard| heard.neighbour).ok()?;
        let heard = heard.get(place)?;
        Some(Strength {
            at: heard.at,
            power: hundredths(heard.power),
            trend: heard.trend.map(hundredths),
            least: hundredths(self.least),
        })
    }
}

impl Heard {
    fn goes_on(&mut self, now: Instant, power: f64) {
        (self.at, self.power) = (now, power);
        let (since, before) = self.since;
        let span = now.since(since);
        if span < APART {
            return;
        }
        let new = (power - before) / span.as_secs_f64();
        self.trend = Some(self.trend.map_or(new, |trend| trend + (new - trend) / WEIGHT));
        self.since = (now, power);
    }
}

fn dbm(watts: f64) -> f64 {
    10.0 * libm::log10(watts) + 30.0
}

fn hundredths(value: f64) -> i32 {
    // A cast saturates.
    libm::round(value * 100.0) as i32
}

#[cfg(test)]
mod test {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Heard each `gap` ms at 10 m/s away from 150 m on, where power falls with the fourth power of the
    /// distance, and received up to 250 m.
    fn driving_away(gap: u64, until: u64) -> Neighbours {
        let power = |metres: f64| 1e-3 / (metres * metres * metres * metres);
        let mut neighbours = Neighbours::new(2, power(250.0));
        for now in (0..=until).step_by(gap as usize) {
            neighbours.on_heard(at(now), 0, 1, power(150.0 + now as f64 / 100.0));
        }
        neighbours
    }

    #[test]
    fn a_neighbour_that_drives_away_is_known_to_fade() {
        for gap in [10, 150, 1000] {
            let strength = driving_away(gap, 9_000).strength(0, 1).unwrap();
            assert_eq!((strength.at, strength.least), (at(9_000), -9592), "every {gap} ms");
            // In truth a second; the trend is the past's, and power falls more and more slowly.
            let lead = strength.lead().unwrap().as_millis();
            assert!((800..=1_000).contains(&lead), "every {gap} ms: {lead}");
        }
    }

    #[test]
    fn one_sample_has_no_trend_and_a_long_silence_ends_it() {
        let mut neighbours = Neighbours::new(3, 1e-12);
        assert_eq!(neighbours.strength(0, 1), None);
        neighbours.on_heard(at(0), 0, 1, 1e-9);
        neighbours.on_heard(at(99), 0, 1, 5e-10);
        let strength = neighbours.strength(0, 1).unwrap();
        assert_eq!((strength.power, strength.trend, strength.lead()), (-6301, None, None));
        neighbours.on_heard(at(100), 0, 1, 5e-10);
        assert_eq!(neighbours.strength(0, 1).unwrap().trend, Some(-3010));
        neighbours.on_heard(at(6_000), 0, 1, 1e-11);
        assert_eq!(neighbours.strength(0, 1).unwrap().trend, None);
        assert_eq!((neighbours.strength(1, 0), neighbours.strength(9, 0)), (None, None));
        neighbours.on_heard(at(6_000), 9, 0, 1e-11);
    }
}
