//! First transmissions of data: what is on its way, and how long it takes.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant};

/// The maximum number of datagrams of a flow that are tracked at once: more than all queues on the
/// route hold while an application sends faster than the channel carries.
pub const MAX_DATAGRAMS_TRACKED: usize = 1 << 16;

/// Stands in place of a datagram's send time once it has been delivered.
const ALREADY_DELIVERED: Instant = Instant::FAR_FUTURE;

/// First transmissions, each known by the offset of its end.
#[derive(Debug)]
pub struct FirstTransmissions {
    /// Those that have not been delivered: end offset and time.
    undelivered: VecDeque<(u64, Instant)>,
    /// Datagrams up to this offset are no longer tracked.
    untracked_before: u64,
    /// One past the highest offset ever sent.
    highest_sent: u64,
    /// Sum over delivered payloads of the time from first transmission to delivery.
    delay_sum: Duration,
    delay_samples: u64,
}

/// The arrival of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has not arrived before.
    First,
    /// It has arrived before.
    Repeated,
    /// It was sent too long ago to know.
    Untracked,
}

impl Default for FirstTransmissions {
    fn default() -> Self {
        Self {
            undelivered: VecDeque::with_capacity(256),
            untracked_before: 0,
            highest_sent: 0,
            delay_sum: Duration::ZERO,
            delay_samples: 0,
        }
    }
}

impl FirstTransmissions {
    /// Records a segment that leaves the sender.
    pub fn on_sent(&mut self, now: Instant, end: u64) {
        if end > self.highest_sent {
            self.highest_sent = end;
            self.undelivered.push_back((end, now));
        }
    }

    /// Records a datagram that leaves the sender. One that is still undelivered after the maximum number of
    /// others counts as lost.
    pub fn on_datagram_sent(&mut self, now: Instant, end: u64) {
        if end > self.highest_sent
            && self.undelivered.len() >= MAX_DATAGRAMS_TRACKED
            && let Some((end, _)) = self.undelivered.pop_front()
        {
            self.untracked_before = end;
        }
        self.on_sent(now, end);
    }

    /// Records that the stream is delivered up to an offset.
    pub fn on_delivered(&mut self, now: Instant, up_to: u64) {
        while let Some((end, at)) = self.undelivered.front().copied() {
            if end > up_to {
                break;
            }
            self.undelivered.pop_front();
            self.add_delay(now.since(at));
        }
    }

    /// Records the arrival of a datagram.
    pub fn on_datagram(&mut self, now: Instant, end: u64) -> Arrival {
        let place = self.undelivered.binary_search_by_key(&end, |(sent, _)| *sent);
        let awaited = place.ok().and_then(|place| self.undelivered.get_mut(place));
        let Some((_, at)) = awaited.filter(|(_, at)| *at != ALREADY_DELIVERED) else {
            return if end > self.untracked_before {
                Arrival::Repeated
            } else {
                Arrival::Untracked
            };
        };
        let sent_at = std::mem::replace(at, ALREADY_DELIVERED);
        self.add_delay(now.since(sent_at));
        while self.undelivered.front().is_some_and(|(_, at)| *at == ALREADY_DELIVERED) {
            self.undelivered.pop_front();
        }
        Arrival::First
    }

    fn add_delay(&mut self, delay: Duration) {
        self.delay_sum = self.delay_sum + delay;
        self.delay_samples += 1;
    }

    /// The mean delay of what was delivered (s).
    pub fn mean_delay(&self) -> Option<f64> {
        (self.delay_samples > 0).then(|| self.delay_sum.as_secs_f64() / self.delay_samples as f64)
    }
}
