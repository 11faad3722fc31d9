//! The buffer of packets without a route.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{Body, IcmpMessage, Routed};

/// In order of arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    waiting: VecDeque<(Instant, Routed)>,
}

impl Buffer {
    /// Buffers `packet` until `until`. If there are already `limit` packets, the oldest is evicted and
    /// returned (or this one, if `limit` is 0).
    #[must_use]
    pub(super) fn push(&mut self, packet: Routed, until: Instant, limit: usize) -> Option<Routed> {
        self.waiting.push_back((until, packet));
        if self.waiting.len() > limit { self.waiting.pop_front().map(|(_, old)| old) } else { None }
    }

    /// Removes the next packet for `destination`.
    pub(super) fn take(&mut self, destination: Ipv4Addr) -> Option<Routed> {
        self.take_if(|routed| routed.packet.ip.destination == destination)
    }

    /// Removes the next packet that matches.
    pub(super) fn take_if(&mut self, is_one: impl Fn(&Routed) -> bool) -> Option<Routed> {
        let is_it = |(_, routed): &(Instant, Routed)| is_one(routed);
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at).map(|(_, packet)| packet)
    }

    pub(super) fn has(&self, destination: Ipv4Addr) -> bool {
        self.waiting.iter().any(|(_, routed)| routed.packet.ip.destination == destination)
    }

    /// Returns true if a packet for `destination` is buffered that expects an answer: TCP or an ICMP echo.
    pub(super) fn converses(&self, destination: Ipv4Addr) -> bool {
        self.waiting.iter().any(|(_, routed)| {
            routed.packet.ip.destination == destination
                && matches!(routed.packet.body, Body::Tcp(_) | Body::Icmp(IcmpMessage::Echo { .. }))
        })
    }

    /// Removes the next packet that has expired.
    pub(super) fn take_old(&mut self, now: Instant) -> Option<Routed> {
        // All packets have the same time limit, so the first is the oldest.
        let (until, _) = self.waiting.front()?;
        if *until <= now { self.waiting.pop_front().map(|(_, old)| old) } else { None }
    }

    /// The instant at which the first packet expires.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
