//! ARP between routing and the interface queue.

use driftway_base::{DropReason, Instant, NodeId, RadioId};
use driftway_link::{Arp, ArpOutput, QueuePosition, Resolution};
use driftway_wire::ArpMessage;

use super::Network;
use super::task::Task;
use crate::addresses::{address, node_of};
use crate::frame_body::FrameBody;
use crate::interface::{Departure, Place};

impl Network {
    /// Returns true if the hardware address of the packet's next hop is known. If not, ARP holds the
    /// packet.
    pub(super) fn resolve_or_hold(
        &mut self,
        radio: RadioId,
        neighbour: NodeId,
        packet: Departure,
    ) -> bool {
        let of = self.medium.radio_mut(radio);
        let Some(arp) = &mut of.arp else { return true };
        match arp.resolve(self.now, address(neighbour), (packet.id, packet.place)) {
            Resolution::Known(_) => true,
            Resolution::Pending => {
                let node = of.node;
                self.work.mark_ready(node);
                false
            }
        }
    }

    /// Passes a received ARP message to ARP.
    pub(super) fn receive_arp(&mut self, radio: RadioId, message: &ArpMessage) {
        let of = self.medium.radio_mut(radio);
        if let Some(arp) = &mut of.arp {
            arp.on_message(self.now, message);
            let node = of.node;
            self.work.mark_ready(node);
        }
    }

    /// Handles the output of a radio's ARP.
    pub(super) fn drain_arp(&mut self, radio: RadioId) {
        while let Some(output) = self.medium.radio_mut(radio).arp.as_mut().and_then(Arp::poll) {
            match output {
                ArpOutput::Request(message) => self.send_arp(radio, message, None),
                ArpOutput::Reply(message) => {
                    self.send_arp(radio, message, message.target_hardware.node());
                }
                ArpOutput::Send { id: (id, place), hardware, .. } => {
                    let next_hop = hardware.node();
                    self.enqueue_after_delay(radio, Departure { id, next_hop, place });
                }
                // A later packet has replaced it, which is no sign that the neighbour has failed
                // (RFC 1122 §2.4).
                ArpOutput::Evicted { id: (id, _) } => {
                    self.drop(Place::at_radio(radio, None), id, DropReason::Arp);
                }
                ArpOutput::Failed { id: (id, _), to } => {
                    if let Some(to) = node_of(to) {
                        self.work.add(Task::DrainArp { radio });
                        return self.on_link_failure(radio, id, to, None);
                    }
                }
            }
        }
        self.schedule_arp(radio);
    }

    fn send_arp(&mut self, radio: RadioId, message: ArpMessage, next_hop: Option<NodeId>) {
        let id = self.packets.create(FrameBody::Arp(message));
        self.enqueue_after_delay(radio, Departure { id, next_hop, place: QueuePosition::Tail });
    }

    /// Repeats the requests that have not been answered in time.
    pub(super) fn on_arp_timer(&mut self, radio: RadioId) {
        let due = |at: &Instant| *at <= self.now;
        let of = self.medium.radio_mut(radio);
        if let Some(arp) = &mut of.arp
            && arp.next_timeout().as_ref().is_some_and(due)
        {
            arp.on_timeout(self.now);
            let node = of.node;
            self.work.mark_ready(node);
        }
        self.schedule_arp(radio);
    }

    fn schedule_arp(&mut self, radio: RadioId) {
        let of = self.medium.radio(radio);
        if let Some(at) = of.arp.as_ref().and_then(Arp::next_timeout) {
            self.schedule_node(of.node, at);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_scenario::Scenario;
    use driftway_wire::{ArpOperation, Body, HardwareAddr, IpHeader, Packet, Payload, UdpDatagram};

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

    fn receive_reply_from(network: &mut Network, of: u32) {
        let message = ArpMessage {
            operation: ArpOperation::Reply,
            sender_hardware: HardwareAddr::of_node(NodeId::new(of)),
            sender: address(NodeId::new(of)),
            target_hardware: HardwareAddr::of_node(NodeId::new(0)),
            target: address(NodeId::new(0)),
        };
        network.receive_arp(RadioId::new(0), &message);
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
                    ip: IpHeader::new(address(NodeId::new(0)), address(NodeId::new(to))),
                    body: Body::Udp(datagram),
                };
                network.send(NodeId::new(0), packet, place);
                assert_eq!(network.poll(), None);
            };
            (0..3).for_each(|_| send(2, QueuePosition::Tail));
            send(1, place);
            receive_reply_from(&mut network, 1);
            let head =
                network.medium.radio_mut(RadioId::new(0)).queue.dequeue(network.now).unwrap();
            let packet = network.packets.get(head.id).unwrap();
            assert_eq!(packet.packet.ip.destination, address(NodeId::new(first)), "{place:?}");
        }
    }
}
