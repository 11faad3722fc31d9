//! The buffer of packets without a route.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{Body, IcmpMessage, RoutedPacket};

/// Packets in order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketBuffer {
    queue: VecDeque<(Instant, RoutedPacket)>,
}

impl PacketBuffer {
    /// Buffers `packet` until `until`. If there are already `limit` packets, the oldest is evicted and
    /// returned (or this one, if `limit` is 0).
    #[must_use]
    pub(super) fn push(
        &mut self,
        packet: RoutedPacket,
        until: Instant,
        limit: usize,
    ) -> Option<RoutedPacket> {
        self.queue.push_back((until, packet));
        if self.queue.len() > limit { self.queue.pop_front().map(|(_, old)| old) } else { None }
    }

    /// Removes the next packet for `destination`.
    pub(super) fn take(&mut self, destination: Ipv4Addr) -> Option<RoutedPacket> {
        self.take_if(|routed| routed.packet.ip.destination == destination)
    }

    /// Removes the next packet that matches.
    pub(super) fn take_if(
        &mut self,
        is_one: impl Fn(&RoutedPacket) -> bool,
    ) -> Option<RoutedPacket> {
        let is_it = |(_, routed): &(Instant, RoutedPacket)| is_one(routed);
        let at = self.queue.iter().position(is_it)?;
        self.queue.remove(at).map(|(_, packet)| packet)
    }

    pub(super) fn has_packets_for(&self, destination: Ipv4Addr) -> bool {
        self.queue.iter().any(|(_, routed)| routed.packet.ip.destination == destination)
    }

    /// Returns true if a packet for `destination` is buffered that expects an answer: TCP or an ICMP echo.
    pub(super) fn has_two_way_traffic(&self, destination: Ipv4Addr) -> bool {
        self.queue.iter().any(|(_, routed)| {
            routed.packet.ip.destination == destination
                && matches!(routed.packet.body, Body::Tcp(_) | Body::Icmp(IcmpMessage::Echo { .. }))
        })
    }

    /// Removes the next packet that has expired.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<RoutedPacket> {
        // All packets have the same time limit, so the first is the oldest.
        let (until, _) = self.queue.front()?;
        if *until <= now { self.queue.pop_front().map(|(_, old)| old) } else { None }
    }

    /// The instant at which the first packet expires.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.queue.front().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }
}
