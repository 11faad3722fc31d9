//! Random early detection: Floyd & Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance" (1993), recommended by RFC 2309; with marks instead of drops, RFC 3168.

use base::{Chance, Duration, RandomStream};

/// What RED is told. Thresholds count waiting frames, averaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Below this average nobody is notified.
    pub min_threshold: f64,
    /// From this average on everybody is.
    pub max_threshold: f64,
    /// The probability of a notification as the average comes to `max_threshold`.
    pub max_probability: f64,
    /// The weight of the newest sample in the average.
    pub weight: f64,
    /// How long a typical small frame takes to send: the average decays by one sample of an empty
    /// queue for each such span that the transmitter is idle.
    pub frame_time: Duration,
    /// Notify frames that can be marked by a mark. Others are dropped.
    pub ecn: bool,
}

/// The state of RED in one queue.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    average: f64,
    /// Frames since the last notification; none while the average is below the minimum.
    since_notified: Option<u32>,
    stream: RandomStream,
}

impl Red {
    /// An empty queue's. `entity` names the queue.
    pub const fn new(config: RedConfig, seed: u64, entity: u64) -> Self {
        let stream = RandomStream::new(seed, "link-red", entity);
        Self { config, average: 0.0, since_notified: None, stream }
    }

    /// The average number of waiting frames.
    pub const fn average(&self) -> f64 {
        self.average
    }

    /// Can a notification be a mark?
    pub const fn marks(&self) -> bool {
        self.config.ecn
    }

    /// A frame arrives and finds `waiting` others; `idle` is how long the transmitter had nothing
    /// to send since the previous arrival, if it had. Is this frame to be notified (marked or
    /// dropped)? Takes exactly one random number.
    pub fn on_arrival(&mut self, waiting: usize, idle: Option<Duration>) -> bool {
        self.update_average(waiting, idle);
        let in_range = self.average >= self.config.min_threshold;
        // floyd-jacobson-1993 Fig. 2: the count goes on while the average is between the
        // thresholds, and starts anew with each notification.
        let count = self.since_notified.map_or(0, |count| count.saturating_add(1));
        let notify = self.stream.hits(self.chance(count));
        self.since_notified = in_range.then_some(if notify { 0 } else { count });
        notify
    }

    /// The chance that the frame which comes `count` frames after the last notification, or after
    /// the average came into the range, is notified.
    fn chance(&self, count: u32) -> Chance {
        let RedConfig { min_threshold, max_threshold, max_probability, .. } = self.config;
        if self.average < min_threshold {
            return Chance::NEVER;
        }
        if self.average >= max_threshold {
            return Chance::ALWAYS;
        }
        // floyd-jacobson-1993 §4: dividing by what is left spreads notifications evenly.
        let base =
            max_probability * (self.average - min_threshold) / (max_threshold - min_threshold);
        let left = 1.0 - f64::from(count) * base;
        Chance::from_probability(if left > base { base / left } else { 1.0 })
    }

    fn update_average(&mut self, waiting: usize, idle: Option<Duration>) {
        let keep = 1.0 - self.config.weight;
        match idle {
            // floyd-jacobson-1993 §4: after idle time, as if so many small frames had arrived to
            // an empty queue as could have been sent meanwhile.
            Some(idle) if self.config.frame_time.is_zero() && !idle.is_zero() => self.average = 0.0,
            Some(idle) if !idle.is_zero() => {
                let frames = idle.as_nanos() as f64 / self.config.frame_time.as_nanos() as f64;
                self.average *= libm::pow(keep, frames);
            }
            Some(_) => {}
            None => self.average = keep * self.average + self.config.weight * waiting as f64,
        }
    }
}
