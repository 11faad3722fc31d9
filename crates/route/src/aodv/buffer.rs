//! Packets that wait for a route.

use alloc::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{Body, IcmpMessage, Routed};

/// In the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    waiting: VecDeque<(Instant, Routed)>,
}

impl Buffer {
    /// Lets `packet` wait until `until`. If there are `limit` already, the oldest makes way (or this
    /// one, if there may be none).
    #[must_use]
    pub(super) fn push(&mut self, packet: Routed, until: Instant, limit: usize) -> Option<Routed> {
        self.waiting.push_back((until, packet));
        if self.waiting.len() > limit { self.waiting.pop_front().map(|(_, old)| old) } else { None }
    }

    /// The next packet for `destination`.
    pub(super) fn take(&mut self, destination: Ipv4Addr) -> Option<Routed> {
        self.take_if(|routed| routed.packet.ip.destination == destination)
    }

    /// The next packet that is one of these.
    pub(super) fn take_if(&mut self, is_one: impl Fn(&Routed) -> bool) -> Option<Routed> {
        let is_it = |(_, routed): &(Instant, Routed)| is_one(routed);
        let at = self.waiting.iter().position(is_it)?;
        self.waiting.remove(at).map(|(_, packet)| packet)
    }

    pub(super) fn has(&self, destination: Ipv4Addr) -> bool {
        self.waiting.iter().any(|(_, routed)| routed.packet.ip.destination == destination)
    }

    /// Does anything wait for `destination` that is a part of a conversation: TCP, or an echo?
    pub(super) fn converses(&self, destination: Ipv4Addr) -> bool {
        self.waiting.iter().any(|(_, routed)| {
            routed.packet.ip.destination == destination
                && matches!(routed.packet.body, Body::Tcp(_) | Body::Icmp(IcmpMessage::Echo { .. }))
        })
    }

    /// The next packet that has waited long enough.
    pub(super) fn take_old(&mut self, now: Instant) -> Option<Routed> {
        // All wait equally long, so the first is the oldest.
        let (until, _) = self.waiting.front()?;
        if *until <= now { self.waiting.pop_front().map(|(_, old)| old) } else { None }
    }

    /// When the first has waited long enough.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|(until, _)| *until)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
