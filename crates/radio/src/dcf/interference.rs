//! Power that adds up: all that is on the air at a station besides the frame that it receives.
//!
//! Interference grows only when a frame arrives, so that a ratio that holds at each arrival holds
//! throughout.

/// A frame at a station.
#[derive(Clone, Copy, Debug)]
struct Signal {
    at: u64,
    until: u64,
    /// (W)
    power: f64,
    transmission: u32,
}

/// The frames at each station, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Interference {
    /// One list a station; none where power does not add up.
    stations: Vec<Vec<Signal>>,
}

/// So many frames at once have room from the start.
const RESERVED_SIGNALS: usize = 16;

impl Interference {
    /// For so many stations; zero where nothing is kept.
    pub fn new(stations: usize) -> Self {
        Self { stations: vec![Vec::with_capacity(RESERVED_SIGNALS); stations] }
    }

    /// Does power add up?
    pub fn is_enabled(&self) -> bool {
        !self.stations.is_empty()
    }

    /// A frame sent `now` is at a station from `at` to `until` (ns).
    pub fn add(&mut self, now: u64, node: u32, (at, until): (u64, u64), power: f64, flight: u32) {
        let waves = &mut self.stations[node as usize];
        waves.retain(|wave| wave.until > now);
        waves.push(Signal { at, until, power, transmission: flight });
    }

    /// What is at a station at this instant besides one flight (W).
    pub fn power_excluding(&self, node: u32, at: u64, flight: u32) -> f64 {
        let disturbs = |wave: &&Signal| wave.transmission != flight && wave.at <= at && at < wave.until;
        self.stations[node as usize].iter().filter(disturbs).map(|wave| wave.power).sum()
    }
}
