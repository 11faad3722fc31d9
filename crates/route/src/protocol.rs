//! The interface that all routing protocols of an ad hoc network share.
//!
//! A protocol (AODV, DSR, static routes) is one state machine per node, a [`RoutingProtocol`]. Its driver reports
//! events and polls until there is no [`Output`].
//!
//! Each host packet that enters comes out once, as [`Output::Transmit`], [`Output::Deliver`] or
//! [`Output::Drop`], or is buffered; and once more for each [`Output::Duplicated`]. A packet that is broadcast enters
//! each receiver as a packet of its own. Control packets are not accounted for: they need no [`Output::Drop`].
//!
//! # Gateways
//!
//! A node with wired interfaces is a gateway to the hosts that are declared by [`RoutingProtocol::add_external`], before the first
//! packet. They do not run the protocol, and they are no nodes of this ad hoc network. Several nodes may be
//! gateways to the same host.
//!
//! - A packet to an external host comes out of its gateway as [`Output::Deliver`]. The driver recognizes it by
//!   its destination, decrements its time to live, and forwards it on a wire; the protocol does not decrement it
//!   for this step.
//! - A packet from an external host is passed to [`RoutingProtocol::send`], after the driver has decremented its time to live. The
//!   gateway acts as its originator: it starts the route discovery, buffers the packet, and reports
//!   [`Output::RouteFound`], [`Output::RouteLost`] and [`Output::Drop`] as for its own packets. There is no
//!   [`Output::Signal`] about it, because its connection does not end here. Its source should be declared, too:
//!   otherwise no answer finds the way back.
//! - Nodes ask for an external host like for any other destination, and the gateway answers.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{DropReason, Entry, Instant, Ipv4Addr, NodeId, ReceivedPower, Signal};
use driftway_wire::{Packet, RoutedPacket};

/// The initial time to live of host packets, unless the protocol has another.
pub const HOST_TTL: u8 = 64;

/// The node for which a protocol is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutingPlace {
    /// Address of the node.
    pub address: Ipv4Addr,
    /// Number of the node.
    pub node: NodeId,
    /// Key of all random streams; a node's stream is (`seed`, a purpose, node).
    pub seed: u64,
}

/// A routing protocol that scenarios name.
pub type RoutingEntry = Entry<RoutingPlace, Box<dyn RoutingProtocol>>;

/// A routing protocol at one node.
pub trait RoutingProtocol: Send {
    /// Sends a packet of the local host, or one that came in over a wire of a gateway. It has its IP identification and
    /// its time to live; its destination may be the broadcast address.
    fn send(&mut self, now: Instant, packet: Packet);

    /// Requests one [`Output::RouteFound`] for the next route to `destination`, even if the local host sends
    /// nothing there. Where there is a route already, it is reported when routing next learns of one.
    fn watch_route(&mut self, destination: Ipv4Addr);

    /// Declares that `destination` is reached through this node, outside the ad hoc network.
    fn add_external(&mut self, destination: Ipv4Addr);

    /// Learns before the first packet that `destination`, which is outside, is reached through `gateway`.
    /// Protocols that find such a destination themselves do nothing.
    fn add_route_through(&mut self, destination: Ipv4Addr, gateway: Ipv4Addr) {
        let _ = (destination, gateway);
    }

    /// Handles a packet received from the neighbour `from`, unicast to this node or broadcast. The protocol decrements
    /// the time to live of what it forwards.
    fn on_packet(&mut self, now: Instant, from: Ipv4Addr, packet: RoutedPacket);

    /// Handles a packet overheard between two other nodes; returns true if there may be output to poll.
    fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        let _ = (now, from, to, packet);
        false
    }

    /// Returns true if the node has to overhear packets that are addressed to others.
    fn is_promiscuous(&self) -> bool {
        false
    }

    /// Records the power with which a neighbour's frame is received, before its packet.
    fn on_received_power(&mut self, neighbour: Ipv4Addr, power: ReceivedPower) {
        let _ = (neighbour, power);
    }

    /// Returns true if the protocol uses the received power of neighbours, which is measured only then.
    fn needs_received_power(&self) -> bool {
        false
    }

    /// Handles a packet to the neighbour `to` that reached the retry limit of the link layer. Each call of
    /// `queued` removes the next packet to the same neighbour from the interface queue; the others stay there.
    fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    );

    /// Runs the timers that are due.
    fn on_timeout(&mut self, now: Instant);

    /// Returns the next output.
    fn poll(&mut self, now: Instant) -> Option<Output>;

    /// The instant at which [`on_timeout`](Self::on_timeout) or [`poll`](Self::poll) has to be called next.
    fn next_timeout(&self) -> Option<Instant>;

    /// The number of host packets held, those in outputs that were not yet polled among them.
    fn buffered_packets(&self) -> usize;

    /// The counters.
    fn stats(&self) -> &RouteStats;

    /// The neighbour through which packets to `destination` leave; `None`: there is no route, or it is in the
    /// packets ([`source_route`](Self::source_route)).
    fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr>;

    /// The whole route to `destination`, both ends included, if the protocol uses source routes.
    fn source_route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        let _ = (now, destination);
        None
    }

    /// Returns true if the loss of a packet to `destination` by [`Output::PurgeQueue`] is not reported to its
    /// source: there is still a route, or the protocol has a copy.
    fn has_route(&self, destination: Ipv4Addr) -> bool {
        self.next_hop(destination).is_some()
    }

    /// Returns the IP identification of the node's next packet, if the protocol numbers its own messages in the
    /// same sequence.
    fn new_identification(&mut self) -> Option<u16> {
        None
    }

    /// The initial time to live of host packets.
    fn initial_ttl(&self) -> u8 {
        HOST_TTL
    }
}

/// The link-layer destination of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDestination {
    /// This neighbour.
    Unicast(Ipv4Addr),
    /// All nodes in range.
    Broadcast,
}

/// An action that a routing protocol requests from its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum Output {
    /// Append this packet to the interface queue.
    Transmit {
        /// The packet.
        packet: RoutedPacket,
        /// The link-layer destination.
        hop: LinkDestination,
    },
    /// Deliver a packet to the local host; or, if it is for an external host, forward it on a wire. Then its
    /// time to live has not been decremented for this step.
    Deliver(Packet),
    /// A packet is dropped. The driver generates the feedback for it; none for [`Loop`](DropReason::Loop), which also
    /// stands for a copy of what has been here, and [`Unconfirmed`](DropReason::Unconfirmed). ICMP reports neither
    /// [`SendBufferFull`](DropReason::SendBufferFull) nor [`SendBufferTimeout`](DropReason::SendBufferTimeout), RFN not
    /// [`TimeToLive`](DropReason::TimeToLive).
    Drop {
        /// The packet.
        packet: RoutedPacket,
        /// The reason.
        reason: DropReason,
    },
    /// Drop all packets for this neighbour from the interface queue, as [`DropReason::LinkFailure`].
    PurgeQueue(Ipv4Addr),
    /// There is a route to this destination where there was none, or the next route to a watched destination.
    RouteFound(Ipv4Addr),
    /// There is no longer a route to this destination.
    RouteLost(Ipv4Addr),
    /// A route discovery starts for a destination to which the local host sends.
    DiscoveryStarted(Ipv4Addr),
    /// A signal for the connections of the local host.
    Signal(Signal),
    /// A copy of a host packet that was already transmitted was kept, or is rebuilt from what is known of it:
    /// one more packet comes out after this.
    Duplicated,
    /// A host packet could not be forwarded and gets another route; its transmission follows.
    Salvaged {
        /// The packet.
        packet: Packet,
        /// The number of times that the packet has been salvaged, including this one, where packets carry a
        /// count; else 1.
        salvage_count: u8,
    },
}

/// Counters of a routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RouteStats {
    /// Control packets sent, per hop, including forwarded ones and route errors.
    pub packets_sent: u64,
    /// Bytes of these packets at the IP layer.
    pub bytes_sent: u64,
    /// Route discoveries started, for packets of this node or, with `salvage_requests`, of others.
    pub discoveries: u64,
    /// Route discoveries that ended without a route.
    pub failed_discoveries: u64,
    /// Route errors originated.
    pub route_errors: u64,
    /// Notices of a cache to other nodes (DSR) among these.
    pub notices: u64,
    /// Link failures reported by the link layer or detected by network-layer acknowledgments (DSR).
    pub link_failures: u64,
    /// Route replies from a cache, or by an intermediate node.
    pub replies_from_cache: u64,
    /// Packets rerouted on their way (salvaged, or sent after a local repair).
    pub salvaged: u64,
    /// Overheard packets that contained new route information (DSR).
    pub overheard: u64,
    /// Route errors that carry nested errors (DSR).
    pub nested_errors: u64,
    /// Route errors originated here that list the packets lost on a link (yu-2004 §4.2).
    pub loss_notices: u64,
    /// Those of them that were relayed by a node between the link and the end of the connection.
    pub passed_notices: u64,
    /// Such errors dropped for lack of a cached route.
    pub lost_notices: u64,
    /// Acknowledgments retransmitted for other nodes or the local host (yu-2004 §4.3.2).
    pub resent_acks: u64,
    /// Packets retransmitted because the next hop did not confirm them (DSR).
    pub retransmitted: u64,
}

/// Pending outputs, immediate and scheduled.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    ready: VecDeque<Output>,
    /// Sorted by instant, in order of insertion within one instant.
    scheduled: VecDeque<(Instant, Output)>,
}

impl Outbox {
    /// Adds an immediate output.
    pub fn push(&mut self, output: Output) {
        self.ready.push_back(output);
    }

    /// Schedules an output for `at`.
    pub fn push_at(&mut self, at: Instant, output: Output) {
        let place = self.scheduled.partition_point(|(when, _)| *when <= at);
        self.scheduled.insert(place, (at, output));
    }

    /// Returns the next output that is due.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        // An output is large: it is not bound, because that would copy it.
        if !self.ready.is_empty() {
            return self.ready.pop_front();
        }
        if self.next_timeout()? <= now { self.scheduled.pop_front().map(|(_, o)| o) } else { None }
    }

    /// The instant at which the next scheduled output is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.scheduled.front().map(|(at, _)| *at)
    }

    /// The number of host packets in it.
    pub fn buffered_packets(&self) -> usize {
        let all = self.ready.iter().chain(self.scheduled.iter().map(|(_, output)| output));
        all.filter(|output| match output {
            Output::Transmit { packet, .. } | Output::Drop { packet, .. } => !packet.is_control(),
            Output::Deliver(_) => true,
            _ => false,
        })
        .count()
    }
}
