//! Random early detection: Floyd & Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance" (1993), recommended by RFC 2309; with marks instead of drops, RFC 3168.

use driftway_base::{Duration, Probability, RandomStream};

/// Parameters of RED. Thresholds are average numbers of queued frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Minimum threshold: below this average no frame is notified.
    pub min_threshold: f64,
    /// Maximum threshold: from this average on every frame is notified.
    pub max_threshold: f64,
    /// Notification probability as the average approaches `max_threshold`.
    pub max_probability: f64,
    /// Weight of the newest sample in the average.
    pub weight: f64,
    /// Transmission time of a typical small frame: while the transmitter is idle, the average
    /// decays by one sample of an empty queue per such interval.
    pub frame_time: Duration,
    /// Marks ECN-capable frames instead of dropping them, also above `max_threshold` (the paper
    /// marks every frame there). Other frames are dropped.
    pub ecn: bool,
}

impl RedConfig {
    /// Size of a typical small frame (bytes).
    pub const TYPICAL_FRAME_BYTES: u32 = 500;
}

/// State of RED in one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    average: f64,
    /// Frames since the last notification; `None` while the average is below the minimum.
    count: Option<u32>,
    stream: RandomStream,
}

impl Red {
    /// Creates the state of an empty queue, which `entity` names.
    pub(crate) const fn new(config: RedConfig, seed: u64, entity: u64) -> Self {
        let stream = RandomStream::new(seed, "link-red", entity);
        Self { config, average: 0.0, count: None, stream }
    }

    /// Returns the average number of queued frames.
    pub(crate) const fn average(&self) -> f64 {
        self.average
    }

    /// Returns true if notifications are marks.
    pub(crate) const fn can_mark(&self) -> bool {
        self.config.ecn
    }

    /// Decides whether an arriving frame is notified (marked or dropped). `waiting` is the number
    /// of queued frames; `idle` is the transmitter's idle time since the previous arrival, if any.
    /// Draws exactly one random number.
    pub(crate) fn on_arrival(&mut self, waiting: usize, idle: Option<Duration>) -> bool {
        self.update_average(waiting, idle);
        // floyd-jacobson-1993 Fig. 2: the count increases while the average is between the
        // thresholds, and restarts with each notification.
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        let notify = self.stream.bernoulli(self.notify_probability(count));
        self.count = self.is_above_min_threshold().then_some(if notify { 0 } else { count });
        notify
    }

    const fn is_above_min_threshold(&self) -> bool {
        self.average >= self.config.min_threshold
    }

    /// Returns the notification probability of the frame that arrives `count` frames after the last
    /// notification, or after the average entered the range.
    fn notify_probability(&self, count: u32) -> Probability {
        let RedConfig { min_threshold, max_threshold, max_probability, .. } = self.config;
        if !self.is_above_min_threshold() {
            return Probability::NEVER;
        }
        if self.average >= max_threshold {
            return Probability::ALWAYS;
        }
        // floyd-jacobson-1993 §4: this division spreads notifications uniformly.
        let base =
            max_probability * (self.average - min_threshold) / (max_threshold - min_threshold);
        let left = 1.0 - f64::from(count) * base;
        Probability::from_f64(if left > base { base / left } else { 1.0 })
    }

    fn update_average(&mut self, waiting: usize, idle: Option<Duration>) {
        let keep = 1.0 - self.config.weight;
        match idle {
            // floyd-jacobson-1993 §4: after idle time, as if the small frames that could have been
            // sent had arrived at an empty queue.
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

#[cfg(test)]
mod test {
    use super::*;

    const CONFIG: RedConfig = RedConfig {
        min_threshold: 1.0,
        max_threshold: 3.0,
        max_probability: 0.1,
        weight: 0.25,
        frame_time: Duration::from_millis(10),
        ecn: true,
    };

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn the_average_is_exponentially_weighted() {
        let mut red = Red::new(CONFIG, 1, 0);
        // By hand: 0.75 × old + 0.25 × found.
        for (found, average) in [(0, 0.0), (4, 1.0), (4, 1.75), (1, 1.5625), (0, 1.171_875)] {
            red.on_arrival(found, None);
            close(red.average(), average);
        }
    }

    #[test]
    fn idle_time_counts_as_small_frames_to_an_empty_queue() {
        let mut red = Red::new(CONFIG, 1, 0);
        red.on_arrival(8, None);
        close(red.average(), 2.0);
        red.on_arrival(0, Some(Duration::ZERO));
        close(red.average(), 2.0);
        // Two frames of 10 ms: 2 × 0.75².
        red.on_arrival(0, Some(Duration::from_millis(20)));
        close(red.average(), 1.125);
        // Half a frame: 1.125 × √0.75.
        red.on_arrival(0, Some(Duration::from_millis(5)));
        close(red.average(), 1.125 * 0.75_f64.sqrt());
        red.on_arrival(0, Some(Duration::from_secs(3600)));
        close(red.average(), 0.0);
    }

    #[test]
    fn without_a_frame_time_idle_time_resets_the_average() {
        let mut red = Red::new(RedConfig { frame_time: Duration::ZERO, ..CONFIG }, 1, 0);
        red.on_arrival(8, None);
        red.on_arrival(0, Some(Duration::ZERO));
        close(red.average(), 2.0);
        red.on_arrival(0, Some(Duration::from_nanos(1)));
        close(red.average(), 0.0);
    }

    #[test]
    fn the_probability_grows_with_the_average_and_the_count() {
        let mut red = Red::new(CONFIG, 1, 0);
        red.average = 0.999;
        assert_eq!(red.notify_probability(1000), Probability::NEVER);
        // Halfway: p_b = 0.05; p_a = p_b / (1 − count × p_b).
        red.average = 2.0;
        assert_eq!(red.notify_probability(0), Probability::from_f64(0.05));
        assert_eq!(red.notify_probability(10), Probability::from_f64(0.05 / 0.5));
        assert_eq!(red.notify_probability(19), Probability::ALWAYS);
        assert_eq!(red.notify_probability(u32::MAX), Probability::ALWAYS);
        red.average = 3.0;
        assert_eq!(red.notify_probability(0), Probability::ALWAYS);
    }

    #[test]
    fn the_count_restarts_when_the_average_leaves_the_range() {
        let config = RedConfig { weight: 0.0, max_probability: 0.0, ..CONFIG };
        let mut red = Red::new(config, 1, 0);
        red.average = 2.0;
        for count in 0..3 {
            red.on_arrival(2, None);
            assert_eq!(red.count, Some(count));
        }
        red.average = 0.5;
        red.on_arrival(2, None);
        assert_eq!(red.count, None);
    }

    /// floyd-jacobson-1993 §4: with a constant average, the number of frames from one notification
    /// to the next is uniform. As Fig. 2 counts (the frame after a notification has count 1), from
    /// 1 to 1/p_b − 1; to 1/p_b after the average entered the range.
    #[test]
    fn notifications_are_spread_evenly() {
        let mut red = Red::new(RedConfig { weight: 0.0, ..CONFIG }, 7, 0);
        red.average = 2.0;
        let (mut gaps, mut sum, mut gap) = (0_u32, 0_u32, 0_u32);
        for _ in 0..100_000 {
            gap += 1;
            if red.on_arrival(2, None) {
                assert!(gap <= 20, "{gap}");
                (gaps, sum, gap) = (gaps + 1, sum + gap, 0);
            }
        }
        let mean = f64::from(sum) / f64::from(gaps);
        assert!((mean - 10.0).abs() < 0.2, "{mean}");
    }

    #[test]
    fn a_nan_average_notifies_no_frame() {
        let mut red = Red::new(RedConfig { weight: f64::NAN, ..CONFIG }, 1, 0);
        assert!((0..100).all(|found| !red.on_arrival(found, None)));
    }
}
