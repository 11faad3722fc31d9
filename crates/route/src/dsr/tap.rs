//! Overheard packets (RFC 4728 §3.3.1) and automatic route shortening (§3.4.3).

use alloc::vec::Vec;

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::Routed;

use super::Dsr;
use super::cache::{Heard, LearnedBy};
use super::config::Shorten;
use super::path::{Carried, Path};
use super::replies::replied;
use crate::Hop;

/// The size of the filter of overheard packets.
const SEEN: usize = 1024;
/// The number of routes kept for gratuitous replies (ns-2.35).
const ROUTES: usize = 10;
/// The number of pairs of source and sender kept for gratuitous replies.
const SENDERS: usize = 64;

/// The state of overhearing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tap {
    /// A filter of overheard packets, by source and identification: each packet is processed once.
    seen: Vec<u32>,
    routes: Vec<(Instant, Path)>,
    next_route: usize,
    senders: Vec<(Ipv4Addr, Ipv4Addr, Instant)>,
    next_sender: usize,
}

impl Tap {
    /// Returns true if the packet is overheard for the first time.
    fn is_new(&mut self, packet: &Routed) -> bool {
        if self.seen.is_empty() {
            self.seen.resize(SEEN, 0);
        }
        let ip = &packet.packet.ip;
        // Unique in a network of up to 2¹⁶ addresses.
        let key = ip.source.to_bits().rotate_left(16) ^ u32::from(ip.identification);
        let place = (key ^ (key >> 16).wrapping_mul(97)) as usize % SEEN;
        self.seen.get_mut(place).is_some_and(|seen| core::mem::replace(seen, key) != key)
    }

    /// Returns true if a gratuitous reply may be sent to the source of `on` now.
    fn may_tell(&mut self, now: Instant, on: &Carried, kind: Shorten, until: Instant) -> bool {
        match kind {
            Shorten::PerSender => {
                let (Some(source), Some(sender)) = (on.path.first(), on.path.get(on.next - 1))
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
                } else if self.senders.len() < SENDERS {
                    self.senders.push(entry);
                } else if let Some(oldest) = self.senders.get_mut(self.next_sender) {
                    *oldest = entry;
                    self.next_sender = (self.next_sender + 1) % SENDERS;
                }
                true
            }
            Shorten::PerRoute => {
                if self.routes.is_empty() {
                    self.routes.resize(ROUTES, (Instant::ZERO, Path::EMPTY));
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
                        self.next_route = (self.next_route + 1) % ROUTES;
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
        packet: &Routed,
    ) -> bool {
        let Some(dsr) = &packet.dsr else { return false };
        let ip = &packet.packet.ip;
        // Control packets need no source route to a neighbour (RFC 4728 §8.1.1).
        let to_neighbour = packet.is_control() && (from, to) == (ip.source, ip.destination);
        if dsr.source_route.is_none() && !to_neighbour
            || ip.source == self.address
            || !self.tap.is_new(packet)
        {
            return false;
        }
        let carried = match dsr.source_route {
            Some(_) => Carried::of(packet),
            None => Some(Carried::over(from, to)),
        };
        let Some(on) = carried else { return false };
        if on.path.get(on.next) != Some(to) || on.path.get(on.next - 1) != Some(from) {
            return false;
        }
        if self.config.snoop_errors {
            self.on_errors(now, packet, from, Some(to));
        }
        let mut news = false;
        if let Some(reply) = &dsr.reply
            && let Some(path) = replied(packet.packet.ip.destination, reply)
        {
            let listed = Carried { path, next: 0 };
            news |= self.cache.on_heard(now, &listed, Heard::OverheardReply);
        }
        let heard = Heard::Overheard { data: !packet.is_control() };
        news |= self.cache.on_heard(now, &on, heard);
        if news {
            self.stats.overheard += 1;
            self.learned(now);
        }
        if !packet.is_control() {
            self.replies.used(packet.packet.ip.source, packet.packet.ip.destination, on.path.len());
            if let Some(kind) = self.config.shorten
                && let Some(me) = on.path.position(self.address)
                && me > on.next
            {
                self.shorten(now, &on, me, kind);
            }
        }
        true
    }

    /// Sends a gratuitous reply about an overheard packet that would reach this node later: the nodes in
    /// between are not needed (RFC 4728 §3.4.3).
    fn shorten(&mut self, now: Instant, on: &Carried, me: usize, kind: Shorten) {
        if on.path.has_loop()
            || !self.tap.may_tell(now, on, kind, now + self.config.shorten_holdoff)
        {
            return;
        }
        let shorter = on.path.without(on.next, me);
        let mut back = on.path;
        back.truncate(on.next);
        back.push(self.address);
        let back = back.reversed();
        let news = self.cache.on_learned(now, &back, LearnedBy::Shortening);
        if let Some((packet, to)) = self.reply(&shorter, &back) {
            self.cache.on_replied(now, &shorter, to);
            let jitter = self.config.jitter_cached_replies;
            let at = if jitter { now + self.draw_jitter() } else { now };
            self.transmit(now, at, packet, Hop::To(to));
        }
        if news {
            self.learned(now);
        }
    }
}
