//! Hello messages (RFC 3561 §6.9, §6.10).

use driftway_base::{Duration, Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvMessage, AodvReply};

use super::Aodv;
use super::request::lifetime_ms;
use crate::LinkDestination;

impl Aodv {
    /// Handles a hello message of a neighbour.
    pub(super) fn on_hello(&mut self, now: Instant, from: Ipv4Addr, hello: &AodvReply) {
        let Some(own) = self.config.hello else { return };
        if hello.destination != from || hello.hops != 0 {
            return;
        }
        let until = now + own.neighbour_timeout();
        self.neighbours.set(from, until);
        self.schedule(until);
        let mut until = now + Duration::from_millis(u64::from(hello.lifetime_ms));
        if let Some(route) = self.table.get_mut(from)
            && route.is_valid()
        {
            route.until = route.until.max(until);
            until = route.until;
        }
        if self.update_route(now, from, (Seq(hello.destination_seq), 1), from, until) {
            if let Some(route) = self.table.get_mut(from) {
                route.search.complete(1);
            }
            self.send_buffered(now, from, Duration::ZERO);
        } else {
            // RFC 3561 §6.9: the neighbour is in range, however old its sequence number.
            self.add_neighbour_route(now, from, until);
        }
    }

    /// Refreshes a neighbour from which something was received, if it has sent hello messages before.
    pub(super) fn refresh_neighbour(&mut self, now: Instant, from: Ipv4Addr) {
        if let Some(hello) = self.config.hello
            && self.neighbours.get(from).is_some()
        {
            self.neighbours.set(from, now + hello.neighbour_timeout());
        }
    }

    /// Invalidates the links to silent neighbours and sends the next hello message.
    pub(super) fn run_hello_timers(&mut self, now: Instant) {
        let Some(hello) = self.config.hello else { return };
        while let Some(gone) = self.neighbours.take_due(now) {
            self.invalidate_link(now, gone, None);
        }
        if self.next_hello > now {
            return;
        }
        self.next_hello = now + hello.interval;
        // RFC 3561 §6.9: only on an active route, and if no other broadcast was sent.
        if self.active_until > now && self.last_broadcast + hello.interval <= now {
            let beacon = AodvReply {
                repair: false,
                ack_required: false,
                prefix_size: 0,
                hops: 0,
                destination: self.address,
                destination_seq: self.seq.0,
                originator: self.address,
                lifetime_ms: lifetime_ms(hello.neighbour_timeout()),
                timestamp: None,
            };
            self.send_message(now, now, AodvMessage::Reply(beacon), 1, LinkDestination::Broadcast);
        }
    }
}
