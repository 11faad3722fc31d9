//! Delays of the packets of a flow: their mean, their percentiles, and their variation.

use driftway_base::Duration;

use super::delay_histogram::DelayHistogram;

/// The delays of packets in the order of their delivery.
#[derive(Debug, Default)]
pub struct PacketDelays {
    sum: Duration,
    /// The number of packets.
    pub count: u64,
    /// The percentiles.
    pub histogram: DelayHistogram,
    /// The delay of the last packet.
    last: Option<Duration>,
    /// Sum of the absolute differences of successive delays.
    differences: Duration,
    /// The estimate of RFC 3550 in sixteenths of a nanosecond.
    jitter: u64,
}

impl PacketDelays {
    /// Adds the delay of the packet that is delivered next.
    pub fn add(&mut self, delay: Duration) {
        self.sum = self.sum + delay;
        self.count += 1;
        self.histogram.add(delay);
        if let Some(last) = self.last.replace(delay) {
            let difference = delay.max(last).saturating_sub(delay.min(last));
            self.differences = self.differences + difference;
            // RFC 3550 §6.4.1: J += (|D| − J)/16, with the integers of its §A.8.
            self.jitter = self.jitter + difference.as_nanos() - ((self.jitter + 8) >> 4);
        }
    }

    /// The mean (s); `None` without packets.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.as_secs_f64() / self.count as f64)
    }

    /// The interarrival jitter of RFC 3550 after the last packet (s); `None` below two packets.
    pub fn jitter(&self) -> Option<f64> {
        (self.count > 1).then(|| self.jitter as f64 / 16.0 / 1e9)
    }

    /// The mean of the absolute differences of successive delays (s); `None` below two packets.
    pub fn mean_difference(&self) -> Option<f64> {
        (self.count > 1).then(|| self.differences.as_secs_f64() / (self.count - 1) as f64)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn delays(millis: &[u64]) -> PacketDelays {
        let mut delays = PacketDelays::default();
        millis.iter().for_each(|delay| delays.add(Duration::from_millis(*delay)));
        delays
    }

    /// Differences of 16, 16 and 0 ms: J = 16/16 = 1 ms, then 1 + (16 − 1)/16 = 1.9375 ms, then
    /// 1.9375 − 1.9375/16 = 1.81640625 ms.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        assert_eq!(delays(&[10, 26]).jitter(), Some(0.001));
        assert_eq!(delays(&[10, 26, 10]).jitter(), Some(0.001_937_5));
        let jitter = delays(&[10, 26, 10, 10]).jitter().unwrap();
        assert!((jitter - 0.001_816_406_25).abs() < 1e-9, "{jitter}");
        assert_eq!(delays(&[10]).jitter(), None);
    }

    #[test]
    fn mean_jitter_is_the_mean_of_the_differences() {
        // (16 + 16 + 0 + 4)/4 and (10 + 26 + 10 + 10 + 14)/5
        let found = delays(&[10, 26, 10, 10, 14]);
        assert_eq!(found.mean_difference(), Some(0.009));
        assert!((found.mean().unwrap() - 0.014).abs() < 1e-12);
        assert_eq!(delays(&[10]).mean_difference(), None);
        assert_eq!(delays(&[]).mean(), None);
    }
}
