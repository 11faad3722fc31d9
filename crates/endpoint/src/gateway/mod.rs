//! A gateway that splits TCP connections between the air and the wires (liu-singh-2001 §III-A).
//!
//! The gateway terminates each connection towards both ends, in the name of the respective other
//! end: two conjugated connections, as in I-TCP (Bakre & Badrinath 1995). Each leg has a TCP of its own,
//! and may have an aid.
//!
//! - *Opening*: the initiator's SYN opens the leg towards the responder. It is answered once that leg is
//!   established, so that a connection that is refused, or times out, is refused to the initiator.
//! - *Data*: a leg is read only as far as the send buffer of the other leg has room. What is not read
//!   closes the window of its sender.
//! - *Closing*: the end of a stream (FIN) is passed on after its data, each direction by itself. If a leg
//!   is reset or times out, the other leg is reset.
//!
//! What is given up is the end-to-end meaning of acknowledgments: one from the gateway does not show that
//! the other end has the data, and data that were acknowledged are lost if the other leg fails.
//!
//! # What is not modelled
//!
//! | item | here |
//! |---|---|
//! | a connection that continues over another gateway | a network that splits has one gateway |
//! | the end of a split connection's entry | it is kept until the same ends open another one, which a leg in TIME-WAIT delays |
//! | urgent data, TCP options that are unknown | they are not passed on |

mod connection;
mod event;
mod leg;
mod side;

use std::collections::BTreeMap;

use driftway_aid::Aid;
use driftway_base::{
    ConnectionId, Ecn, Endpoint, FlowKey, Instant, Ipv4Addr, ReceivedPower, RouteProbe, Seq,
    Signal, SignalDetails, SignalKind,
};
use driftway_tcp::congestion::CongestionControl;
use driftway_tcp::{Config, Connection, Transmit, reset_for};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, QuotedPacket, TcpFlags, TcpSegment};
use typed_index_collections::TiVec;

use crate::Socket;
use crate::icmp::{IcmpReport, PROTOCOL_TCP, signal_details};
use connection::SplitConnection;
pub use event::{GatewayEvent, GatewayEventKind};
use leg::Leg;
pub use side::Side;

/// The split connections of a gateway.
///
/// Its methods are of four kinds:
/// - look: [`socket`](Self::socket), [`accepted_bytes`](Self::accepted_bytes),
///   [`acknowledged_bytes`](Self::acknowledged_bytes), [`longest_buffer`](Self::longest_buffer),
///   [`next_aid_timeout`](Self::next_aid_timeout), [`next_tcp_timeout`](Self::next_tcp_timeout) …
/// - events: [`on_packet`](Self::on_packet), [`on_signal`](Self::on_signal),
///   [`on_aid_timeout`](Self::on_aid_timeout), [`on_tcp_timeout`](Self::on_tcp_timeout);
/// - commands: [`open`](Self::open);
/// - polls: [`poll_transmit`](Self::poll_transmit), [`poll_event`](Self::poll_event),
///   [`poll_route_probe`](Self::poll_route_probe).
///
/// After each event and command the driver polls until nothing is left, then reads the timeouts of both
/// legs. Time never goes back.
pub struct Gateway {
    /// Room for the data of one direction of a connection (bytes).
    buffer: u32,
    probes_routes: bool,
    connections: TiVec<ConnectionId, SplitConnection>,
    /// The connections by their wireless and their wired end.
    by_ends: BTreeMap<(Endpoint, Endpoint), ConnectionId>,
}

/// Result of a packet for a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum GatewayOutcome {
    /// Delivered to this connection, which may have packets to send.
    Connection(ConnectionId),
    /// Delivered to all connections with an end at this address.
    ConnectionsTo(Ipv4Addr),
    /// A connection is to be opened ([`Gateway::open`]).
    Opening(Opening),
    /// Answered by this packet.
    Reply(Packet),
    /// No further action.
    Nothing,
}

/// A connection that is to be opened through a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The side of the end that opens it.
    pub side: Side,
    /// The end that opens it.
    pub initiator: Endpoint,
    /// The end to which it is opened.
    pub responder: Endpoint,
    syn: TcpSegment,
    ecn: Ecn,
}

/// The parts of a leg.
pub struct LegSetup {
    /// Configuration of its TCP.
    pub tcp: Config,
    /// Its initial sequence number, which the driver chooses (RFC 6528).
    pub iss: Seq,
    /// Its congestion control, if it is not that of `tcp`.
    pub control: Option<Box<dyn CongestionControl>>,
    /// Its aid.
    pub aid: Option<Box<dyn Aid>>,
}

impl Gateway {
    /// Creates a gateway whose connections have a buffer of this size (bytes) for each direction.
    pub fn new(buffer: u32) -> Self {
        Self { buffer, probes_routes: false, connections: TiVec::new(), by_ends: BTreeMap::new() }
    }

    /// Declares that the driver probes routes over the air at an aid's request
    /// ([`poll_route_probe`](Self::poll_route_probe)).
    #[must_use]
    pub fn with_route_probing(self) -> Self {
        Self { probes_routes: true, ..self }
    }

    /// Returns all connections.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + Clone + use<> {
        (0..self.connections.len()).map(ConnectionId::from)
    }

    /// Returns the socket of a leg.
    pub fn socket(&self, connection: ConnectionId, side: Side) -> Option<&Socket> {
        Some(&self.connections.get(connection)?.leg(side).socket)
    }

    /// Returns the number of bytes that have arrived in order from the end on this side: no more may be
    /// acknowledged to it.
    pub fn accepted_bytes(&self, connection: ConnectionId, from: Side) -> u64 {
        self.connections.get(connection).map_or(0, |of| of.leg(from).accepted_bytes())
    }

    /// Returns the number of bytes that the end on this side has acknowledged to the gateway.
    pub fn acknowledged_bytes(&self, connection: ConnectionId, by: Side) -> u64 {
        self.connections.get(connection).map_or(0, |of| of.leg(by).acknowledged_bytes())
    }

    /// Returns the number of bytes on their way to this side that its end has not acknowledged.
    pub fn buffered_bytes(&self, connection: ConnectionId, towards: Side) -> u64 {
        self.connections.get(connection).map_or(0, |of| of.leg(towards).buffered_bytes())
    }

    /// Returns the most bytes that one direction of a connection has had in its buffer.
    pub fn longest_buffer(&self, connection: ConnectionId) -> u64 {
        self.connections.get(connection).map_or(0, SplitConnection::longest_buffer)
    }

    /// Returns true if a leg's aid returned acts without end after an event. It was removed then.
    pub fn had_endless_acts(&self, connection: ConnectionId, side: Side) -> bool {
        self.socket(connection, side).is_some_and(Socket::had_endless_acts)
    }

    /// Returns the next timeout of a leg's aid.
    pub fn next_aid_timeout(&self, connection: ConnectionId, side: Side) -> Option<Instant> {
        self.socket(connection, side)?.next_aid_timeout()
    }

    /// Returns the next timeout of a leg's TCP.
    pub fn next_tcp_timeout(&self, connection: ConnectionId, side: Side) -> Option<Instant> {
        self.socket(connection, side)?.next_tcp_timeout()
    }

    /// Handles a packet that would pass the gateway from one side to the other: a TCP segment, or an ICMP
    /// message.
    pub fn on_packet(&mut self, now: Instant, from: Side, packet: &Packet) -> GatewayOutcome {
        match &packet.body {
            Body::Tcp(segment) => self.on_segment(now, from, packet, segment),
            Body::Icmp(message) => self.on_icmp(now, packet, message),
            Body::Udp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => {
                GatewayOutcome::Nothing
            }
        }
    }

    fn on_segment(
        &mut self,
        now: Instant,
        from: Side,
        packet: &Packet,
        segment: &TcpSegment,
    ) -> GatewayOutcome {
        let source = Endpoint::new(packet.ip.source, segment.source_port);
        let destination = Endpoint::new(packet.ip.destination, segment.destination_port);
        let number = self.by_ends.get(&ends(from, source, destination)).copied();
        let known = number.and_then(|number| Some((number, self.connections.get_mut(number)?)));
        if let Some((number, connection)) = known
            && !connection.is_succeeded_by(from, segment)
        {
            connection.on_segment(now, from, segment, packet.ip.ecn);
            return GatewayOutcome::Connection(number);
        }
        let is_syn = segment.flags.contains(TcpFlags::SYN)
            && !segment.flags.contains(TcpFlags::ACK)
            && !segment.flags.contains(TcpFlags::RST);
        if is_syn {
            return GatewayOutcome::Opening(Opening {
                side: from,
                initiator: source,
                responder: destination,
                syn: *segment,
                ecn: packet.ip.ecn,
            });
        }
        // As at the end: a segment without a connection is answered by a reset (RFC 9293 §3.10.7.1).
        match reset_for(segment) {
            Some(reset) => {
                let ip = IpHeader::new(destination.address, source.address);
                GatewayOutcome::Reply(Packet { ip, body: Body::Tcp(reset) })
            }
            None => GatewayOutcome::Nothing,
        }
    }

    fn on_icmp(&mut self, now: Instant, packet: &Packet, message: &IcmpMessage) -> GatewayOutcome {
        let (kind, quoted) = match IcmpReport::of(message) {
            IcmpReport::Signal(kind, quoted) => (Some(kind), quoted),
            IcmpReport::HardError(quoted) => (None, quoted),
            IcmpReport::RouteRestored(quoted) => {
                let details = signal_details(packet, message);
                self.on_signal(now, &Signal { kind: SignalKind::RouteRestored, details });
                return GatewayOutcome::ConnectionsTo(quoted.destination);
            }
            IcmpReport::Echo | IcmpReport::Nothing => return GatewayOutcome::Nothing,
        };
        let Some((number, side)) = self.quoted_leg(quoted) else { return GatewayOutcome::Nothing };
        let Some(connection) = self.connections.get_mut(number) else {
            return GatewayOutcome::Nothing;
        };
        let leg = connection.leg_mut(side);
        match kind {
            Some(kind) => {
                let details = SignalDetails {
                    flow: Some(FlowKey { source: leg.own, destination: leg.peer }),
                    seq: Some(quoted.seq()),
                    ..signal_details(packet, message)
                };
                leg.socket.on_signal(now, &Signal { kind, details });
            }
            None => leg.socket.tcp_mut().on_unreachable(now, true, None),
        }
        connection.run(now);
        GatewayOutcome::Connection(number)
    }

    /// Returns the leg whose packet an error message quotes, unless the sequence number was not sent or
    /// is long acknowledged (RFC 5927 §4).
    fn quoted_leg(&self, quoted: &QuotedPacket) -> Option<(ConnectionId, Side)> {
        if quoted.protocol != PROTOCOL_TCP {
            return None;
        }
        let (source_port, destination_port) = quoted.ports();
        let own = Endpoint::new(quoted.source, source_port);
        let peer = Endpoint::new(quoted.destination, destination_port);
        Side::BOTH.into_iter().find_map(|side| {
            let number = *self.by_ends.get(&ends(side, peer, own))?;
            let tcp = self.socket(number, side)?.tcp();
            tcp.may_have_sent(quoted.seq()).then_some((number, side))
        })
    }

    /// Delivers a signal of the gateway's own routing or links: to the legs to its destination. The
    /// signals of a wire name none but its ends, and go to all wired legs; those of the gateway's
    /// radio name neither, and go to all wireless ones.
    pub fn on_signal(&mut self, now: Instant, signal: &Signal) {
        let destination = signal.details.destination;
        for connection in &mut self.connections {
            for side in Side::BOTH {
                let leg = connection.leg_mut(side);
                let concerned = match destination {
                    Some(to) => leg.peer.address == to,
                    None => (side == Side::Wired) == signal.details.failed_link.is_some(),
                };
                if concerned && !leg.is_over() {
                    leg.socket.on_signal(now, signal);
                }
            }
            connection.run(now);
        }
    }

    /// Sets the received power of the next hop towards this destination.
    pub fn set_next_hop_power(&mut self, to: Ipv4Addr, power: ReceivedPower) {
        for connection in &mut self.connections {
            let leg = connection.leg_mut(Side::Wireless);
            if leg.peer.address == to {
                leg.socket.set_next_hop_power(power);
            }
        }
    }

    /// Returns true if a connection has an end at this address.
    pub fn has_end(&self, connection: ConnectionId, address: Ipv4Addr) -> bool {
        let of = self.connections.get(connection);
        of.is_some_and(|of| Side::BOTH.iter().any(|side| of.leg(*side).peer.address == address))
    }

    /// Opens a connection: the leg towards the responder connects. It takes the place of an earlier connection
    /// between the same ends, if there was one.
    pub fn open(
        &mut self,
        now: Instant,
        opening: &Opening,
        wireless: LegSetup,
        wired: LegSetup,
    ) -> ConnectionId {
        let leg = |setup: LegSetup, side: Side| {
            let LegSetup { tcp, iss, control, aid } = setup;
            let (initiator, responder) = (opening.initiator, opening.responder);
            // Streams get their names from the data that are relayed.
            let (tcp, peer, own) = if side == opening.side {
                (Connection::listen(&tcp, responder, iss, 0), initiator, responder)
            } else {
                let tcp = Connection::connect(&tcp, initiator, responder, iss, 0, now);
                (tcp, responder, initiator)
            };
            let tcp = match control {
                Some(control) => tcp.with_control(control),
                None => tcp,
            };
            let mut socket = Socket::new(tcp, aid);
            if self.probes_routes && side == Side::Wireless {
                socket.enable_route_probing();
            }
            Leg::new(socket, peer, own)
        };
        let syn = (opening.syn, opening.ecn);
        let (wireless, wired) = (leg(wireless, Side::Wireless), leg(wired, Side::Wired));
        let connection = SplitConnection::new(wireless, wired, opening.side, syn, self.buffer);
        let key = ends(opening.side, opening.initiator, opening.responder);
        let id = *self.by_ends.entry(key).or_insert(self.connections.next_key());
        match self.connections.get_mut(id) {
            Some(earlier) => *earlier = connection,
            None => self.connections.push(connection),
        }
        id
    }

    /// Handles the timeout of a leg's aid.
    pub fn on_aid_timeout(&mut self, now: Instant, connection: ConnectionId, side: Side) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.leg_mut(side).socket.on_aid_timeout(now);
            connection.run(now);
        }
    }

    /// Handles the timeout of a leg's TCP.
    pub fn on_tcp_timeout(&mut self, now: Instant, connection: ConnectionId, side: Side) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.leg_mut(side).socket.on_tcp_timeout(now);
            connection.run(now);
        }
    }

    /// Returns the next packet of a connection, in the name of one of its ends, with the segment's
    /// transmission attributes.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        connection: ConnectionId,
    ) -> Option<(Packet, Transmit)> {
        self.connections.get_mut(connection)?.poll_transmit(now)
    }

    /// Returns the next event of a connection.
    pub fn poll_event(&mut self, connection: ConnectionId) -> Option<GatewayEvent> {
        let kind = self.connections.get_mut(connection)?.poll_event()?;
        Some(GatewayEvent { connection, kind })
    }

    /// Returns true if an aid requests route probes to this end.
    pub fn wants_route_probe(&self, peer: Ipv4Addr) -> bool {
        self.sockets_to(peer).any(|socket| socket.wanted_route_probe() == RouteProbe::Repeated)
    }

    /// Returns a changed request of a connection's aid to probe the route over the air to its peer, and
    /// true if it is the first connection to request it; `None`: unchanged.
    pub fn poll_route_probe(
        &mut self,
        connection: ConnectionId,
    ) -> Option<(Ipv4Addr, RouteProbe, bool)> {
        let leg = self.connections.get_mut(connection)?.leg_mut(Side::Wireless);
        let peer = leg.peer.address;
        let before = leg.socket.reported_route_probe();
        let probe = leg.socket.poll_route_probe()?;
        let repeated = |socket: &&Socket| socket.reported_route_probe() == RouteProbe::Repeated;
        let others = self.sockets_to(peer).filter(repeated).count();
        let own = usize::from(probe == RouteProbe::Repeated);
        Some((peer, probe, before != RouteProbe::Repeated && others == own))
    }

    /// Returns the sockets of the wireless legs to this end.
    fn sockets_to(&self, peer: Ipv4Addr) -> impl Iterator<Item = &Socket> {
        let legs = self.connections.iter().map(|connection| connection.leg(Side::Wireless));
        legs.filter(move |leg| leg.peer.address == peer).map(|leg| &leg.socket)
    }
}

/// Returns the wireless and the wired end, given the end on one side and the other one.
fn ends(side: Side, near: Endpoint, far: Endpoint) -> (Endpoint, Endpoint) {
    match side {
        Side::Wireless => (near, far),
        Side::Wired => (far, near),
    }
}
