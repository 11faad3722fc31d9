//! What every routing protocol of an ad hoc network has in common.
//!
//! A protocol is one machine a node (AODV, DSR, static routes) with the same methods:
//!
//! - commands: `send(now, packet)`, a packet of the own host; `watch(destination)`, the next route to
//!   there is to be told of ([`Output::RouteFound`]), whether or not the own host wants one;
//! - events: `on_packet(now, from, packet)`, what the link layer got for this node or for all, from
//!   that neighbour; `on_overheard(now, from, to, packet)`, what it heard for others; the answer is
//!   whether there may be something to poll for; `on_strength(neighbour, strength)`, how strong a
//!   neighbour was that is heard now, before what it sent, for a protocol that `wants_strength`;
//!   `on_link_failure(now, to, packet, queued)`, the link layer gave up on a packet to a neighbour,
//!   and each call of `queued` takes the next packet to the same neighbour out of the interface
//!   queue (what is not taken stays); `on_timeout(now)`;
//! - polls: `poll(now)`, until there is no [`Output`]; `next_timeout()`;
//! - looks: `kept()`, how many packets of hosts it holds; `wants_strength()`.
//!
//! A packet of a host that goes in comes out once, as [`Output::Transmit`], [`Output::Deliver`] or
//! [`Output::Drop`], or it is kept; and once more for each [`Output::Copied`]. What is routing's own is made and consumed without an account.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr, Signal};
use driftway_wire::{Packet, RoutedPacket};

/// Over which hop a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkDestination {
    /// To this neighbour.
    Unicast(Ipv4Addr),
    /// To all that hear it.
    Broadcast,
}

/// What a protocol wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum Output {
    /// Put this into the interface queue.
    Transmit {
        /// The packet.
        packet: RoutedPacket,
        /// To whom.
        hop: LinkDestination,
    },
    /// A packet for the own host.
    Deliver(Packet),
    /// A packet is given up. The driver answers for its feedback (ICMP, RFN).
    Drop {
        /// The packet.
        packet: RoutedPacket,
        /// Why.
        reason: DropReason,
    },
    /// Drop what waits in the interface queue for this neighbour, as [`DropReason::LinkFailure`].
    PurgeQueue(Ipv4Addr),
    /// There is a route to this destination, where there was none, or the next one to a destination
    /// that is watched.
    RouteFound(Ipv4Addr),
    /// There is no route to this destination any more.
    RouteLost(Ipv4Addr),
    /// A search for a route begins, to where the own host sends.
    DiscoveryStarted(Ipv4Addr),
    /// News for the connections of the own host.
    Signal(Signal),
    /// A packet of a host's that has gone out was kept as well, or is made anew from what is known of
    /// it: there is one more of it, which comes out after this.
    Duplicated,
    /// A packet of a host's could not go on, and gets another route; it is transmitted after this.
    Salvaged {
        /// The packet.
        packet: Packet,
        /// How often that was done on its way, this time included, where packets say so; else 1.
        salvage_count: u8,
    },
}

/// Why routing gave up on a packet of a host (or, under DSR, on one of its own that it had queued).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// No route, and none to be looked for.
    NoRoute,
    /// The link to the next hop did not carry it.
    LinkFailure,
    /// A route was looked for and not found.
    DiscoveryFailed,
    /// Its time to live ran out.
    TimeToLive,
    /// The buffer of packets without a route was full.
    BufferFull,
    /// It waited there for too long.
    BufferTimeout,
    /// It had been salvaged as often as may be.
    SalvageLimit,
    /// It came back to where it had been.
    Loop,
    /// The route that it carries is not one that this node can follow.
    BadRoute,
    /// The link layer did not carry it, where that is to be noticed by routing's own acknowledgments.
    Unconfirmed,
    /// A copy of a request has come as far as a route may lead; another may have found its target.
    RouteTooLong,
}

impl DropReason {
    /// Does it say that there is no way for packets to this destination now?
    pub const fn is_route_failure(self) -> bool {
        !matches!(self, Self::Loop | Self::TimeToLive | Self::Unconfirmed)
    }
}

/// What routing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RouteStats {
    /// Routing's own packets sent, by hop: those forwarded and errors included.
    pub packets_sent: u64,
    /// Their bytes at the IP layer.
    pub bytes_sent: u64,
    /// Searches for a route begun.
    pub discoveries: u64,
    /// Searches that ended without a route.
    pub failed_discoveries: u64,
    /// Route errors made.
    pub route_errors: u64,
    /// Of these, notices of a cache to other nodes (DSR).
    pub notices: u64,
    /// Link failures heard from the link layer, or noticed by acknowledgments of routing's own (DSR).
    pub link_failures: u64,
    /// Replies from a cache, or by an intermediate node.
    pub replies_from_cache: u64,
    /// Packets given another route on the way (salvaged, repaired).
    pub salvaged: u64,
    /// Packets for others in which there was news of routes (DSR).
    pub overheard: u64,
    /// Route errors that took others along (DSR).
    pub nested_errors: u64,
    /// Route errors that say what a link has lost, made here (yu-2004 §4.2).
    pub loss_notices: u64,
    /// Of these, passed on by who stands between the link and the end of the connection.
    pub passed_notices: u64,
    /// Such errors for which no cached route was left.
    pub lost_notices: u64,
    /// Acknowledgments sent again for others, or for the own host (yu-2004 §4.3.2).
    pub resent_acks: u64,
    /// Packets sent again because the next hop did not confirm them (DSR).
    pub retransmitted: u64,
}

/// What is to be done, now or later.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    ready: VecDeque<Output>,
    /// By instant; of one instant in the order in which they came.
    scheduled: VecDeque<(Instant, Output)>,
}

impl Outbox {
    /// To be done now.
    pub fn push(&mut self, output: Output) {
        self.ready.push_back(output);
    }

    /// To be done at `at`.
    pub fn push_at(&mut self, at: Instant, output: Output) {
        let place = self.scheduled.partition_point(|(when, _)| *when <= at);
        self.scheduled.insert(place, (at, output));
    }

    /// The next to be done by now.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.ready.pop_front() {
            return Some(output);
        }
        if self.next_timeout()? <= now { self.scheduled.pop_front().map(|(_, o)| o) } else { None }
    }

    /// When something is to be done that is not yet.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.scheduled.front().map(|(at, _)| *at)
    }

    /// Packets of hosts in it.
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
