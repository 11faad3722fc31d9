//! ARP between routing and the interface queue.
//!
//! In the simulator an ARP message is a packet without a body, from the message's sender to its
//! target, and as long as the message. A request is broadcast and a reply is unicast, and hardware
//! addresses are derived from node numbers, so that these two addresses determine the whole message.

use driftway_base::Instant;
use driftway_link::{PacketClass as Rank, QueuePosition, QueuedPacket};
use driftway_node::{Arp, ArpConfig, ArpOutput, Resolution};
use driftway_wire::{
    ARP_LEN, ArpMessage, ArpOperation, Body, HardwareAddr, IPV4_HEADER_LEN, IpHeader,
};
use driftway_wire::{Packet, RoutedPacket};

use super::super::Run;
use super::AdhocNetwork;
use crate::addresses::{address, node_at};
use crate::event_queue::EventClass;
use crate::packet_accounting::PacketDropReason;

/// A packet that waits for address resolution: its handle, and its position in the interface queue.
pub(super) type PendingPacket = (u32, QueuePosition);

/// The ARP state of a node.
pub(super) fn node_arp(config: ArpConfig, node: usize) -> Arp<PendingPacket> {
    Arp::new(config, address(node), HardwareAddr::of_node(node as u32))
}

fn packet_from_message(message: &ArpMessage) -> RoutedPacket {
    let packet =
        Packet { ip: IpHeader::new(message.sender, message.target), body: Body::NoNextHeader };
    RoutedPacket {
        size_adjustment: (ARP_LEN - IPV4_HEADER_LEN) as i16,
        ..RoutedPacket::plain(packet)
    }
}

/// The ARP message that a packet stands for, sent to all (`broadcast`) or to one node; `None` if it is
/// not an ARP message.
pub(super) fn message_from_packet(
    packet: &RoutedPacket,
    broadcast: bool,
    nodes: usize,
) -> Option<ArpMessage> {
    if !is_arp(packet) {
        return None;
    }
    let (sender, target) = (packet.packet.ip.source, packet.packet.ip.destination);
    let hardware = |of| Some(HardwareAddr::of_node(node_at(of, nodes)? as u32));
    Some(ArpMessage {
        operation: if broadcast { ArpOperation::Request } else { ArpOperation::Reply },
        sender_hardware: hardware(sender)?,
        sender,
        target_hardware: if broadcast { HardwareAddr::default() } else { hardware(target)? },
        target,
    })
}

/// True for an ARP message. Other packets without a body have a DSR header.
pub(super) fn is_arp(packet: &RoutedPacket) -> bool {
    packet.packet.body == Body::NoNextHeader && packet.dsr.is_none()
}

impl Run<'_, AdhocNetwork> {
    /// Returns `true` if the hardware address of the packet's next hop is known. If not, ARP holds the
    /// packet.
    pub(super) fn resolve_or_hold(
        &mut self,
        node: usize,
        item: &QueuedPacket,
        place: QueuePosition,
    ) -> bool {
        let Some(arp) = &mut self.net.nodes[node].arp else { return true };
        let Some(neighbour) = item.next_hop else { return true };
        match arp.resolve(self.now, address(neighbour as usize), (item.id, place)) {
            Resolution::Known(_) => true,
            Resolution::Pending => {
                self.mark_ready(node);
                false
            }
        }
    }

    /// Passes a received packet to ARP; `false` if it is not an ARP message.
    pub(super) fn receive_arp(
        &mut self,
        node: usize,
        packet: &RoutedPacket,
        broadcast: bool,
    ) -> bool {
        if !is_arp(packet) {
            return false;
        }
        let message = message_from_packet(packet, broadcast, self.net.nodes.len());
        if let (Some(arp), Some(message)) = (&mut self.net.nodes[node].arp, message) {
            arp.on_message(self.now, &message);
            self.mark_ready(node);
        }
        true
    }

    /// Handles the output of a node's ARP.
    pub(super) fn drain_arp(&mut self, node: usize) {
        while let Some(output) = self.net.nodes[node].arp.as_mut().and_then(Arp::poll) {
            match output {
                ArpOutput::Request(message) => self.send_arp(node, &message, None),
                ArpOutput::Reply(message) => {
                    let to = message.target_hardware.node();
                    self.send_arp(node, &message, to);
                }
                ArpOutput::Send { id: (id, place), hardware, .. } => {
                    if let Some(packet) = self.packets.get(id) {
                        let item = super::relay::queue_item(packet, id, hardware.node());
                        self.enqueue_after_delay(node, item, place);
                    }
                }
                // A later packet has replaced it, which is no sign that the neighbour has failed
                // (RFC 1122 §2.4).
                ArpOutput::Evicted { id: (id, _) } => {
                    self.drop_packet(node, id, None, PacketDropReason::Arp);
                }
                ArpOutput::Failed { id: (id, _), to } => {
                    if let Some(to) = node_at(to, self.net.nodes.len()) {
                        self.on_link_failure(node, id, to as u32, None);
                    }
                }
            }
        }
        self.schedule_arp(node);
    }

    fn send_arp(&mut self, node: usize, message: &ArpMessage, next_hop: Option<u32>) {
        let id = self.packets.insert(packet_from_message(message));
        // queue/dsr-priqueue.cc, queue/priqueue.cc: ARP messages have no priority.
        let item =
            QueuedPacket { id, bytes: ARP_LEN, ecn_capable: false, next_hop, class: Rank::Other };
        self.enqueue_after_delay(node, item, QueuePosition::Tail);
    }

    /// Repeats the requests that have not been answered in time.
    pub(super) fn on_arp_timer(&mut self, node: usize) {
        let due = |at: &Instant| *at <= self.now;
        if let Some(arp) = &mut self.net.nodes[node].arp
            && arp.next_timeout().as_ref().is_some_and(due)
        {
            arp.on_timeout(self.now);
            self.mark_ready(node);
        }
        self.schedule_arp(node);
    }

    fn schedule_arp(&mut self, node: usize) {
        if let Some(at) = self.net.nodes[node].arp.as_ref().and_then(Arp::next_timeout) {
            self.events.schedule(EventClass::Network, node as u32 + 1, at);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::run::NetworkModel;
    use driftway_wire::{Payload, UdpDatagram};

    #[test]
    fn a_message_survives_as_a_packet() {
        for (operation, broadcast) in [(ArpOperation::Request, true), (ArpOperation::Reply, false)]
        {
            let target_hardware =
                if broadcast { HardwareAddr::default() } else { HardwareAddr::of_node(4) };
            let message = ArpMessage {
                operation,
                sender_hardware: HardwareAddr::of_node(3),
                sender: address(3),
                target_hardware,
                target: address(4),
            };
            let packet = packet_from_message(&message);
            assert_eq!(packet.len(), ARP_LEN);
            assert_eq!(message_from_packet(&packet, broadcast, 5), Some(message));
            assert_eq!(message_from_packet(&packet, broadcast, 3), None);
        }
    }

    /// Node 0 and two neighbours; it has the hardware address of node 2, but not of node 1.
    const THREE_NODES: &str = r#"
        name = "three"
        duration = "9 s"
        [network]
        kind = "adhoc"
        mobility = { positions = [["100 m", "0 m"], ["0 m", "0 m"], ["200 m", "0 m"]] }
        routing = { protocol = "static" }
        arp = true
        [[flow]]
        from = 0
        to = 1
        application = "ftp"
        [[flow]]
        from = 0
        to = 2
        application = "ftp"
    "#;

    fn receive_reply_from(run: &mut Run<'_, AdhocNetwork>, of: usize) {
        let message = ArpMessage {
            operation: ArpOperation::Reply,
            sender_hardware: HardwareAddr::of_node(of as u32),
            sender: address(of),
            target_hardware: HardwareAddr::of_node(0),
            target: address(0),
        };
        assert!(run.receive_arp(0, &packet_from_message(&message), false));
        AdhocNetwork::run_until_idle(run);
    }

    /// A packet that an aid sends ahead of the queue keeps that position while it waits for ARP.
    #[test]
    fn queue_place_is_kept_while_arp_resolves() {
        let scenario = driftway_scenario::Scenario::parse("three.toml", THREE_NODES, &[]).unwrap();
        for (place, first) in [(QueuePosition::Front, 1), (QueuePosition::Tail, 2)] {
            let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
            receive_reply_from(&mut run, 2);
            let mut send = |to, place| {
                let datagram = UdpDatagram {
                    source_port: 1,
                    destination_port: 2,
                    payload: Payload::new(0, 0, 100),
                };
                let packet = Packet {
                    ip: IpHeader::new(address(0), address(to)),
                    body: Body::Udp(datagram),
                };
                run.send_from_host(0, packet, place);
                AdhocNetwork::run_until_idle(&mut run);
            };
            (0..3).for_each(|_| send(2, QueuePosition::Tail));
            send(1, place);
            receive_reply_from(&mut run, 1);
            let head = run.net.nodes[0].queue.dequeue(run.now).unwrap();
            let packet = run.packets.get(head.id).unwrap();
            assert_eq!(packet.packet.ip.destination, address(first), "{place:?}");
        }
    }
}
