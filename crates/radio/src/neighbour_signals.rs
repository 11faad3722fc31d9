//! What nodes hear of their neighbours' signals.
//!
//! A node knows the power of each packet that it receives or overhears. From how that changes it
//! knows how long a neighbour stays in reach, before a frame is lost.

use driftway_base::{Duration, Instant, ReceivedPower};

/// Samples nearer to each other than this say nothing of a trend.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// The weight of a new sample in the trend: one in so many, as in TCP's round-trip time
/// (RFC 6298 §2.3).
const TREND_SMOOTHING: f64 = 4.0;

/// Who was heard last, when, and how well, at each node.
#[derive(Clone, Debug)]
pub struct NeighbourSignals {
    /// What is needed to receive a frame (dBm).
    receive_threshold: f64,
    /// By node, sorted by neighbour.
    signals: Vec<Vec<SignalTrend>>,
}

#[derive(Clone, Copy, Debug)]
struct SignalTrend {
    neighbour: u32,
    at: Instant,
    /// dBm
    power: f64,
    /// Decibels per second.
    trend: Option<f64>,
    /// The last sample of which the trend was made.
    trend_sample: (Instant, f64),
}

impl NeighbourSignals {
    /// Of so many nodes, whose radios receive from this power on (W).
    pub fn new(nodes: usize, receive_power: f64) -> Self {
        Self { receive_threshold: watts_to_dbm(receive_power), signals: vec![Vec::new(); nodes] }
    }

    /// A node hears another with this power (W).
    pub fn on_signal(&mut self, now: Instant, node: u32, neighbour: u32, power: f64) {
        let Some(heard) = self.signals.get_mut(node as usize) else { return };
        let power = watts_to_dbm(power);
        let new = SignalTrend { neighbour, at: now, power, trend: None, trend_sample: (now, power) };
        match heard.binary_search_by_key(&neighbour, |heard| heard.neighbour) {
            Err(place) => heard.insert(place, new),
            Ok(place) => {
                let Some(known) = heard.get_mut(place) else { return };
                if now.since(known.at) > ReceivedPower::TREND_VALIDITY {
                    *known = new;
                } else {
                    known.add_sample(now, power);
                }
            }
        }
    }

    /// What a node knows of a neighbour; `None` if it has never heard it.
    pub fn received_power(&self, node: u32, neighbour: u32) -> Option<ReceivedPower> {
        let heard = self.signals.get(node as usize)?;
        let place = heard.binary_search_by_key(&neighbour, |heard| heard.neighbour).ok()?;
        let heard = heard.get(place)?;
        Some(ReceivedPower {
            heard_at: heard.at,
            power_mbm: to_hundredths(heard.power),
            trend_cdb_per_s: heard.trend.map(to_hundredths),
            sensitivity_mbm: to_hundredths(self.receive_threshold),
        })
    }
}

impl SignalTrend {
    fn add_sample(&mut self, now: Instant, power: f64) {
        (self.at, self.power) = (now, power);
        let (since, before) = self.trend_sample;
        let span = now.since(since);
        if span < MIN_SAMPLE_INTERVAL {
            return;
        }
        let new = (power - before) / span.as_secs_f64();
        self.trend = Some(self.trend.map_or(new, |trend| trend + (new - trend) / TREND_SMOOTHING));
        self.trend_sample = (now, power);
    }
}

fn watts_to_dbm(watts: f64) -> f64 {
    10.0 * libm::log10(watts) + 30.0
}

fn to_hundredths(value: f64) -> i32 {
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
    fn driving_away(gap: u64, until: u64) -> NeighbourSignals {
        let power = |metres: f64| 1e-3 / (metres * metres * metres * metres);
        let mut neighbours = NeighbourSignals::new(2, power(250.0));
        for now in (0..=until).step_by(gap as usize) {
            neighbours.on_signal(at(now), 0, 1, power(150.0 + now as f64 / 100.0));
        }
        neighbours
    }

    #[test]
    fn a_neighbour_that_drives_away_is_known_to_fade() {
        for gap in [10, 150, 1000] {
            let strength = driving_away(gap, 9_000).received_power(0, 1).unwrap();
            assert_eq!((strength.heard_at, strength.sensitivity_mbm), (at(9_000), -9592), "every {gap} ms");
            // In truth a second; the trend is the past's, and power falls more and more slowly.
            let lead = strength.expected_lifetime().unwrap().as_millis();
            assert!((800..=1_000).contains(&lead), "every {gap} ms: {lead}");
        }
    }

    #[test]
    fn one_sample_has_no_trend_and_a_long_silence_ends_it() {
        let mut neighbours = NeighbourSignals::new(3, 1e-12);
        assert_eq!(neighbours.received_power(0, 1), None);
        neighbours.on_signal(at(0), 0, 1, 1e-9);
        neighbours.on_signal(at(99), 0, 1, 5e-10);
        let strength = neighbours.received_power(0, 1).unwrap();
        assert_eq!((strength.power_mbm, strength.trend_cdb_per_s, strength.expected_lifetime()), (-6301, None, None));
        neighbours.on_signal(at(100), 0, 1, 5e-10);
        assert_eq!(neighbours.received_power(0, 1).unwrap().trend_cdb_per_s, Some(-3010));
        neighbours.on_signal(at(6_000), 0, 1, 1e-11);
        assert_eq!(neighbours.received_power(0, 1).unwrap().trend_cdb_per_s, None);
        assert_eq!((neighbours.received_power(1, 0), neighbours.received_power(9, 0)), (None, None));
        neighbours.on_signal(at(6_000), 9, 0, 1e-11);
    }
}
