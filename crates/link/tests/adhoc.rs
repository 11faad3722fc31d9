//! Interface queues of ad hoc nodes.

use driftway_base::{DropReason, Duration, Instant, NodeId, PacketId};
use driftway_link::{
    AdhocQueue, AdhocQueueConfig, CodelConfig, Discipline, EnqueueOutcome, PacketClass, Priority,
    QueueConfig, QueuedPacket, RedConfig,
};
use proptest::prelude::*;

const KEPT: EnqueueOutcome = EnqueueOutcome::Accepted { mark: false, evicted: None };
const FULL: EnqueueOutcome = EnqueueOutcome::Dropped { reason: DropReason::QueueOverflow };
const NODE_7: NodeId = NodeId::new(7);
const NODE_8: NodeId = NodeId::new(8);
const CLASSES: [PacketClass; 4] =
    [PacketClass::Routing, PacketClass::RealTime, PacketClass::Ack, PacketClass::Other];

fn queue(limit: usize, priority: Priority) -> AdhocQueue {
    marking(limit, priority, Discipline::DropTail { ecn_threshold: None })
}

/// A queue with a busy transmitter.
fn marking(limit: usize, priority: Priority, discipline: Discipline) -> AdhocQueue {
    let config = AdhocQueueConfig {
        queue: QueueConfig { limit, discipline, max_bytes: None, mark_loss: 0.0 },
        priority,
    };
    let mut queue = AdhocQueue::new(config, 1, 0);
    queue.enqueue(Instant::ZERO, item(0, 1, PacketClass::Other));
    assert_eq!(queue.dequeue(Instant::ZERO).map(|item| item.id.number()), Some(0));
    queue
}

fn item(id: u32, next_hop: u32, class: PacketClass) -> QueuedPacket {
    QueuedPacket {
        id: PacketId::new(id),
        bytes: 1500,
        ecn_capable: true,
        next_hop: Some(NodeId::new(next_hop)),
        class,
    }
}

fn offer(queue: &mut AdhocQueue, id: u32, class: PacketClass) -> EnqueueOutcome {
    queue.enqueue(Instant::from_millis(u64::from(id)), item(id, 1, class))
}

fn drain(queue: &mut AdhocQueue) -> Vec<u32> {
    std::iter::from_fn(|| queue.dequeue(Instant::from_secs(1)))
        .map(|item| item.id.number())
        .collect()
}

#[test]
fn without_priorities_service_is_first_come_first_served() {
    let mut queue = queue(3, Priority::None);
    let classes =
        [PacketClass::Other, PacketClass::Ack, PacketClass::Routing, PacketClass::Routing];
    let verdicts: Vec<_> =
        classes.iter().zip(1..).map(|(class, id)| offer(&mut queue, id, *class)).collect();
    assert_eq!(verdicts, [KEPT, KEPT, KEPT, FULL]);
    assert_eq!(drain(&mut queue), [1, 2, 3]);
}

/// queue/priqueue.cc: the newest routing packet is sent next, and the tail is evicted.
#[test]
fn routing_packets_go_first_and_evict_the_tail() {
    let mut queue = queue(3, Priority::RoutingFirst);
    for (id, class) in [(1, PacketClass::Other), (2, PacketClass::Ack), (3, PacketClass::Routing)] {
        assert_eq!(offer(&mut queue, id, class), KEPT);
    }
    assert_eq!(offer(&mut queue, 4, PacketClass::Ack), FULL);
    let pushed = offer(&mut queue, 5, PacketClass::Routing);
    assert_eq!(pushed, EnqueueOutcome::Accepted { mark: false, evicted: Some(PacketId::new(2)) });
    assert_eq!(drain(&mut queue), [5, 3, 1]);
    assert_eq!(queue.counters().overflows, 2);
}

/// A queue sorted by TCP sequence numbers (westin-2003 §5.2), here by the handle.
#[test]
fn a_packet_is_inserted_before_the_first_later_one() {
    let mut queue = queue(4, Priority::Classes);
    let mut sorted = |id: u32, class: PacketClass| {
        let now = Instant::from_millis(1);
        queue.enqueue_before(now, item(id, 1, class), |other| other.id.number() > id)
    };
    for (id, class) in [
        (5, PacketClass::Other),
        (3, PacketClass::Other),
        (9, PacketClass::Other),
        (4, PacketClass::Ack),
    ] {
        assert_eq!(sorted(id, class), KEPT);
    }
    assert_eq!(sorted(4, PacketClass::Other), KEPT);
    assert_eq!(sorted(1, PacketClass::Other), FULL, "the new packet is dropped, none is evicted");
    assert_eq!(drain(&mut queue), [4, 3, 4, 5, 9], "classes first");
}

#[test]
fn in_a_sorted_queue_routing_packets_go_first() {
    let mut queue = queue(4, Priority::RoutingFirst);
    for (id, class) in [(2, PacketClass::Other), (1, PacketClass::Other), (3, PacketClass::Routing)]
    {
        let now = Instant::from_millis(1);
        let verdict = queue.enqueue_before(now, item(id, 1, class), |other| other.id.number() > id);
        assert_eq!(verdict, KEPT);
    }
    assert_eq!(drain(&mut queue), [3, 1, 2]);
}

/// queue/dsr-priqueue.cc: four queues with a limit each, served in strict priority.
#[test]
fn each_class_has_a_queue() {
    let mut queue = queue(2, Priority::Classes);
    let mut id = 0;
    for class in [PacketClass::Other, PacketClass::Ack, PacketClass::RealTime, PacketClass::Routing]
    {
        for verdict in [KEPT, KEPT, FULL] {
            id += 1;
            assert_eq!(offer(&mut queue, id, class), verdict, "{id}");
        }
    }
    assert_eq!(queue.len(), 8);
    assert_eq!(
        queue.iter().map(|item| item.id.number()).collect::<Vec<_>>(),
        [10, 11, 7, 8, 4, 5, 1, 2]
    );
    assert_eq!(queue.dequeue(Instant::from_secs(1)).map(|item| item.id.number()), Some(10));
    // A later packet of a higher class overtakes.
    assert_eq!(offer(&mut queue, 13, PacketClass::Routing), KEPT);
    assert_eq!(drain(&mut queue), [11, 13, 7, 8, 4, 5, 1, 2]);
    assert_eq!((queue.counters().overflows, queue.counters().longest), (4, 2));
}

#[test]
fn packets_for_one_neighbour_are_dequeued_in_order() {
    let mut queue = queue(9, Priority::Classes);
    let all = [
        (1, Some(NODE_7), PacketClass::Other),
        (2, Some(NODE_8), PacketClass::Other),
        (3, Some(NODE_7), PacketClass::Ack),
        (4, None, PacketClass::Routing),
        (5, Some(NODE_7), PacketClass::Other),
    ];
    for (id, next_hop, class) in all {
        queue.enqueue(Instant::ZERO, QueuedPacket { next_hop, ..item(id, 0, class) });
    }
    let taken: Vec<_> =
        std::iter::from_fn(|| queue.dequeue_for(NODE_7)).map(|item| item.id.number()).collect();
    assert_eq!(taken, [3, 1, 5]);
    assert_eq!(queue.iter().map(|item| item.id.number()).collect::<Vec<_>>(), [4, 2]);
    assert_eq!(queue.dequeue_any().map(|item| item.id.number()), Some(4));
}

#[test]
fn an_idle_transmitter_ignores_the_limit() {
    for priority in [Priority::None, Priority::RoutingFirst, Priority::Classes] {
        let mut queue = queue(0, priority);
        assert_eq!(offer(&mut queue, 1, PacketClass::Other), FULL);
        assert_eq!(queue.dequeue(Instant::from_millis(2)), None);
        assert_eq!(offer(&mut queue, 3, PacketClass::Ack), KEPT, "{priority:?}");
        assert_eq!(queue.dequeue(Instant::from_millis(3)).map(|item| item.id.number()), Some(3));
        assert_eq!(offer(&mut queue, 4, PacketClass::Other), FULL, "{priority:?}");
    }
}

#[test]
fn each_class_is_marked_by_its_length() {
    let discipline = Discipline::DropTail { ecn_threshold: Some(1) };
    let mut queue = marking(9, Priority::Classes, discipline);
    let marked = EnqueueOutcome::Accepted { mark: true, evicted: None };
    assert_eq!(offer(&mut queue, 1, PacketClass::Other), KEPT);
    assert_eq!(offer(&mut queue, 2, PacketClass::Ack), KEPT);
    assert_eq!(offer(&mut queue, 3, PacketClass::Other), marked);
    assert_eq!(queue.counters().marks, 1);
}

/// RED counts the idle time, whichever class ends it.
#[test]
fn idle_time_ends_for_all_classes_at_once() {
    let red = RedConfig {
        min_threshold: 0.1,
        max_threshold: 0.3,
        max_probability: 0.1,
        weight: 0.5,
        frame_time: Duration::from_millis(10),
        ecn: true,
    };
    let marked = EnqueueOutcome::Accepted { mark: true, evicted: None };
    let mut queue = marking(9, Priority::Classes, Discipline::Red(red));
    assert_eq!(offer(&mut queue, 1, PacketClass::Other), KEPT);
    assert_eq!(offer(&mut queue, 2, PacketClass::Other), marked);
    assert_eq!(drain(&mut queue), [1, 2]);
    // Idle from 1 s on, for half the time of a frame: 0.5 × √0.5 is above 0.3. Without idle time it
    // would be 0.25, and 0 with the whole time to the next packet of its class.
    let at = |millis: u64| Instant::from_millis(1000 + millis);
    assert_eq!(queue.enqueue(at(5), item(3, 1, PacketClass::Ack)), KEPT);
    assert!(queue.dequeue(at(5)).is_some());
    assert_eq!(queue.enqueue(at(500), item(4, 1, PacketClass::Other)), marked);
}

/// CoDel knows the time for which a packet has waited, in the queue of its class.
#[test]
fn codel_drops_packets_that_have_waited() {
    let codel = CodelConfig {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    };
    let mut queue = marking(9, Priority::Classes, Discipline::Codel(codel));
    for id in 1..=6 {
        assert_eq!(offer(&mut queue, id, PacketClass::Other), KEPT);
    }
    let mut dropped = Vec::new();
    let mut serve = |queue: &mut AdhocQueue, millis| {
        let served =
            queue.serve(Instant::from_millis(millis), |item| dropped.push(item.id.number()));
        served.map(|served| (served.frame.id.number(), served.mark))
    };
    assert_eq!(serve(&mut queue, 50), Some((1, false)));
    assert_eq!(serve(&mut queue, 150), Some((3, false)));
    assert_eq!(offer(&mut queue, 151, PacketClass::Ack), KEPT);
    assert_eq!(serve(&mut queue, 151), Some((151, false)));
    assert_eq!(serve(&mut queue, 152), Some((4, false)));
    // Whatever the discipline, for another use.
    assert_eq!(queue.dequeue(Instant::from_millis(300)).map(|item| item.id.number()), Some(5));
    assert_eq!(dropped, [2]);
    assert_eq!((queue.counters().codel_drops, queue.len()), (1, 1));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer { next_hop: Option<NodeId>, class: PacketClass },
    Take,
    TakeFor(NodeId),
}

fn next_hops() -> impl Strategy<Value = NodeId> {
    (0..3_u32).prop_map(NodeId::new)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (prop::option::of(next_hops()), prop::sample::select(&CLASSES[..]))
            .prop_map(|(next_hop, class)| Step::Offer { next_hop, class }),
        2 => Just(Step::Take),
        1 => next_hops().prop_map(Step::TakeFor),
    ];
    prop::collection::vec(step, 0..200)
}

/// Reference model: a list in order of service.
struct Model {
    priority: Priority,
    limit: usize,
    idle: bool,
    waiting: Vec<QueuedPacket>,
}

impl Model {
    fn enqueue(&mut self, item: QueuedPacket) -> (EnqueueOutcome, Option<PacketId>) {
        let alike =
            |other: &&QueuedPacket| self.priority != Priority::Classes || other.class == item.class;
        let full = !self.idle && self.waiting.iter().filter(alike).count() >= self.limit;
        let first = self.priority == Priority::RoutingFirst && item.class == PacketClass::Routing;
        let mut evicted = None;
        if full {
            evicted = if first { self.waiting.pop().map(|last| last.id) } else { None };
            if evicted.is_none() {
                return (FULL, Some(item.id));
            }
        }
        self.idle = false;
        let place = match self.priority {
            _ if first => 0,
            Priority::Classes => {
                self.waiting.iter().take_while(|other| other.class <= item.class).count()
            }
            _ => self.waiting.len(),
        };
        self.waiting.insert(place, item);
        (EnqueueOutcome::Accepted { mark: false, evicted }, evicted)
    }
}

proptest! {
    /// The queue equals the reference model, and every packet is queued, dequeued or dropped
    /// exactly once.
    #[test]
    fn the_queue_equals_the_model(
        steps in steps(),
        limit in 0..6_usize,
        priority in prop::sample::select(&[Priority::None, Priority::RoutingFirst, Priority::Classes][..]),
    ) {
        let mut queue = queue(limit, priority);
        let mut model = Model { priority, limit, idle: false, waiting: Vec::new() };
        let mut gone = Vec::new();
        let mut id = 0;
        for (step, now) in steps.into_iter().zip((0..).map(Instant::from_millis)) {
            match step {
                Step::Offer { next_hop, class } => {
                    id += 1;
                    let item = QueuedPacket { next_hop, ..item(id, 0, class) };
                    let (verdict, lost) = model.enqueue(item);
                    prop_assert_eq!(queue.enqueue(now, item), verdict);
                    gone.extend(lost);
                }
                Step::Take => {
                    let next = (!model.waiting.is_empty()).then(|| model.waiting.remove(0));
                    model.idle |= next.is_none();
                    prop_assert_eq!(queue.dequeue(now), next);
                    gone.extend(next.map(|item| item.id));
                }
                Step::TakeFor(to) => {
                    let place = model.waiting.iter().position(|item| item.next_hop == Some(to));
                    let next = place.map(|place| model.waiting.remove(place));
                    prop_assert_eq!(queue.dequeue_for(to), next);
                    gone.extend(next.map(|item| item.id));
                }
            }
            prop_assert!(queue.iter().eq(model.waiting.iter().copied()));
            prop_assert_eq!((queue.len(), queue.is_empty()), (model.waiting.len(), model.waiting.is_empty()));
        }
        gone.extend(queue.iter().map(|item| item.id));
        gone.sort_unstable();
        prop_assert_eq!(gone, (1..=id).map(PacketId::new).collect::<Vec<_>>());
    }
}
