//! An aid's view of a connection.

use crate::{Duration, Instant, ReceivedPower, Seq, SeqRange};

/// A value with its reliability. The variables of driftway's own TCP are known exactly; those of a foreign
/// kernel's TCP are estimated from its packets, or unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Known<T> {
    /// Read from the connection itself.
    Exact(T),
    /// Estimated from observed packets.
    Estimated(T),
    /// Unknown.
    #[default]
    Unknown,
}

impl<T: Copy> Known<T> {
    /// The value, exact or estimated.
    pub const fn value(self) -> Option<T> {
        match self {
            Self::Exact(v) | Self::Estimated(v) => Some(v),
            Self::Unknown => None,
        }
    }
}

/// State of the sender's loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No recovery in progress.
    Open,
    /// Fast recovery.
    Recovery,
    /// Loss recovery after a retransmission timeout.
    Loss,
}

/// A snapshot of the send and receive variables of a connection. Windows and sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpView {
    /// The connection is synchronized (ESTABLISHED or a later state, RFC 9293 §3.3.2).
    pub is_synchronized: bool,
    /// Largest segment payload, without options (bytes).
    pub mss: Known<u32>,
    /// SND.UNA: the oldest unacknowledged sequence number.
    pub snd_una: Known<Seq>,
    /// SND.NXT: the next sequence number to send; below `snd_max` after a go-back.
    pub snd_nxt: Known<Seq>,
    /// SND.MAX: one past the highest sequence number ever sent.
    pub snd_max: Known<Seq>,
    /// Congestion window (bytes).
    pub cwnd: Known<u32>,
    /// Slow-start threshold (bytes).
    pub ssthresh: Known<u32>,
    /// The peer's receive window as TCP sees it (bytes).
    pub peer_window: Known<u32>,
    /// Expiry of the retransmission timer; `None` while it is stopped.
    pub retransmission_deadline: Known<Option<Instant>>,
    /// Retransmission timeout without back-off.
    pub rto: Known<Duration>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Known<Option<Duration>>,
    /// State of loss recovery.
    pub recovery: Known<RecoveryState>,
    /// Persist mode: the sender sends only window probes.
    pub is_persisting: Known<bool>,
    /// ECN was negotiated, so that routers can mark packets instead of dropping them (RFC 3168).
    pub is_ecn_negotiated: Known<bool>,
    /// RCV.NXT: the next sequence number expected from the peer.
    pub rcv_nxt: Known<Seq>,
    /// The advertised receive window (bytes).
    pub advertised_window: Known<u32>,
    /// Received power of the next hop towards the peer; unknown without a radio, or while it is not
    /// monitored.
    pub next_hop_power: Known<ReceivedPower>,
}

impl TcpView {
    /// Sent but unacknowledged sequence numbers, including those of SYN and FIN; `None` if there are none, or
    /// if they are unknown.
    pub fn outstanding(&self) -> Option<SeqRange> {
        let una = self.snd_una.value()?;
        let end = self.snd_max.value().or(self.snd_nxt.value())?;
        end.after(una).then_some(SeqRange::new(una, end))
    }
}
