//! What an aid wants done to a connection. Acts are intents: the driver answers [`Done`] for each,
//! and an aid states its fallback for what a driver can't do.

use crate::{Duration, Seq, SeqRange};

/// What becomes of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Assign<T> {
    /// As it is.
    #[default]
    Keep,
    /// What a new connection would have.
    Initial,
    /// This value.
    Value(T),
}

/// What ends a [`Act::Hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// TCP itself, at the first acceptable acknowledgment with an open window that reaches it:
    /// what zeroing TCP's view of the peer's window amounts to.
    AnyAck,
    /// Only [`Act::Resume`].
    Resume,
}

/// What a persist probe carries, from SND.UNA on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProbeSize {
    /// One byte (RFC 9293 §3.8.6.1).
    #[default]
    Byte,
    /// A whole segment.
    Segment,
}

/// How persist probes are spaced: `first`, then doubling up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSpacing {
    /// From the hold to the first probe.
    pub first: Duration,
    /// The longest gap between probes.
    pub max: Duration,
    /// What each carries.
    pub size: ProbeSize,
}

impl ProbeSpacing {
    /// Probes of a byte.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, size: ProbeSize::Byte }
    }
}

/// What a retransmission timeout sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Retransmit {
    /// What TCP's own loss recovery does.
    #[default]
    LossRecovery,
    /// The oldest segment. The rest counts as under way still, and the windows stay as they are.
    Oldest,
}

/// What an own node does to find the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RouteProbe {
    /// It asks the peer for echoes until it is found, so that routing that looks for routes on demand
    /// has a packet to look for one for.
    Repeated,
    /// It asks the peer for one echo.
    Single,
    /// Nothing, or nothing more.
    #[default]
    Off,
}

/// An intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Persist mode: no data leaves, the retransmission timer stops.
    Hold {
        /// Probe from SND.UNA at this spacing; `None`: stay silent.
        probe: Option<ProbeSpacing>,
        /// Pull the next sequence number back to SND.UNA, so that sending starts over there.
        rewind_snd_nxt: bool,
        /// Freeze every timer with what was left of it, that of retransmission included, and with
        /// them what they measure and what congestion control decides (chandran-1998 §4): the
        /// RTO with its back-off, round-trip samples, the window's growth, the count of
        /// duplicates. Acknowledgments still count as received. They all go on where they were at
        /// the end of the hold.
        freeze_timers: bool,
        /// The congestion window to leave the hold with (bytes).
        cwnd: Assign<u32>,
        /// What ends the hold.
        release: Release,
    },
    /// Leave persist mode and restart the timers: frozen ones with what was left of them, else
    /// that of retransmission with the timeout of a new transmission, its back-off taken back.
    Resume {
        /// Congestion window (bytes).
        cwnd: Assign<u32>,
        /// Slow-start threshold (bytes).
        ssthresh: Assign<u32>,
        /// Retransmission timeout. Whatever is set takes the back-off back, too.
        rto: Assign<Duration>,
    },
    /// Retransmit, without touching the congestion window or taking RTT samples.
    Resend {
        /// What to send again; cut to what is outstanding.
        range: SeqRange,
        /// Before whatever waits in the sender's own interface queue.
        ahead_of_queue: bool,
    },
    /// Restore cwnd and ssthresh of before the last reduction.
    Undo,
    /// Respond to congestion now.
    ReduceCwnd,
    /// Changes what the next retransmission timeout does, in place of what was asked for before.
    SetTimeoutResponse {
        /// Do not double the RTO.
        keep_rto: bool,
        /// What goes again.
        retransmit: Retransmit,
        /// The congestion window after it (bytes); [`Setting::Keep`]: what that makes of it.
        cwnd: Assign<u32>,
        /// The slow-start threshold after it (bytes); as with `cwnd`.
        ssthresh: Assign<u32>,
    },
    /// Bounds what may be outstanding.
    LimitCwnd {
        /// So much (bytes), at least one segment; `None`: as much as TCP's own windows allow.
        cwnd: Option<u32>,
    },
    /// Receiver side: send acknowledgments made up from the view.
    SendAcks {
        /// The acknowledgment number; must not be ahead of what was received.
        ack: Seq,
        /// The window to advertise (bytes).
        window: u32,
        /// How many copies.
        copies: u8,
    },
    /// What the own node is to do to find the peer, for a connection that sends nothing by itself.
    /// [`SignalKind::RouteRestored`](crate::SignalKind) says that it is found.
    ProbeRoute(RouteProbe),
}

/// A driver's answer to an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActResult {
    /// It is done.
    Done,
    /// This driver, or the connection's present state, does not allow it.
    Unsupported,
}
