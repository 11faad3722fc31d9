//! First transmissions of data: what is on its way, and how long it takes.

use std::collections::VecDeque;

use driftway_base::Instant;

use super::hop_counts::HopCounts;
use super::packet_delays::PacketDelays;

/// The maximum number of datagrams of a flow that are tracked at once: more than an application sends in 12 s, the longest
/// pause of measured links, at 1 Gbit/s with 1500 bytes each. What a queue has kept since then counts as it arrives.
pub const MAX_DATAGRAMS_TRACKED: usize = 1 << 20;

/// Stands in place of a datagram's send time once it has been delivered.
const ALREADY_DELIVERED: Instant = Instant::FAR_FUTURE;

/// First transmissions, each known by the offset of its end.
#[derive(Debug)]
pub struct FirstTransmissions {
    /// Those that have not been delivered.
    undelivered: VecDeque<FirstTransmission>,
    /// Datagrams up to this offset are no longer tracked.
    untracked_before: u64,
    /// One past the highest offset ever sent.
    highest_sent: u64,
    /// The number of all.
    pub sent: u64,
    /// The times from the first transmission to the delivery of those delivered.
    pub delays: PacketDelays,
    /// The fewest possible hops of those delivered, as far as they are known.
    pub shortest_hops: HopCounts,
}

/// A first transmission that has not been delivered.
#[derive(Clone, Copy, Debug)]
struct FirstTransmission {
    /// The offset of its end.
    end: u64,
    at: Instant,
    /// The fewest hops to its destination that were possible then; `None`: not known.
    shortest_hops: Option<u32>,
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
            sent: 0,
            delays: PacketDelays::default(),
            shortest_hops: HopCounts::default(),
        }
    }
}

impl FirstTransmissions {
    /// Records a segment that leaves the sender.
    pub fn on_sent(&mut self, now: Instant, end: u64) {
        if end > self.highest_sent {
            self.highest_sent = end;
            self.sent += 1;
            self.undelivered.push_back(FirstTransmission { end, at: now, shortest_hops: None });
        }
    }

    /// Sets the fewest possible hops of the segment or datagram sent last, whose end is `end`, unless it
    /// was a retransmission.
    pub fn set_shortest_hops(&mut self, end: u64, hops: impl FnOnce() -> Option<u32>) {
        if let Some(last) = self.undelivered.back_mut().filter(|last| last.end == end) {
            last.shortest_hops = hops();
        }
    }

    /// Records a datagram that leaves the sender. One that is still undelivered after the maximum number of
    /// others counts as lost.
    pub fn on_datagram_sent(&mut self, now: Instant, end: u64) {
        if end > self.highest_sent
            && self.undelivered.len() >= MAX_DATAGRAMS_TRACKED
            && let Some(first) = self.undelivered.pop_front()
        {
            self.untracked_before = first.end;
        }
        self.on_sent(now, end);
    }

    /// Records that the stream is delivered up to an offset.
    pub fn on_delivered(&mut self, now: Instant, up_to: u64) {
        while let Some(first) = self.undelivered.front().copied().filter(|first| first.end <= up_to)
        {
            self.undelivered.pop_front();
            self.count_delivered(now, first);
        }
    }

    /// Records the arrival of a datagram.
    pub fn on_datagram(&mut self, now: Instant, end: u64) -> Arrival {
        let place = self.undelivered.binary_search_by_key(&end, |sent| sent.end);
        let awaited = place.ok().and_then(|place| self.undelivered.get_mut(place));
        let Some(awaited) = awaited.filter(|sent| sent.at != ALREADY_DELIVERED) else {
            return if end > self.untracked_before {
                Arrival::Repeated
            } else {
                Arrival::Untracked
            };
        };
        let first = *awaited;
        awaited.at = ALREADY_DELIVERED;
        self.count_delivered(now, first);
        while self.undelivered.front().is_some_and(|sent| sent.at == ALREADY_DELIVERED) {
            self.undelivered.pop_front();
        }
        Arrival::First
    }

    fn count_delivered(&mut self, now: Instant, first: FirstTransmission) {
        self.delays.add(now.since(first.at));
        if let Some(hops) = first.shortest_hops {
            self.shortest_hops.add(hops);
        }
    }
}
