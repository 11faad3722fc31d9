//! The delay of acknowledgments in Linux: none at first, then as long as segments are apart.

use driftway_base::{Duration, Instant};

/// Largest number of segments that are acknowledged at once (TCP_MAX_QUICKACKS).
const MOST_AT_ONCE: u32 = 16;
/// Longest delay (TCP_DELACK_MAX).
const MAX_DELAY: Duration = Duration::from_millis(200);

/// State of the receiving half.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckDelay {
    /// Segments that are still to be acknowledged at once.
    at_once: u32,
    /// The delay; `None`: no data has arrived.
    delay: Option<Duration>,
    last_arrival: Instant,
}

/// What the delay depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckDelayLimits {
    /// Shortest delay (TCP_ATO_MIN).
    pub least: Duration,
    /// Retransmission timeout and smoothed round-trip time of the other direction.
    pub rto: Duration,
    pub srtt: Option<Duration>,
    /// The advertised window in segments.
    pub window_segments: u32,
}

impl AckDelay {
    /// Handles the arrival of data.
    pub fn on_data(&mut self, now: Instant, limits: &AckDelayLimits) {
        let gap = now.since(core::mem::replace(&mut self.last_arrival, now));
        let half = limits.least.over(2);
        let Some(delay) = self.delay else {
            self.acknowledge_at_once(MOST_AT_ONCE, limits);
            self.delay = Some(limits.least);
            return;
        };
        if gap <= half {
            self.delay = Some(delay.over(2) + half);
        } else if gap < delay {
            self.delay = Some((delay.over(2) + gap).min(limits.rto));
        } else if gap > limits.rto {
            // The peer has restarted its window, which waits for acknowledgments.
            self.acknowledge_at_once(MOST_AT_ONCE, limits);
        }
    }

    /// Has the next `segments` acknowledged at once, at most half of a window.
    pub fn acknowledge_at_once(&mut self, segments: u32, limits: &AckDelayLimits) {
        let most = (limits.window_segments / 2).max(2);
        self.at_once = self.at_once.max(segments.min(most));
    }

    /// True if the next segment is to be acknowledged at once.
    pub fn is_at_once(&self) -> bool {
        self.at_once > 0
    }

    /// The delay of an acknowledgment now.
    pub fn delay(&self, limits: &AckDelayLimits) -> Duration {
        let delay = self.delay.unwrap_or(limits.least);
        let round_trip = limits.srtt.map_or(MAX_DELAY, |srtt| srtt.max(limits.least));
        delay.min(round_trip).min(MAX_DELAY)
    }

    /// Handles the end of the delay: the peer sends more slowly than was expected.
    pub fn on_timeout(&mut self, limits: &AckDelayLimits) {
        self.delay = self.delay.map(|delay| delay.times(2).min(limits.rto));
    }

    /// Handles an acknowledgment that was sent.
    pub fn on_ack_sent(&mut self, least: Duration) {
        if self.at_once == 1 {
            self.delay = self.delay.map(|_| least);
        }
        self.at_once = self.at_once.saturating_sub(1);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const LIMITS: AckDelayLimits = AckDelayLimits {
        least: MS_40,
        rto: Duration::from_millis(300),
        srtt: Some(Duration::from_millis(100)),
        window_segments: 64,
    };
    const MS_40: Duration = Duration::from_millis(40);

    #[test]
    fn the_first_sixteen_segments_are_acknowledged_at_once_then_delays_follow_the_gaps() {
        let mut acks = AckDelay::default();
        let mut now = Instant::ZERO;
        for n in 0..17 {
            acks.on_data(now, &LIMITS);
            assert_eq!(acks.is_at_once(), n < 16, "{n}");
            acks.on_ack_sent(MS_40);
            now += MS(1);
        }
        assert_eq!(acks.delay(&LIMITS), MS_40);
        // A segment each 30 ms: 40/2 + 30, 50/2 + 30, 55/2 + 30.
        let mut delays = std::vec![];
        for _ in 0..3 {
            now += MS(29);
            acks.on_data(now, &LIMITS);
            now += MS(1);
            delays.push(acks.delay(&LIMITS).as_millis());
        }
        assert_eq!(delays, [50, 55, 57]);
        acks.on_timeout(&LIMITS);
        assert_eq!(acks.delay(&LIMITS), MS(100), "no longer than a round trip");
        // A pause of more than the timeout.
        acks.on_data(now + MS(400), &LIMITS);
        assert!(acks.is_at_once());
    }

    #[test]
    fn a_small_window_has_fewer_at_once() {
        let limits = AckDelayLimits { window_segments: 7, ..LIMITS };
        let mut acks = AckDelay::default();
        acks.on_data(Instant::ZERO, &limits);
        for _ in 0..3 {
            assert!(acks.is_at_once());
            acks.on_ack_sent(MS_40);
        }
        assert!(!acks.is_at_once());
    }
}
