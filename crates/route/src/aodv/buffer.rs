//! Packets that wait for a route.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{Body, IcmpMessage, RoutedPacket};

/// In the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketBuffer {
    queue: VecDeque<(Instant, RoutedPacket)>,
}

impl PacketBuffer {
    /// Lets `packet` wait until `until`. If there are `limit` already, the oldest makes way (or this
    /// one, if there may be none).
    #[must_use]
    pub(super) fn push(&mut self, packet: RoutedPacket, until: Instant, limit: usize) -> Option<RoutedPacket> {
        self.queue.push_back((until, packet));
        if self.queue.len() > limit { self.queue.pop_front().map(|(_, old)| old) } else { None }
    }

    /// The next packet for `destination`.
    pub(super) fn take(&mut self, destination: Ipv4Addr) -> Option<RoutedPacket> {
        self.take_if(|routed| routed.packet.ip.destination == destination)
    }

    /// The next packet that is one of these.
    pub(super) fn take_if(&mut self, is_one: impl Fn(&RoutedPacket) -> bool) -> Option<RoutedPacket> {
        let is_it = |(_, routed): &(Instant, RoutedPacket)| is_one(routed);
        let at = self.queue.iter().position(is_it)?;
        self.queue.remove(at).map(|(_, packet)| packet)
    }

    pub(super) fn has_packets_for(&self, destination: Ipv4Addr) -> bool {
        self.queue.iter().any(|(_, routed)| routed.packet.ip.destination == destination)
    }

    /// Does anything wait for `destination` that is a part of a conversation: TCP, or an echo?
    pub(super) fn has_two_way_traffic(&self, destination: Ipv4Addr) -> bool {
        self.queue.iter().any(|(_, routed)| {
            routed.packet.ip.destination == destination
                && matches!(routed.packet.body, Body::Tcp(_) | Body::Icmp(IcmpMessage::Echo { .. }))
        })
    }

    /// The next packet that has waited long enough.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<RoutedPacket> {
        // All wait equally long, so the first is the oldest.
        let (until, _) = self.queue.front()?;
        if *until <= now { self.queue.pop_front().map(|(_, old)| old) } else { None }
    }

    /// When the first has waited long enough.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.queue.front().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
