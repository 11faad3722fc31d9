//! Delivery rate of a connection, sampled by each acknowledgment (draft-ietf-ccwg-bbr-04 §4.1).

use driftway_base::{Duration, Instant};

/// State of the connection when a segment was sent (§4.1.2.2: P).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendSnapshot {
    /// Bytes delivered by then (P.delivered).
    pub delivered: u64,
    /// Time of that delivery (P.delivered_time).
    pub delivered_at: Instant,
    /// Transmission of the segment delivered last (P.first_send_time).
    pub first_sent_at: Instant,
    /// Bytes in the network, the segment included (P.tx_in_flight).
    pub in_flight: u32,
    /// Bytes lost by then (P.lost).
    pub lost: u64,
    /// Sending was limited by the application (P.is_app_limited).
    pub app_limited: bool,
}

impl SendSnapshot {
    /// Postpones its times by the time `frozen_for` for which timers were frozen until `now`.
    pub(crate) fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.delivered_at = (self.delivered_at + frozen_for).min(now);
        self.first_sent_at = (self.first_sent_at + frozen_for).min(now);
    }
}

/// A sample of the delivery rate (§4.1.2.3: RS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in the interval (RS.delivered).
    pub delivered: u64,
    /// Longer one of the times in which they were sent and acknowledged (RS.interval); `None`: the
    /// sample is shorter than the path and says nothing.
    pub interval: Option<Duration>,
    /// Sending was limited by the application (RS.is_app_limited).
    pub app_limited: bool,
    /// Bytes delivered before the interval (RS.prior_delivered).
    pub prior_delivered: u64,
    /// Bytes delivered so far, those of this acknowledgment included (C.delivered).
    pub total_delivered: u64,
    /// Bytes lost so far (C.lost).
    pub total_lost: u64,
    /// Bytes lost since the sampled segment was sent (RS.lost).
    pub lost: u64,
    /// Bytes in the network after the sampled segment was sent (RS.tx_in_flight).
    pub sent_in_flight: u32,
    /// Time of the delivery before the interval (RS.prior_time).
    pub prior_at: Instant,
}

impl RateSample {
    /// Bytes per second.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let seconds = self.interval?.as_secs_f64();
        (seconds > 0.0).then(|| self.delivered as f64 / seconds)
    }
}

/// Delivered data of a connection (§4.1.2.1: C).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    lost: u64,
    /// Samples are app-limited until this is delivered.
    app_limited_until: Option<u64>,
    /// The segment sent last among those that the acknowledgment in progress delivers: its number
    /// among all transmissions, its transmission time, its snapshot.
    newest: Option<(u64, Instant, SendSnapshot)>,
}

impl DeliveryRate {
    /// Snapshot for a segment of `bytes`; `in_flight` without it.
    pub fn on_sent(&mut self, now: Instant, in_flight: u32, bytes: u32) -> SendSnapshot {
        if in_flight == 0 {
            // §4.1.2.2: a flight begins.
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        SendSnapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight.saturating_add(bytes),
            lost: self.lost,
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// Postpones its times by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.delivered_at = (self.delivered_at + frozen_for).min(now);
        self.first_sent_at = (self.first_sent_at + frozen_for).min(now);
    }

    /// Marks what is in flight as limited by the application (§4.1.2.4).
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    /// Sets the bytes lost so far.
    pub fn set_lost(&mut self, total: u64) {
        self.lost = total;
    }

    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Sending is, or was within the last round trip, limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// Counts a delivered segment, or part of one.
    pub fn on_delivered(
        &mut self,
        now: Instant,
        bytes: u32,
        transmission: u64,
        sent_at: Instant,
        snapshot: SendSnapshot,
    ) {
        self.delivered += u64::from(bytes);
        self.delivered_at = now;
        if self.newest.is_none_or(|(newest, ..)| transmission > newest) {
            self.newest = Some((transmission, sent_at, snapshot));
        }
    }

    /// Takes the sample of an acknowledgment, if it has delivered anything (§4.1.2.3).
    pub fn take_sample(&mut self, now: Instant, min_rtt: Option<Duration>) -> Option<RateSample> {
        if self.app_limited_until.is_some_and(|end| self.delivered > end) {
            self.app_limited_until = None;
        }
        let (_, sent_at, sent) = self.newest.take()?;
        self.first_sent_at = sent_at;
        let interval = sent_at.since(sent.first_sent_at).max(now.since(sent.delivered_at));
        let shortest = min_rtt.unwrap_or(Duration::ZERO);
        Some(RateSample {
            delivered: self.delivered - sent.delivered,
            interval: (interval >= shortest && interval > Duration::ZERO).then_some(interval),
            app_limited: sent.app_limited,
            prior_delivered: sent.delivered,
            total_delivered: self.delivered,
            total_lost: self.lost,
            lost: self.lost.saturating_sub(sent.lost),
            sent_in_flight: sent.in_flight,
            prior_at: sent.delivered_at,
        })
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_delivery() {
        let mut rate = DeliveryRate::default();
        // Four segments sent at once, delivered a millisecond apart from 100 ms on.
        let sent: std::vec::Vec<_> = (0..4).map(|n| rate.on_sent(AT(0), n * 1000, 1000)).collect();
        for (n, snapshot) in (0_u64..).zip(&sent) {
            rate.on_delivered(AT(100 + n), 1000, n, AT(0), *snapshot);
            let sample = rate.take_sample(AT(100 + n), None).expect("a sample");
            assert_eq!(sample.delivered, 1000 * (n + 1));
            assert_eq!(sample.interval, Some(Duration::from_millis(100 + n)));
        }
        // The next, sent when the first had arrived: three others were delivered meanwhile.
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(AT(0), 0, 1000);
        let second = rate.on_sent(AT(0), 1000, 1000);
        rate.on_delivered(AT(100), 1000, 0, AT(0), first);
        rate.take_sample(AT(100), None);
        let third = rate.on_sent(AT(100), 1000, 1000);
        rate.on_delivered(AT(101), 1000, 1, AT(0), second);
        rate.take_sample(AT(101), None);
        rate.on_delivered(AT(200), 1000, 2, AT(100), third);
        let sample = rate.take_sample(AT(200), None).expect("a sample");
        assert_eq!((sample.delivered, sample.interval), (2000, Some(Duration::from_millis(100))));
        assert_eq!(sample.bytes_per_second(), Some(20_000.0));
    }

    #[test]
    fn what_is_shorter_than_the_path_says_nothing() {
        let mut rate = DeliveryRate::default();
        let sent = rate.on_sent(AT(0), 0, 1000);
        rate.on_delivered(AT(5), 1000, 0, AT(0), sent);
        let sample = rate.take_sample(AT(5), Some(Duration::from_millis(10))).expect("a sample");
        assert_eq!((sample.interval, sample.bytes_per_second()), (None, None));
        assert_eq!(rate.take_sample(AT(6), None), None, "nothing was delivered");
    }

    #[test]
    fn a_flight_limited_by_the_application_is_marked() {
        let mut rate = DeliveryRate::default();
        rate.on_app_limited(0);
        let limited = rate.on_sent(AT(0), 0, 1000);
        assert!(limited.app_limited);
        rate.on_delivered(AT(9), 1000, 0, AT(0), limited);
        assert!(rate.take_sample(AT(9), None).expect("a sample").app_limited);
        assert!(!rate.on_sent(AT(10), 0, 1000).app_limited);
    }
}
