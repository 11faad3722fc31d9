//! What a node that gives a packet up tells its source, and what the source's node makes of it.

use base::{About, FailedLink, Ipv4Addr, Signal, SignalKind};
use link::Place;
use route::{DropReason, Way};
use scenario::Feedback;
use wire::{Body, IcmpMessage, Packet, Payload, UnreachableCode};

use super::super::{NetworkAtWork, Run};
use super::AdhocAtWork;
use crate::events::Class;
use crate::nodes::{address, node_at};

impl Run<'_, AdhocAtWork> {
    /// A node has given up on a packet: its source is told as the scenario says.
    pub(super) fn answer_for(&mut self, node: usize, packet: &Packet, reason: DropReason) {
        let answer = match (self.net.feedback, reason) {
            (Feedback::None, _) | (_, DropReason::Loop) => return,
            // RFC 792. It says nothing of a route, so chandran-1998 has no RFN for it.
            (_, DropReason::TimeToLive) => self.hosts[node].time_exceeded(packet),
            (Feedback::IcmpUnreachable, _) => {
                self.hosts[node].complain(packet, UnreachableCode::Host)
            }
            (Feedback::Rfn, _) => return self.fails_route(node, packet),
        };
        if let Some(answer) = answer {
            AdhocAtWork::send(self, node, answer, Place::Tail);
        }
    }

    /// chandran-1998 §4: the failure point tells the source with an RFN, and remembers it until it
    /// learns about a route.
    fn fails_route(&mut self, node: usize, packet: &Packet) {
        let to = packet.ip.destination;
        let Some(way) = self.way_to(to) else { return };
        let this = &mut self.net.nodes[node];
        this.router.on_link_failure(to, way, FailedLink { from: address(node), to });
        this.router.on_loss(packet);
        this.routing.watch(to);
        self.send_notices(node);
    }

    /// A packet for a node's own host, which may be news about a route.
    pub(super) fn receive(&mut self, node: usize, packet: &Packet) {
        match &packet.body {
            Body::Icmp(IcmpMessage::RouteFailed { quoted, .. })
                if quoted.source == address(node) =>
            {
                let (to, before) = (quoted.destination, self.silent(node, quoted.destination));
                self.arrived(node, packet);
                self.seek_if_silenced(node, to, before);
            }
            Body::Icmp(IcmpMessage::Echo { reply: true, .. }) => {
                self.restored(node, packet.ip.source);
                self.arrived(node, packet);
            }
            _ => self.arrived(node, packet),
        }
    }

    /// A node has no route any more to where its host sends: chandran-1998 §4's failure point is the
    /// source itself, and nothing has to travel. (So does ELFN stop a TCP whose node begins to look for
    /// a route: yu-2004 §3.2.) Packets that wait for another route are not given up, so ICMP has
    /// nothing to say of them.
    pub(super) fn route_lost(&mut self, node: usize, to: Ipv4Addr) {
        if self.net.feedback != Feedback::Rfn {
            return;
        }
        let before = self.silent(node, to);
        self.signal(node, to, SignalKind::RouteFailed);
        self.seek_if_silenced(node, to, before);
    }

    fn silent(&self, node: usize, to: Ipv4Addr) -> usize {
        self.hosts[node].silent_to(to)
    }

    /// Where nobody fell silent, packets still make routing look.
    fn seek_if_silenced(&mut self, node: usize, to: Ipv4Addr, before: usize) {
        if self.silent(node, to) > before {
            self.net.nodes[node].seeker.begin(self.now, to, before == 0);
            self.tick_seeker(node);
        }
    }

    /// Asks for the echoes that are due.
    pub(super) fn tick_seeker(&mut self, node: usize) {
        while let Some(to) = self.net.nodes[node].seeker.due(self.now) {
            if self.silent(node, to) == 0 {
                self.net.nodes[node].seeker.end(to);
                continue;
            }
            let Some(sequence) = self.net.nodes[node].seeker.ask(self.now, to) else { continue };
            let (identifier, payload) = (node as u16, Payload::EMPTY);
            let echo = IcmpMessage::Echo { reply: false, identifier, sequence, payload };
            let echo = self.hosts[node].packet(to, Body::Icmp(echo));
            AdhocAtWork::send(self, node, echo, Place::Tail);
        }
        if let Some(at) = self.net.nodes[node].seeker.next_timeout() {
            self.events.wake(Class::Network, node as u32 + 1, at);
        }
    }

    /// The own host's connections to a destination that could not be reached are told.
    fn restored(&mut self, node: usize, to: Ipv4Addr) {
        if self.net.nodes[node].seeker.end(to) {
            self.signal(node, to, SignalKind::RouteRestored);
        }
    }

    /// There is a route again: whoever has had an RFN gets an RRN (chandran-1998 §4).
    pub(super) fn route_found(&mut self, node: usize, to: Ipv4Addr) {
        if self.net.feedback != Feedback::Rfn {
            return;
        }
        self.restored(node, to);
        let Some(way) = self.way_to(to) else { return };
        self.net.nodes[node].router.on_link_restored(way);
        self.send_notices(node);
    }

    /// Routing has one way to a destination, or none.
    fn way_to(&self, to: Ipv4Addr) -> Option<Way> {
        node_at(to, self.net.nodes.len()).map(|node| Way(node as u32))
    }

    fn send_notices(&mut self, node: usize) {
        while let Some(message) = self.net.nodes[node].router.poll_transmit() {
            let message = self.hosts[node].stamp(message);
            AdhocAtWork::send(self, node, message, Place::Tail);
        }
    }

    /// News for the connections of a node's host to a destination.
    fn signal(&mut self, node: usize, to: Ipv4Addr, kind: SignalKind) {
        let about = About { destination: Some(to), ..About::default() };
        self.hosts[node].on_signal(self.now, to, &Signal { kind, about });
        self.serve_peers(node, to);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::books::Drop;
    use base::{Duration, Instant};
    use route::Output;
    use scenario::Scenario;
    use wire::{IpHeader, UdpDatagram};

    /// What node 1, between 0 and 2, sends about a packet from 0 to 2.
    fn answer(feedback: &str, packet: &Packet, reason: DropReason) -> Option<IcmpMessage> {
        let text = format!(
            r#"
            name = "three"
            duration = "9 s"
            [network]
            kind = "adhoc"
            nodes = 3
            mobility = {{ chain = "200 m" }}
            routing = {{ protocol = "static" }}
            feedback = "{feedback}"
            [[flow]]
            from = 0
            to = 2
            application = "ftp"
            "#
        );
        let scenario = Scenario::parse("three.toml", &text, &[]).unwrap();
        let mut run = Run::<AdhocAtWork>::new(&scenario, 1, None).unwrap();
        run.answer_for(1, packet, reason);
        let output = run.net.nodes[1].routing.poll(Instant::ZERO)?;
        let Output::Transmit { packet: answer, .. } = output else { panic!("{output:?}") };
        assert_eq!(answer.packet.ip.destination, packet.ip.source);
        let Body::Icmp(message) = answer.packet.body else { panic!("{answer:?}") };
        Some(message)
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
        // A time to live that ran out says nothing of a route.
        for feedback in ["icmp-unreachable", "rfn"] {
            let message = answer(feedback, DropReason::TimeToLive);
            assert!(matches!(message, Some(IcmpMessage::TimeExceeded { reassembly: false, .. })));
            assert_eq!(answer(feedback, DropReason::Loop), None);
        }
        assert_eq!(answer("none", DropReason::TimeToLive), None);
    }

    /// The first RFNs of node 1, whose neighbour 2 is out of reach from 7.5 s on, are lost; how long
    /// after the first does the source fall silent (s)?
    fn silent_after_lost_rfns(protocol: &str) -> f64 {
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
        let mut run = Run::<AdhocAtWork>::new(&scenario, 1, None).unwrap();
        let (mut first, mut silent) = (None, None);
        while run.step().unwrap() {
            if run.silent(0, address(2)) > 0 {
                silent.get_or_insert(run.now);
            }
            let Run { net, packets, now, .. } = &mut run;
            net.nodes[1].arriving.retain(|(_, item, _)| {
                let packet = packets.get(item.id).unwrap().packet;
                let rfn = matches!(packet.body, Body::Icmp(IcmpMessage::RouteFailed { .. }));
                let lost = rfn && now.since(*first.get_or_insert(*now)) < LOSING;
                if lost {
                    packets.drop(item.id, Drop::SignalLoss);
                }
                !lost
            });
        }
        run.finish().unwrap();
        silent.unwrap().since(first.unwrap()).as_secs_f64()
    }

    const LOSING: Duration = Duration::from_millis(300);

    /// chandran-1998 §5.4: each packet that comes after draws another RFN. Where routing tells the
    /// source's node of the failure, too, that node tells its host.
    #[test]
    fn a_lost_rfn_is_made_up_for() {
        for protocol in ["aodv", "dsr"] {
            let after = silent_after_lost_rfns(protocol);
            assert!(after < LOSING.as_secs_f64(), "{protocol}: by a route error: {after}");
        }
        let after = silent_after_lost_rfns("static");
        assert!(
            (LOSING.as_secs_f64()..3.0).contains(&after),
            "by the next RFN, behind the packets that draw them: {after}"
        );
    }

    /// RFC 1122 §3.2.2.
    #[test]
    fn about_an_error_and_about_routings_own_nothing_is_said() {
        let link = FailedLink { from: address(1), to: address(2) };
        let error = Packet::icmp_error(address(0), &datagram(), |quoted| {
            IcmpMessage::RouteFailed { link, quoted }
        });
        let error = Packet { ip: datagram().ip, ..error.unwrap() };
        for feedback in ["icmp-unreachable", "rfn"] {
            for packet in [error, packet(Body::Nothing)] {
                for reason in [DropReason::LinkFailure, DropReason::TimeToLive] {
                    assert_eq!(answer(feedback, &packet, reason), None);
                }
            }
        }
    }
}
