//! Sockets made as a scenario says.

use crate::nodes::address;
use base::{Duration, Endpoint, Instant, RandomStream, Seq};
use node::Socket;
use scenario::{Flow, Growth, Phase, Recovery, Tcp, Tick, Time};
use tcp::{Clock, Config, Connection, DelayedAck, GrowthKind, RecoveryKind};
use wire::{Body, Packet};

/// Coarser clocks than this are BSD's kind: its delayed acknowledgments have a tick of their own.
const COARSE: Duration = Duration::from_millis(200);

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Opens the connection and sends.
    Sender,
    /// Listens.
    Receiver,
}

/// The port that both ends of a flow use; flows from or to one host differ by it.
pub fn port(flow: usize) -> u16 {
    // Scenarios have fewer flows than there are ports.
    1024_u16.wrapping_add(flow as u16)
}

/// The flow that a packet belongs to, by its ports; of an ICMP error, that of the packet it is about.
pub fn flow_of(packet: &Packet) -> Option<u32> {
    let port_of_it = match &packet.body {
        Body::Tcp(segment) => segment.destination_port,
        Body::Udp(datagram) => datagram.destination_port,
        Body::Icmp(message) => message.quoted()?.ports().1,
        Body::Aodv(_) | Body::Nothing => return None,
    };
    port_of_it.checked_sub(port(0)).map(u32::from)
}

/// The socket at one end of a flow. The host's clock has one phase for TCP and aid, as the slow
/// timer of one kernel has.
pub fn socket(flow: &Flow, tcp: &Tcp, number: usize, end: End, seed: u64, now: Instant) -> Socket {
    let (at, to, aid) = match end {
        End::Sender => (flow.from, flow.to, &flow.aid),
        End::Receiver => (flow.to, flow.from, &flow.receiver_aid),
    };
    let config = tcp_config(tcp, at, seed);
    let stream = number as u32 * 2 + u32::from(end == End::Receiver);
    let mut draws = RandomStream::new(seed, "initial-sequence", u64::from(stream));
    let iss = Seq(draws.next_u64() as u32);
    let endpoint = |node: u32| Endpoint::new(address(node as usize), port(number));
    let connection = match end {
        End::Sender => Connection::connect(&config, endpoint(at), endpoint(to), iss, stream, now),
        End::Receiver => Connection::listen(&config, endpoint(at), iss, stream),
    };
    let first_tick = config.clock.deadline(Instant::ZERO, Duration::ZERO).since(Instant::ZERO);
    Socket::new(connection, aid.build(first_tick))
}

/// A scenario's TCP, at this node, as a connection wants it.
pub fn tcp_config(tcp: &Tcp, node: u32, seed: u64) -> Config {
    let clock = clock(&tcp.tick, node, seed);
    let Time(timeout) = tcp.delayed_ack_timeout;
    let on_tick = clock.timer >= COARSE;
    let time = |Time(span): Time| span;
    Config {
        recovery: match tcp.recovery {
            Recovery::Tahoe => RecoveryKind::Tahoe,
            Recovery::Reno => RecoveryKind::Reno,
            Recovery::NewReno => RecoveryKind::NewReno,
            Recovery::Sack => RecoveryKind::Sack,
            Recovery::RackTlp => RecoveryKind::RackTlp,
        },
        growth: match tcp.growth {
            Growth::Reno => GrowthKind::Reno,
            Growth::Cubic => GrowthKind::Cubic,
        },
        mss: u16::try_from(tcp.mss.0).unwrap_or(u16::MAX),
        receive_buffer: u32::try_from(tcp.window_bytes()).unwrap_or(u32::MAX),
        clock,
        delayed_ack: tcp.delayed_ack.then_some(DelayedAck { timeout, on_tick }),
        sack: tcp.recovery.uses_sack(),
        timestamps: tcp.timestamps,
        window_scale: tcp.scales_window(),
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        limited_transmit: tcp.limits_transmit(),
        prr: tcp.prr,
        dsack: tcp.dsack,
        eifel: tcp.eifel,
        f_rto: tcp.f_rto,
        lcd: tcp.lcd,
        initial_window: tcp.initial_window,
        initial_rto: time(tcp.initial_rto),
        min_rto: time(tcp.min_rto),
        max_rto: time(tcp.max_rto),
        persist_min: time(tcp.persist_min),
        persist_max: time(tcp.persist_max),
        keep_alive: tcp.keep_alive.map(time),
        max_retries: tcp.max_retries,
        msl: time(tcp.msl),
        source_quench: tcp.source_quench,
        challenge_old_acks: tcp.challenge_old_acks,
        clear_srtt_after: tcp.clear_srtt_after,
        ..Config::default()
    }
}

/// A host's clock.
fn clock(tick: &Tick, node: u32, seed: u64) -> Clock {
    let (Time(rtt), Time(timer)) = (tick.rtt, tick.timer);
    let longest = rtt.max(timer);
    // Scenarios say where the first tick falls; a clock, how far into a tick it starts.
    let phase = match tick.phase {
        Phase::At(Time(at)) if !longest.is_zero() => {
            let into = at.as_nanos() % longest.as_nanos();
            Duration::from_nanos((longest.as_nanos() - into) % longest.as_nanos())
        }
        Phase::At(_) => Duration::ZERO,
        Phase::Random => {
            let mut draws = RandomStream::new(seed, "clock-phase", u64::from(node));
            draws.duration(Duration::ZERO, longest)
        }
    };
    Clock { rtt, timer, phase }
}
