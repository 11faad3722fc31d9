//! A client, a gateway and a server, with a wire on each side of the gateway.

use std::collections::VecDeque;

use driftway_aid::registry;
use driftway_base::{ConnectionId, Duration, Ecn, Endpoint, Instant, Ipv4Addr, Seq};
use driftway_endpoint::{
    Gateway, GatewayEventKind, GatewayOutcome, Host, LegSetup, ReceiveOutcome, Side, Socket,
    SocketHandle,
};
use driftway_tcp::{Config, Connection, Event, State};
use driftway_wire::{Body, Packet};

pub const MS: fn(u64) -> Duration = Duration::from_millis;
pub const DELAY: Duration = Duration::from_millis(20);
/// The only connection.
pub const CONNECTION: ConnectionId = ConnectionId::new(0);

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndName {
    Client,
    Server,
}
use EndName::{Client, Server};

impl EndName {
    pub const BOTH: [Self; 2] = [Client, Server];

    pub fn other(self) -> Self {
        if self == Client { Server } else { Client }
    }

    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, if self == Client { 1 } else { 2 })
    }

    fn endpoint(self) -> Endpoint {
        Endpoint::new(self.address(), if self == Client { 4000 } else { 80 })
    }

    fn stream(self) -> u32 {
        if self == Client { 7 } else { 8 }
    }
}

/// The direction of a packet on one of the two wires: to or from the gateway, and the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub end: EndName,
    pub to_gateway: bool,
}

/// The effect of a wire on a packet: a copy for each delay, with a congestion mark.
pub type Policy = Box<dyn FnMut(Hop, u64, &Packet) -> Vec<(Duration, bool)>>;

pub struct EndState {
    host: Host,
    socket: Option<SocketHandle>,
    /// Bytes read, each checked against its stream and offset.
    pub read: u64,
    /// Reads data as soon as they arrive.
    pub reads: bool,
    pub events: Vec<Event>,
    pub sent: Vec<(Instant, Packet)>,
}

impl EndState {
    fn new(name: EndName) -> Self {
        let host = Host::new(name.address());
        Self { host, socket: None, read: 0, reads: true, events: vec![], sent: vec![] }
    }

    pub fn socket(&mut self) -> &mut Socket {
        self.host.socket(self.socket.expect("it has a socket")).expect("the socket exists")
    }

    pub fn tcp(&mut self) -> &mut Connection {
        self.socket().tcp_mut()
    }

    pub fn state(&mut self) -> State {
        self.tcp().state()
    }
}

/// The parts of a rig.
#[derive(Clone, Debug)]
pub struct Parts {
    pub client: Config,
    pub server: Config,
    pub wireless: Config,
    pub wired: Config,
    /// The aid of the wireless leg.
    pub aid: &'static str,
    /// The side of the client.
    pub client_side: Side,
    pub buffer: u32,
    /// False: the server's port is closed.
    pub listens: bool,
}

impl Default for Parts {
    fn default() -> Self {
        let config = Config::default();
        Self {
            client: config,
            server: config,
            wireless: config,
            wired: config,
            aid: "none",
            client_side: Side::Wireless,
            buffer: 10_000,
            listens: true,
        }
    }
}

pub struct Rig {
    pub now: Instant,
    parts: Parts,
    pub client: EndState,
    pub server: EndState,
    pub gateway: Gateway,
    pub gateway_events: Vec<GatewayEventKind>,
    pub sent_by_gateway: Vec<(Instant, Packet)>,
    in_transit: VecDeque<(Instant, Hop, Packet)>,
    pub policy: Policy,
    counts: [u64; 4],
    opened: u32,
    pub longest_buffer: u64,
}

pub fn aid(name: &str) -> Option<Box<dyn driftway_aid::Aid>> {
    let listed = registry::find(name)?;
    let options = listed.options();
    let settings: Vec<_> = options
        .iter()
        .map(|option| {
            let phase = driftway_aid::options::OptionValue::Duration(Duration::ZERO);
            (option.name, option.default.unwrap_or(phase))
        })
        .collect();
    Some(listed.build(&settings).expect("defaults are valid"))
}

impl Rig {
    /// The client connects at time 0; the delay of both wires is [`DELAY`].
    pub fn new(parts: Parts) -> Self {
        let [a, b] = EndName::BOTH.map(EndName::endpoint);
        let mut client = EndState::new(Client);
        // Initial sequence numbers near the wrap, so that every test crosses it.
        let tcp = Connection::connect(
            &parts.client,
            a,
            b,
            Seq(u32::MAX - 500),
            Client.stream(),
            Instant::ZERO,
        );
        client.socket = Some(client.host.add_socket(Socket::new(tcp, None), ()));
        let mut server = EndState::new(Server);
        if parts.listens {
            let tcp = Connection::listen(&parts.server, b, Seq(u32::MAX - 100), Server.stream());
            server.socket = Some(server.host.add_socket(Socket::new(tcp, None), ()));
        }
        Self {
            now: Instant::ZERO,
            gateway: Gateway::new(parts.buffer),
            parts,
            client,
            server,
            gateway_events: vec![],
            sent_by_gateway: vec![],
            in_transit: VecDeque::new(),
            policy: Box::new(|_, _, _| vec![(DELAY, false)]),
            counts: [0; 4],
            opened: 0,
            longest_buffer: 0,
        }
    }

    pub fn end(&mut self, name: EndName) -> &mut EndState {
        if name == Client { &mut self.client } else { &mut self.server }
    }

    pub fn side_of(&self, name: EndName) -> Side {
        if name == Client { self.parts.client_side } else { self.parts.client_side.other() }
    }

    /// Puts a packet on a wire.
    pub fn send(&mut self, hop: Hop, packet: Packet) {
        let index = usize::from(hop.end == Server) * 2 + usize::from(hop.to_gateway);
        let count = self.counts[index];
        self.counts[index] += 1;
        for (delay, is_marked) in (self.policy)(hop, count, &packet) {
            let mut packet = packet;
            if is_marked && packet.ip.ecn.is_capable() {
                packet.ip.ecn = Ecn::Ce;
            }
            let at = self.now + delay;
            let place = self.in_transit.partition_point(|(t, ..)| *t <= at);
            self.in_transit.insert(place, (at, hop, packet));
        }
    }

    fn send_from_gateway(&mut self, packet: Packet) {
        self.sent_by_gateway.push((self.now, packet));
        let end = if packet.ip.destination == Client.address() { Client } else { Server };
        assert_eq!(packet.ip.source, end.other().address(), "in the name of the other end");
        self.send(Hop { end, to_gateway: false }, packet);
    }

    /// Lets both ends and the gateway do everything possible at this instant.
    pub fn drain(&mut self) {
        for name in EndName::BOTH {
            self.drain_end(name);
        }
        for number in self.gateway.connections() {
            while let Some((packet, _)) = self.gateway.poll_transmit(self.now, number) {
                self.send_from_gateway(packet);
            }
            while let Some(event) = self.gateway.poll_event(number) {
                self.gateway_events.push(event.kind);
            }
        }
        self.check();
    }

    fn drain_end(&mut self, name: EndName) {
        let now = self.now;
        let Some(number) = self.end(name).socket else { return };
        loop {
            let end = self.end(name);
            while end.reads && end.read_some(u32::MAX, name) > 0 {}
            let Some((packet, _)) = end.host.poll_transmit(now, number) else { break };
            end.sent.push((now, packet));
            self.send(Hop { end: name, to_gateway: true }, packet);
        }
        let end = self.end(name);
        while let Some(event) = end.tcp().poll_event() {
            if matches!(event, Event::RetransmissionTimeout | Event::FastRetransmit) {
                continue;
            }
            end.events.push(event);
        }
    }

    /// Checks the invariants.
    fn check(&mut self) {
        for name in EndName::BOTH {
            if self.gateway.connections().next().is_none() || self.end(name).socket.is_none() {
                continue;
            }
            let side = self.side_of(name);
            let accepted = self.gateway.accepted_bytes(CONNECTION, side);
            let acknowledged = self.gateway.acknowledged_bytes(CONNECTION, side);
            let buffered = self.gateway.buffered_bytes(CONNECTION, side);
            let end = self.end(name);
            let of_end = end.tcp().acknowledged_bytes();
            assert!(of_end <= accepted, "{of_end} acknowledged, {accepted} accepted");
            let received = end.read + u64::from(end.tcp().readable_bytes());
            assert!(acknowledged <= received, "{acknowledged} acknowledged, {received} received");
            assert!(buffered <= u64::from(self.parts.buffer), "{buffered} buffered");
            self.longest_buffer = self.longest_buffer.max(buffered);
        }
    }

    fn timers(&mut self) -> Vec<Instant> {
        let mut timers = vec![];
        for name in EndName::BOTH {
            if self.end(name).socket.is_some() {
                timers.extend(self.end(name).socket().next_tcp_timeout());
            }
        }
        for number in self.gateway.connections() {
            for side in Side::BOTH {
                timers.extend(self.gateway.next_aid_timeout(number, side));
                timers.extend(self.gateway.next_tcp_timeout(number, side));
            }
        }
        timers
    }

    /// Returns the time of the next event; `None`: there is none.
    pub fn next_event(&mut self) -> Option<Instant> {
        let arrival = self.in_transit.front().map(|(at, ..)| *at);
        self.timers().into_iter().chain(arrival).min()
    }

    /// Advances to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        self.drain();
        let Some(next) = self.next_event() else { return false };
        assert!(next >= self.now, "time went back");
        self.now = next;
        let is_arrival = self.in_transit.front().is_some_and(|(at, ..)| *at == next);
        if is_arrival && let Some((_, hop, packet)) = self.in_transit.pop_front() {
            self.arrive(hop, &packet);
        } else {
            self.on_timeouts();
        }
        self.drain();
        true
    }

    fn on_timeouts(&mut self) {
        let now = self.now;
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        for number in self.gateway.connections() {
            for side in Side::BOTH {
                if due(self.gateway.next_aid_timeout(number, side)) {
                    self.gateway.on_aid_timeout(now, number, side);
                }
            }
        }
        for name in EndName::BOTH {
            if self.end(name).socket.is_some() {
                self.end(name).socket().on_tcp_timeout(now);
            }
        }
        for number in self.gateway.connections() {
            for side in Side::BOTH {
                if due(self.gateway.next_tcp_timeout(number, side)) {
                    self.gateway.on_tcp_timeout(now, number, side);
                }
            }
        }
        self.drain();
        let stuck = self.timers().into_iter().find(|at| *at <= now);
        assert_eq!(stuck, None, "a timer does not advance");
    }

    /// Handles the arrival of a packet.
    pub fn arrive(&mut self, hop: Hop, packet: &Packet) {
        let now = self.now;
        if !hop.to_gateway {
            if let ReceiveOutcome::Reply(answer) = self.end(hop.end).host.on_packet(now, packet) {
                self.send(Hop { end: hop.end, to_gateway: true }, answer);
            }
            return;
        }
        let side = self.side_of(hop.end);
        match self.gateway.on_packet(now, side, packet) {
            GatewayOutcome::Opening(opening) => {
                assert_eq!(opening.side, side);
                self.opened += 1;
                let setup = |tcp: Config, iss: u32, name: &str| LegSetup {
                    tcp,
                    iss: Seq(iss.wrapping_add(self.opened * 100_000)),
                    control: None,
                    aid: aid(name),
                };
                let wireless = setup(self.parts.wireless, u32::MAX - 200_000, self.parts.aid);
                let wired = setup(self.parts.wired, 1000, "none");
                assert_eq!(self.gateway.open(now, &opening, wireless, wired), CONNECTION);
            }
            GatewayOutcome::Reply(answer) => self.send_from_gateway(answer),
            GatewayOutcome::Connection(number) => assert_eq!(number, CONNECTION),
            GatewayOutcome::ConnectionsTo(_) | GatewayOutcome::Nothing => {}
        }
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        self.drain();
        while self.next_event().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Runs until there are no more events.
    pub fn run(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("does not terminate: {:?}", self.now);
    }

    /// Runs for this long.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// The states of the client's leg and of the server's.
    pub fn leg_states(&self) -> [State; 2] {
        EndName::BOTH.map(|name| {
            self.gateway.socket(CONNECTION, self.side_of(name)).expect("a connection").tcp().state()
        })
    }
}

impl EndState {
    /// Reads at most `most` bytes, and checks them.
    pub fn read_some(&mut self, most: u32, name: EndName) -> u32 {
        let read = self.read;
        let Some(part) = self.tcp().read(most) else { return 0 };
        assert_eq!(
            (part.stream, part.offset),
            (name.other().stream(), read),
            "bytes of the other end"
        );
        self.read += u64::from(part.len);
        part.len
    }
}

/// The TCP segments of packets.
pub fn segments(sent: &[(Instant, Packet)]) -> Vec<driftway_wire::TcpSegment> {
    let segment = |(_, packet): &(Instant, Packet)| match packet.body {
        Body::Tcp(segment) => Some(segment),
        _ => None,
    };
    sent.iter().filter_map(segment).collect()
}
