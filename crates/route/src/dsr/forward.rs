//! Forwarding of packets with a source route (RFC 4728 §8.1.5).

use driftway_base::{Instant, Ipv4Addr};
use driftway_wire::Routed;

use super::Dsr;
use super::cache::Heard;
use super::path::Carried;
use super::replies::replied;
use crate::{DropReason, Hop};

impl Dsr {
    /// Forwards a packet for another node, of which this node is the next hop.
    pub(super) fn forward(&mut self, now: Instant, from: Ipv4Addr, mut packet: Routed) {
        if packet.dsr.as_ref().is_none_or(|dsr| dsr.source_route.is_none()) {
            return self.forward_on_flow(now, packet);
        }
        let Some(carried) = Carried::of(&packet) else {
            return self.drop_packet(packet, DropReason::BadRoute);
        };
        let next = carried.path.get(carried.next + 1);
        let (Some(to), true) = (next, carried.path.get(carried.next) == Some(self.address)) else {
            return self.drop_packet(packet, DropReason::BadRoute);
        };
        if carried.path.has_loop() {
            return self.drop_packet(packet, DropReason::BadRoute);
        }
        if self.config.snoop_errors {
            self.on_errors(now, &packet, from, Some(to));
        }
        self.establish(now, &mut packet, &carried);
        let mut news = false;
        if let Some(reply) = packet.dsr.as_ref().and_then(|dsr| dsr.reply.as_ref())
            && let Some(path) = replied(packet.packet.ip.destination, reply)
        {
            let listed = Carried { path, next: 0 };
            news |= self.cache.on_heard(now, &listed, Heard::ForwardedReply { to });
        }
        let heard = Heard::Forwarded { data: !packet.is_control() };
        news |= self.cache.on_heard(now, &carried, heard);
        if news {
            self.learned(now);
        }
        self.on_passing_notice(now, &mut packet);
        if packet.packet.ip.ttl <= 1 {
            return self.drop_packet(packet, DropReason::TimeToLive);
        }
        packet.packet.ip.ttl -= 1;
        if let Some(route) = packet.dsr.as_mut().and_then(|dsr| dsr.source_route.as_mut()) {
            route.segments_left = route.segments_left.saturating_sub(1);
        }
        self.transmit(now, now, packet, Hop::To(to));
    }
}
