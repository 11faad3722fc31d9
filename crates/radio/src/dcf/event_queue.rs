//! Event queue: a heap of events in a total order.

use driftway_base::StationId;

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

/// Rank of the timers of stations, the last of the kinds.
const TIMER: u32 = 2;

impl Event {
    pub fn new(at: u64, kind: EventKind) -> Self {
        let (kind, subject) = match kind {
            EventKind::FrameEnd(transmission) => (0, transmission.number()),
            EventKind::ResponseDue(station) => (1, station.number()),
            EventKind::StationTimer(station) => (TIMER, station.number()),
        };
        Self(u128::from(at) << 64 | u128::from(kind) << 32 | u128::from(subject))
    }

    pub const fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Returns whether it comes within the time of a frame.
    const fn is_due_soon(self) -> bool {
        (self.0 >> 32) as u32 != TIMER
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

/// The events to come: the ends of frames and the responses, which are few and due soon, in a short
/// sorted list; the others in a heap with four children per node, half as deep as a binary heap,
/// with adjacent children.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    /// Latest first.
    soon: Vec<Event>,
    heap: Vec<Event>,
    handled: u64,
}

const ARITY: usize = 4;

/// Maximum length of the sorted list: more events go to the heap.
const MAX_SOON: usize = 16;

impl EventQueue {
    pub fn with_capacity(events: usize) -> Self {
        Self { soon: Vec::with_capacity(MAX_SOON), heap: Vec::with_capacity(events), handled: 0 }
    }

    #[inline]
    pub fn peek(&self) -> Option<Event> {
        match (self.soon.last(), self.heap.first()) {
            (Some(&one), Some(&other)) => Some(one.min(other)),
            (one, other) => one.or(other).copied(),
        }
    }

    pub fn push(&mut self, event: Event) {
        if event.is_due_soon() && self.soon.len() < MAX_SOON {
            let place = self.soon.iter().rposition(|other| *other >= event);
            return self.soon.insert(place.map_or(0, |place| place + 1), event);
        }
        let mut hole = self.heap.len();
        self.heap.push(event);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= event {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = event;
    }

    /// Removes the events of a station, but not of its frames, without counting them. This takes
    /// long, which suits rare use only.
    pub fn forget_station(&mut self, station: StationId) {
        let is_kept = |event: &Event| match event.kind() {
            EventKind::FrameEnd(_) => true,
            EventKind::ResponseDue(of) | EventKind::StationTimer(of) => of != station,
        };
        self.soon.retain(is_kept);
        self.heap.retain(is_kept);
        // A sorted list is a heap.
        self.heap.sort_unstable();
    }

    /// Returns the number of events removed.
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// Removes and returns the next event, if it is no later than `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<Event> {
        let first = self.peek().filter(|event| event.at() <= until)?;
        self.handled += 1;
        if self.soon.last() == Some(&first) {
            self.soon.pop();
        } else if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
        Some(first)
    }

    /// Puts an event at the root and sifts it down.
    fn sift_down(&mut self, event: Event) {
        let mut hole = 0;
        loop {
            let start = hole * ARITY + 1;
            let end = (start + ARITY).min(self.heap.len());
            let (least, child) = match self.heap.get(start..end) {
                Some(&[a, b, c, d]) => {
                    let (ab, cd) = (a.min(b), c.min(d));
                    let in_ab = start + usize::from(b < a);
                    let in_cd = start + 2 + usize::from(d < c);
                    if cd < ab { (in_cd, cd) } else { (in_ab, ab) }
                }
                Some(&[a, b, c]) => {
                    let (ab, in_ab) = if b < a { (b, start + 1) } else { (a, start) };
                    if c < ab { (start + 2, c) } else { (in_ab, ab) }
                }
                Some(&[a, b]) if b < a => (start + 1, b),
                Some(&[a, ..]) => (start, a),
                Some(_) | None => break,
            };
            if event <= child {
                break;
            }
            self.heap[hole] = child;
            hole = least;
        }
        self.heap[hole] = event;
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
