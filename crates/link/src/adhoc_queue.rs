//! Interface queue of a radio: packets of several traffic classes for several neighbours share one
//! transmitter.

use alloc::vec::Vec;

use driftway_base::{Instant, NodeId, PacketId, named};

use crate::config::QueueConfig;
use crate::frame::{Dequeued, EnqueueOutcome, QueueEntry, QueuePosition};
use crate::queue::{InterfaceQueue, QueueCounters};

/// Configuration of a radio's interface queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdhocQueueConfig {
    /// Configuration of the queue; with [`Priority::Classes`], of each class.
    pub queue: QueueConfig,
    /// Scheduling of the classes.
    pub priority: Priority,
}

named! {
    /// Priority of packets in an interface queue.
    #[derive(Default)]
    pub enum Priority {
        /// First in, first out.
        #[default]
        None = "none",
        /// Packets of the routing protocol are inserted at the head; when the queue is full, the packet
        /// at its tail is dropped.
        // As in ns-2.35 with AODV (queue/priqueue.cc), whose queues hold one packet less than configured.
        RoutingFirst = "routing-first",
        /// Four queues with the same limit in strict priority: routing protocol, audio and video (which
        /// no application here sends), TCP acknowledgments without data, and all others.
        // As in ns-2.35 with DSR (queue/dsr-priqueue.cc).
        Classes = "classes",
    }
}

/// Traffic classes, highest priority first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketClass {
    /// Routing protocol packets.
    Routing,
    /// Real-time traffic (ns-2.35: audio and video, but not its CBR source).
    RealTime,
    /// TCP acknowledgments without data.
    Ack,
    /// All other packets.
    Other,
}

/// A queued packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    /// Handle of the owner, passed back unchanged.
    pub id: PacketId,
    /// Size in bytes.
    pub bytes: u32,
    /// True if it can be marked instead of dropped.
    pub ecn_capable: bool,
    /// Next hop; `None`: broadcast.
    pub next_hop: Option<NodeId>,
    /// Traffic class.
    pub class: PacketClass,
}

impl QueueEntry for QueuedPacket {
    fn id(&self) -> PacketId {
        self.id
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }
}

/// Packets queued for a radio's transmitter.
///
/// The owner enqueues packets and has the next served whenever the transmitter is free; if none is
/// queued, the transmitter is idle until the next packet arrives. That packet does not wait, so
/// that the limit does not apply to it: the owner dequeues it immediately.
#[derive(Clone, Debug)]
pub struct AdhocQueue {
    priority: Priority,
    /// One queue, or one per class.
    class_queues: Vec<InterfaceQueue<QueuedPacket>>,
}

impl AdhocQueue {
    /// Creates an empty queue with an idle transmitter. `entity` names the queue in the streams
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

    /// Returns the number of queued packets.
    pub fn len(&self) -> usize {
        self.class_queues.iter().map(InterfaceQueue::len).sum()
    }

    /// Returns true if no packet is queued.
    pub fn is_empty(&self) -> bool {
        self.class_queues.iter().all(InterfaceQueue::is_empty)
    }

    /// Returns the queued packets in order of service.
    pub fn iter(&self) -> impl Iterator<Item = QueuedPacket> + '_ {
        self.class_queues.iter().flat_map(InterfaceQueue::iter)
    }

    /// Returns the counters of all classes together; `longest` is the maximum over the classes.
    pub fn counters(&self) -> QueueCounters {
        self.class_queues.iter().map(InterfaceQueue::counters).fold(
            QueueCounters::default(),
            |all, one| QueueCounters {
                overflows: all.overflows + one.overflows,
                red_drops: all.red_drops + one.red_drops,
                codel_drops: all.codel_drops + one.codel_drops,
                pie_drops: all.pie_drops + one.pie_drops,
                marks: all.marks + one.marks,
                marks_lost: all.marks_lost + one.marks_lost,
                longest: all.longest.max(one.longest),
            },
        )
    }

    /// Enqueues a packet. It is accepted or dropped, never refused.
    pub fn enqueue(&mut self, now: Instant, item: QueuedPacket) -> EnqueueOutcome {
        let place =
            if self.has_priority(item) { QueuePosition::Front } else { QueuePosition::Tail };
        self.enqueue_at(now, item, place)
    }

    /// Returns true if it enters at the front.
    fn has_priority(&self, item: QueuedPacket) -> bool {
        self.priority == Priority::RoutingFirst && item.class == PacketClass::Routing
    }

    /// Enqueues a packet before or behind all others of its class.
    pub fn enqueue_at(
        &mut self,
        now: Instant,
        item: QueuedPacket,
        place: QueuePosition,
    ) -> EnqueueOutcome {
        self.enqueue_in_class(now, item, |lane| lane.enqueue(now, item, place))
    }

    /// Enqueues a packet before the first of its class that is later, unless its class enters at
    /// the front.
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
        let Some(verdict) = self.class_queues.get_mut(own).map(enqueue) else {
            return EnqueueOutcome::Refused;
        };
        if matches!(verdict, EnqueueOutcome::Accepted { .. }) {
            self.class_queues.iter_mut().for_each(|lane| lane.on_busy(now));
        }
        verdict
    }

    /// Dequeues the next packet for a free transmitter, as the discipline decides. Packets that it
    /// drops ([`DropReason::Codel`](driftway_base::DropReason::Codel)) are passed to `on_drop`.
    /// `None`: the transmitter is idle from now on.
    pub fn serve(
        &mut self,
        now: Instant,
        mut on_drop: impl FnMut(QueuedPacket),
    ) -> Option<Dequeued<QueuedPacket>> {
        let next = self.class_queues.iter_mut().find_map(|lane| lane.serve(now, &mut on_drop));
        if next.is_none() {
            self.class_queues.iter_mut().for_each(|lane| lane.on_idle(now));
        }
        next
    }

    /// Dequeues the next packet, whatever the discipline, for another use than to transmit it.
    /// `None`: the transmitter is idle from now on.
    pub fn dequeue(&mut self, now: Instant) -> Option<QueuedPacket> {
        let next = self.dequeue_any();
        if next.is_none() {
            self.class_queues.iter_mut().for_each(|lane| lane.on_idle(now));
        }
        next
    }

    /// Dequeues the next packet for this neighbour, whether or not the transmitter is free.
    pub fn dequeue_for(&mut self, next_hop: NodeId) -> Option<QueuedPacket> {
        let is_so = |item: &QueuedPacket| item.next_hop == Some(next_hop);
        self.class_queues.iter_mut().find_map(|lane| lane.dequeue_if(is_so))
    }

    /// Dequeues the next packet for any neighbour, whether or not the transmitter is free.
    pub fn dequeue_any(&mut self) -> Option<QueuedPacket> {
        self.class_queues.iter_mut().find_map(InterfaceQueue::dequeue)
    }
}
