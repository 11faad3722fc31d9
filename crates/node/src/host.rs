//! A host: its address, its sockets, and what arrives for it.

use driftway_base::{
    SignalDetails, Endpoint, FlowKey, Instant, Ipv4Addr, UnreachableScope, RouteProbe, Signal, SignalKind, ReceivedPower,
};
use driftway_tcp::{Transmit, reset_for};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, QuotedPacket, TcpSegment, UdpDatagram, UnreachableCode,
};

use crate::Socket;

const PROTOCOL_TCP: u8 = 6;

/// A host without routes: what it sends, a driver carries.
pub struct Host {
    address: Ipv4Addr,
    sockets: Vec<Socket>,
    /// Local port and socket, sorted.
    ports: Vec<(u16, usize)>,
    identification: u16,
    /// It finds peers if an aid wants that.
    probes_routes: bool,
}

/// What an arriving packet led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// It was for this socket, which may have something to send now.
    Socket(usize),
    /// It was for all sockets whose peer is at this address, and each may have something to send.
    SocketsToPeer(Ipv4Addr),
    /// It was a datagram for whoever listens at its port.
    Datagram(UdpDatagram),
    /// It asks for this answer.
    Reply(Packet),
    /// Nothing more.
    Nothing,
}

impl Host {
    /// A host with no socket.
    pub fn new(address: Ipv4Addr) -> Self {
        Self { address, sockets: Vec::new(), ports: Vec::new(), identification: 0, probes_routes: false }
    }

    /// One whose driver finds peers if an aid wants that ([`poll_seek`](Self::poll_seek)).
    #[must_use]
    pub fn with_route_probing(self) -> Self {
        Self { probes_routes: true, ..self }
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Adds a socket; its connection's local port must not be taken. Returns its number.
    pub fn add_socket(&mut self, mut socket: Socket) -> usize {
        if self.probes_routes {
            socket.enable_route_probing();
        }
        let number = self.sockets.len();
        let port = socket.tcp().local().port;
        let place = self.ports.partition_point(|(p, _)| *p < port);
        self.ports.insert(place, (port, number));
        self.sockets.push(socket);
        number
    }

    /// A socket by its number.
    pub fn socket(&mut self, number: usize) -> Option<&mut Socket> {
        self.sockets.get_mut(number)
    }

    /// The socket at a port.
    fn socket_at_port(&self, port: u16) -> Option<usize> {
        let place = self.ports.binary_search_by_key(&port, |(p, _)| *p).ok()?;
        self.ports.get(place).map(|(_, number)| *number)
    }

    /// A packet to this host arrives.
    pub fn on_packet(&mut self, now: Instant, packet: &Packet) -> ReceiveOutcome {
        match &packet.body {
            Body::Tcp(segment) => self.on_segment(now, packet, segment),
            Body::Udp(datagram) => ReceiveOutcome::Datagram(*datagram),
            Body::Icmp(message) => self.on_icmp(now, packet, message),
            // Routing has taken its own out before.
            Body::Aodv(_) | Body::NoNextHeader => ReceiveOutcome::Nothing,
        }
    }

    fn on_segment(&mut self, now: Instant, packet: &Packet, segment: &TcpSegment) -> ReceiveOutcome {
        let source = Endpoint::new(packet.ip.source, segment.source_port);
        let number = self.socket_at_port(segment.destination_port).filter(|number| {
            let remote = self.sockets.get(*number).map(|socket| socket.tcp().remote());
            remote.is_some_and(|remote| remote == source || remote.port == 0)
        });
        let socket = number.and_then(|number| Some((number, self.sockets.get_mut(number)?)));
        match socket {
            Some((number, socket)) => {
                socket.on_segment(now, packet.ip.source, segment, packet.ip.ecn);
                ReceiveOutcome::Socket(number)
            }
            None => match reset_for(segment) {
                Some(reset) => ReceiveOutcome::Reply(self.new_packet(packet.ip.source, Body::Tcp(reset))),
                None => ReceiveOutcome::Nothing,
            },
        }
    }

    fn on_icmp(&mut self, now: Instant, packet: &Packet, message: &IcmpMessage) -> ReceiveOutcome {
        let (kind, quoted) = match message {
            IcmpMessage::Echo { .. } => {
                let answer = packet.echo_reply().map(|answer| self.assign_identification(answer));
                return answer.map_or(ReceiveOutcome::Nothing, ReceiveOutcome::Reply);
            }
            IcmpMessage::Unreachable { code: UnreachableCode::Net, quoted } => {
                (SignalKind::Unreachable(UnreachableScope::Net), quoted)
            }
            IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted } => {
                (SignalKind::Unreachable(UnreachableScope::Host), quoted)
            }
            IcmpMessage::Unreachable { code, quoted } => {
                return self.on_hard_error(now, code, quoted);
            }
            IcmpMessage::SourceQuench { quoted } => (SignalKind::SourceQuench, quoted),
            IcmpMessage::RouteFailed { quoted, .. } => (SignalKind::RouteFailed, quoted),
            IcmpMessage::RouteRestored { quoted, .. } => {
                let about = signal_about(packet.ip.source, message, quoted);
                return self.on_route_restored(now, quoted, about);
            }
            IcmpMessage::TimeExceeded { .. } => return ReceiveOutcome::Nothing,
        };
        let Some(number) = self.quoted_socket(quoted) else { return ReceiveOutcome::Nothing };
        let Some(socket) = self.sockets.get_mut(number) else { return ReceiveOutcome::Nothing };
        let about = SignalDetails {
            flow: Some(FlowKey {
                source: Endpoint::new(quoted.source, quoted.ports().0),
                destination: Endpoint::new(quoted.destination, quoted.ports().1),
            }),
            seq: Some(quoted.seq()),
            ..signal_about(packet.ip.source, message, quoted)
        };
        socket.on_signal(now, &Signal { kind, details: about });
        ReceiveOutcome::Socket(number)
    }

    /// chandran-1998 §4, §5.4: routers know sources, not connections. One message for a source is
    /// for each connection to that destination; the packet that it quotes is one of them, and may
    /// be acknowledged by now. Who makes such a message up takes from TCP what TCP-F has given it,
    /// and nothing more, so its numbers are not checked (RFC 5927 §4).
    fn on_route_restored(&mut self, now: Instant, quoted: &QuotedPacket, about: SignalDetails) -> ReceiveOutcome {
        if quoted.source != self.address {
            return ReceiveOutcome::Nothing;
        }
        self.on_signal(now, &Signal { kind: SignalKind::RouteRestored, details: about });
        ReceiveOutcome::SocketsToPeer(quoted.destination)
    }

    /// News for all connections to a destination, where the signal names one, or for all: such as this
    /// host's own routing and links have.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let to = signal.details.destination;
        for socket in &mut self.sockets {
            if to.is_none_or(|to| socket.tcp().remote().address == to) {
                socket.on_signal(now, signal);
            }
        }
    }

    /// Protocol and port unreachable end an attempt to connect (RFC 9293 §3.9.2.2).
    fn on_hard_error(&mut self, now: Instant, code: &UnreachableCode, quoted: &QuotedPacket) -> ReceiveOutcome {
        let hard = matches!(code, UnreachableCode::Protocol | UnreachableCode::Port);
        match self.quoted_socket(quoted) {
            Some(number) if hard => {
                if let Some(socket) = self.sockets.get_mut(number) {
                    socket.tcp_mut().on_unreachable(now, true, None);
                }
                ReceiveOutcome::Socket(number)
            }
            _ => ReceiveOutcome::Nothing,
        }
    }

    /// Whose packet an error message quotes. One that quotes a number we have not sent, or that is
    /// long acknowledged, is somebody's guess (RFC 5927 §4).
    fn quoted_socket(&self, quoted: &QuotedPacket) -> Option<usize> {
        if quoted.protocol != PROTOCOL_TCP || quoted.source != self.address {
            return None;
        }
        let (local, remote) = quoted.ports();
        let number = self.socket_at_port(local)?;
        let tcp = self.sockets.get(number)?.tcp();
        let ours = tcp.remote() == Endpoint::new(quoted.destination, remote);
        (ours && tcp.may_have_sent(quoted.seq())).then_some(number)
    }

    /// Is a socket's peer at this address?
    pub fn has_peer(&self, number: usize, peer: Ipv4Addr) -> bool {
        self.sockets.get(number).is_some_and(|socket| socket.tcp().remote().address == peer)
    }

    /// Does an aid want this peer to be looked for?
    pub fn wants_route_probe(&self, peer: Ipv4Addr) -> bool {
        self.sockets_to(peer).any(|socket| socket.wanted_route_probe() == RouteProbe::Repeated)
    }

    /// What a socket's aid wants to be done from now on to find its peer, and whether it is the first
    /// that has the peer looked for; `None`: what it wanted before.
    pub fn poll_route_probe(&mut self, number: usize) -> Option<(Ipv4Addr, RouteProbe, bool)> {
        let socket = self.sockets.get_mut(number)?;
        let peer = socket.tcp().remote().address;
        let before = socket.reported_route_probe();
        let seek = socket.poll_route_probe()?;
        let looked_for = |socket: &&Socket| socket.reported_route_probe() == RouteProbe::Repeated;
        let others = self.sockets_to(peer).filter(looked_for).count();
        let own = usize::from(seek == RouteProbe::Repeated);
        Some((peer, seek, before != RouteProbe::Repeated && others == own))
    }

    fn sockets_to(&self, peer: Ipv4Addr) -> impl Iterator<Item = &Socket> {
        self.sockets.iter().filter(move |socket| socket.tcp().remote().address == peer)
    }

    /// What the node's radio knows of the neighbour over which packets to this destination leave.
    pub fn set_next_hop_power(&mut self, to: Ipv4Addr, strength: ReceivedPower) {
        for socket in &mut self.sockets {
            if socket.tcp().remote().address == to {
                socket.set_next_hop_power(strength);
            }
        }
    }

    /// The next packet that a socket sends, and whether it goes ahead of the own queue.
    pub fn poll_transmit(&mut self, now: Instant, number: usize) -> Option<(Packet, Transmit)> {
        let socket = self.sockets.get_mut(number)?;
        let transmit = socket.poll_transmit(now)?;
        let to = socket.tcp().remote().address;
        let mut packet = self.new_packet(to, Body::Tcp(transmit.segment));
        packet.ip.ecn = transmit.ecn;
        Some((packet, transmit))
    }

    /// A packet from this host.
    pub fn new_packet(&mut self, to: Ipv4Addr, body: Body) -> Packet {
        self.assign_identification(Packet { ip: IpHeader::new(self.address, to), body })
    }

    /// Gives a packet of ours an identification of its own.
    pub fn assign_identification(&mut self, mut packet: Packet) -> Packet {
        self.identification = self.identification.wrapping_add(1);
        packet.ip.identification = self.identification;
        packet
    }
}

/// What an ICMP message says of the destination that it is about.
fn signal_about(reporter: Ipv4Addr, message: &IcmpMessage, quoted: &QuotedPacket) -> SignalDetails {
    let failed_link = match message {
        IcmpMessage::RouteFailed { link, .. } | IcmpMessage::RouteRestored { link, .. } => {
            Some(*link)
        }
        _ => None,
    };
    SignalDetails {
        destination: Some(quoted.destination),
        failed_link,
        reporter: Some(reporter),
        ..SignalDetails::default()
    }
}
