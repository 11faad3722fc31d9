//! Commands that an aid issues to a connection. The driver answers each with an [`ActResult`]; each aid
//! documents its fallback for acts that a driver does not support.

use crate::{Duration, Seq, SeqRange};

/// Assignment of one TCP variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Assign<T> {
    /// Keeps the present value.
    #[default]
    Keep,
    /// Sets the initial value of a new connection.
    Initial,
    /// Sets this value.
    Value(T),
}

/// Condition that ends an [`Act::Hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The first acceptable acknowledgment with an open window that reaches TCP. This is the effect of
    /// setting TCP's view of the peer's window to zero.
    AnyAck,
    /// [`Act::Resume`] only.
    Resume,
}

/// Treatment of TCP's timers during an [`Act::Hold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HeldTimers {
    /// The retransmission timer and those of loss recovery stop. They restart when the hold ends, with the
    /// RTO without back-off.
    #[default]
    Stop,
    /// All timers freeze with their remaining time, including the retransmission timer, and with them the
    /// RTO and its back-off, RTT sampling, window growth and the count of duplicate acknowledgments
    /// (chandran-1998 §4). Acknowledgments are still accepted. All of them continue from their frozen values
    /// when the hold ends.
    Freeze,
    /// The retransmission timer keeps running, and those of loss recovery stop. If it expires, TCP responds
    /// to the timeout ([`Act::SetTimeoutResponse`]) but sends nothing, and there is no second timeout
    /// unless an acknowledgment restarts the timer (singh-iyer-2002 §III, state *waiting*). Nothing changes when the hold ends.
    KeepRetransmission,
}

/// Payload of a persist probe, starting at SND.UNA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ProbeSize {
    /// One byte (RFC 9293 §3.8.6.1).
    #[default]
    Byte,
    /// One full segment.
    Segment,
}

/// Intervals of persist probes: `first`, then doubling up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSpacing {
    /// Time from the hold to the first probe.
    pub first: Duration,
    /// Longest interval between two probes.
    pub max: Duration,
    /// Payload of each probe.
    pub size: ProbeSize,
}

impl ProbeSpacing {
    /// One-byte probes at these intervals.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, size: ProbeSize::Byte }
    }
}

/// Data retransmitted on a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Retransmit {
    /// The decision of TCP's loss recovery.
    #[default]
    LossRecovery,
    /// The oldest segment only. The rest stays in flight, and the windows are unchanged.
    Oldest,
    /// The newest segment only. The rest stays in flight, and the windows are unchanged.
    Newest,
    /// Nothing. All data stays in flight, and the windows are unchanged.
    Nothing,
}

/// ICMP echo requests that the local node sends to the peer to trigger route discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RouteProbe {
    /// Sends echo requests until the peer answers, so that an on-demand routing protocol has a packet that
    /// needs a route.
    Repeated,
    /// Sends one echo request.
    Single,
    /// Sends none, and stops a running probe.
    #[default]
    Off,
}

/// A command to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Enters persist mode: no data is sent, and the retransmission timer stops unless `timers` keeps it.
    Hold {
        /// Probe intervals; each probe starts at SND.UNA. `None`: no probes.
        probe: Option<ProbeSpacing>,
        /// Sets SND.NXT back to SND.UNA, so that transmission restarts there.
        rewind_snd_nxt: bool,
        /// Treatment of the timers.
        timers: HeldTimers,
        /// Congestion window at the end of the hold (bytes).
        cwnd: Assign<u32>,
        /// Condition that ends the hold.
        release: Release,
    },
    /// Leaves persist mode and restarts the timers as [`HeldTimers`] describes.
    Resume {
        /// Congestion window (bytes).
        cwnd: Assign<u32>,
        /// Slow-start threshold (bytes).
        ssthresh: Assign<u32>,
        /// Retransmission timeout. Assigning it also clears the back-off.
        rto: Assign<Duration>,
    },
    /// Retransmits data without changing the congestion window or taking RTT samples.
    Resend {
        /// Range to retransmit, limited to outstanding data.
        range: SeqRange,
        /// Enqueues it at the head of the sender's interface queue.
        ahead_of_queue: bool,
    },
    /// Restores cwnd and ssthresh to their values before the last reduction.
    Undo,
    /// Performs the congestion response now.
    ReduceCwnd,
    /// Sets the response to the next retransmission timeout, replacing an earlier setting.
    SetTimeoutResponse {
        /// Does not double the RTO.
        keep_rto: bool,
        /// Data to retransmit.
        retransmit: Retransmit,
        /// Congestion window after the timeout (bytes); [`Assign::Keep`]: as `retransmit` implies.
        cwnd: Assign<u32>,
        /// Slow-start threshold after the timeout (bytes); [`Assign::Keep`] as for `cwnd`.
        ssthresh: Assign<u32>,
    },
    /// Limits the amount of outstanding data.
    LimitCwnd {
        /// Limit in bytes, at least one segment; `None`: no limit beyond TCP's own windows.
        cwnd: Option<u32>,
    },
    /// Sends acknowledgments built from the view (receiver side).
    SendAcks {
        /// Acknowledgment number; must not exceed RCV.NXT.
        ack: Seq,
        /// Window to advertise (bytes).
        window: u32,
        /// Number of copies.
        copies: u8,
    },
    /// Probes the route to the peer on behalf of a connection that sends nothing.
    /// [`SignalKind::RouteRestored`](crate::SignalKind) reports success.
    ProbeRoute(RouteProbe),
}

/// The driver's answer to an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActResult {
    /// The act was applied.
    Done,
    /// The driver does not support the act, or not in the present state of the connection.
    Unsupported,
}
