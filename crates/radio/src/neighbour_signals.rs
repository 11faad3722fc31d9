//! Received power of the neighbours' frames, and its trend.
//!
//! A node knows the power of each packet that it receives or overhears. The rate of change of that
//! power predicts how long a neighbour stays in range, before the first frame is lost.

use driftway_base::{Duration, Instant, NodeId, ReceivedPower};
use typed_index_collections::{TiVec, ti_vec};

/// Minimum interval between two samples of a trend.
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Inverse weight of a new sample in the smoothed trend, as in the SRTT (RFC 6298 §2.3).
const TREND_SMOOTHING: f64 = 4.0;

/// Latest received power of each neighbour, at each node.
#[derive(Clone, Debug)]
pub struct NeighbourSignals {
    /// Receive threshold (dBm).
    receive_threshold: f64,
    /// Sorted by neighbour.
    signals: TiVec<NodeId, Vec<SignalTrend>>,
}

#[derive(Clone, Copy, Debug)]
struct SignalTrend {
    neighbour: NodeId,
    at: Instant,
    /// Received power (dBm).
    power: f64,
    /// Smoothed trend (dB/s).
    trend: Option<f64>,
    /// Time and power (dBm) of the last sample in the trend.
    trend_sample: (Instant, f64),
}

impl NeighbourSignals {
    /// Creates the state of `nodes` nodes with a receive threshold of `receive_power` (W).
    pub fn new(nodes: usize, receive_power: f64) -> Self {
        Self { receive_threshold: watts_to_dbm(receive_power), signals: ti_vec![Vec::new(); nodes] }
    }

    /// Records a frame of `neighbour` that `node` received or overheard with this power (W).
    pub fn on_signal(&mut self, now: Instant, node: NodeId, neighbour: NodeId, power: f64) {
        let Some(heard) = self.signals.get_mut(node) else { return };
        let power = watts_to_dbm(power);
        let new =
            SignalTrend { neighbour, at: now, power, trend: None, trend_sample: (now, power) };
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

    /// Returns the latest received power of a neighbour and its trend; `None` if none was ever
    /// received.
    pub fn received_power(&self, node: NodeId, neighbour: NodeId) -> Option<ReceivedPower> {
        let heard = self.signals.get(node)?;
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
    // The cast saturates.
    libm::round(value * 100.0) as i32
}

#[cfg(test)]
mod test {
    use super::*;

    const A: NodeId = NodeId::new(0);
    const B: NodeId = NodeId::new(1);
    const UNKNOWN: NodeId = NodeId::new(9);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A neighbour moving away at 10 m/s from 150 m, received every `gap` ms; power falls with the
    /// fourth power of the distance, and the receive range is 250 m.
    fn driving_away(gap: u64, until: u64) -> NeighbourSignals {
        let power = |metres: f64| 1e-3 / (metres * metres * metres * metres);
        let mut neighbours = NeighbourSignals::new(2, power(250.0));
        for now in (0..=until).step_by(gap as usize) {
            neighbours.on_signal(at(now), A, B, power(150.0 + now as f64 / 100.0));
        }
        neighbours
    }

    #[test]
    fn a_departing_neighbour_has_a_falling_trend() {
        for gap in [10, 150, 1000] {
            let strength = driving_away(gap, 9_000).received_power(A, B).unwrap();
            assert_eq!(
                (strength.heard_at, strength.sensitivity_mbm),
                (at(9_000), -9592),
                "every {gap} ms"
            );
            // The true value is 1 s; the trend is an average of the past, and the power falls ever
            // more slowly.
            let lead = strength.expected_lifetime().unwrap().as_millis();
            assert!((800..=1_000).contains(&lead), "every {gap} ms: {lead}");
        }
    }

    #[test]
    fn a_trend_needs_two_samples_and_ends_after_a_long_silence() {
        let mut neighbours = NeighbourSignals::new(3, 1e-12);
        assert_eq!(neighbours.received_power(A, B), None);
        neighbours.on_signal(at(0), A, B, 1e-9);
        neighbours.on_signal(at(99), A, B, 5e-10);
        let strength = neighbours.received_power(A, B).unwrap();
        assert_eq!(
            (strength.power_mbm, strength.trend_cdb_per_s, strength.expected_lifetime()),
            (-6301, None, None)
        );
        neighbours.on_signal(at(100), A, B, 5e-10);
        assert_eq!(neighbours.received_power(A, B).unwrap().trend_cdb_per_s, Some(-3010));
        neighbours.on_signal(at(6_000), A, B, 1e-11);
        assert_eq!(neighbours.received_power(A, B).unwrap().trend_cdb_per_s, None);
        assert_eq!(
            (neighbours.received_power(B, A), neighbours.received_power(UNKNOWN, A)),
            (None, None)
        );
        neighbours.on_signal(at(6_000), UNKNOWN, A, 1e-11);
    }
}
