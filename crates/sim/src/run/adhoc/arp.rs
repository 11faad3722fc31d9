//! ARP between routing and the interface queue.
//!
//! In the simulator an ARP message is a packet without a body, from the message's sender to its
//! target, and as long as the message. A request is broadcast and a reply is unicast, and hardware
//! addresses are derived from node numbers, so that these two addresses determine the whole message.

use driftway_base::Instant;
use driftway_link::{Class as Rank, Item, Place};
use driftway_node::{Arp, ArpConfig, ArpOutput, Resolved};
use driftway_wire::{ARP_LEN, ArpMessage, ArpOperation, Body, HardwareAddr, IPV4_HEADER, IpHeader};
use driftway_wire::{Packet, Routed};

use super::super::Run;
use super::AdhocAtWork;
use crate::books::Drop;
use crate::events::Class;
use crate::nodes::{address, node_at};

/// A packet that waits for address resolution: its handle, and its position in the interface queue.
pub(super) type Waiting = (u32, Place);

/// The ARP state of a node.
pub(super) fn of_node(config: ArpConfig, node: usize) -> Arp<Waiting> {
    Arp::new(config, address(node), HardwareAddr::of_node(node as u32))
}

fn packet_of(message: &ArpMessage) -> Routed {
    let packet = Packet { ip: IpHeader::new(message.sender, message.target), body: Body::Nothing };
    Routed { padding: (ARP_LEN - IPV4_HEADER) as i16, ..Routed::plain(packet) }
}

/// The ARP message that a packet stands for, sent to all (`broadcast`) or to one node; `None` if it is
/// not an ARP message.
pub(super) fn message_of(packet: &Routed, broadcast: bool, nodes: usize) -> Option<ArpMessage> {
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
pub(super) fn is_arp(packet: &Routed) -> bool {
    packet.packet.body == Body::Nothing && packet.dsr.is_none()
}

impl Run<'_, AdhocAtWork> {
    /// Returns `true` if the hardware address of the packet's next hop is known. If not, ARP holds the
    /// packet.
    pub(super) fn resolves(&mut self, node: usize, item: &Item, place: Place) -> bool {
        let Some(arp) = &mut self.net.nodes[node].arp else { return true };
        let Some(neighbour) = item.next_hop else { return true };
        match arp.resolve(self.now, address(neighbour as usize), (item.id, place)) {
            Resolved::Known(_) => true,
            Resolved::Waits => {
                self.stir(node);
                false
            }
        }
    }

    /// Passes a received packet to ARP; `false` if it is not an ARP message.
    pub(super) fn is_for_arp(&mut self, node: usize, packet: &Routed, broadcast: bool) -> bool {
        if !is_arp(packet) {
            return false;
        }
        let message = message_of(packet, broadcast, self.net.nodes.len());
        if let (Some(arp), Some(message)) = (&mut self.net.nodes[node].arp, message) {
            arp.on_message(self.now, &message);
            self.stir(node);
        }
        true
    }

    /// Handles the output of a node's ARP.
    pub(super) fn serve_arp(&mut self, node: usize) {
        while let Some(output) = self.net.nodes[node].arp.as_mut().and_then(Arp::poll) {
            match output {
                ArpOutput::Request(message) => self.send_arp(node, &message, None),
                ArpOutput::Reply(message) => {
                    let to = message.target_hardware.node();
                    self.send_arp(node, &message, to);
                }
                ArpOutput::Send { id: (id, place), hardware, .. } => {
                    if let Some(packet) = self.packets.get(id) {
                        let item = super::relay::item_of(packet, id, hardware.node());
                        self.descend(node, item, place);
                    }
                }
                // A later packet has replaced it, which is no sign that the neighbour has failed
                // (RFC 1122 §2.4).
                ArpOutput::Evicted { id: (id, _) } => {
                    self.drop_queued(node, id, None, Drop::Arp);
                }
                ArpOutput::Failed { id: (id, _), to } => {
                    if let Some(to) = node_at(to, self.net.nodes.len()) {
                        self.link_failed(node, id, to as u32, None);
                    }
                }
            }
        }
        self.wake_for_arp(node);
    }

    fn send_arp(&mut self, node: usize, message: &ArpMessage, next_hop: Option<u32>) {
        let id = self.packets.make(packet_of(message));
        // queue/dsr-priqueue.cc, queue/priqueue.cc: ARP messages have no priority.
        let item = Item { id, bytes: ARP_LEN, ecn_capable: false, next_hop, class: Rank::Other };
        self.descend(node, item, Place::Tail);
    }

    /// Repeats the requests that have not been answered in time.
    pub(super) fn tick_arp(&mut self, node: usize) {
        let due = |at: &Instant| *at <= self.now;
        if let Some(arp) = &mut self.net.nodes[node].arp
            && arp.next_timeout().as_ref().is_some_and(due)
        {
            arp.on_timeout(self.now);
            self.stir(node);
        }
        self.wake_for_arp(node);
    }

    fn wake_for_arp(&mut self, node: usize) {
        if let Some(at) = self.net.nodes[node].arp.as_ref().and_then(Arp::next_timeout) {
            self.events.wake(Class::Network, node as u32 + 1, at);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::run::NetworkAtWork;
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
            let packet = packet_of(&message);
            assert_eq!(packet.len(), ARP_LEN);
            assert_eq!(message_of(&packet, broadcast, 5), Some(message));
            assert_eq!(message_of(&packet, broadcast, 3), None);
        }
    }

    /// Node 0 and two neighbours; it has the hardware address of node 2, but not of node 1.
    const THREE: &str = r#"
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

    fn hears(run: &mut Run<'_, AdhocAtWork>, of: usize) {
        let message = ArpMessage {
            operation: ArpOperation::Reply,
            sender_hardware: HardwareAddr::of_node(of as u32),
            sender: address(of),
            target_hardware: HardwareAddr::of_node(0),
            target: address(0),
        };
        assert!(run.is_for_arp(0, &packet_of(&message), false));
        AdhocAtWork::settle(run);
    }

    /// A packet that an aid sends ahead of the queue keeps that position while it waits for ARP.
    #[test]
    fn who_goes_first_goes_first_after_the_wait() {
        let scenario = driftway_scenario::Scenario::parse("three.toml", THREE, &[]).unwrap();
        for (place, first) in [(Place::Front, 1), (Place::Tail, 2)] {
            let mut run = Run::<AdhocAtWork>::new(&scenario, 1, None).unwrap();
            hears(&mut run, 2);
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
                run.send_from(0, packet, place);
                AdhocAtWork::settle(&mut run);
            };
            (0..3).for_each(|_| send(2, Place::Tail));
            send(1, place);
            hears(&mut run, 1);
            let head = run.net.nodes[0].queue.take(run.now).unwrap();
            let packet = run.packets.get(head.id).unwrap();
            assert_eq!(packet.packet.ip.destination, address(first), "{place:?}");
        }
    }
}
