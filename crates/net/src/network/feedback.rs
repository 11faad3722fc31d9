//! Route failure feedback: the messages that a node sends about packets that it could not deliver, and
//! the reports of its routing about routes of its own host.

use driftway_base::{DropReason, FailedLink, Ipv4Addr, NodeId, SignalKind};
use driftway_link::QueuePosition;
use driftway_route::feedback::{FeedbackOutput, NextHop, Scheme, UndeliverablePacket};
use driftway_wire::Packet;

use super::task::Task;
use super::{Network, OPAQUE_STREAM};
use crate::addresses::{address, node_at};

impl Network {
    /// Handles a packet that routing or a link layer of a node could not deliver. If the reason
    /// concerns the route, the node is the failure point: its routing has no next hop for the
    /// destination any more. `link`: the failed link, if that is the reason.
    pub(super) fn on_packet_given_up(
        &mut self,
        node: NodeId,
        packet: &Packet,
        reason: DropReason,
        link: Option<FailedLink>,
    ) {
        let to = packet.ip.destination;
        if reason.is_route_failure() {
            self.on_lost_at_gateway(node, to);
        }
        let next_hop = self.next_hop_over_air(to).filter(|_| reason.is_route_failure());
        let neighbour = link.and_then(|link| node_at(link.to, self.nodes.len()));
        self.nodes[node].last_report_was_false =
            neighbour.is_some_and(|to| self.in_range(node, to));
        let feedback = &mut self.nodes[node].feedback;
        if let Some(next_hop) = next_hop {
            let failed = link.unwrap_or(FailedLink { from: address(node), to });
            feedback.on_next_hop_failed(to, next_hop, failed);
        }
        if packet.payload().stream != OPAQUE_STREAM {
            let lost = UndeliverablePacket { packet, reason, link, packet_id: None };
            feedback.on_undeliverable(self.now, &lost);
        }
        self.work.add(Task::DrainFeedback { node });
    }

    /// Handles the output of a node's feedback: sends its messages, passes its signals to the host,
    /// and forwards the packets that it releases.
    pub(super) fn drain_feedback(&mut self, node: NodeId) {
        while let Some(output) = self.nodes[node].feedback.poll() {
            match output {
                FeedbackOutput::Transmit(message) => {
                    let lost = self.draw_notice_loss(&message);
                    self.send_notice(node, message, lost);
                    // What was reported to a gateway.
                    if self.gateways.splits_at(node) && self.work.has_requests() {
                        return self.work.add(Task::DrainFeedback { node });
                    }
                }
                FeedbackOutput::Signal(signal) => {
                    self.work.signal(node, signal);
                    return self.work.add(Task::DrainFeedback { node });
                }
                // Every restored wire is reported.
                FeedbackOutput::Watch(to) => {
                    if let Some(routing) = &mut self.nodes[node].routing {
                        routing.watch_route(to);
                    }
                }
            }
        }
        while let Some(id) = self.nodes[node].feedback.poll_released() {
            self.forward(node, id, QueuePosition::Tail);
        }
    }

    /// Handles the loss of a node's route to a destination of its host.
    pub(super) fn on_route_lost(&mut self, node: NodeId, to: Ipv4Addr) {
        self.nodes[node].feedback.on_route_lost(self.now, to);
        self.work.add(Task::DrainFeedback { node });
    }

    /// Handles the start of a route discovery for a destination of a node's host.
    pub(super) fn on_discovery_started(&mut self, node: NodeId, to: Ipv4Addr) {
        self.nodes[node].feedback.on_discovery_started(self.now, to);
        self.work.add(Task::SignalDiscovery { node, to });
        self.work.add(Task::DrainFeedback { node });
    }

    pub(super) fn signal_discovery(&mut self, node: NodeId, to: Ipv4Addr) {
        self.work.signal_destination(node, to, SignalKind::RouteDiscovery);
    }

    /// Handles a new route to a destination of a node's host.
    pub(super) fn on_route_found(&mut self, node: NodeId, to: Ipv4Addr) {
        self.work.add(Task::RestoreRoute { node, to });
        self.on_peer_found(node, to);
    }

    pub(super) fn restore_route(&mut self, node: NodeId, to: Ipv4Addr) {
        let next_hop = self.next_hop_over_air(to);
        let feedback = &mut self.nodes[node].feedback;
        feedback.on_route_found(self.now, to);
        if let Some(next_hop) = next_hop {
            feedback.on_next_hop_restored(next_hop);
        }
        self.work.add(Task::DrainFeedback { node });
    }

    /// Returns the next hop over the air to a destination.
    fn next_hop_over_air(&self, to: Ipv4Addr) -> Option<NextHop> {
        node_at(to, self.nodes.len()).map(|to| NextHop::OverAir { to })
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Instant;
    use driftway_scenario::Scenario;
    use driftway_wire::{Body, IcmpMessage, IpHeader, Payload, UdpDatagram, UnreachableCode};

    /// The message that node 1, between nodes 0 and 2, sends about a packet from 0 to 2.
    fn answer(feedback: &str, packet: &Packet, reason: DropReason) -> Option<IcmpMessage> {
        let keys = format!("feedback = \"{feedback}\"");
        answers(&keys, packet, reason, 1).into_iter().next()
    }

    /// The messages that it sends about `count` such packets at once.
    fn answers(keys: &str, packet: &Packet, reason: DropReason, count: usize) -> Vec<IcmpMessage> {
        let text = format!(
            r#"
            name = "three"
            duration = "9 s"
            [network]
            kind = "adhoc"
            nodes = 3
            mobility = {{ chain = "200 m" }}
            routing = {{ protocol = "static" }}
            {keys}
            [[flow]]
            from = 0
            to = 2
            application = "ftp"
            "#
        );
        let scenario = Scenario::parse("three.toml", &text, &[]).unwrap();
        let mut network = Network::build(&scenario, 1, 1).unwrap();
        (0..count).for_each(|_| network.on_packet_given_up(NodeId::new(1), packet, reason, None));
        while network.work.pending() > 0
            && let Some(task) = network.work.next_task()
        {
            network.run_task(task);
        }
        let routing = network.nodes[NodeId::new(1)].routing.as_mut().unwrap();
        let outputs = std::iter::from_fn(|| routing.poll(Instant::ZERO));
        let messages = outputs.map(|output| {
            let driftway_route::Output::Transmit { packet: answer, .. } = output else {
                panic!("{output:?}")
            };
            assert_eq!(answer.packet.ip.destination, packet.ip.source);
            let Body::Icmp(message) = answer.packet.body else { panic!("{answer:?}") };
            message
        });
        messages.collect()
    }

    /// RFC 1812 §4.3.2.8.
    #[test]
    fn icmp_errors_are_rate_limited() {
        let count = |keys| answers(keys, &datagram(), DropReason::NoRoute, 20).len();
        assert_eq!(count(""), 10);
        assert_eq!(count("icmp_rate = 3"), 3);
        assert_eq!(count("icmp_rate = 0"), 20);
    }

    fn packet(body: Body) -> Packet {
        Packet { ip: IpHeader::new(address(NodeId::new(0)), address(NodeId::new(2))), body }
    }

    fn datagram() -> Packet {
        let payload = Payload::new(0, 0, 100);
        packet(Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }))
    }

    #[test]
    fn each_reason_has_its_message() {
        let answer = |feedback, reason| answer(feedback, &datagram(), reason);
        for reason in [DropReason::LinkFailure, DropReason::NoRoute, DropReason::SalvageLimit] {
            assert!(matches!(
                answer("icmp-unreachable", reason),
                Some(IcmpMessage::Unreachable { code: UnreachableCode::Host, .. })
            ));
            assert!(matches!(answer("rfn", reason), Some(IcmpMessage::RouteFailed { .. })));
            assert_eq!(answer("none", reason), None);
        }
        // An expired time to live is no sign of a route failure.
        for feedback in ["icmp-unreachable", "rfn"] {
            let message = answer(feedback, DropReason::TimeToLive);
            assert!(matches!(message, Some(IcmpMessage::TimeExceeded { reassembly: false, .. })));
            assert_eq!(answer(feedback, DropReason::Loop), None);
        }
        assert_eq!(answer("none", DropReason::TimeToLive), None);
        // RFC 4728 §4.2: no message is sent. For an unconfirmed packet the outcome is unknown.
        for reason in
            [DropReason::SendBufferFull, DropReason::SendBufferTimeout, DropReason::Unconfirmed]
        {
            assert_eq!(answer("icmp-unreachable", reason), None);
        }
    }

    /// RFC 1122 §3.2.2.
    #[test]
    fn icmp_errors_and_control_packets_cause_no_message() {
        let link = FailedLink { from: address(NodeId::new(1)), to: address(NodeId::new(2)) };
        let error = Packet::icmp_error(address(NodeId::new(0)), &datagram(), |quoted| {
            IcmpMessage::RouteFailed { link, quoted }
        });
        let error = Packet { ip: datagram().ip, ..error.unwrap() };
        for feedback in ["icmp-unreachable", "rfn"] {
            for packet in [error, packet(Body::NoNextHeader)] {
                for reason in [DropReason::LinkFailure, DropReason::TimeToLive] {
                    assert_eq!(answer(feedback, &packet, reason), None);
                }
            }
        }
    }
}
