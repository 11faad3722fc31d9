//! Route replies (RFC 4728 §8.2.3 to §8.2.6).

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::{AddressList, Body, DsrHeader, DsrReply, DsrRequestOrOptions, RoutedPacket};

use super::Dsr;
use super::cache::{LearnedBy, RouteObservation};
use super::originate::MAX_SALVAGE_COUNT;
use super::path::{self, Path, SourceRoute};
use crate::{LinkDestination, Output};

/// Delayed replies from the cache (RFC 4728 §8.2.5), which prevent reply storms.
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayedReplies {
    pending: Vec<DelayedReply>,
}

#[derive(Clone, Copy, Debug)]
struct DelayedReply {
    at: Instant,
    initiator: Ipv4Addr,
    target: Ipv4Addr,
    /// The number of nodes of the listed route.
    nodes: usize,
    packet: RoutedPacket,
    to: Ipv4Addr,
}

/// The maximum number of delayed replies; others are sent at once.
const DELAYED_MAX: usize = 16;

impl DelayedReplies {
    pub fn next_timeout(&self) -> Option<Instant> {
        self.pending.iter().map(|held| held.at).min()
    }

    /// Cancels replies that are no better than a route of that many nodes that the initiator is heard to use.
    pub fn on_route_used(&mut self, initiator: Ipv4Addr, target: Ipv4Addr, nodes: usize) {
        self.pending.retain(|held| {
            held.initiator != initiator || held.target != target || held.nodes < nodes
        });
    }
}

impl Dsr {
    /// Replies to a request for this node, or its external host `target`, that arrived by `request_path`, which
    /// ends here.
    pub(super) fn reply_as_target(
        &mut self,
        now: Instant,
        request_path: &Path,
        back: &Path,
        target: Ipv4Addr,
    ) {
        self.cache.on_route_learned(now, back, LearnedBy::OwnReply);
        self.on_new_route(now);
        let mut whole = *request_path;
        if target != self.address
            && (whole.len() >= usize::from(self.config.max_nodes) || !whole.push(target))
        {
            return;
        }
        let Some((mut packet, to)) = self.build_reply(&whole, back) else { return };
        let at = now + self.draw_jitter();
        self.transmit(now, at, &mut packet, LinkDestination::Unicast(to));
    }

    /// Replies to a request that arrived by `request_path`, which ends here, if the cache has the rest of the
    /// route.
    pub(super) fn reply_from_cache(
        &mut self,
        now: Instant,
        request_path: &Path,
        target: Ipv4Addr,
    ) -> bool {
        // RFC 4728 §6.3: an external hop is not returned from a cache.
        if self.is_known_external(target) {
            return false;
        }
        let Some(rest) = self.cache.lookup(now, target) else { return false };
        if request_path.len() + rest.len() - 1 > usize::from(self.config.max_nodes) {
            return false;
        }
        let mut whole = *request_path;
        whole.extend(rest.as_slice().get(1..).unwrap_or_default());
        // RFC 4728 §8.2.3. ns-2.35 removes loops and then checks that this node is still on the route: each
        // loop contains the node that joins both parts, so that it never is.
        if whole.has_loop() {
            return false;
        }
        let back = request_path.reversed();
        let is_new = self.cache.on_route_learned(now, &back, LearnedBy::CachedReply);
        let Some((mut packet, to)) = self.build_reply(&whole, &back) else { return false };
        self.stats.replies_from_cache += 1;
        let mut at = now;
        if let Some(delay) = self.config.reply_delay {
            let random = self.jitter_random.uniform_duration(driftway_base::Duration::ZERO, delay);
            at = at + delay.times(whole.len().saturating_sub(2) as u64) + random;
        } else if self.config.jitter_cached_replies {
            at += self.draw_jitter();
        }
        let initiator = packet.packet.ip.destination;
        if self.config.reply_delay.is_some() && self.replies.pending.len() < DELAYED_MAX {
            let nodes = whole.len();
            self.replies.pending.push(DelayedReply { at, initiator, target, nodes, packet, to });
        } else {
            self.cache.on_reply_sent(now, &whole, to);
            self.transmit(now, at, &mut packet, LinkDestination::Unicast(to));
        }
        if is_new {
            self.on_new_route(now);
        }
        true
    }

    /// Forwards the other contents of a request that was answered from the cache to the target on the cached
    /// route, without salvaging (RFC 4728 §8.2.3).
    pub(super) fn forward_answered(
        &mut self,
        now: Instant,
        mut packet: RoutedPacket,
        target: Ipv4Addr,
    ) {
        let Some(dsr) = &mut packet.dsr else { return };
        dsr.request_or_options = DsrRequestOrOptions::None;
        let ip = &mut packet.packet.ip;
        if !dsr.has_options() && packet.packet.body == Body::NoNextHeader || ip.ttl <= 1 {
            return;
        }
        let Some(path) = self.cache.lookup(now, target) else { return };
        let Some(next) = path.get(1) else { return };
        ip.destination = target;
        ip.ttl -= 1;
        path::set_source_route(&mut packet, &path, MAX_SALVAGE_COUNT);
        self.transmit(now, now, &mut packet, LinkDestination::Unicast(next));
    }

    pub(super) fn send_due_replies(&mut self, now: Instant) {
        while let Some(due) = self.replies.pending.iter().position(|held| held.at <= now) {
            let mut held = self.replies.pending.remove(due);
            let reply = held.packet.dsr.as_ref().and_then(|dsr| dsr.reply.as_ref());
            if let Some(route) = reply.and_then(|reply| replied_route(held.initiator, reply)) {
                self.cache.on_reply_sent(now, &route, held.to);
            }
            self.transmit(now, now, &mut held.packet, LinkDestination::Unicast(held.to));
        }
    }

    /// A reply that lists `route` to its first node, sent on the path `back`, and its next hop.
    pub(super) fn build_reply(
        &mut self,
        route: &Path,
        back: &Path,
    ) -> Option<(RoutedPacket, Ipv4Addr)> {
        let (initiator, rest) = route.as_slice().split_first()?;
        let to = back.get(1)?;
        let last_hop_external = rest.last().is_some_and(|last| self.is_known_external(*last));
        let reply = DsrReply { last_hop_external, route: AddressList::new(rest)? };
        let dsr = DsrHeader { reply: Some(reply), ..DsrHeader::default() };
        let mut packet = self.control_packet(*initiator, dsr);
        if back.len() > 2 || self.config.route_to_neighbour {
            path::set_source_route(&mut packet, back, 0);
        }
        Some((packet, to))
    }

    /// Handles a reply for this node (RFC 4728 §8.2.6).
    pub(super) fn on_reply(&mut self, now: Instant, reply: &DsrReply) {
        let Some(path) = replied_route(self.address, reply) else { return };
        let is_new = self.cache.on_route_learned(now, &path, LearnedBy::Reply);
        if let Some(target) = path.last() {
            self.requests.reset_search(now, target);
        }
        if is_new {
            self.report_found_routes(now);
        }
        // RFC 4728 §4.1; ns-2.35 checks after every reply.
        if is_new || !self.config.release_on_any_route {
            self.send_buffered(now);
        }
    }

    /// Handles a packet for this node or a broadcast: processes its options, and delivers the rest to the
    /// host.
    pub(super) fn receive(&mut self, now: Instant, from: Ipv4Addr, packet: &RoutedPacket) {
        if let Some(dsr) = &packet.dsr {
            let mine = packet.packet.ip.destination == self.address;
            if let (Some(reply), true) = (&dsr.reply, mine) {
                self.on_reply(now, reply);
            }
            self.on_errors(now, packet, from, None);
            let heard = RouteObservation::Received { data: !packet.is_control() };
            if let Some(carried) = SourceRoute::of_packet(packet)
                && self.cache.on_route_observed(now, &carried, heard)
            {
                self.on_new_route(now);
            }
        }
        if !packet.is_control() {
            self.outbox.push(Output::Deliver(packet.packet));
        }
    }
}

/// The whole route listed in a reply to `initiator`.
pub(super) fn replied_route(initiator: Ipv4Addr, reply: &DsrReply) -> Option<Path> {
    let mut path = Path::EMPTY;
    (path.push(initiator) && path.extend(reply.route.as_slice())).then_some(path)
}
