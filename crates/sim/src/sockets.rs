//! Sockets built from a scenario.

use driftway_base::{Duration, Endpoint, Instant, RandomStream, Seq};
use driftway_endpoint::Socket;
use driftway_net::addresses::address;
use driftway_scenario::{Flow, Phase, Tcp, Tick, Time};
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

/// The port that both ends of a flow use; it distinguishes the flows of a host.
pub fn flow_port(flow: usize) -> u16 {
    // A checked scenario has fewer flows than there are ports.
    1024_u16.wrapping_add(flow as u16)
}

/// The flow that a packet belongs to, by its ports; for an ICMP error, the flow of the quoted packet.
pub fn flow_index(packet: &Packet) -> Option<u32> {
    let port_of_it = match &packet.body {
        Body::Tcp(segment) => segment.destination_port,
        Body::Udp(datagram) => datagram.destination_port,
        Body::Icmp(message) => message.quoted()?.ports().1,
        Body::Aodv(_) | Body::NoNextHeader => return None,
    };
    port_of_it.checked_sub(flow_port(0)).map(u32::from)
}

/// Builds the socket at one end of a flow. TCP and aid share the phase of the host's clock, as they
/// share the slow timer of one kernel.
pub fn socket(
    flow: &Flow,
    tcp: &Tcp,
    number: usize,
    end: FlowEnd,
    seed: u64,
    now: Instant,
) -> Socket {
    let (at, to, aid) = match end {
        FlowEnd::Sender => (flow.from, flow.to, Some(&flow.aid)),
        FlowEnd::Receiver => (flow.to, flow.from, flow.receiver_aid.as_ref()),
    };
    let config = tcp_config(tcp, at, seed);
    let stream = number as u32 * 2 + u32::from(end == FlowEnd::Receiver);
    let iss = initial_sequence(seed, "initial-sequence", stream);
    let endpoint = |node: u32| Endpoint::new(address(node as usize), flow_port(number));
    let connection = match end {
        FlowEnd::Sender => {
            Connection::connect(&config, endpoint(at), endpoint(to), iss, stream, now)
        }
        FlowEnd::Receiver => Connection::listen(&config, endpoint(at), iss, stream),
    };
    Socket::new(connection, aid.and_then(|aid| aid.build(first_tick(&config))))
}

/// Draws the initial sequence number of a socket.
pub fn initial_sequence(seed: u64, purpose: &'static str, socket: u32) -> Seq {
    Seq(RandomStream::new(seed, purpose, u64::from(socket)).next_u64() as u32)
}

/// The time of the first tick of a connection's clock, which its aid shares.
pub fn first_tick(config: &Config) -> Duration {
    config.clock.deadline(Instant::ZERO, Duration::ZERO).since(Instant::ZERO)
}

/// The TCP configuration of a connection at this node.
pub fn tcp_config(tcp: &Tcp, node: u32, seed: u64) -> Config {
    tcp.config(clock(&tcp.tick, node, seed))
}

/// The clock of a host.
fn clock(tick: &Tick, node: u32, seed: u64) -> Clock {
    let (Time(rtt), Time(timer)) = (tick.rtt, tick.timer);
    let longest = rtt.max(timer);
    // A scenario gives the time of the first tick; a clock's phase is how far into a tick it starts.
    let phase = match tick.phase {
        Phase::At(Time(at)) if !longest.is_zero() => {
            let into = at.as_nanos() % longest.as_nanos();
            Duration::from_nanos((longest.as_nanos() - into) % longest.as_nanos())
        }
        Phase::At(_) => Duration::ZERO,
        Phase::Random => {
            let mut draws = RandomStream::new(seed, "clock-phase", u64::from(node));
            draws.uniform_duration(Duration::ZERO, longest)
        }
    };
    Clock { rtt_tick: rtt, timer_tick: timer, phase }
}
