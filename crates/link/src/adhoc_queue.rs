//! The interface queue of a node in an ad hoc network: packets for several neighbours and of several
//! classes wait for one transmitter.

use alloc::vec::Vec;

use driftway_base::Instant;

use crate::config::QueueConfig;
use crate::frame::{EnqueueOutcome, QueuePosition, QueueEntry};
use crate::queue::{InterfaceQueue, QueueCounters};

/// How a node's interface queue is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdhocQueueConfig {
    /// Of the queue; with [`Priority::Classes`], of each class.
    pub queue: QueueConfig,
    /// Who goes first.
    pub priority: Priority,
}

/// Which packets go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Those that came first.
    None,
    /// Those of [`Class::Routing`] go to the front, and push the last out of a full queue. So does
    /// ns-2.35 with AODV (queue/priqueue.cc), whose queues hold one packet less than they say.
    RoutingFirst,
    /// Each class has a queue of its own, and none is served while there is something in one before
    /// it. So does ns-2.35 with DSR (queue/dsr-priqueue.cc).
    Classes,
}

/// What kind of packet it is, first things first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketClass {
    /// The routing protocol's own.
    Routing,
    /// What is late after a moment (ns-2.35: audio and video, and not its CBR source).
    RealTime,
    /// TCP's acknowledgments without data.
    Ack,
    /// All else.
    Other,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    /// The owner's handle; the queue only gives it back.
    pub id: u32,
    /// Size of the packet in bytes.
    pub bytes: u32,
    /// It can be marked instead of dropped.
    pub ecn_capable: bool,
    /// The neighbour it is for; `None` for all that hear it.
    pub next_hop: Option<u32>,
    /// What kind of packet it is.
    pub class: PacketClass,
}

impl QueueEntry for QueuedPacket {
    fn id(&self) -> u32 {
        self.id
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }
}

/// Packets that wait for a node's transmitter.
///
/// The owner enqueues what is to be sent and takes the next whenever the transmitter is free; when
/// it finds nothing, the transmitter is idle until the next packet comes. That one doesn't wait, so
/// that the limit doesn't touch it: the owner takes it at once.
#[derive(Clone, Debug)]
pub struct AdhocQueue {
    priority: Priority,
    /// One, or one a class.
    class_queues: Vec<InterfaceQueue<QueuedPacket>>,
}

impl AdhocQueue {
    /// An empty queue with an idle transmitter. `entity` names the node in the streams
    /// `"link-red"` and `"link-mark-loss"`.
    pub fn new(config: AdhocQueueConfig, seed: u64, entity: u64) -> Self {
        let AdhocQueueConfig { queue, priority } = config;
        let lane = |class: u64| {
            let entity = entity.wrapping_mul(4).wrapping_add(class);
            InterfaceQueue::new(queue, seed, entity)
        };
        let lanes = match priority {
            Priority::None | Priority::RoutingFirst => 1,
            Priority::Classes => 4,
        };
        Self { priority, class_queues: (0..lanes).map(lane).collect() }
    }

    /// How many packets wait.
    pub fn len(&self) -> usize {
        self.class_queues.iter().map(InterfaceQueue::len).sum()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.class_queues.iter().all(InterfaceQueue::is_empty)
    }

    /// What waits, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = QueuedPacket> + '_ {
        self.class_queues.iter().flat_map(InterfaceQueue::iter)
    }

    /// What it has done so far; `longest` is that of the longest class.
    pub fn counters(&self) -> QueueCounters {
        self.class_queues.iter().map(InterfaceQueue::counters).fold(
            QueueCounters::default(),
            |all, one| QueueCounters {
                overflows: all.overflows + one.overflows,
                red_drops: all.red_drops + one.red_drops,
                marks: all.marks + one.marks,
                marks_lost: all.marks_lost + one.marks_lost,
                longest: all.longest.max(one.longest),
            },
        )
    }

    /// A packet is to be sent. It is accepted or dropped, never refused.
    pub fn enqueue(&mut self, now: Instant, item: QueuedPacket) -> EnqueueOutcome {
        let place = if self.has_priority(item) { QueuePosition::Front } else { QueuePosition::Tail };
        self.enqueue_at(now, item, place)
    }

    /// Is it of a kind that goes to the front?
    fn has_priority(&self, item: QueuedPacket) -> bool {
        self.priority == Priority::RoutingFirst && item.class == PacketClass::Routing
    }

    /// The same for a packet that is to go before all of its class, or behind them.
    pub fn enqueue_at(&mut self, now: Instant, item: QueuedPacket, place: QueuePosition) -> EnqueueOutcome {
        self.enqueue_in_class(now, item, |lane| lane.enqueue(now, item, place))
    }

    /// A packet is to go before the first of its class that is later, unless its kind goes first.
    pub fn enqueue_before(
        &mut self,
        now: Instant,
        item: QueuedPacket,
        is_later: impl FnMut(&QueuedPacket) -> bool,
    ) -> EnqueueOutcome {
        if self.has_priority(item) {
            return self.enqueue_at(now, item, QueuePosition::Front);
        }
        self.enqueue_in_class(now, item, |lane| lane.enqueue_before(now, item, is_later))
    }

    fn enqueue_in_class(
        &mut self,
        now: Instant,
        item: QueuedPacket,
        enqueue: impl FnOnce(&mut InterfaceQueue<QueuedPacket>) -> EnqueueOutcome,
    ) -> EnqueueOutcome {
        let own = match self.priority {
            Priority::None | Priority::RoutingFirst => 0,
            Priority::Classes => item.class as usize,
        };
        let Some(verdict) = self.class_queues.get_mut(own).map(enqueue) else { return EnqueueOutcome::Refused };
        if matches!(verdict, EnqueueOutcome::Accepted { .. }) {
            self.class_queues.iter_mut().for_each(|lane| lane.on_busy(now));
        }
        verdict
    }

    /// The transmitter is free: takes the next packet. `None`: it is idle from now on.
    pub fn dequeue(&mut self, now: Instant) -> Option<QueuedPacket> {
        let next = self.class_queues.iter_mut().find_map(InterfaceQueue::dequeue);
        if next.is_none() {
            self.class_queues.iter_mut().for_each(|lane| lane.on_idle(now));
        }
        next
    }

    /// Takes the next packet for this neighbour, whether or not the transmitter is free.
    pub fn dequeue_for(&mut self, next_hop: u32) -> Option<QueuedPacket> {
        let is_so = |item: &QueuedPacket| item.next_hop == Some(next_hop);
        self.class_queues.iter_mut().find_map(|lane| lane.dequeue_if(is_so))
    }

    /// Takes the next packet whomever it is for, whether or not the transmitter is free.
    pub fn dequeue_any(&mut self) -> Option<QueuedPacket> {
        self.class_queues.iter_mut().find_map(InterfaceQueue::dequeue)
    }
}
