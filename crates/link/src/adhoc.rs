//! Interface queue of a node in an ad hoc network: packets of several traffic classes for several
//! neighbours share one transmitter.

use alloc::vec::Vec;

use driftway_base::Instant;

use crate::config::QueueConfig;
use crate::frame::{Enqueued, Place, Waits};
use crate::queue::{InterfaceQueue, QueueCounters};

/// Configuration of a node's interface queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdhocQueueConfig {
    /// Configuration of the queue; with [`Priority::Classes`], of each class.
    pub queue: QueueConfig,
    /// Scheduling of the classes.
    pub priority: Priority,
}

/// Priority scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// First come, first served.
    None,
    /// Packets of [`PacketClass::Routing`] enter at the front, and evict the last packet of a full
    /// queue, as in ns-2.35 with AODV (queue/priqueue.cc), whose queues hold one packet less than
    /// configured.
    RoutingFirst,
    /// A queue per class, served in strict priority, as in ns-2.35 with DSR
    /// (queue/dsr-priqueue.cc).
    Classes,
}

/// Traffic classes, highest priority first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
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
pub struct Item {
    /// Handle of the owner, passed back unchanged.
    pub id: u32,
    /// Size in bytes.
    pub bytes: u32,
    /// True if it can be marked instead of dropped.
    pub ecn_capable: bool,
    /// Next hop; `None`: broadcast.
    pub next_hop: Option<u32>,
    /// Traffic class.
    pub class: Class,
}

impl Waits for Item {
    fn id(&self) -> u32 {
        self.id
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }
}

/// Packets queued for a node's transmitter.
///
/// The owner enqueues packets and dequeues the next whenever the transmitter is free; if none is
/// queued, the transmitter is idle until the next packet arrives. That packet does not wait, so
/// that the limit does not apply to it: the owner dequeues it immediately.
#[derive(Clone, Debug)]
pub struct AdhocQueue {
    priority: Priority,
    /// One queue, or one per class.
    lanes: Vec<InterfaceQueue<Item>>,
}

impl AdhocQueue {
    /// Creates an empty queue with an idle transmitter. `entity` names the node in the streams
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
        Self { priority, lanes: (0..lanes).map(lane).collect() }
    }

    /// Returns the number of queued packets.
    pub fn len(&self) -> usize {
        self.lanes.iter().map(InterfaceQueue::len).sum()
    }

    /// Returns true if no packet is queued.
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(InterfaceQueue::is_empty)
    }

    /// Returns the queued packets in order of service.
    pub fn iter(&self) -> impl Iterator<Item = Item> + '_ {
        self.lanes.iter().flat_map(InterfaceQueue::iter)
    }

    /// Returns the counters of all classes together; `longest` is the maximum over the classes.
    pub fn counters(&self) -> QueueCounters {
        self.lanes.iter().map(InterfaceQueue::counters).fold(
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

    /// Enqueues a packet. It is accepted or dropped, never refused.
    pub fn enqueue(&mut self, now: Instant, item: Item) -> Enqueued {
        let place = if self.goes_first(item) { Place::Front } else { Place::Tail };
        self.enqueue_at(now, item, place)
    }

    /// Returns true if it enters at the front.
    fn goes_first(&self, item: Item) -> bool {
        self.priority == Priority::RoutingFirst && item.class == Class::Routing
    }

    /// Enqueues a packet before or behind all others of its class.
    pub fn enqueue_at(&mut self, now: Instant, item: Item, place: Place) -> Enqueued {
        self.enqueue_in_lane(now, item, |lane| lane.enqueue(now, item, place))
    }

    /// Enqueues a packet before the first of its class that is later, unless its class enters at
    /// the front.
    pub fn enqueue_before(
        &mut self,
        now: Instant,
        item: Item,
        is_later: impl FnMut(&Item) -> bool,
    ) -> Enqueued {
        if self.goes_first(item) {
            return self.enqueue_at(now, item, Place::Front);
        }
        self.enqueue_in_lane(now, item, |lane| lane.enqueue_before(now, item, is_later))
    }

    fn enqueue_in_lane(
        &mut self,
        now: Instant,
        item: Item,
        enqueue: impl FnOnce(&mut InterfaceQueue<Item>) -> Enqueued,
    ) -> Enqueued {
        let own = match self.priority {
            Priority::None | Priority::RoutingFirst => 0,
            Priority::Classes => item.class as usize,
        };
        let Some(verdict) = self.lanes.get_mut(own).map(enqueue) else { return Enqueued::Refused };
        if matches!(verdict, Enqueued::Accepted { .. }) {
            self.lanes.iter_mut().for_each(|lane| lane.on_busy(now));
        }
        verdict
    }

    /// Dequeues the next packet for a free transmitter. `None`: the transmitter is idle from now
    /// on.
    pub fn take(&mut self, now: Instant) -> Option<Item> {
        let next = self.lanes.iter_mut().find_map(InterfaceQueue::take);
        if next.is_none() {
            self.lanes.iter_mut().for_each(|lane| lane.on_idle(now));
        }
        next
    }

    /// Dequeues the next packet for this neighbour, whether or not the transmitter is free.
    pub fn take_for(&mut self, next_hop: u32) -> Option<Item> {
        let is_so = |item: &Item| item.next_hop == Some(next_hop);
        self.lanes.iter_mut().find_map(|lane| lane.take_if(is_so))
    }

    /// Dequeues the next packet for any neighbour, whether or not the transmitter is free.
    pub fn take_any(&mut self) -> Option<Item> {
        self.lanes.iter_mut().find_map(InterfaceQueue::take)
    }
}
