//! What an aid sees of a connection.

use crate::{Duration, Instant, ReceivedPower, Seq, SeqRange};

/// How well a field is known. Our own TCP is known exactly; under a foreign kernel much is
/// estimated from the packets that pass, or not known at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Known<T> {
    /// Read from the connection itself.
    Exact(T),
    /// Deduced from outside.
    Estimated(T),
    /// Not known.
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

/// What the sender's loss recovery is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// Nothing is being recovered.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// A snapshot of both halves of a connection. Bytes and sequence numbers unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpView {
    /// Is the connection synchronized (ESTABLISHED or later)?
    pub is_synchronized: bool,
    /// Largest payload of one segment, after options (bytes).
    pub mss: Known<u32>,
    /// Oldest sequence number not yet acknowledged (SND.UNA).
    pub snd_una: Known<Seq>,
    /// Next sequence number to send (SND.NXT; behind `max` while going back).
    pub snd_nxt: Known<Seq>,
    /// One past the highest sequence number ever sent.
    pub snd_max: Known<Seq>,
    /// Congestion window (bytes).
    pub cwnd: Known<u32>,
    /// Slow-start threshold (bytes).
    pub ssthresh: Known<u32>,
    /// The peer's receive window as TCP now believes it (bytes).
    pub peer_window: Known<u32>,
    /// When the retransmission timer goes off; `None` while it is stopped.
    pub retransmission_deadline: Known<Option<Instant>>,
    /// The retransmission timeout, without back-off doublings.
    pub rto: Known<Duration>,
    /// The smoothed round-trip time; `None` before the first sample.
    pub srtt: Known<Option<Duration>>,
    /// What loss recovery is doing.
    pub recovery: Known<RecoveryState>,
    /// In persist mode: the sender only probes.
    pub is_persisting: Known<bool>,
    /// Both ends have agreed on ECN, so that routers can mark what they would else drop (RFC 3168).
    pub is_ecn_negotiated: Known<bool>,
    /// Next sequence number expected from the peer (RCV.NXT).
    pub rcv_nxt: Known<Seq>,
    /// The receive window we advertise (bytes).
    pub advertised_window: Known<u32>,
    /// What the node's radio knows of the neighbour over which packets leave; not known where there is
    /// no radio, or nobody listens.
    pub next_hop_power: Known<ReceivedPower>,
}

impl TcpView {
    /// What is sent and not acknowledged, the SYN's and the FIN's number included; `None` if that
    /// is nothing, or not known.
    pub fn outstanding(&self) -> Option<SeqRange> {
        let una = self.snd_una.value()?;
        let end = self.snd_max.value().or(self.snd_nxt.value())?;
        end.after(una).then_some(SeqRange::new(una, end))
    }
}
