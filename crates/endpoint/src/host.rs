//! A host: its address, its sockets, and the handling of received packets.

use std::collections::BTreeMap;

use driftway_base::{
    Endpoint, FlowKey, Instant, Ipv4Addr, ReceivedPower, RouteProbe, Signal, SignalDetails,
    SignalKind,
};
use driftway_tcp::{Transmit, reset_for};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, QuotedPacket, TcpSegment, UdpDatagram};

use crate::Socket;
use crate::icmp::{IcmpReport, PROTOCOL_TCP, signal_details};

/// A socket of a host, as [`Host::add_socket`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketHandle(usize);

/// A host without routes: the driver forwards its packets. Its driver knows each socket by a tag of its own.
pub struct Host<T = ()> {
    address: Ipv4Addr,
    sockets: Vec<(T, Socket)>,
    /// Local ports and their sockets, sorted.
    ports: Vec<(u16, SocketHandle)>,
    /// The applications that receive datagrams, by port.
    receivers: BTreeMap<u16, T>,
    /// True if its driver probes routes at an aid's request.
    probes_routes: bool,
}

/// Result of receiving a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome<T = ()> {
    /// Delivered to the socket with this tag, which may have a segment to send.
    Socket(T),
    /// Delivered to all sockets whose peer has this address; each may have a segment to send.
    SocketsToPeer(Ipv4Addr),
    /// A datagram for the application with this tag.
    Datagram(T, UdpDatagram),
    /// Answered by this packet.
    Reply(Packet),
    /// No further action.
    Nothing,
}

impl<T: Copy> Host<T> {
    /// Creates a host without sockets.
    pub fn new(address: Ipv4Addr) -> Self {
        Self {
            address,
            sockets: Vec::new(),
            ports: Vec::new(),
            receivers: BTreeMap::new(),
            probes_routes: false,
        }
    }

    /// Declares that the driver probes routes at an aid's request
    /// ([`poll_route_probe`](Self::poll_route_probe)).
    #[must_use]
    pub fn with_route_probing(self) -> Self {
        Self { probes_routes: true, ..self }
    }

    /// Returns its address.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Adds a socket, which the driver knows by this tag. The local port of its connection must be free.
    pub fn add_socket(&mut self, mut socket: Socket, tag: T) -> SocketHandle {
        if self.probes_routes {
            socket.enable_route_probing();
        }
        let handle = SocketHandle(self.sockets.len());
        let port = socket.tcp().local().port;
        let place = self.ports.partition_point(|(p, _)| *p < port);
        self.ports.insert(place, (port, handle));
        self.sockets.push((tag, socket));
        handle
    }

    /// Adds an application that receives the datagrams for a port, and which the driver knows by this tag.
    pub fn add_receiver(&mut self, port: u16, tag: T) {
        self.receivers.insert(port, tag);
    }

    /// Returns all sockets, in the order in which they were added.
    pub fn handles(&self) -> impl Iterator<Item = SocketHandle> + use<T> {
        (0..self.sockets.len()).map(SocketHandle)
    }

    /// Returns a socket.
    pub fn socket(&mut self, SocketHandle(n): SocketHandle) -> Option<&mut Socket> {
        self.sockets.get_mut(n).map(|(_, socket)| socket)
    }

    /// Returns the socket at a port, with its tag.
    fn socket_at_port(&mut self, port: u16) -> Option<&mut (T, Socket)> {
        let place = self.ports.binary_search_by_key(&port, |(p, _)| *p).ok()?;
        let (_, SocketHandle(n)) = *self.ports.get(place)?;
        self.sockets.get_mut(n)
    }

    /// Handles a packet addressed to this host.
    pub fn on_packet(&mut self, now: Instant, packet: &Packet) -> ReceiveOutcome<T> {
        match &packet.body {
            Body::Tcp(segment) => self.on_segment(now, packet, segment),
            Body::Udp(datagram) => match self.receivers.get(&datagram.destination_port) {
                Some(tag) => ReceiveOutcome::Datagram(*tag, *datagram),
                None => ReceiveOutcome::Nothing,
            },
            Body::Icmp(message) => self.on_icmp(now, packet, message),
            // Routing messages were removed before.
            Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => ReceiveOutcome::Nothing,
        }
    }

    fn on_segment(
        &mut self,
        now: Instant,
        packet: &Packet,
        segment: &TcpSegment,
    ) -> ReceiveOutcome<T> {
        let source = Endpoint::new(packet.ip.source, segment.source_port);
        let socket = self.socket_at_port(segment.destination_port).filter(|(_, socket)| {
            let remote = socket.tcp().remote();
            remote == source || remote.port == 0
        });
        match socket {
            Some((tag, socket)) => {
                socket.on_segment(now, packet.ip.source, segment, packet.ip.ecn);
                ReceiveOutcome::Socket(*tag)
            }
            None => match reset_for(segment) {
                Some(reset) => {
                    ReceiveOutcome::Reply(self.new_packet(packet.ip.source, Body::Tcp(reset)))
                }
                None => ReceiveOutcome::Nothing,
            },
        }
    }

    fn on_icmp(
        &mut self,
        now: Instant,
        packet: &Packet,
        message: &IcmpMessage,
    ) -> ReceiveOutcome<T> {
        let (kind, quoted) = match IcmpReport::of(message) {
            IcmpReport::Echo => {
                return packet.echo_reply().map_or(ReceiveOutcome::Nothing, ReceiveOutcome::Reply);
            }
            IcmpReport::HardError(quoted) => return self.on_hard_error(now, quoted),
            IcmpReport::RouteRestored(quoted) => {
                let details = signal_details(packet, message);
                return self.on_route_restored(now, quoted, details);
            }
            IcmpReport::Nothing => return ReceiveOutcome::Nothing,
            IcmpReport::Signal(kind, quoted) => (kind, quoted),
        };
        let Some((tag, socket)) = self.quoted_socket(quoted) else {
            return ReceiveOutcome::Nothing;
        };
        let details = SignalDetails {
            flow: Some(FlowKey {
                source: Endpoint::new(quoted.source, quoted.ports().0),
                destination: Endpoint::new(quoted.destination, quoted.ports().1),
            }),
            seq: Some(quoted.seq()),
            ..signal_details(packet, message)
        };
        socket.on_signal(now, &Signal { kind, details });
        ReceiveOutcome::Socket(*tag)
    }

    /// chandran-1998 §4, §5.4: routers know sources, not connections. A message for a source
    /// concerns every connection to that destination; the packet that it quotes belongs to one of
    /// them, and may be acknowledged by now. A forged message can only withdraw from TCP what TCP-F
    /// has granted it, so that its sequence number is not checked (RFC 5927 §4).
    fn on_route_restored(
        &mut self,
        now: Instant,
        quoted: &QuotedPacket,
        details: SignalDetails,
    ) -> ReceiveOutcome<T> {
        if quoted.source != self.address {
            return ReceiveOutcome::Nothing;
        }
        self.on_signal(now, &Signal { kind: SignalKind::RouteRestored, details });
        ReceiveOutcome::SocketsToPeer(quoted.destination)
    }

    /// Delivers a signal of this host's own routing or links to all connections to its destination,
    /// or to all if it names none.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let to = signal.details.destination;
        for (_, socket) in &mut self.sockets {
            if to.is_none_or(|to| socket.tcp().remote().address == to) {
                socket.on_signal(now, signal);
            }
        }
    }

    /// Protocol and port unreachable abort a connection attempt (RFC 9293 §3.9.2.2).
    /// Handles that this host's interface has dropped one of its packets, because it has no carrier.
    pub fn on_local_drop(&mut self, now: Instant, packet: &Packet) {
        let Body::Tcp(segment) = &packet.body else { return };
        let remote = Endpoint::new(packet.ip.destination, segment.destination_port);
        if let Some((_, socket)) = self.socket_at_port(segment.source_port)
            && socket.tcp().remote() == remote
        {
            socket.tcp_mut().on_local_drop(now);
        }
    }

    fn on_hard_error(&mut self, now: Instant, quoted: &QuotedPacket) -> ReceiveOutcome<T> {
        let Some((tag, socket)) = self.quoted_socket(quoted) else {
            return ReceiveOutcome::Nothing;
        };
        socket.tcp_mut().on_unreachable(now, true, None);
        ReceiveOutcome::Socket(*tag)
    }

    /// Returns the socket whose packet an error message quotes. A message that quotes a sequence
    /// number not sent or long acknowledged may be forged and is ignored (RFC 5927 §4).
    fn quoted_socket(&mut self, quoted: &QuotedPacket) -> Option<&mut (T, Socket)> {
        if quoted.protocol != PROTOCOL_TCP || quoted.source != self.address {
            return None;
        }
        let (local, remote) = quoted.ports();
        self.socket_at_port(local).filter(|(_, socket)| {
            let tcp = socket.tcp();
            tcp.remote() == Endpoint::new(quoted.destination, remote)
                && tcp.may_have_sent(quoted.seq())
        })
    }

    /// Returns true if the socket's peer has this address.
    pub fn has_peer(&self, SocketHandle(n): SocketHandle, peer: Ipv4Addr) -> bool {
        self.sockets.get(n).is_some_and(|(_, socket)| socket.tcp().remote().address == peer)
    }

    /// Returns true if an aid requests route probes to this peer.
    pub fn wants_route_probe(&self, peer: Ipv4Addr) -> bool {
        self.sockets_to(peer).any(|socket| socket.wanted_route_probe() == RouteProbe::Repeated)
    }

    /// Returns a changed request of a socket's aid to probe the route to its peer, and true if it
    /// is the first socket to request it; `None`: unchanged.
    pub fn poll_route_probe(
        &mut self,
        handle: SocketHandle,
    ) -> Option<(Ipv4Addr, RouteProbe, bool)> {
        let socket = self.socket(handle)?;
        let peer = socket.tcp().remote().address;
        let before = socket.reported_route_probe();
        let probe = socket.poll_route_probe()?;
        let looked_for = |socket: &&Socket| socket.reported_route_probe() == RouteProbe::Repeated;
        let others = self.sockets_to(peer).filter(looked_for).count();
        let own = usize::from(probe == RouteProbe::Repeated);
        Some((peer, probe, before != RouteProbe::Repeated && others == own))
    }

    fn sockets_to(&self, peer: Ipv4Addr) -> impl Iterator<Item = &Socket> {
        let sockets = self.sockets.iter().map(|(_, socket)| socket);
        sockets.filter(move |socket| socket.tcp().remote().address == peer)
    }

    /// Sets the received power of the next hop towards this destination.
    pub fn set_next_hop_power(&mut self, to: Ipv4Addr, power: ReceivedPower) {
        for (_, socket) in &mut self.sockets {
            if socket.tcp().remote().address == to {
                socket.set_next_hop_power(power);
            }
        }
    }

    /// Returns the next packet of a socket, with the segment's transmission attributes.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        handle: SocketHandle,
    ) -> Option<(Packet, Transmit)> {
        let socket = self.socket(handle)?;
        let transmit = socket.poll_transmit(now)?;
        let to = socket.tcp().remote().address;
        let mut packet = self.new_packet(to, Body::Tcp(transmit.segment));
        packet.ip.ecn = transmit.ecn;
        Some((packet, transmit))
    }

    /// Creates a packet from this host. Its identification is 0: the network numbers the packets
    /// that enter it.
    pub fn new_packet(&self, to: Ipv4Addr, body: Body) -> Packet {
        Packet { ip: IpHeader::new(self.address, to), body }
    }
}
