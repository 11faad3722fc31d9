//! The delay of acknowledgments in Linux: none at first, then as long as segments are apart.

use driftway_base::{Duration, Instant};

/// Largest number of segments that are acknowledged at once (TCP_MAX_QUICKACKS).
const MOST_AT_ONCE: u32 = 16;
/// Shorter segments are not full in any case (TCP_MSS_DEFAULT).
const LEAST_FULL: u32 = 536;
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
    /// Data goes in both directions, in turn, so that acknowledgments can wait for it.
    ping_pong: bool,
    /// Longest segment that has arrived (bytes).
    longest: u32,
    /// Segments at the end of what the peer had to send, since the last acknowledgment.
    pushed: u32,
}

/// Limits of the delay.
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
    /// Handles the arrival of `len` bytes of data; `push`: with the push bit.
    pub fn on_data(&mut self, now: Instant, len: u32, push: bool, limits: &AckDelayLimits) {
        if len < self.longest.max(LEAST_FULL) {
            self.pushed += 1;
        } else {
            self.longest = len;
            self.pushed = self.pushed.max(u32::from(push));
        }
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

    /// Ends the waiting for data of the other direction.
    pub fn leave_ping_pong(&mut self) {
        self.ping_pong = false;
    }

    /// Handles a transmission of data: an answer, if it is soon.
    pub fn on_data_sent(&mut self, now: Instant) {
        self.ping_pong |= self.delay.is_some_and(|delay| now.since(self.last_arrival) < delay);
    }

    /// True if the application, which has read everything, is at the end of what the peer had to send.
    pub fn ends_with_a_read(&self) -> bool {
        self.pushed > 1 || (self.pushed == 1 && !self.ping_pong)
    }

    /// True if the next segment is to be acknowledged at once.
    pub fn is_at_once(&self) -> bool {
        self.at_once > 0 && !self.ping_pong
    }

    /// The delay of an acknowledgment now.
    pub fn delay(&self, limits: &AckDelayLimits) -> Duration {
        let delay = self.delay.unwrap_or(limits.least);
        let round_trip = limits.srtt.map_or(MAX_DELAY, |srtt| srtt.max(limits.least));
        delay.min(round_trip).min(MAX_DELAY)
    }

    /// Handles the end of the delay: the peer sends more slowly than was expected.
    pub fn on_timeout(&mut self, limits: &AckDelayLimits) {
        let longer = |delay: Duration| delay.times(2).min(limits.rto);
        let waited_for_data = core::mem::take(&mut self.ping_pong);
        self.delay =
            self.delay.map(|delay| if waited_for_data { limits.least } else { longer(delay) });
    }

    /// Handles an acknowledgment that was sent.
    pub fn on_ack_sent(&mut self, least: Duration) {
        if self.at_once == 1 {
            self.delay = self.delay.map(|_| least);
        }
        self.at_once = self.at_once.saturating_sub(1);
        self.pushed = 0;
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
            acks.on_data(now, 1000, false, &LIMITS);
            assert_eq!(acks.is_at_once(), n < 16, "{n}");
            acks.on_ack_sent(MS_40);
            now += MS(1);
        }
        assert_eq!(acks.delay(&LIMITS), MS_40);
        // A segment each 30 ms: 40/2 + 30, 50/2 + 30, 55/2 + 30.
        let mut delays = std::vec![];
        for _ in 0..3 {
            now += MS(29);
            acks.on_data(now, 1000, false, &LIMITS);
            now += MS(1);
            delays.push(acks.delay(&LIMITS).as_millis());
        }
        assert_eq!(delays, [50, 55, 57]);
        acks.on_timeout(&LIMITS);
        assert_eq!(acks.delay(&LIMITS), MS(100), "no longer than a round trip");
        // A pause of more than the timeout.
        acks.on_data(now + MS(400), 1000, false, &LIMITS);
        assert!(acks.is_at_once());
    }

    #[test]
    fn an_answer_ends_acknowledging_at_once() {
        let mut acks = AckDelay::default();
        acks.on_data(Instant::ZERO, 100, true, &LIMITS);
        acks.on_data_sent(Instant::from_millis(7));
        assert!(!acks.is_at_once() && !acks.ends_with_a_read());
        acks.on_timeout(&LIMITS);
        assert!(acks.is_at_once() && acks.ends_with_a_read());
        // Long after the question it is no answer.
        acks.on_data_sent(Instant::from_millis(60));
        assert!(acks.is_at_once());
    }

    #[test]
    fn a_small_window_has_fewer_at_once() {
        let limits = AckDelayLimits { window_segments: 7, ..LIMITS };
        let mut acks = AckDelay::default();
        acks.on_data(Instant::ZERO, 1000, false, &limits);
        for _ in 0..3 {
            assert!(acks.is_at_once());
            acks.on_ack_sent(MS_40);
        }
        assert!(!acks.is_at_once());
    }
}
