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

/// A heap with four children per node: half as deep as a binary heap, with adjacent children.
/// Removing the first event leaves the root vacant, because most events schedule the next one: that
/// takes the root and sifts down, in one pass instead of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    heap: Vec<Event>,
    /// True while the root holds an event already removed.
    root_vacant: bool,
    handled: u64,
}

const ARITY: usize = 4;

impl EventQueue {
    pub fn with_capacity(events: usize) -> Self {
        Self { heap: Vec::with_capacity(events), root_vacant: false, handled: 0 }
    }

    #[inline]
    pub fn peek(&self) -> Option<Event> {
        match self.root_vacant {
            false => self.heap.first().copied(),
            true => self.heap.iter().skip(1).take(ARITY).min().copied(),
        }
    }

    pub fn push(&mut self, event: Event) {
        if self.root_vacant {
            self.root_vacant = false;
            return self.sift_down(event);
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
        if self.root_vacant {
            self.fill_root();
        }
        self.heap.retain(|event| match event.kind() {
            EventKind::FrameEnd(_) => true,
            EventKind::ResponseDue(of) | EventKind::StationTimer(of) => of != station,
        });
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
        if self.root_vacant {
            self.fill_root();
        }
        let first = self.heap.first().copied().filter(|event| event.at() <= until)?;
        self.root_vacant = true;
        self.handled += 1;
        Some(first)
    }

    /// Fills a root that is still vacant.
    fn fill_root(&mut self) {
        self.root_vacant = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
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
