//! Event queue: events in a total order.

use driftway_base::{EventHeap, StationId};

use super::transmission::TransmissionId;

/// An event: its time in nanoseconds, its kind, and its station or frame, in this order of
/// precedence; the value is its own sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

/// Kinds of events. At one instant frames end first, so that the other events see them received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The end of a frame has reached all stations that can decode it.
    FrameEnd(TransmissionId),
    /// A SIFS has elapsed: a station responds or continues its exchange.
    ResponseDue(StationId),
    /// A station's timer: the end of its backoff, or a response timeout.
    StationTimer(StationId),
}

impl Event {
    pub fn new(at: u64, kind: EventKind) -> Self {
        let (kind, subject) = match kind {
            EventKind::FrameEnd(transmission) => (0_u8, transmission.number()),
            EventKind::ResponseDue(station) => (1, station.number()),
            EventKind::StationTimer(station) => (2, station.number()),
        };
        Self(u128::from(at) << 64 | u128::from(kind) << 32 | u128::from(subject))
    }

    pub const fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub const fn kind(self) -> EventKind {
        let subject = self.0 as u32;
        match (self.0 >> 32) as u32 {
            0 => EventKind::FrameEnd(TransmissionId::new(subject)),
            1 => EventKind::ResponseDue(StationId::new(subject)),
            _ => EventKind::StationTimer(StationId::new(subject)),
        }
    }
}

/// Pending events, and the number of those removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    heap: EventHeap<Event>,
    handled: u64,
}

impl EventQueue {
    pub fn with_capacity(events: usize) -> Self {
        Self { heap: EventHeap::with_capacity(events), handled: 0 }
    }

    #[inline]
    pub fn peek(&self) -> Option<Event> {
        self.heap.peek()
    }

    #[inline]
    pub fn push(&mut self, event: Event) {
        self.heap.push(event);
    }

    /// Removes the events of a station, but not of its frames, without counting them.
    pub fn forget_station(&mut self, station: StationId) {
        self.heap.retain(|event| match event.kind() {
            EventKind::FrameEnd(_) => true,
            EventKind::ResponseDue(of) | EventKind::StationTimer(of) => of != station,
        });
    }

    /// Returns the number of events removed.
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Removes and returns the next event, if it is no later than `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<Event> {
        let first = self.heap.pop_if(|event| event.at() <= until)?;
        self.handled += 1;
        Some(first)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::RandomStream;

    #[test]
    fn events_come_in_order_of_time_kind_and_entity() {
        let mut random = RandomStream::new(1, "queue", 0);
        let mut queue = EventQueue::default();
        let mut kept = Vec::new();
        for round in 0..2_000 {
            let (kind, at) = (random.uniform_below(3), random.uniform_below(500));
            let subject = random.uniform_below(50) as u32;
            let kind = match kind {
                0 => EventKind::FrameEnd(TransmissionId::new(subject)),
                1 => EventKind::ResponseDue(StationId::new(subject)),
                _ => EventKind::StationTimer(StationId::new(subject)),
            };
            let event = Event::new(at, kind);
            assert_eq!((event.at(), event.kind()), (at, kind));
            queue.push(event);
            kept.push(event);
            if round % 3 == 0 {
                kept.sort_unstable();
                assert_eq!(queue.pop_until(u64::MAX), Some(kept.remove(0)));
                assert_eq!(queue.peek(), kept.first().copied());
            }
            if round % 7 == 0 && !kept.is_empty() {
                kept.sort_unstable();
                let first = kept[0].at();
                assert!(first == 0 || queue.pop_until(first - 1).is_none());
                assert_eq!(queue.pop_until(first), Some(kept.remove(0)));
            }
        }
        kept.sort_unstable();
        for event in kept {
            assert_eq!(queue.peek(), Some(event));
            assert_eq!(queue.pop_until(u64::MAX), Some(event));
        }
        assert_eq!(queue.pop_until(u64::MAX), None);
        let frame_end =
            |at, number| Event::new(at, EventKind::FrameEnd(TransmissionId::new(number)));
        let response_due = Event::new(5, EventKind::ResponseDue(StationId::new(0)));
        assert!(frame_end(5, 9) < response_due && frame_end(5, 9) < frame_end(6, 0));
    }
}
