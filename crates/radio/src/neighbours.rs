//! Received power of the neighbours' frames, and its trend.
//!
//! A node knows the power of each packet that it receives or overhears. The rate of change of that
//! power predicts how long a neighbour stays in range, before the first frame is lost.

use driftway_base::{Duration, Instant, Strength};

/// Minimum interval between two samples of a trend.
const APART: Duration = Duration::from_millis(100);
/// Inverse weight of a new sample in the smoothed trend, as in the SRTT (RFC 6298 §2.3).
const WEIGHT: f64 = 4.0;

/// Latest received power of each neighbour, at each node.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// Receive threshold (dBm).
    least: f64,
    /// Indexed by node, sorted by neighbour.
    heard: Vec<Vec<Heard>>,
}

#[derive(Clone, Copy, Debug)]
struct Heard {
    neighbour: u32,
    at: Instant,
    /// Received power (dBm).
    power: f64,
    /// Smoothed trend (dB/s).
    trend: Option<f64>,
    /// Time and power (dBm) of the last sample in the trend.
    since: (Instant, f64),
}

impl Neighbours {
    /// Creates the state of `nodes` nodes with a receive threshold of `receive_power` (W).
    pub fn new(nodes: usize, receive_power: f64) -> Self {
        Self { least: dbm(receive_power), heard: vec![Vec::new(); nodes] }
    }

    /// Records a frame of `neighbour` that `node` received or overheard with this power (W).
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

    /// Returns the latest received power of a neighbour and its trend; `None` if none was ever
    /// received.
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
    // The cast saturates.
    libm::round(value * 100.0) as i32
}

#[cfg(test)]
mod test {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A neighbour moving away at 10 m/s from 150 m, received every `gap` ms; power falls with the
    /// fourth power of the distance, and the receive range is 250 m.
    fn driving_away(gap: u64, until: u64) -> Neighbours {
        let power = |metres: f64| 1e-3 / (metres * metres * metres * metres);
        let mut neighbours = Neighbours::new(2, power(250.0));
        for now in (0..=until).step_by(gap as usize) {
            neighbours.on_heard(at(now), 0, 1, power(150.0 + now as f64 / 100.0));
        }
        neighbours
    }

    #[test]
    fn a_departing_neighbour_has_a_falling_trend() {
        for gap in [10, 150, 1000] {
            let strength = driving_away(gap, 9_000).strength(0, 1).unwrap();
            assert_eq!((strength.at, strength.least), (at(9_000), -9592), "every {gap} ms");
            // The true value is 1 s; the trend is an average of the past, and the power falls ever
            // more slowly.
            let lead = strength.lead().unwrap().as_millis();
            assert!((800..=1_000).contains(&lead), "every {gap} ms: {lead}");
        }
    }

    #[test]
    fn a_trend_needs_two_samples_and_ends_after_a_long_silence() {
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
