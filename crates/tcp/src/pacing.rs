//! Pacing: data leaves at a rate, in bursts of a quantum.

use driftway_base::{Duration, Instant};

use crate::congestion::PacingRate;

/// State of pacing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacing {
    /// The next burst may leave.
    next: Instant,
    /// Rest of the present burst (bytes).
    burst_left: u32,
}

impl Pacing {
    /// Time at which data may leave; `None`: now.
    pub fn waits_until(&self, now: Instant) -> Option<Instant> {
        (self.burst_left == 0 && self.next > now).then_some(self.next)
    }

    /// Records that `len` bytes have left.
    pub fn on_sent(&mut self, now: Instant, len: u32, mss: u32, rate: PacingRate) {
        let span = Duration::from_nanos((f64::from(len) * 1e9 / rate.bytes_per_second) as u64);
        // What an earlier burst has left over is not added to the next one.
        if self.burst_left == 0 || self.next <= now {
            // A late burst shortens the next wait, by at most half, as in Linux.
            let late = now.since(self.next).min(span.over(2));
            self.next = now + span.saturating_sub(late);
            self.burst_left = rate.quantum.saturating_sub(len);
        } else {
            self.next = self.next.max(now) + span;
            self.burst_left = self.burst_left.saturating_sub(len);
        }
        if self.burst_left < mss {
            self.burst_left = 0;
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn bursts_of_a_quantum_leave_at_the_rate() {
        let rate = PacingRate { bytes_per_second: 1e6, quantum: 2000 };
        let mut pacing = Pacing::default();
        let (mut now, mut left) = (Instant::from_secs(1), std::vec![]);
        for _ in 0..7 {
            now = pacing.waits_until(now).unwrap_or(now);
            left.push(now.since(Instant::from_secs(1)).as_nanos() / 1000);
            pacing.on_sent(now, 1000, 1000, rate);
        }
        // The first burst follows a pause, so that the wait after it is half a segment shorter.
        assert_eq!(left, [0, 0, 1500, 1500, 3500, 3500, 5500]);
    }
}
