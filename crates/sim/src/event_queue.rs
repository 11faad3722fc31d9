//! A queue of events in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use driftway_base::Instant;

/// The class of an event. Its order is the order within one instant: the network first, then aids,
/// then TCPs, then applications, so that an aid that checks for a timeout due at this instant acts
/// before TCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum EventClass {
    /// A fault begins or ends; the entity is its number in the scenario.
    Fault = 0,
    /// An event of the network. On a path the entity is the number of a link; in an ad hoc network it
    /// is the MAC layer (0) or a node's link layer and routing (from 1 on).
    Network = 1,
    /// A timer of an aid; the entity is its socket.
    Aid = 2,
    /// A timer of TCP; the entity is its socket.
    Tcp = 3,
    /// An application acts; the entity is its flow.
    Application = 4,
}

const EVENT_CLASSES: [EventClass; 5] = [
    EventClass::Fault,
    EventClass::Network,
    EventClass::Aid,
    EventClass::Tcp,
    EventClass::Application,
];

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The time.
    pub at: Instant,
    /// The class.
    pub class: EventClass,
    /// The entity's number within its class.
    pub entity: u32,
}

/// The scheduled event of one entity. An entity has at most one valid event. Moving it to a later time
/// costs nothing until the earlier time comes; moving it to an earlier time leaves the old entry in
/// the heap, where it is ignored.
#[derive(Clone, Copy, Debug)]
struct ScheduledEvent {
    at: Instant,
    /// Counts the entity's own events, so that their order does not depend on other entities.
    generation: u32,
}

/// Pending events, earliest first; within one instant by class, then entity, then that entity's own
/// counter. The order of insertion does not matter.
#[derive(Debug, Default)]
pub struct EventQueue {
    /// time ‖ class ‖ entity ‖ counter
    heap: BinaryHeap<Reverse<u128>>,
    scheduled: [Vec<ScheduledEvent>; EVENT_CLASSES.len()],
}

impl EventQueue {
    /// An empty queue for this number of entities of each class.
    pub fn new(entities: [usize; EVENT_CLASSES.len()]) -> Self {
        let wake_up = ScheduledEvent { at: Instant::FAR_FUTURE, generation: 0 };
        Self {
            heap: BinaryHeap::with_capacity(entities.iter().sum::<usize>() * 4 + 16),
            scheduled: entities.map(|count| vec![wake_up; count]),
        }
    }

    /// Schedules an event of `entity` at `at` or earlier. After the event the entity must schedule its
    /// next one again.
    pub fn schedule(&mut self, class: EventClass, entity: u32, at: Instant) {
        let wake_up = &mut self.scheduled[class as usize][entity as usize];
        if at < wake_up.at {
            wake_up.at = at;
            wake_up.generation = wake_up.generation.wrapping_add(1);
            let key = u128::from(at.as_nanos()) << 64
                | u128::from(class as u8) << 56
                | u128::from(entity & 0x00ff_ffff) << 32
                | u128::from(wake_up.generation);
            self.heap.push(Reverse(key));
        }
    }

    /// A lower bound of the next event's time: the earliest entry may be invalid.
    pub fn earliest_bound(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(key)| Instant::from_nanos((key >> 64) as u64))
    }

    /// The time of the next valid event. Invalid entries before it are removed, as by
    /// [`next`](Self::next).
    pub fn next_time(&mut self) -> Option<Instant> {
        loop {
            let Reverse(key) = *self.heap.peek()?;
            let class = (key >> 56) as usize & 0x7;
            let entity = (key >> 32) as u32 & 0x00ff_ffff;
            if self.scheduled[class][entity as usize].generation == key as u32 {
                return self.earliest_bound();
            }
            self.heap.pop();
        }
    }

    /// Removes and returns the next valid event.
    pub fn next(&mut self) -> Option<Event> {
        loop {
            let Reverse(key) = self.heap.pop()?;
            let class = EVENT_CLASSES[(key >> 56) as usize & 0x7];
            let entity = (key >> 32) as u32 & 0x00ff_ffff;
            let wake_up = &mut self.scheduled[class as usize][entity as usize];
            if wake_up.generation == key as u32 {
                wake_up.at = Instant::FAR_FUTURE;
                return Some(Event { at: Instant::from_nanos((key >> 64) as u64), class, entity });
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn one_instant_is_ordered_by_class_and_entity() {
        let mut events = EventQueue::new([2; 5]);
        let at = Instant::from_secs(1);
        for (class, entity) in [
            (EventClass::Application, 0),
            (EventClass::Tcp, 1),
            (EventClass::Aid, 1),
            (EventClass::Network, 1),
        ] {
            events.schedule(class, entity, at);
        }
        events.schedule(EventClass::Network, 0, at);
        events.schedule(EventClass::Tcp, 0, Instant::ZERO);
        let order: Vec<_> =
            std::iter::from_fn(|| events.next()).map(|e| (e.class, e.entity)).collect();
        assert_eq!(
            order,
            [
                (EventClass::Tcp, 0),
                (EventClass::Network, 0),
                (EventClass::Network, 1),
                (EventClass::Aid, 1),
                (EventClass::Tcp, 1),
                (EventClass::Application, 0)
            ]
        );
    }

    #[test]
    fn only_the_earliest_scheduled_time_is_valid() {
        let mut events = EventQueue::new([1; 5]);
        events.schedule(EventClass::Tcp, 0, Instant::from_secs(9));
        events.schedule(EventClass::Tcp, 0, Instant::from_secs(3));
        events.schedule(EventClass::Tcp, 0, Instant::from_secs(5));
        assert_eq!(events.next_time(), Some(Instant::from_secs(3)));
        assert_eq!(events.next().map(|e| e.at), Some(Instant::from_secs(3)));
        assert_eq!(
            (events.earliest_bound(), events.next_time()),
            (Some(Instant::from_secs(9)), None)
        );
        assert_eq!(events.next(), None);
    }
}
