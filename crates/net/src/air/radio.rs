//! Radios: the interfaces of nodes on airs.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{AirId, Duration, Instant, NodeId, PacketId, StationId};
use driftway_link::{AdhocQueue, Arp, QueuePosition};
use driftway_radio::dcf::{FrameKind, FrameRecord};
use driftway_route::LinkRetry;

use crate::frame_body::FrameBody;
use crate::interface::Departure;

/// A packet that waits for address resolution: its handle, and its position in the interface queue.
pub type PendingPacket = (PacketId, QueuePosition);

/// The interface of a node on an air.
pub struct Radio {
    /// The node.
    pub node: NodeId,
    /// The air.
    pub air: AirId,
    /// The number of the radio's station on its air.
    pub station: StationId,
    /// Packets that wait for the MAC layer.
    pub queue: AdhocQueue,
    /// Resolves neighbours' hardware addresses; `None`: they are all known.
    pub arp: Option<Arp<PendingPacket>>,
    /// Decides whether a packet is tried again on a link that has failed; `None`: never.
    pub link_retry: Option<LinkRetry>,
    /// The link layer's processing delay, of sender and receiver together. All of it is applied on
    /// the way from routing to the queue, and none at the receiver.
    stack_delay: Duration,
    /// Packets on their way to the queue, in order of arrival, with the times of that.
    arrivals: VecDeque<(Instant, Departure)>,
    /// The packets that the MAC layer accepted, and when, while frames are recorded. Frames are recorded after
    /// they have ended, when the packet's handle may be in use for another packet.
    accepted: VecDeque<(Instant, FrameBody)>,
    /// The number of faults that keep the radio down.
    down_count: u32,
    /// The times at which it has last heard each neighbour; empty if its node has no other radio.
    heard: BTreeMap<NodeId, Instant>,
}

impl Radio {
    /// Creates a radio that is on, with an empty queue.
    pub fn new(node: NodeId, queue: AdhocQueue, stack_delay: Duration) -> Self {
        Self {
            node,
            air: AirId::default(),
            station: StationId::default(),
            queue,
            arp: None,
            link_retry: None,
            stack_delay,
            arrivals: VecDeque::new(),
            accepted: VecDeque::new(),
            down_count: 0,
            heard: BTreeMap::new(),
        }
    }

    /// Puts a packet on its way to the queue. Returns the time of its arrival; `None` if there is no delay, and
    /// the packet belongs into the queue now.
    pub fn delay(&mut self, now: Instant, packet: Departure) -> Option<Instant> {
        if self.stack_delay.is_zero() {
            return None;
        }
        let at = now + self.stack_delay;
        self.arrivals.push_back((at, packet));
        Some(at)
    }

    /// Returns the next packet that has reached the queue.
    pub fn next_arrival(&mut self, now: Instant) -> Option<Departure> {
        if self.next_arrival_at()? > now {
            return None;
        }
        self.arrivals.pop_front().map(|(_, arrival)| arrival)
    }

    /// Returns the time at which the next packet reaches the queue.
    pub fn next_arrival_at(&self) -> Option<Instant> {
        self.arrivals.front().map(|(at, _)| *at)
    }

    /// Removes packets on their way to the queue.
    #[cfg(feature = "fault-injection")]
    pub fn remove_arrivals(
        &mut self,
        mut is_lost: impl FnMut(&Departure) -> bool,
    ) -> Vec<Departure> {
        let lost = self.arrivals.iter().map(|(_, arrival)| *arrival).filter(&mut is_lost);
        let lost: Vec<_> = lost.collect();
        self.arrivals.retain(|(_, arrival)| lost.iter().all(|other| other.id != arrival.id));
        lost
    }

    /// Records a packet that the MAC layer has accepted.
    pub fn on_accepted(&mut self, now: Instant, body: FrameBody) {
        self.accepted.push_back((now, body));
    }

    /// Returns the body of a data frame that has ended.
    pub fn body_of(&mut self, frame: &FrameRecord) -> Option<FrameBody> {
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data) {
            // The frame belongs to the last packet accepted before it.
            while self.accepted.get(1).is_some_and(|(at, _)| *at <= frame.at) {
                self.accepted.pop_front();
            }
        }
        let body = self.accepted.front().map(|(_, body)| *body);
        body.filter(|_| frame.kind == FrameKind::Data)
    }

    /// Switches the radio off; returns true if it was on.
    pub fn switch_off(&mut self) -> bool {
        self.down_count += 1;
        self.down_count == 1
    }

    /// Ends what has switched the radio off; returns true if it is on again.
    pub fn switch_on(&mut self) -> bool {
        self.down_count -= 1;
        self.is_on()
    }

    /// Returns true if it is switched on.
    pub fn is_on(&self) -> bool {
        self.down_count == 0
    }

    /// Records that it has heard a neighbour.
    pub fn on_heard(&mut self, now: Instant, neighbour: NodeId) {
        self.heard.insert(neighbour, now);
    }

    /// Returns the time at which it has last heard a neighbour.
    pub fn heard_at(&self, neighbour: NodeId) -> Option<Instant> {
        self.heard.get(&neighbour).copied()
    }

    /// Returns the number of packets on the way to the queue, in it, and held by ARP.
    pub fn packets_held(&self) -> usize {
        let pending = self.arp.as_ref().map_or(0, |arp| arp.pending_packets().count());
        self.queue.len() + self.arrivals.len() + pending
    }
}
