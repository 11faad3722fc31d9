//! Sockets built from a scenario.

use driftway_base::{Duration, Endpoint, FlowId, Instant, NodeId, RandomStream, Seq};
use driftway_endpoint::Socket;
use driftway_net::addresses::address;
use driftway_scenario::{AidEnd, AidPlace, Flow, Phase, Tcp, Tick, Time};
use driftway_tcp::{Clock, Config, Connection};
use driftway_wire::{Body, Packet};

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// Opens the connection and sends.
    Sender,
    /// Listens.
    Receiver,
}

impl FlowEnd {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }
}

/// A socket: an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketId {
    /// The flow.
    pub flow: FlowId,
    /// The end.
    pub end: FlowEnd,
}

impl SocketId {
    /// The sender's socket of a flow.
    pub const fn sender(flow: FlowId) -> Self {
        Self { flow, end: FlowEnd::Sender }
    }

    /// The receiver's socket of a flow.
    pub const fn receiver(flow: FlowId) -> Self {
        Self { flow, end: FlowEnd::Receiver }
    }

    /// Returns true for the sender's socket.
    pub fn is_sender(self) -> bool {
        self.end == FlowEnd::Sender
    }

    /// Returns the number of the socket among all, which is also that of the stream that it sends: two for each
    /// flow, the sender's first.
    pub const fn number(self) -> u32 {
        let end = match self.end {
            FlowEnd::Sender => 0,
            FlowEnd::Receiver => 1,
        };
        self.flow.number() * 2 + end
    }

    /// Returns the socket with a [`number`](Self::number).
    pub const fn from_number(number: u32) -> Self {
        let flow = FlowId::new(number / 2);
        if number.is_multiple_of(2) { Self::sender(flow) } else { Self::receiver(flow) }
    }
}

/// The port of flow 0.
const FIRST_PORT: u16 = 1024;

/// Returns the port that both ends of a flow use; it distinguishes the flows of a host.
pub fn flow_port(flow: FlowId) -> u16 {
    // A checked scenario has fewer flows than there are ports.
    FIRST_PORT.wrapping_add(flow.number() as u16)
}

/// Returns the endpoint of a flow at a node.
pub fn flow_endpoint(flow: FlowId, node: NodeId) -> Endpoint {
    Endpoint::new(address(node), flow_port(flow))
}

/// Returns the flow that a packet belongs to, by its [`flow_port`]; for an ICMP error, the flow of the quoted
/// packet. Records of the network are assigned to flows by it; hosts know their sockets.
pub fn flow_of(packet: &Packet) -> Option<FlowId> {
    let port = match &packet.body {
        Body::Tcp(segment) => segment.destination_port,
        Body::Udp(datagram) => datagram.destination_port,
        Body::Icmp(message) => message.quoted()?.ports().1,
        Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => return None,
    };
    port.checked_sub(FIRST_PORT).map(|flow| FlowId::new(flow.into()))
}

/// Builds the socket at one end of a flow. TCP and aid share the phase of the host's clock, as they
/// share the slow timer of one kernel.
pub fn socket(flow: &Flow, tcp: &Tcp, id: SocketId, seed: u64, now: Instant) -> Socket {
    let [from, to] = [flow.from, flow.to].map(NodeId::new);
    let (at, to, aid) = match id.end {
        FlowEnd::Sender => (from, to, Some(&flow.aid)),
        FlowEnd::Receiver => (to, from, flow.receiver_aid.as_ref()),
    };
    let end = match id.end {
        FlowEnd::Sender => AidEnd::Sender,
        FlowEnd::Receiver => AidEnd::Receiver,
    };
    let place = AidPlace { flow: id.flow, end };
    let config = tcp_config(tcp, at, seed);
    let stream = id.number();
    let iss = initial_sequence(seed, "initial-sequence", stream);
    let endpoint = |node| flow_endpoint(id.flow, node);
    let connection = match id.end {
        FlowEnd::Sender => {
            Connection::connect(&config, endpoint(at), endpoint(to), iss, stream, now)
        }
        FlowEnd::Receiver => Connection::listen(&config, endpoint(at), iss, stream),
    };
    let connection = match tcp.growth.build(&config.control_options(iss.0.into())) {
        Some(control) => connection.with_control(control),
        None => connection,
    };
    Socket::new(connection, aid.and_then(|aid| aid.build_at(place, first_tick(&config))))
}

/// Draws the initial sequence number of a socket.
pub fn initial_sequence(seed: u64, purpose: &'static str, socket: u32) -> Seq {
    Seq(RandomStream::new(seed, purpose, u64::from(socket)).next_u64() as u32)
}

/// The time of the first tick of a connection's clock, which its aid shares.
pub fn first_tick(config: &Config) -> Duration {
    config.clock.first_tick().since(Instant::ZERO)
}

/// The TCP configuration of a connection at this node.
pub fn tcp_config(tcp: &Tcp, node: NodeId, seed: u64) -> Config {
    tcp.config(clock(&tcp.tick, node, seed))
}

/// The clock of a host.
fn clock(tick: &Tick, node: NodeId, seed: u64) -> Clock {
    let (Time(rtt), Time(timer)) = (tick.rtt, tick.timer);
    let longest = match tick.wheel {
        true => rtt.max(timer.times(Clock::LONGEST_BUCKET)),
        false => rtt.max(timer),
    };
    // A scenario gives the time of the first tick; a clock's phase is how far into a tick it starts.
    let phase = match tick.phase {
        Phase::At(Time(at)) if !longest.is_zero() => {
            let into = at.as_nanos() % longest.as_nanos();
            Duration::from_nanos((longest.as_nanos() - into) % longest.as_nanos())
        }
        Phase::At(_) => Duration::ZERO,
        Phase::Random => {
            let mut draws = RandomStream::new(seed, "clock-phase", node.into());
            draws.uniform_duration(Duration::ZERO, longest)
        }
    };
    Clock { rtt_tick: rtt, timer_tick: timer, wheel: tick.wheel, phase }
}
