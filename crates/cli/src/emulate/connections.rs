//! The connections of an emulation's kernels, each with the states of its two ends.

use std::net::SocketAddrV4;

use driftway_base::{Instant, NodeId};
use driftway_linux::{ConnectionSnapshot, KernelTcp};
use driftway_sim::samples::FlowSample;

/// Largest number of connections that are kept.
const MAX_CONNECTIONS: usize = 1000;

/// The kernel's states of an end whose program has closed it: FIN-WAIT-1, FIN-WAIT-2, LAST-ACK, CLOSING
/// (net/tcp_states.h).
const FINISHED: [u8; 4] = [4, 5, 9, 11];

/// All connections so far, in the order in which they were seen.
#[derive(Debug, Default)]
pub struct Connections {
    all: Vec<Connection>,
    /// Ends of connections that were not kept: the cookies of their sockets.
    left_out: std::collections::BTreeSet<[u8; 8]>,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    /// Time at which it was seen first.
    pub first_seen: Instant,
    /// One end, and the other if it has been seen: at a node without a kernel it is not.
    ends: Vec<ConnectionEnd>,
}

/// An end of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionEnd {
    /// Its node.
    pub node: NodeId,
    cookie: [u8; 8],
    /// Its address and port.
    pub local: SocketAddrV4,
    /// Those of its peer.
    pub remote: SocketAddrV4,
    /// Its last state.
    pub tcp: KernelTcp,
    /// Time of that state.
    pub at: Instant,
    /// True if it has closed.
    pub is_closed: bool,
    /// Time at which it was first seen to have nothing more to send: its program has closed it.
    pub finished_at: Option<Instant>,
    /// Sum and number of the smoothed round-trip times seen (µs).
    rtt_sum: u64,
    rtt_count: u64,
}

impl Connections {
    /// Records the state of a node's end at a time.
    pub fn update(&mut self, node: NodeId, at: Instant, seen: ConnectionSnapshot, is_closed: bool) {
        let known = self.all.iter_mut().rev().flat_map(|of| &mut of.ends);
        if let Some(end) = known.into_iter().find(|end| end.cookie == seen.cookie) {
            return end.update(at, seen.tcp, is_closed);
        }
        let end = ConnectionEnd::new(node, at, seen, is_closed);
        let is_peer = |of: &&mut Connection| {
            of.ends.len() == 1 && (of.ends[0].local, of.ends[0].remote) == (end.remote, end.local)
        };
        if let Some(connection) = self.all.iter_mut().rev().find(is_peer) {
            connection.ends.push(end);
        } else if self.all.len() < MAX_CONNECTIONS {
            self.all.push(Connection { first_seen: at, ends: vec![end] });
        } else {
            self.left_out.insert(end.cookie);
        }
    }

    /// Returns the connections.
    pub fn all(&self) -> &[Connection] {
        &self.all
    }

    /// Returns the number of ends of connections that were not kept.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Returns the samples of those connections that have an end open.
    pub fn samples(&self) -> Vec<FlowSample> {
        let open =
            self.all.iter().enumerate().filter(|(_, of)| of.ends.iter().any(|end| !end.is_closed));
        open.map(|(flow, of)| {
            let sender = of.sender();
            FlowSample {
                flow: flow as u32,
                delivered_bytes: of.delivered_bytes(),
                cwnd_bytes: Some(sender.cwnd_bytes()),
                rtt_s: sender.rtt_s(),
                retransmissions: Some(sender.tcp.info.total_retrans.into()),
            }
        })
        .collect()
    }
}

impl Connection {
    /// Returns the end that has sent more.
    pub fn sender(&self) -> &ConnectionEnd {
        match &self.ends[..] {
            [one, other] if other.sent_once() > one.sent_once() => other,
            ends => &ends[0],
        }
    }

    /// Returns the other end; `None` if it has not been seen.
    pub fn receiver(&self) -> Option<&ConnectionEnd> {
        self.ends.iter().find(|end| end.cookie != self.sender().cookie)
    }

    /// Returns the payload that the receiver has in order, or else that which is acknowledged (bytes).
    pub fn delivered_bytes(&self) -> u64 {
        delivered(self.sender(), self.receiver())
    }

    /// Returns the payload of the other direction (bytes).
    pub fn back_delivered_bytes(&self) -> u64 {
        self.receiver().map_or(0, |receiver| delivered(receiver, Some(self.sender())))
    }
}

/// The kernel counts SYN and FIN among the bytes acknowledged, and FIN among those received; what was sent is payload.
fn delivered(from: &ConnectionEnd, to: Option<&ConnectionEnd>) -> u64 {
    let acknowledged = from.tcp.info.bytes_acked.saturating_sub(1);
    to.map_or(acknowledged, |to| to.tcp.info.bytes_received).min(from.sent_once())
}

impl ConnectionEnd {
    fn new(node: NodeId, at: Instant, seen: ConnectionSnapshot, is_closed: bool) -> Self {
        let ConnectionSnapshot { cookie, local, remote, tcp } = seen;
        let mut end = Self {
            node,
            cookie,
            local,
            remote,
            tcp: tcp.clone(),
            at,
            is_closed: false,
            finished_at: None,
            rtt_sum: 0,
            rtt_count: 0,
        };
        end.update(at, tcp, is_closed);
        end
    }

    fn update(&mut self, at: Instant, mut tcp: KernelTcp, is_closed: bool) {
        if tcp.congestion_control.is_empty() {
            tcp.congestion_control = std::mem::take(&mut self.tcp.congestion_control);
        }
        (self.tcp, self.at) = (tcp, at);
        self.is_closed |= is_closed;
        if is_closed || FINISHED.contains(&self.tcp.info.state) {
            self.finished_at.get_or_insert(at);
        }
        if self.has_rtt() {
            self.rtt_sum += u64::from(self.tcp.info.rtt);
            self.rtt_count += 1;
        }
    }

    /// Returns false before the first sample, when the kernel has none.
    fn has_rtt(&self) -> bool {
        self.tcp.info.rtt > 0
    }

    /// Returns the payload sent, without retransmissions (bytes).
    pub fn sent_once(&self) -> u64 {
        self.tcp.info.bytes_sent.saturating_sub(self.tcp.info.bytes_retrans)
    }

    /// Returns true if all that was sent is acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.tcp.info.bytes_acked.saturating_sub(1) >= self.sent_once()
    }

    /// Returns the congestion window (bytes): the kernel's has segments.
    pub fn cwnd_bytes(&self) -> u64 {
        u64::from(self.tcp.info.snd_cwnd) * u64::from(self.tcp.info.snd_mss)
    }

    /// Returns the smoothed round-trip time (s).
    pub fn rtt_s(&self) -> Option<f64> {
        self.has_rtt().then(|| f64::from(self.tcp.info.rtt) / 1e6)
    }

    /// Returns the mean of the smoothed round-trip times seen (s).
    pub fn mean_rtt_s(&self) -> Option<f64> {
        (self.rtt_count > 0).then(|| self.rtt_sum as f64 / self.rtt_count as f64 / 1e6)
    }

    /// Returns the time at which data arrived last; `None` if none did.
    pub fn last_data_at(&self) -> Option<Instant> {
        let ago = driftway_base::Duration::from_millis(self.tcp.info.last_data_recv.into());
        let at = driftway_base::Duration::from_nanos(self.at.as_nanos());
        (self.tcp.info.bytes_received > 0).then(|| Instant::ZERO + at.saturating_sub(ago))
    }
}
