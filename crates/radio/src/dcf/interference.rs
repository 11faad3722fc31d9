//! Cumulative interference: the sum of all signals at a station besides the frame being received.
//!
//! Interference increases only when a frame arrives, so that a SINR that is sufficient at each
//! arrival is sufficient throughout.

use driftway_base::StationId;
use typed_index_collections::TiVec;

use super::transmission::TransmissionId;

/// A signal at a station.
#[derive(Clone, Copy, Debug)]
struct Signal {
    at: u64,
    until: u64,
    /// (W)
    power: f64,
    transmission: TransmissionId,
}

/// Signals at each station, in order of transmission.
#[derive(Clone, Debug)]
pub(super) struct Interference {
    /// One list per station; none if interference is not summed.
    stations: TiVec<StationId, Vec<Signal>>,
}

/// Initial capacity of each list.
const RESERVED_SIGNALS: usize = 16;

impl Interference {
    /// Creates lists for this number of stations; zero disables the sum.
    pub fn new(stations: usize) -> Self {
        Self { stations: (0..stations).map(|_| Vec::with_capacity(RESERVED_SIGNALS)).collect() }
    }

    /// Returns whether interference is summed.
    pub fn is_enabled(&self) -> bool {
        !self.stations.is_empty()
    }

    /// Adds a frame sent `now` that is at a station from `at` to `until` (ns).
    pub fn add(
        &mut self,
        now: u64,
        station: StationId,
        (at, until): (u64, u64),
        power: f64,
        transmission: TransmissionId,
    ) {
        let signals = &mut self.stations[station];
        signals.retain(|signal| signal.until > now);
        signals.push(Signal { at, until, power, transmission });
    }

    /// Returns the power (W) at a station besides one transmission.
    pub fn power_excluding(
        &self,
        station: StationId,
        at: u64,
        transmission: TransmissionId,
    ) -> f64 {
        let disturbs = |signal: &&Signal| {
            signal.transmission != transmission && signal.at <= at && at < signal.until
        };
        self.stations[station].iter().filter(disturbs).map(|signal| signal.power).sum()
    }
}
