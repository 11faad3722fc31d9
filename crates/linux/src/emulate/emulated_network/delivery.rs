//! Packets that leave the network at a node.

use driftway_base::NodeId;
use driftway_endpoint::ReceiveOutcome;
use driftway_link::QueuePosition;
use driftway_net::CROSS_TRAFFIC_STREAM;
use driftway_net::addresses::{address, ipv6_addresses, is_of_many, node_of};
use driftway_wire::{
    Body, IcmpMessage, Icmpv6Message, IpHeader, Ipv6Header, Ipv6Packet, Packet, Payload,
};

use super::{DepartingPacket, EmulatedNetwork};
use crate::emulate::kernel_packet::{KernelPacket, is_about_opaque, is_ipv6, number, rewrite};

/// Length of a packet with the longest segment without payload (bytes).
const IPV6_SEGMENT_LEN: usize = 100;

impl EmulatedNetwork {
    pub(super) fn deliver(&mut self, node: NodeId, packet: &Packet) {
        match (number(packet), self.kernel_at[node]) {
            (Some(number), kernel) => self.deliver_stored(node, kernel, packet, number),
            (None, _) if packet.payload().stream == CROSS_TRAFFIC_STREAM => {}
            (None, Some(kernel)) => self.deliver_own(kernel, packet),
            (None, None) => {
                let now = self.net.now();
                if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(now, packet) {
                    self.net.send(node, answer, QueuePosition::Tail);
                }
            }
        }
    }

    /// Delivers a packet that has bytes.
    fn deliver_stored(
        &mut self,
        node: NodeId,
        kernel: Option<usize>,
        packet: &Packet,
        number: u64,
    ) {
        let now = self.net.now();
        let Some(mut stored) = self.store.deliver(now, number) else { return };
        let Some(kernel) = kernel else {
            // A router listens to no group, and reads no frames.
            if is_of_many(packet.ip.destination) || self.carries_frames() {
                return self.store.give_back(stored.bytes);
            }
            self.counts.to_routers += u64::from(stored.is_first);
            if let Some(from) = self.kernel_at[stored.from] {
                self.counts.by_kernel[from].to_routers += u64::from(stored.is_first);
            }
            self.deliver_to_router(node, &stored.bytes);
            return self.store.give_back(stored.bytes);
        };
        match self.kernel_at[stored.from] {
            None => self.counts.icmp_from_routers += u64::from(stored.is_first),
            Some(from) if stored.is_first => {
                let counts = &mut self.counts.by_kernel[from];
                counts.delivered += 1;
                counts.bytes += stored.bytes.len() as u64;
            }
            Some(_) => {}
        }
        if self.carries_frames() {
            return self.deliver_frame(kernel, packet, stored);
        }
        rewrite(&mut stored.bytes, packet.ip.ttl, packet.ip.ecn);
        self.departing.push_back(DepartingPacket { kernel, due: now, bytes: stored.bytes });
    }

    /// Delivers a packet to a router, which may answer it: an echo request, a segment to a closed
    /// port.
    fn deliver_to_router(&mut self, node: NodeId, bytes: &[u8]) {
        if is_ipv6(bytes) {
            return self.deliver_ipv6_to_router(node, bytes);
        }
        let Ok(decoded) = Packet::decode(bytes) else { return };
        let now = self.net.now();
        let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(now, &decoded.packet) else {
            return;
        };
        let mut encoded = self.store.buffer();
        encoded.resize(answer.len() as usize, 0);
        let copy = |_, to: &mut [u8]| to.copy_from_slice(decoded.payload);
        if answer.encode(&mut encoded, copy).is_ok()
            && let Some(packet) = KernelPacket::read(&encoded)
        {
            self.enter(node, packet, &encoded);
        }
        self.store.give_back(encoded);
    }

    /// The same with a packet of IPv6.
    fn deliver_ipv6_to_router(&mut self, node: NodeId, bytes: &[u8]) {
        let Ok(received) = Ipv6Packet::decode(bytes) else { return };
        let Ok((body, data)) = received.body() else { return };
        let header = Ipv6Header::new(received.header.destination, received.header.source);
        let mut encoded = self.store.buffer();
        encoded.resize(bytes.len().max(IPV6_SEGMENT_LEN), 0);
        let len = match body {
            Body::Icmp(IcmpMessage::Echo { reply: false, identifier, sequence, .. }) => {
                let reply = Icmpv6Message::Echo { reply: true, identifier, sequence, data };
                reply.encode(&header, &mut encoded).ok()
            }
            // The host knows addresses of IPv4 only, and answers by ports and sequence numbers.
            Body::Tcp(_) => {
                let packet = Packet { ip: IpHeader::new(address(node), address(node)), body };
                match self.hosts[node].on_packet(self.net.now(), &packet) {
                    ReceiveOutcome::Reply(Packet { body: Body::Tcp(reset), .. }) => {
                        header.encode_segment(&reset, &[], &mut encoded).ok()
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(len) = len {
            encoded.truncate(len);
            if let Some(packet) = KernelPacket::read(&encoded) {
                self.enter(node, packet, &encoded);
            }
        }
        self.store.give_back(encoded);
    }

    /// Delivers a packet that the network itself has made.
    pub(super) fn deliver_own(&mut self, kernel: usize, packet: &Packet) {
        // Between neighbours nothing is routed, and nothing reported.
        if self.carries_frames() {
            return;
        }
        let reporter = node_of(packet.ip.source).map(|node| ipv6_addresses(node)[0]);
        if let Some(reporter) = reporter
            && let Some(translated) = self.dropped_ipv6.translate(packet, reporter)
        {
            if let Some(bytes) = translated {
                self.counts.icmp_from_routers += 1;
                self.departing.push_back(DepartingPacket { kernel, due: self.net.now(), bytes });
            }
            return;
        }
        // Its quotation is not what the kernel has sent.
        if is_about_opaque(packet) {
            return;
        }
        let mut bytes = self.store.buffer();
        bytes.resize(packet.len() as usize, 0);
        if packet.encode(&mut bytes, Payload::fill_pattern).is_ok() {
            self.counts.icmp_from_routers += 1;
            self.departing.push_back(DepartingPacket { kernel, due: self.net.now(), bytes });
        }
    }
}
