//! Overheard packets (RFC 4728 §3.3.1) and automatic route shortening (§3.4.3).

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::RoutedPacket;

use super::Dsr;
use super::cache::{LearnedBy, RouteObservation};
use super::config::RouteShortening;
use super::path::{Path, SourceRoute};
use super::replies::replied_route;
use crate::LinkDestination;

/// The size of the filter of overheard packets.
const SEEN_PACKETS: usize = 1024;
/// The number of routes kept for gratuitous replies (ns-2.35).
const GRATUITOUS_ROUTES_MAX: usize = 10;
/// The number of pairs of source and sender kept for gratuitous replies.
const GRATUITOUS_PAIRS_MAX: usize = 64;

/// The state of overhearing.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverhearingState {
    /// A filter of overheard packets, by source and identification: each packet is processed once.
    seen: Vec<u32>,
    routes: Vec<(Instant, Path)>,
    next_route: usize,
    senders: Vec<(Ipv4Addr, Ipv4Addr, Instant)>,
    next_sender: usize,
}

impl OverhearingState {
    /// Returns true if the packet is overheard for the first time.
    fn is_first_copy(&mut self, packet: &RoutedPacket) -> bool {
        if self.seen.is_empty() {
            self.seen.resize(SEEN_PACKETS, 0);
        }
        let ip = &packet.packet.ip;
        // Unique in a network of up to 2¹⁶ addresses.
        let key = ip.source.to_bits().rotate_left(16) ^ u32::from(ip.identification);
        let place = (key ^ (key >> 16).wrapping_mul(97)) as usize % SEEN_PACKETS;
        self.seen.get_mut(place).is_some_and(|seen| core::mem::replace(seen, key) != key)
    }

    /// Returns true if a gratuitous reply may be sent to the source of `on` now.
    fn may_send_gratuitous_reply(
        &mut self,
        now: Instant,
        on: &SourceRoute,
        kind: RouteShortening,
        until: Instant,
    ) -> bool {
        match kind {
            RouteShortening::PerSender => {
                let (Some(source), Some(sender)) =
                    (on.path.first(), on.path.get(on.next_position - 1))
                else {
                    return false;
                };
                let mut known = self.senders.iter();
                if known.any(|(a, b, until)| (*a, *b) == (source, sender) && now < *until) {
                    return false;
                }
                let entry = (source, sender, until);
                let same = |known: &(_, _, _)| (known.0, known.1) == (source, sender);
                if let Some(known) = self.senders.iter_mut().find(|known| same(known)) {
                    *known = entry;
                } else if self.senders.len() < GRATUITOUS_PAIRS_MAX {
                    self.senders.push(entry);
                } else if let Some(oldest) = self.senders.get_mut(self.next_sender) {
                    *oldest = entry;
                    self.next_sender = (self.next_sender + 1) % GRATUITOUS_PAIRS_MAX;
                }
                true
            }
            RouteShortening::PerRoute => {
                if self.routes.is_empty() {
                    self.routes.resize(GRATUITOUS_ROUTES_MAX, (Instant::ZERO, Path::EMPTY));
                }
                let timed = match self.routes.iter().position(|(_, path)| *path == on.path) {
                    Some(known) => {
                        if self.routes.get(known).is_some_and(|(until, _)| now < *until) {
                            return false;
                        }
                        known
                    }
                    // ns-2.35 stores the route here and the time in the next entry.
                    None => {
                        if let Some((_, path)) = self.routes.get_mut(self.next_route) {
                            *path = on.path;
                        }
                        self.next_route = (self.next_route + 1) % GRATUITOUS_ROUTES_MAX;
                        self.next_route
                    }
                };
                if let Some((time, _)) = self.routes.get_mut(timed) {
                    *time = until;
                }
                true
            }
        }
    }
}

impl Dsr {
    /// Handles a packet overheard from `from` to `to`; returns true if it was processed.
    pub(super) fn overhear(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        let Some(dsr) = &packet.dsr else { return false };
        let ip = &packet.packet.ip;
        // Control packets need no source route to a neighbour (RFC 4728 §8.1.1).
        let to_neighbour = packet.is_control() && (from, to) == (ip.source, ip.destination);
        if dsr.source_route.is_none() && !to_neighbour
            || self.is_originator(packet)
            || !self.overhearing.is_first_copy(packet)
        {
            return false;
        }
        let carried = match dsr.source_route {
            Some(_) => SourceRoute::of_packet(packet),
            None => Some(SourceRoute::one_hop(from, to)),
        };
        let Some(on) = carried else { return false };
        if on.path.get(on.next_position) != Some(to)
            || on.path.get(on.next_position - 1) != Some(from)
        {
            return false;
        }
        self.learn_external(packet);
        if self.config.snoop_errors {
            self.on_errors(now, packet, from, Some(to));
        }
        let mut is_new = false;
        if let Some(reply) = &dsr.reply
            && let Some(path) = replied_route(packet.packet.ip.destination, reply)
        {
            let listed = SourceRoute { path, next_position: 0 };
            is_new |= self.cache.on_route_observed(now, &listed, RouteObservation::OverheardReply);
        }
        let heard = RouteObservation::Overheard { data: !packet.is_control() };
        is_new |= self.cache.on_route_observed(now, &on, heard);
        if is_new {
            self.stats.overheard += 1;
            self.on_new_route(now);
        }
        if !packet.is_control() {
            self.replies.on_route_used(
                packet.packet.ip.source,
                packet.packet.ip.destination,
                on.path.len(),
            );
            if let Some(kind) = self.config.shorten
                && let Some(on) = SourceRoute::within_network(packet)
                && let Some(me) = on.path.position(self.address)
                && me > on.next_position
            {
                self.send_gratuitous_reply(now, &on, me, kind);
            }
        }
        true
    }

    /// Sends a gratuitous reply about an overheard packet that would reach this node later: the nodes in
    /// between are not needed (RFC 4728 §3.4.3).
    fn send_gratuitous_reply(
        &mut self,
        now: Instant,
        on: &SourceRoute,
        me: usize,
        kind: RouteShortening,
    ) {
        if on.path.has_loop()
            || !self.overhearing.may_send_gratuitous_reply(
                now,
                on,
                kind,
                now + self.config.shorten_holdoff,
            )
        {
            return;
        }
        let shorter = on.path.without_range(on.next_position, me);
        let mut back = on.path;
        back.truncate(on.next_position);
        back.push(self.address);
        let back = back.reversed();
        let is_new = self.cache.on_route_learned(now, &back, LearnedBy::Shortening);
        if let Some((mut packet, to)) = self.build_reply(&shorter, &back) {
            self.cache.on_reply_sent(now, &shorter, to);
            let jitter = self.config.jitter_cached_replies;
            let at = if jitter { now + self.draw_jitter() } else { now };
            self.transmit(now, at, &mut packet, LinkDestination::Unicast(to));
        }
        if is_new {
            self.on_new_route(now);
        }
    }
}
