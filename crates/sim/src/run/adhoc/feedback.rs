//! Route failure feedback in an ad hoc network: the messages that a node sends about undeliverable
//! packets, and the probes by which a node finds a peer of its host.

use driftway_base::{FailedLink, Ipv4Addr, RouteProbe, Signal, SignalDetails, SignalKind};
use driftway_link::QueuePosition;
use driftway_route::DropReason;
use driftway_route::feedback::{FeedbackOutput, NextHop, Scheme, UndeliverablePacket};
use driftway_wire::{Body, IcmpMessage, Packet, Payload};

use super::super::{NetworkModel, Run};
use super::AdhocNetwork;
use crate::addresses::{address, node_at};
use crate::event_queue::EventClass;

impl Run<'_, AdhocNetwork> {
    /// Handles a packet that a node could not deliver. If the reason concerns the route, the node is
    /// the failure point: its routing has no next hop for the destination any more. `link`: the failed
    /// link, if that is the reason.
    pub(super) fn on_packet_given_up(
        &mut self,
        node: usize,
        packet: &Packet,
        reason: DropReason,
        link: Option<FailedLink>,
    ) {
        let to = packet.ip.destination;
        let next_hop = self.feedback_next_hop(to).filter(|_| reason.is_route_failure());
        let neighbour = link.and_then(|link| node_at(link.to, self.net.nodes.len()));
        self.net.nodes[node].last_report_was_false =
            neighbour.is_some_and(|to| self.net.mac.in_range(self.now, node as u32, to as u32));
        let feedback = &mut self.net.nodes[node].feedback;
        if let Some(way) = next_hop {
            let failed = link.unwrap_or(FailedLink { from: address(node), to });
            feedback.on_next_hop_failed(to, way, failed);
        }
        feedback.on_undeliverable(
            self.now,
            &UndeliverablePacket { packet, reason, link, packet_id: None },
        );
        self.drain_feedback(node);
    }

    /// Handles the output of a node's feedback agents.
    pub(super) fn drain_feedback(&mut self, node: usize) {
        while let Some(output) = self.net.nodes[node].feedback.poll() {
            match output {
                FeedbackOutput::Transmit(message) => {
                    let message = self.hosts[node].assign_identification(message);
                    AdhocNetwork::send(self, node, message, QueuePosition::Tail);
                }
                FeedbackOutput::Signal(signal) => self.on_signal(node, &signal),
                FeedbackOutput::Watch(to) => self.net.nodes[node].routing.watch_route(to),
            }
        }
    }

    /// Passes a packet to a node's own host; it may be the echo reply of a probed peer.
    pub(super) fn receive_local(&mut self, node: usize, packet: &Packet) {
        if let Body::Icmp(IcmpMessage::Echo { reply: true, .. }) = &packet.body {
            self.on_peer_found(node, packet.ip.source);
        }
        self.deliver_to_host(node, packet);
    }

    /// Handles the loss of a node's route to a destination of its host.
    pub(super) fn on_route_lost(&mut self, node: usize, to: Ipv4Addr) {
        self.net.nodes[node].feedback.on_route_lost(self.now, to);
        self.drain_feedback(node);
    }

    /// Handles the start of a route discovery for a destination of a node's host.
    pub(super) fn on_route_search(&mut self, node: usize, to: Ipv4Addr) {
        self.net.nodes[node].feedback.on_discovery_started(self.now, to);
        self.drain_feedback(node);
        let about = SignalDetails { destination: Some(to), ..SignalDetails::default() };
        self.on_signal(node, &Signal { kind: SignalKind::RouteDiscovery, details: about });
    }

    /// Handles a new route to a destination of a node's host.
    pub(super) fn on_route_found(&mut self, node: usize, to: Ipv4Addr) {
        self.on_peer_found(node, to);
        let next_hop = self.feedback_next_hop(to);
        let feedback = &mut self.net.nodes[node].feedback;
        feedback.on_route_found(self.now, to);
        if let Some(way) = next_hop {
            feedback.on_next_hop_restored(way);
        }
        self.drain_feedback(node);
    }

    /// Starts or stops probing a connection's peer. A probe that is under way continues until its next
    /// echo request is due.
    pub(super) fn probe_route(
        &mut self,
        node: usize,
        peer: Ipv4Addr,
        probe: RouteProbe,
        first: bool,
    ) {
        let prober = &mut self.net.nodes[node].route_prober;
        match probe {
            RouteProbe::Repeated => prober.start(self.now, peer, first),
            RouteProbe::Single => prober.start_single(self.now, peer),
            RouteProbe::Off => return,
        }
        self.send_due_probes(node);
    }

    /// Sends the echo requests that are due.
    pub(super) fn send_due_probes(&mut self, node: usize) {
        while let Some(to) = self.net.nodes[node].route_prober.due_destination(self.now) {
            if !self.hosts[node].wants_route_probe(to)
                && self.net.nodes[node].route_prober.cancel(to)
            {
                continue;
            }
            let Some(sequence) = self.net.nodes[node].route_prober.on_request_sent(self.now, to)
            else {
                continue;
            };
            let (identifier, payload) = (node as u16, Payload::EMPTY);
            let echo = IcmpMessage::Echo { reply: false, identifier, sequence, payload };
            let echo = self.hosts[node].new_packet(to, Body::Icmp(echo));
            AdhocNetwork::send(self, node, echo, QueuePosition::Tail);
        }
        if let Some(at) = self.net.nodes[node].route_prober.next_timeout() {
            self.events.schedule(EventClass::Network, node as u32 + 1, at);
        }
    }

    /// Signals to the connections that were probing a peer that it has been reached.
    fn on_peer_found(&mut self, node: usize, peer: Ipv4Addr) {
        if self.net.nodes[node].route_prober.on_found(peer) {
            let about = SignalDetails { destination: Some(peer), ..SignalDetails::default() };
            self.on_signal(node, &Signal { kind: SignalKind::RouteRestored, details: about });
        }
    }

    /// The feedback agents' number of the next hop to a destination: routing has at most one.
    fn feedback_next_hop(&self, to: Ipv4Addr) -> Option<NextHop> {
        node_at(to, self.net.nodes.len()).map(|node| NextHop(node as u32))
    }
}

#[cfg(test)]
mod test {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::packet_accounting::PacketDropReason;
    use driftway_base::{Duration, Instant};
    use driftway_scenario::Scenario;
    use driftway_wire::{
        DsrHeader, DsrOption, IpHeader, RoutedPacket, UdpDatagram, UnreachableCode,
    };

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
        let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
        (0..count).for_each(|_| run.on_packet_given_up(1, packet, reason, None));
        let outputs = std::iter::from_fn(|| run.net.nodes[1].routing.poll(Instant::ZERO));
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
        Packet { ip: IpHeader::new(address(0), address(2)), body }
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
        for reason in [DropReason::BufferFull, DropReason::BufferTimeout, DropReason::Unconfirmed] {
            assert_eq!(answer("icmp-unreachable", reason), None);
        }
    }

    /// Drops the first RFNs of node 1, whose neighbour 2 is out of range from 7.5 s on; returns the
    /// time from the first RFN to when the source enters the snooze state (s).
    fn snooze_delay_after_lost_rfns(protocol: &str) -> f64 {
        let text = format!(
            r#"
            name = "lost notices"
            duration = "20 s"
            [network]
            kind = "adhoc"
            area = ["500 m", "500 m"]
            mac = {{ kind = "dcf", delay_down = "25 us" }}
            routing = {{ protocol = "{protocol}" }}
            feedback = "rfn"
            [network.mobility]
            model = "constant-velocity"
            positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"]]
            velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "20 m/s"]]
            [[flow]]
            from = 0
            to = 2
            application = "ftp"
            aid = "tcp-f"
            "#
        );
        let scenario = Scenario::parse("lost.toml", &text, &[]).unwrap();
        let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
        let (mut first, mut silent) = (None, None);
        while run.step().unwrap() {
            if run.hosts[0].wants_route_probe(address(2)) {
                silent.get_or_insert(run.now);
            }
            let Run { net, packets, now, .. } = &mut run;
            net.nodes[1].queue_arrivals.retain(|(_, item, _)| {
                let packet = packets.get(item.id).unwrap().packet;
                let rfn = matches!(packet.body, Body::Icmp(IcmpMessage::RouteFailed { .. }));
                let lost = rfn && now.since(*first.get_or_insert(*now)) < RFN_LOSS_PERIOD;
                if lost {
                    packets.record_drop(item.id, PacketDropReason::SignalLoss);
                }
                !lost
            });
        }
        run.finish().unwrap();
        silent.unwrap().since(first.unwrap()).as_secs_f64()
    }

    const RFN_LOSS_PERIOD: Duration = Duration::from_millis(300);

    /// Records the failed links that RFNs name.
    #[derive(Debug)]
    struct LinkRecorder(Arc<Mutex<Vec<FailedLink>>>);

    impl Scheme for LinkRecorder {
        fn on_message(&mut self, _: Instant, message: &RoutedPacket) {
            if let Body::Icmp(IcmpMessage::RouteFailed { link, .. }) = message.packet.body {
                self.0.lock().unwrap().push(link);
            }
        }
        fn poll(&mut self) -> Option<FeedbackOutput> {
            None
        }
    }

    /// A chain of four nodes; the last two move away.
    #[test]
    fn an_rfn_names_the_link_that_failed() {
        let text = r#"
            name = "four"
            duration = "9 s"
            [network]
            kind = "adhoc"
            area = ["1000 m", "500 m"]
            routing = { protocol = "static" }
            feedback = "rfn"
            [network.mobility]
            model = "constant-velocity"
            positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"], ["600 m", "0 m"]]
            velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "40 m/s"], ["0 m/s", "40 m/s"]]
            [[flow]]
            from = 0
            to = 3
            application = "ftp"
            "#;
        let scenario = Scenario::parse("four.toml", text, &[]).unwrap();
        let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
        let links = Arc::new(Mutex::new(Vec::new()));
        run.net.nodes[0].feedback.add(Box::new(LinkRecorder(Arc::clone(&links))));
        while run.step().unwrap() {}
        let links = links.lock().unwrap();
        let link = FailedLink { from: address(1), to: address(2) };
        assert!(!links.is_empty() && links.iter().all(|known| *known == link), "{links:?}");
    }

    /// chandran-1998 §5.4: each later packet causes another RFN. If routing also reports the failure
    /// to the source's node, that node notifies its host.
    #[test]
    fn a_lost_rfn_is_repeated() {
        for protocol in ["aodv", "dsr"] {
            let after = snooze_delay_after_lost_rfns(protocol);
            assert!(after < RFN_LOSS_PERIOD.as_secs_f64(), "{protocol}: by a route error: {after}");
        }
        let after = snooze_delay_after_lost_rfns("static");
        assert!(
            (RFN_LOSS_PERIOD.as_secs_f64()..3.0).contains(&after),
            "by the next RFN, behind the packets that draw them: {after}"
        );
    }

    /// RFC 1122 §3.2.2.
    #[test]
    fn icmp_errors_and_control_packets_cause_no_message() {
        let link = FailedLink { from: address(1), to: address(2) };
        let error = Packet::icmp_error(address(0), &datagram(), |quoted| {
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

    /// The node that received a route error, and the options in it.
    type ReceivedError = (u8, Vec<u8>);

    /// Adds an option to the route errors that its node sends, and records those it receives.
    #[derive(Debug)]
    struct OptionMarker {
        node: u8,
        received: Arc<Mutex<Vec<ReceivedError>>>,
    }

    /// Errors are also piggybacked on route requests, which have no space for more options.
    fn is_error(dsr: &DsrHeader) -> bool {
        dsr.errors[0].is_some() && dsr.request().is_none()
    }

    impl Scheme for OptionMarker {
        fn on_message_sent(&mut self, _: Instant, message: &mut RoutedPacket) {
            if let Some(dsr) = message.dsr.as_mut().filter(|dsr| is_error(dsr)) {
                assert!(dsr.add_option(DsrOption::Other { kind: 17, data: &[self.node] }));
            }
        }
        fn on_message(&mut self, _: Instant, message: &RoutedPacket) {
            let Some(dsr) = message.dsr.as_ref().filter(|dsr| is_error(dsr)) else { return };
            let marks = dsr.extra_options().filter_map(|option| match option {
                DsrOption::Other { data, .. } => data.first().copied(),
                _ => None,
            });
            self.received.lock().unwrap().push((self.node, marks.collect()));
        }
        fn poll(&mut self) -> Option<FeedbackOutput> {
            None
        }
    }

    /// A chain of four nodes whose last link fails: the error goes from 2 to 0 through 1, and each
    /// node that sends it adds its option.
    #[test]
    fn a_scheme_adds_to_the_messages_of_routing_and_reads_them() {
        let text = r#"
            name = "four"
            duration = "9 s"
            [network]
            kind = "adhoc"
            area = ["1200 m", "9 m"]
            routing = { protocol = "dsr" }
            [network.mobility]
            model = "constant-velocity"
            positions = [["0 m", "0 m"], ["200 m", "0 m"], ["400 m", "0 m"], ["600 m", "0 m"]]
            velocities = [["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["0 m/s", "0 m/s"], ["20 m/s", "0 m/s"]]
            [[flow]]
            from = 0
            to = 3
            application = "ftp"
            "#;
        let scenario = Scenario::parse("four.toml", text, &[]).unwrap();
        let mut run = Run::<AdhocNetwork>::new(&scenario, 1, None).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        for (number, node) in (0..).zip(&mut run.net.nodes) {
            node.feedback.add(Box::new(OptionMarker { node: number, received: Arc::clone(&seen) }));
        }
        while run.step().unwrap() {}
        let seen = seen.lock().unwrap();
        assert_eq!(seen[..2], [(1, vec![2]), (0, vec![2, 1])]);
    }
}
