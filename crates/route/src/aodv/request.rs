//! Reception of route requests (RFC 3561 §6.5) and replies to them (§6.6).

use driftway_base::{Duration, Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvMessage, AodvReply, AodvRequest};

use super::Aodv;
use super::table::HOPS_UNKNOWN;
use crate::LinkDestination;

impl Aodv {
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        ttl: u8,
        request: &AodvRequest,
    ) {
        // RFC 3561 §6.8.
        let blacklisted = self.blacklist.get(from).is_some_and(|until| until > now);
        if blacklisted || self.avoids_link(now, from) {
            return;
        }
        self.on_neighbour_message(now, from);
        let known_until = now + self.config.request_memory;
        if request.originator == self.address
            || !self.seen_requests.insert(now, request.originator, request.id, known_until)
        {
            return;
        }
        let Some(hops) = request.hops.checked_add(1).filter(|hops| *hops < HOPS_UNKNOWN) else {
            return;
        };
        self.add_reverse_route(now, from, request, hops);

        if self.is_destination(request.destination) {
            self.reply_as_destination(now, request);
        } else if !self.reply_from_table(now, from, request) && ttl > 1 {
            let known = self.table.get(request.destination).and_then(|route| route.seq);
            let asked = request.destination_seq.map(Seq);
            let seq = match (known, asked) {
                (Some(known), Some(asked)) => Some(known.max(asked)),
                (known, asked) => known.or(asked),
            };
            let passed = AodvRequest { hops, destination_seq: seq.map(|seq| seq.0), ..*request };
            let at = self.jittered(now);
            self.send_message(
                now,
                at,
                AodvMessage::Request(passed),
                ttl - 1,
                LinkDestination::Broadcast,
            );
        }
    }

    /// Sets up the reverse route to the originator, over the neighbour that sent the request.
    fn add_reverse_route(&mut self, now: Instant, from: Ipv4Addr, request: &AodvRequest, hops: u8) {
        let config = self.config;
        let life = config.reverse_route_life.unwrap_or_else(|| {
            let taken = config.node_traversal_time.times(2 * u64::from(hops));
            config.net_traversal_time().times(2).saturating_sub(taken)
        });
        let mut until = now + life;
        let originator = request.originator;
        let repairing_is_valid = config.repairing_is_valid;
        if let Some(route) = self.table.get_mut(originator)
            && route.is_usable(repairing_is_valid)
        {
            route.until = route.until.max(until);
            until = route.until;
        }
        let seq = Seq(request.originator_seq);
        if !self.update_route(now, originator, (seq, hops), from, until) {
            return;
        }
        self.extend_active(until);
        if let Some(route) = self.table.get_mut(originator)
            && route.search.until > Instant::ZERO
        {
            // A discovery is in progress, so the route will be used.
            route.search.complete(hops);
            route.until = match config.reverse_route_life {
                Some(_) => now + config.active_route_timeout,
                None => route.until.max(now + config.active_route_timeout),
            };
            let until = route.until;
            self.schedule_route_expiry(until);
        }
        self.send_buffered(now, originator, Duration::ZERO);
    }

    /// Replies as the destination (RFC 3561 §6.6.1), or for an external host (§7).
    fn reply_as_destination(&mut self, now: Instant, request: &AodvRequest) {
        let asked = request.destination_seq.map_or(self.seq, Seq);
        if self.config.even_numbers {
            self.seq = self.seq.max(asked) + 1;
            self.seq += self.seq.0 % 2;
        } else {
            // RFC 3561 §6.1, §6.6.1.
            self.seq = self.seq.max(asked);
        }
        // Other nodes have a route to this one for that long.
        self.extend_active(now + self.config.my_route_timeout);
        let reply = AodvReply {
            repair: false,
            ack_required: false,
            prefix_size: 0,
            hops: 0,
            destination: request.destination,
            destination_seq: self.seq.0,
            originator: request.originator,
            lifetime_ms: lifetime_ms(self.config.my_route_timeout),
            timestamp: request.timestamp,
        };
        self.send_reply(now, reply);
    }

    /// Replies from the table if the route is recent enough (RFC 3561 §6.6.2).
    fn reply_from_table(&mut self, now: Instant, from: Ipv4Addr, request: &AodvRequest) -> bool {
        let config = self.config;
        let Some(route) = self.table.get(request.destination) else { return false };
        let Some(seq) = route.valid_seq() else { return false };
        if request.destination_only
            || !route.is_usable(config.repairing_is_valid)
            || request.destination_seq.is_some_and(|asked| seq.before(Seq(asked)))
            || (route.next_hop == from && !config.answer_next_hop)
        {
            return false;
        }
        let left = lifetime_ms(route.until.since(now));
        let lifetime = match config.whole_seconds {
            // ns-2.35's seconds are unsigned, and a route under repair has the expiry 0.
            true if now.since(route.until) >= Duration::from_secs(1) => u32::MAX,
            true => left / 1000 * 1000,
            false => left,
        };
        let (next_hop, hops) = (route.next_hop, route.hops);
        let reply = AodvReply {
            repair: false,
            ack_required: false,
            prefix_size: 0,
            hops,
            destination: request.destination,
            destination_seq: seq.0,
            originator: request.originator,
            lifetime_ms: lifetime,
            timestamp: request.timestamp,
        };
        let Some(asker) = self.send_reply(now, reply) else { return true };
        self.stats.replies_from_cache += 1;
        if let Some(route) = self.table.get_mut(request.destination) {
            route.precursors.insert(asker);
        }
        if let Some(back) = self.table.get_mut(request.originator) {
            back.precursors.insert(next_hop);
            // RFC 3561 §6.6.3: the destination needs a reverse route, too.
            if let (true, Some(seq)) = (request.gratuitous, back.valid_seq()) {
                let gratuitous = AodvReply {
                    hops: back.hops,
                    destination: request.originator,
                    destination_seq: seq.0,
                    originator: request.destination,
                    lifetime_ms: lifetime_ms(back.until.since(now)),
                    timestamp: None,
                    ..reply
                };
                self.send_reply(now, gratuitous);
            }
        }
        true
    }

    /// Sends a reply towards the originator; returns the next hop.
    pub(super) fn send_reply(&mut self, now: Instant, mut reply: AodvReply) -> Option<Ipv4Addr> {
        let back = self.table.get(reply.originator)?;
        if !back.is_usable(self.config.repairing_is_valid) {
            return None;
        }
        let to = back.next_hop;
        reply.ack_required = self.config.ack_replies;
        if reply.ack_required {
            // RFC 3561 §10: NEXT_HOP_WAIT.
            let until = now + self.config.node_traversal_time + Duration::from_millis(10);
            self.awaiting_ack.set(to, until);
            self.schedule(until);
        }
        self.send_message(now, now, AodvMessage::Reply(reply), 1, LinkDestination::Unicast(to));
        Some(to)
    }
}

/// A duration as messages encode it.
pub(super) fn lifetime_ms(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
