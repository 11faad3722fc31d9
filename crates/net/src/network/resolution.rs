//! ARP between routing and the interface queue.
//!
//! In a network an ARP message is a packet without a body, from the message's sender to its target,
//! and as long as the message. A request is broadcast and a reply is unicast, and hardware addresses
//! are derived from node numbers, so that these two addresses determine the whole message.

use driftway_base::{DropReason, Instant};
use driftway_link::{Arp, ArpOutput, QueuePosition, Resolution};
use driftway_wire::{
    ARP_LEN, ArpMessage, ArpOperation, Body, HardwareAddr, IPV4_HEADER_LEN, IpHeader, Packet,
    RoutedPacket,
};

use super::Network;
use super::task::Task;
use crate::addresses::{address, node_number};
use crate::interface::{Interface, Place};

fn packet_from_message(message: &ArpMessage) -> RoutedPacket {
    let packet =
        Packet { ip: IpHeader::new(message.sender, message.target), body: Body::NoNextHeader };
    RoutedPacket {
        size_adjustment: (ARP_LEN - IPV4_HEADER_LEN) as i16,
        ..RoutedPacket::plain(packet)
    }
}

/// Returns the ARP message that a packet stands for, sent to all (`broadcast`) or to one node; `None`
/// if it is not an ARP message.
pub fn arp_message(packet: &RoutedPacket, broadcast: bool) -> Option<ArpMessage> {
    if !is_arp(packet) {
        return None;
    }
    let (sender, target) = (packet.packet.ip.source, packet.packet.ip.destination);
    let hardware = |of| Some(HardwareAddr::of_node(node_number(of)?));
    Some(ArpMessage {
        operation: if broadcast { ArpOperation::Request } else { ArpOperation::Reply },
        sender_hardware: hardware(sender)?,
        sender,
        target_hardware: if broadcast { HardwareAddr::default() } else { hardware(target)? },
        target,
    })
}

/// True for an ARP message. Other packets without a body have a DSR header.
#[inline]
pub(super) fn is_arp(packet: &RoutedPacket) -> bool {
    matches!(packet.packet.body, Body::NoNextHeader) && packet.dsr.is_none()
}

impl Network {
    /// Returns true if the hardware address of the packet's next hop is known. If not, ARP holds the
    /// packet.
    pub(super) fn resolve_or_hold(
        &mut self,
        radio: usize,
        id: u32,
        neighbour: u32,
        place: QueuePosition,
    ) -> bool {
        let of = &mut self.medium.radios[radio];
        let Some(arp) = &mut of.arp else { return true };
        match arp.resolve(self.now, address(neighbour as usize), (id, place)) {
            Resolution::Known(_) => true,
            Resolution::Pending => {
                let node = of.node;
                self.work.mark_ready(node);
                false
            }
        }
    }

    /// Passes a received ARP message to ARP.
    pub(super) fn receive_arp(&mut self, radio: usize, packet: &RoutedPacket, broadcast: bool) {
        let of = &mut self.medium.radios[radio];
        if let (Some(arp), Some(message)) = (&mut of.arp, arp_message(packet, broadcast)) {
            arp.on_message(self.now, &message);
            let node = of.node;
            self.work.mark_ready(node);
        }
    }

    /// Handles the output of a radio's ARP.
    pub(super) fn drain_arp(&mut self, radio: usize) {
        while let Some(output) = self.medium.radios[radio].arp.as_mut().and_then(Arp::poll) {
            match output {
                ArpOutput::Request(message) => self.send_arp(radio, &message, None),
                ArpOutput::Reply(message) => {
                    self.send_arp(radio, &message, message.target_hardware.node());
                }
                ArpOutput::Send { id: (id, place), hardware, .. } => {
                    self.enqueue_after_delay(radio, id, hardware.node(), place);
                }
                // A later packet has replaced it, which is no sign that the neighbour has failed
                // (RFC 1122 §2.4).
                ArpOutput::Evicted { id: (id, _) } => {
                    let at = Place::Interface(Interface::Radio(radio), None);
                    self.drop(at, id, DropReason::Arp);
                }
                ArpOutput::Failed { id: (id, _), to } => {
                    if let Some(to) = node_number(to) {
                        self.work.tasks.push(Task::DrainArp { radio });
                        return self.on_link_failure(radio, id, to, None);
                    }
                }
            }
        }
        self.schedule_arp(radio);
    }

    fn send_arp(&mut self, radio: usize, message: &ArpMessage, next_hop: Option<u32>) {
        let id = self.packets.insert_routed(&packet_from_message(message));
        self.enqueue_after_delay(radio, id, next_hop, QueuePosition::Tail);
    }

    /// Repeats the requests that have not been answered in time.
    pub(super) fn on_arp_timer(&mut self, radio: usize) {
        let due = |at: &Instant| *at <= self.now;
        let of = &mut self.medium.radios[radio];
        if let Some(arp) = &mut of.arp
            && arp.next_timeout().as_ref().is_some_and(due)
        {
            arp.on_timeout(self.now);
            let node = of.node;
            self.work.mark_ready(node);
        }
        self.schedule_arp(radio);
    }

    fn schedule_arp(&mut self, radio: usize) {
        let of = &self.medium.radios[radio];
        if let Some(at) = of.arp.as_ref().and_then(Arp::next_timeout) {
            self.schedule_node(of.node, at);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::Scenario;
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
            assert_eq!(arp_message(&packet, broadcast), Some(message));
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

    fn receive_reply_from(network: &mut Network, of: usize) {
        let message = ArpMessage {
            operation: ArpOperation::Reply,
            sender_hardware: HardwareAddr::of_node(of as u32),
            sender: address(of),
            target_hardware: HardwareAddr::of_node(0),
            target: address(0),
        };
        network.receive_arp(0, &packet_from_message(&message), false);
        assert_eq!(network.poll(), None);
    }

    /// A packet that an aid sends ahead of the queue keeps that position while it waits for ARP.
    #[test]
    fn queue_place_is_kept_while_arp_resolves() {
        let scenario = Scenario::parse("three.toml", THREE_NODES, &[]).unwrap();
        for (place, first) in [(QueuePosition::Front, 1), (QueuePosition::Tail, 2)] {
            let mut network = Network::build(&scenario, 1, 1).unwrap();
            network.start(crate::Recording::Faults);
            receive_reply_from(&mut network, 2);
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
                network.send(0, packet, place);
                assert_eq!(network.poll(), None);
            };
            (0..3).for_each(|_| send(2, QueuePosition::Tail));
            send(1, place);
            receive_reply_from(&mut network, 1);
            let head = network.medium.radios[0].queue.dequeue(network.now).unwrap();
            let packet = network.packets.get(head.id).unwrap();
            assert_eq!(packet.packet.ip.destination, address(first), "{place:?}");
        }
    }
}
