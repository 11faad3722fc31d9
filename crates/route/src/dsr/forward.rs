//! Forwarding of packets with a source route (RFC 4728 §8.1.5).

use driftway_base::{DropReason, Instant, Ipv4Addr};
use driftway_wire::RoutedPacket;

use super::Dsr;
use super::cache::RouteObservation;
use super::path::SourceRoute;
use super::replies::replied_route;
use crate::LinkDestination;

impl Dsr {
    /// Forwards a packet for another node, of which this node is the next hop.
    pub(super) fn forward(&mut self, now: Instant, from: Ipv4Addr, packet: &mut RoutedPacket) {
        if packet.dsr.as_ref().is_none_or(|dsr| dsr.source_route.is_none()) {
            if self.external.contains(packet.packet.ip.destination) {
                return self.deliver_external(packet);
            }
            return self.forward_on_flow(now, packet);
        }
        let Some(carried) = SourceRoute::of_packet(packet) else {
            return self.drop_packet(*packet, DropReason::BadRoute);
        };
        let next = carried.path.get(carried.next_position + 1);
        let (Some(to), true) =
            (next, carried.path.get(carried.next_position) == Some(self.address))
        else {
            return self.drop_packet(*packet, DropReason::BadRoute);
        };
        if carried.path.has_loop() {
            return self.drop_packet(*packet, DropReason::BadRoute);
        }
        let leaves = self.external.contains(to);
        if self.config.snoop_errors || leaves {
            self.on_errors(now, packet, from, Some(to).filter(|_| !leaves));
        }
        self.establish_flow(now, packet, &carried);
        let mut is_new = false;
        if let Some(reply) = packet.dsr.as_ref().and_then(|dsr| dsr.reply.as_ref())
            && let Some(path) = replied_route(packet.packet.ip.destination, reply)
        {
            let listed = SourceRoute { path, next_position: 0 };
            is_new |=
                self.cache.on_route_observed(now, &listed, RouteObservation::ForwardedReply { to });
        }
        let heard = RouteObservation::Forwarded { data: !packet.is_control() };
        is_new |= self.cache.on_route_observed(now, &carried, heard);
        if is_new {
            self.on_new_route(now);
        }
        if leaves {
            return self.deliver_external(packet);
        }
        self.on_forwarded_notification(now, packet);
        if packet.packet.ip.ttl <= 1 {
            return self.drop_packet(*packet, DropReason::TimeToLive);
        }
        packet.packet.ip.ttl -= 1;
        if let Some(route) = packet.dsr.as_mut().and_then(|dsr| dsr.source_route.as_mut()) {
            route.segments_left = route.segments_left.saturating_sub(1);
        }
        self.transmit(now, now, packet, LinkDestination::Unicast(to));
    }
}
