//! Reception of route replies (RFC 3561 §6.7).

use driftway_base::{Duration, Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvMessage, AodvReply};

use super::table::HOPS_UNKNOWN;
use super::{Aodv, RouteRefresh, RouteState};
use crate::LinkDestination;

impl Aodv {
    pub(super) fn on_reply(&mut self, now: Instant, from: Ipv4Addr, reply: &AodvReply) {
        // RFC 3561 §6.7: the reply of the destination itself is compared with the route as it was before its
        // sender was heard; otherwise it would look no better, and not be forwarded.
        let from_destination = from == reply.destination;
        if !from_destination {
            self.on_neighbour_message(now, from);
        }
        if reply.ack_required {
            // RFC 3561 §6.8.
            self.send_message(now, now, AodvMessage::ReplyAck, 1, LinkDestination::Unicast(from));
        }
        // A node needs no route to itself.
        if reply.destination == self.address {
            return;
        }
        let Some(hops) = reply.hops.checked_add(1).filter(|hops| *hops < HOPS_UNKNOWN) else {
            return;
        };
        let until = now + Duration::from_millis(u64::from(reply.lifetime_ms));
        let offered = (Seq(reply.destination_seq), hops);
        if !self.update_route(now, reply.destination, offered, from, until) {
            if from_destination {
                self.on_neighbour_message(now, from);
            }
            return;
        }
        self.extend_active(until);
        if let Some(route) = self.table.get_mut(reply.destination) {
            route.search.complete(hops);
            if let (true, Some(sent)) = (reply.originator == self.address, reply.timestamp) {
                let taken = now.since(Instant::from_nanos(sent));
                route.search.record_latency(taken.over(u64::from(hops)));
            }
        }
        self.send_buffered(now, reply.destination, self.config.release_spacing);
        if reply.originator != self.address {
            self.forward_reply(now, from, AodvReply { hops, ..*reply });
        }
    }

    fn forward_reply(&mut self, now: Instant, from: Ipv4Addr, reply: AodvReply) {
        let Some(to) = self.send_reply(now, reply) else { return };
        let used = now + self.config.active_route_timeout;
        if let Some(back) = self.table.get_mut(reply.originator) {
            back.until = match self.config.refresh {
                RouteRefresh::BothWays => back.until.max(used),
                RouteRefresh::Destination => used,
            };
        }
        self.schedule_route_expiry(used);
        if let Some(route) = self.table.get_mut(reply.destination) {
            route.precursors.insert(to);
        }
        if self.config.neighbour_routes
            && let Some(neighbour) = self.table.get_mut(from)
        {
            neighbour.precursors.insert(to);
        }
    }

    /// Handles the sender of a message as a neighbour (RFC 3561 §6.5, §6.7).
    ///
    /// A message does not state the sequence number of its sender.
    pub(super) fn on_neighbour_message(&mut self, now: Instant, from: Ipv4Addr) {
        if self.config.neighbour_routes {
            self.add_neighbour_route(now, from, now + self.config.active_route_timeout);
        }
    }

    /// Sets up or refreshes the route to the neighbour `from`, until `until` at least.
    pub(super) fn add_neighbour_route(&mut self, now: Instant, from: Ipv4Addr, until: Instant) {
        let Some(route) = self.table.entry(from, self.config.table_size) else { return };
        let (before, valid) = ((route.state, route.hops), route.is_valid());
        if valid && route.hops == 1 && route.next_hop == from {
            route.until = route.until.max(until);
            return;
        }
        let until = if valid { route.until.max(until) } else { until };
        route.install_neighbour(from, until);
        let waited_for = route.search.until > Instant::ZERO;
        if waited_for {
            route.search.complete(1);
        }
        self.on_route_updated(now, from, before);
        if before.0 != RouteState::Valid {
            self.send_buffered(now, from, Duration::ZERO);
        }
    }
}
