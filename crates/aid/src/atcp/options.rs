//! Options of ATCP, for what the paper leaves open, and their defaults.

use driftway_base::Duration;

/// Data that ATCP retransmits when it enters the loss state and when its retransmission timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossRetransmission {
    /// The first unacknowledged segment.
    #[default]
    First,
    /// All unacknowledged data within asnd_cwnd.
    All,
}

/// Position of ATCP's retransmissions in the sender's interface queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QueuePosition {
    /// The head.
    #[default]
    Ahead,
    /// The tail.
    Behind,
}

/// Event that takes ATCP from the loss state back to normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossExit {
    /// A new acknowledgment.
    #[default]
    Ack,
    /// A new acknowledgment, or new data from the peer.
    AckOrData,
}

/// Order of an ECN echo and the new acknowledgment that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EchoOrder {
    /// The echo first: the loss state becomes congested, and the window is not restored.
    #[default]
    First,
    /// The acknowledgment first: it ends the loss state, then the echo is handled.
    AfterAck,
}

/// Time at which TCP's window before the loss state is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CwndRestoreTime {
    /// The instant before TCP processes the acknowledgment that ends the loss state.
    #[default]
    Before,
    /// The instant after that, which undoes TCP's response to an echo in the same segment.
    After,
}

/// Duplicate acknowledgments withheld from TCP in the loss state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WithheldDuplicates {
    /// All.
    #[default]
    All,
    /// Only the third, which began the loss state.
    Third,
}

/// Event that takes ATCP from the congested state back to normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CongestedExit {
    /// Any segment that TCP sends, including acknowledgments.
    #[default]
    Segment,
    /// A segment with new data.
    NewData,
}

/// Options of ATCP. Where liu-singh-2001 allows two interpretations, both are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtcpOptions {
    /// Interval between checks of TCP's and ATCP's retransmission timers; at least [`AtcpOptions::MIN_TICK`].
    /// 500 ms (liu-singh-2001 §IV). A TCP with a shorter RTO times out between two checks.
    pub tick: Duration,
    /// Time of the first tick; the others follow at multiples of `tick`. If a scenario omits it, the driver
    /// uses the first tick of the host's clock, so that checks coincide with and precede the ticks of a
    /// coarse TCP clock. The default is that of a clock without a phase.
    pub tick_phase: Duration,
    /// Time from entering the disconnected state to TCP's first persist probe. 2 s (liu-singh-2001 §V-C); 5 s
    /// in the 4.4BSD that the authors modified.
    pub persist_min: Duration,
    /// Maximum interval between two probes. 60 s (liu-singh-2001 §V-C, 4.4BSD).
    pub persist_max: Duration,
    /// liu-singh-2001 §III-A lets ATCP transmit the unacknowledged segments, possibly all of them; §IV
    /// retransmits the one that timed out, and §V-A mentions one. The default is the first: with one lost
    /// packet in thirty most of a window has arrived, and retransmitting all of it costs more than it
    /// repairs, which contradicts Fig. 8.
    pub resend: LossRetransmission,
    /// liu-singh-2001 §IV calls tcp_output(), after which a packet would be queued behind the sender's data
    /// in the queue that emulates the link. The default is ahead of the queue: the transfer time is
    /// independent of the delay, as in Fig. 8, only if the retransmission does not wait behind the stalled
    /// window.
    pub retransmission: QueuePosition,
    /// liu-singh-2001 §III-A leaves the loss state at a new acknowledgment, §IV also at new data. They are
    /// equivalent in the one-way transfers of the paper. The default is the former: the peer's data does not
    /// show that the hole is filled, so that in a two-way transfer ATCP would enter the loss state and
    /// retransmit again for each of the peer's segments.
    pub leave_loss: LossExit,
    /// Doubles ATCP's retransmission timeout at each expiry (up to 64 s). The paper gives ATCP its own timers
    /// without a rule for them. The default is true: Fig. 4 "adjusts" the RTO, which in the surrounding BSD
    /// code means doubling, and RFC 6298 §5.5 requires it.
    pub backoff: bool,
    /// liu-singh-2001 §III-A leaves the congested state when TCP transmits "a new segment", §IV when it sends
    /// "a packet". The latter is the default: §V measured the implementation of §IV, and the peer repeats its
    /// echo until the sender's window is reduced (RFC 3168 §6.1.3), which returns ATCP to this state while
    /// the congestion lasts.
    pub congested_until: CongestedExit,
    /// Order of the ECN bit and the other conditions in the loss state, which liu-singh-2001 §IV does not
    /// specify: atcp_input() examines the bit first in the normal state. The default is first, the same
    /// order for both.
    pub echo: EchoOrder,
    /// liu-singh-2001 §IV sets TCP's window to ATCP's, if that is larger, once TCP has left persist mode,
    /// before or after tcp_input() processes the segment. The default is before, which does not interfere
    /// with TCP's response to an echo in the segment, as §III-A requires.
    pub restore: CwndRestoreTime,
    /// liu-singh-2001 §III-A withholds the third duplicate from TCP and does not mention later ones. The
    /// default is all: TCP must not have counted them when it is resumed.
    pub duplicates: WithheldDuplicates,
    /// Sets SND.NXT back to SND.UNA in the disconnected state. 4.4BSD does so when the peer's window closes,
    /// the method by which liu-singh-2001 §IV puts TCP in persist mode. The default is true.
    pub pull_back: bool,
}

impl AtcpOptions {
    /// Minimum tick.
    pub const MIN_TICK: Duration = Duration::from_millis(1);
}

impl Default for AtcpOptions {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(500),
            tick_phase: Duration::ZERO,
            persist_min: Duration::from_secs(2),
            persist_max: Duration::from_secs(60),
            resend: LossRetransmission::default(),
            retransmission: QueuePosition::default(),
            leave_loss: LossExit::default(),
            backoff: true,
            congested_until: CongestedExit::default(),
            echo: EchoOrder::default(),
            restore: CwndRestoreTime::default(),
            duplicates: WithheldDuplicates::default(),
            pull_back: true,
        }
    }
}
