//! Pacing: data leaves at a rate, in bursts of a quantum.

use driftway_base::{Duration, Instant};

use crate::congestion::PacingRate;

/// Segments of data that leave before pacing begins, as in Linux, so that the initial window leaves at once.
const UNPACED_SEGMENTS: u8 = 10;

/// State of pacing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacing {
    /// The next burst may leave.
    next: Instant,
    /// Time of the present burst, whose segments leave at once: what the window permits later is another burst, as in
    /// Linux.
    burst_at: Instant,
    /// Rest of the present burst (bytes).
    burst_left: u32,
    /// Rest of the time by which the present burst was late.
    credit: Duration,
    /// Segments sent, up to [`UNPACED_SEGMENTS`].
    sent: u8,
}

impl Pacing {
    /// Time at which data may leave; `None`: now.
    pub fn waits_until(&self, now: Instant) -> Option<Instant> {
        (!self.is_in_burst(now) && self.next > now).then_some(self.next)
    }

    fn is_in_burst(&self, now: Instant) -> bool {
        self.burst_left > 0 && self.burst_at == now
    }

    /// Records that a segment has left without a rate.
    pub fn on_sent_unpaced(&mut self) {
        *self = Self { sent: self.sent.saturating_add(1).min(UNPACED_SEGMENTS), ..Self::default() };
    }

    /// Records that `len` bytes have left.
    pub fn on_sent(&mut self, now: Instant, len: u32, mss: u32, rate: PacingRate) {
        // The last of them counts.
        if self.sent + 1 < UNPACED_SEGMENTS {
            self.on_sent_unpaced();
            return;
        }
        self.sent = UNPACED_SEGMENTS;
        let span = Duration::from_nanos((f64::from(len) * 1e9 / rate.bytes_per_second) as u64);
        // What an earlier burst has left over is not added to the next one.
        if !self.is_in_burst(now) {
            self.credit = now.since(self.next);
            (self.next, self.burst_at, self.burst_left) = (now, now, rate.quantum);
        }
        // A late burst shortens the next wait, by at most half, as in Linux.
        let late = self.credit.min(span.over(2));
        self.credit = self.credit.saturating_sub(late);
        self.next += span.saturating_sub(late);
        self.burst_left = self.burst_left.saturating_sub(len);
        if self.burst_left < mss {
            self.burst_left = 0;
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn bursts_of_a_quantum_leave_at_the_rate_after_the_first_segments() {
        let rate = PacingRate { bytes_per_second: 1e6, quantum: 2000 };
        let mut pacing = Pacing::default();
        let (mut now, mut left) = (Instant::from_secs(1), std::vec![]);
        for _ in 0..16 {
            now = pacing.waits_until(now).unwrap_or(now);
            left.push(now.since(Instant::from_secs(1)).as_nanos() / 1000);
            pacing.on_sent(now, 1000, 1000, rate);
        }
        // The first paced burst follows a pause, so that the wait after it is half as long.
        assert_eq!(left, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1000, 1000, 3000, 3000, 5000]);
    }
}
