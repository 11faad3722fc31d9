//! The interface of a scheme: the events that it handles, and its outputs.

use core::fmt::Debug;

use driftway_base::{DropReason, FailedLink, Instant, Ipv4Addr, LinkId, NodeId, PacketId, Signal};
use driftway_wire::{Packet, RoutedPacket};

/// A next hop of a node: an interface and the neighbour behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextHop {
    /// The other end of a wire.
    Wire {
        /// The wire.
        link: LinkId,
        /// True if it starts at the wire's second end.
        from_second_end: bool,
    },
    /// The way over the air to a destination, of which routing has at most one.
    OverAir {
        /// The destination.
        to: NodeId,
    },
}

/// A packet that a node cannot deliver.
#[derive(Clone, Copy, Debug)]
pub struct UndeliverablePacket<'a> {
    /// The packet as it was to be forwarded.
    pub packet: &'a Packet,
    /// The reason.
    pub reason: DropReason,
    /// The failed link of this node, if that is the reason.
    pub link: Option<FailedLink>,
    /// The driver's handle of the packet, if the packet can be buffered.
    pub packet_id: Option<PacketId>,
}

/// The treatment of a packet without a usable next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndeliverableOutcome {
    /// It is buffered, by its handle, until [`Scheme::poll_released`] returns that.
    Buffered,
    /// It is dropped.
    Dropped,
    /// It is dropped because the buffer is full.
    Overflow,
}

/// The treatment of a received packet that may be a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// It is forwarded.
    Forward,
    /// It is discarded.
    Discard,
}

/// An action that a scheme requests from its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum FeedbackOutput {
    /// Send this packet of the node itself; the driver sets its identification.
    Transmit(Packet),
    /// A signal for the connections of the local host to
    /// [`SignalDetails::destination`](driftway_base::SignalDetails).
    Signal(Signal),
    /// Report the next route to this destination ([`Scheme::on_route_found`]), even if the local host does
    /// not need one. A driver that reports every route ignores this.
    Watch(Ipv4Addr),
}

/// One kind of feedback: events in, [`FeedbackOutput`]s out.
///
/// *Packets*: [`on_link_failure`](Self::on_link_failure), then for each packet concerned
/// [`on_undeliverable`](Self::on_undeliverable) or [`on_salvaged`](Self::on_salvaged), then
/// [`on_link_failure_end`](Self::on_link_failure_end); [`on_queue_overflow`](Self::on_queue_overflow) by
/// itself. *Routes*: [`on_next_hop_failed`](Self::on_next_hop_failed),
/// [`on_next_hop_restored`](Self::on_next_hop_restored), [`on_route_lost`](Self::on_route_lost),
/// [`on_route_found`](Self::on_route_found), [`on_discovery_started`](Self::on_discovery_started). *Notices
/// of other nodes*: [`on_notice`](Self::on_notice) on paths; in ad hoc networks, where routing forwards them,
/// [`on_message`](Self::on_message) and [`on_message_sent`](Self::on_message_sent). Events that a scheme does
/// not handle have no effect. Time never decreases.
pub trait Scheme: Debug + Send {
    /// A link of this node failed with these packets on it: first the one that reached the retry limit, then
    /// those queued for the same neighbour.
    fn on_link_failure(&mut self, _now: Instant, _link: FailedLink, _packets: &[Packet]) {}
    /// The node cannot deliver a packet.
    fn on_undeliverable(
        &mut self,
        _now: Instant,
        _lost: &UndeliverablePacket<'_>,
    ) -> UndeliverableOutcome {
        UndeliverableOutcome::Dropped
    }
    /// Routing rerouted a packet, which was salvaged `times` times so far, this time included.
    fn on_salvaged(&mut self, _now: Instant, _packet: &Packet, _times: u8) {}
    /// All packets of the failed link have been reported.
    fn on_link_failure_end(&mut self, _now: Instant) {}
    /// The interface queue had no room for a packet.
    fn on_queue_overflow(&mut self, _now: Instant, _packet: &Packet) {}

    /// The link of this node at `next_hop` cannot carry packets for `destination`, until
    /// [`on_next_hop_restored`](Self::on_next_hop_restored).
    fn on_next_hop_failed(
        &mut self,
        _destination: Ipv4Addr,
        _next_hop: NextHop,
        _link: FailedLink,
    ) {
    }
    /// The link at `next_hop` is up again, or routing has a route over it.
    fn on_next_hop_restored(&mut self, _next_hop: NextHop) {}
    /// Routing has lost the route to a destination of the local host.
    fn on_route_lost(&mut self, _now: Instant, _to: Ipv4Addr) {}
    /// Routing has a route where there was none, or to a watched destination.
    fn on_route_found(&mut self, _now: Instant, _to: Ipv4Addr) {}
    /// Routing starts a route discovery for a destination of the local host.
    fn on_discovery_started(&mut self, _now: Instant, _to: Ipv4Addr) {}

    /// A packet that may be a notice was received over `next_hop`; `next_hops` are all over which packets to
    /// the destination that it names can leave. Packets for the local host are included.
    fn on_notice(
        &mut self,
        _now: Instant,
        _notice: &Packet,
        _next_hop: NextHop,
        _next_hops: &[NextHop],
    ) -> NoticeAction {
        NoticeAction::Forward
    }
    /// A routing or ICMP message was received from a neighbour, for this node or to be forwarded; routing
    /// processes it after this.
    fn on_message(&mut self, _now: Instant, _message: &RoutedPacket) {}
    /// A routing or ICMP message leaves, originated or forwarded by this node. The scheme may add options to
    /// a DSR header ([`DsrHeader::add_option`](driftway_wire::DsrHeader::add_option)) or replace them.
    fn on_message_sent(&mut self, _now: Instant, _message: &mut RoutedPacket) {}
    /// A packet for `destination` is about to be forwarded: expired failures are removed, since there are no
    /// timers. Returns true if packets were [released](Self::poll_released) by that.
    fn on_packet(&mut self, _now: Instant, _destination: Ipv4Addr) -> bool {
        false
    }

    /// Returns true if the scheme blocks next hops and buffers packets.
    fn is_stateful(&self) -> bool {
        false
    }
    /// Returns true if packets for `destination` can leave over `next_hop`.
    fn is_usable(&self, _now: Instant, _destination: Ipv4Addr, _next_hop: NextHop) -> bool {
        true
    }
    /// Returns true if `next_hop` can be tried for `packet` although no next hop is usable.
    fn can_try(&self, _packet: &Packet, _next_hop: NextHop) -> bool {
        true
    }
    /// The number of buffered packets, including those to be polled.
    fn buffered_packets(&self) -> usize {
        0
    }
    /// Returns the next output.
    fn poll(&mut self) -> Option<FeedbackOutput>;
    /// Returns the handle of the next released packet, which is to be forwarded again.
    fn poll_released(&mut self) -> Option<PacketId> {
        None
    }
}
