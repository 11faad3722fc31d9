//! The kernel's state of one of its TCP connections.

use std::io;
use std::net::SocketAddrV4;

use driftway_base::Duration;
use driftway_tcp::State;
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::{Nla, TcpInfo};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags, Timer,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use crate::netlink;

/// The timer that the kernel runs for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelTimer {
    /// Retransmission, tail loss probe or reordering timer: they share one.
    Retransmission {
        /// Time left.
        left: Duration,
        /// Expirations without an answer.
        backoff: u8,
    },
    /// Zero-window probe timer.
    Probe {
        /// Time left.
        left: Duration,
    },
    /// Any other timer.
    Other,
}

/// A snapshot of a kernel's connection: `struct tcp_info` and the running timer.
#[derive(Clone, Debug)]
pub struct KernelTcp {
    /// `struct tcp_info`, in the kernel's units.
    pub info: TcpInfo,
    /// The running timer.
    pub timer: Option<KernelTimer>,
    /// Name of the congestion control algorithm.
    pub congestion_control: String,
}

// Bits of tcpi_options (linux/tcp.h).
const OPTION_TIMESTAMPS: u8 = 1;
const OPTION_SACK: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 4;
const OPTION_ECN: u8 = 8;

impl KernelTcp {
    /// Returns whether timestamps were negotiated.
    pub const fn timestamps(&self) -> bool {
        self.info.options & OPTION_TIMESTAMPS != 0
    }
    /// Returns whether selective acknowledgments were negotiated.
    pub const fn sack(&self) -> bool {
        self.info.options & OPTION_SACK != 0
    }
    /// Returns whether ECN was negotiated.
    pub const fn ecn(&self) -> bool {
        self.info.options & OPTION_ECN != 0
    }
    /// Negotiated window scales (peer's, own).
    pub const fn window_scale(&self) -> Option<(u8, u8)> {
        if self.info.options & OPTION_WINDOW_SCALE != 0 {
            Some((self.info.wscale & 0xf, self.info.wscale >> 4))
        } else {
            None
        }
    }
}

/// Queries the kernel of the calling thread's namespace for its connection from `local` to
/// `remote`.
///
/// # Errors
/// `NotFound` if there is no such connection (any more), otherwise any error of the kernel.
pub fn kernel_tcp(local: SocketAddrV4, remote: SocketAddrV4) -> io::Result<KernelTcp> {
    snapshot(look_up(local, remote)?)
}

/// Attributes of a socket that decide on its route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketRoutingKey {
    pub uid: u32,
    pub mark: u32,
    pub tos: u8,
}

/// Routing attributes of the kernel's connection from `local` to `remote`, if its socket is not
/// bound to a device.
///
/// # Errors
/// As [`kernel_tcp`].
pub(crate) fn socket_routing_key(
    local: SocketAddrV4,
    remote: SocketAddrV4,
) -> io::Result<SocketRoutingKey> {
    let response = look_up(local, remote)?;
    let mut owner = SocketRoutingKey { uid: response.header.uid, ..SocketRoutingKey::default() };
    for attribute in response.nlas {
        match attribute {
            Nla::Mark(mark) => owner.mark = mark,
            Nla::Tos(tos) => owner.tos = tos,
            _ => {}
        }
    }
    Ok(owner)
}

/// State of that connection, also in TIME-WAIT, when the kernel has no further information.
///
/// # Errors
/// As [`kernel_tcp`]: a closed connection is `NotFound`.
pub fn kernel_state(local: SocketAddrV4, remote: SocketAddrV4) -> io::Result<State> {
    let number = look_up(local, remote)?.header.state;
    let known = STATES.into_iter().find(|(theirs, _)| *theirs == number);
    known.map(|(_, state)| state).ok_or_else(|| invalid(format!("state {number} of a connection")))
}

/// Numbers of the kernel's states (net/tcp_states.h).
const STATES: [(u8, State); 12] = [
    (1, State::Established),
    (2, State::SynSent),
    (3, State::SynReceived),
    (4, State::FinWait1),
    (5, State::FinWait2),
    (6, State::TimeWait),
    (7, State::Closed),
    (8, State::CloseWait),
    (9, State::LastAck),
    (10, State::Listen),
    (11, State::Closing),
    // TCP_NEW_SYN_RECV: a request that has no socket yet.
    (12, State::SynReceived),
];

fn look_up(local: SocketAddrV4, remote: SocketAddrV4) -> io::Result<InetResponse> {
    let request = InetRequest {
        family: AF_INET,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO | ExtensionFlags::CONG | ExtensionFlags::TOS,
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: local.port(),
            destination_port: remote.port(),
            source_address: (*local.ip()).into(),
            destination_address: (*remote.ip()).into(),
            interface_id: 0,
            // Any cookie.
            cookie: [0xff; 8],
        },
    };
    // Without NLM_F_DUMP the kernel looks this one up instead of iterating over all.
    match netlink::request(NETLINK_SOCK_DIAG, SockDiagMessage::InetRequest(request), 0)? {
        Some(SockDiagMessage::InetResponse(response)) => Ok(*response),
        other => Err(invalid(format!("not an answer to a socket lookup: {other:?}"))),
    }
}

/// Reads a kernel's answer.
///
/// # Errors
/// It has no `struct tcp_info`, as that about a socket that listens or waits in TIME-WAIT.
pub(crate) fn snapshot(response: InetResponse) -> io::Result<KernelTcp> {
    let mut info = None;
    let mut congestion_control = String::new();
    for attribute in response.nlas {
        match attribute {
            Nla::TcpInfo(value) => info = Some(value),
            Nla::Congestion(name) => congestion_control = name,
            _ => {}
        }
    }
    let timer = response.header.timer.map(|timer| match timer {
        Timer::Retransmit(left, backoff) => {
            KernelTimer::Retransmission { left: to_duration(left), backoff }
        }
        Timer::Probe(left) => KernelTimer::Probe { left: to_duration(left) },
        Timer::KeepAlive(_) | Timer::TimeWait => KernelTimer::Other,
    });
    let info = info.ok_or_else(|| invalid("a connection without tcp_info".to_owned()))?;
    Ok(KernelTcp { info, timer, congestion_control })
}

fn to_duration(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
