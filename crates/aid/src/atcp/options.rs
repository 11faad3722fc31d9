//! Options of ATCP, for what the paper leaves open.

use driftway_base::{Duration, named, options};

named! {
    /// Data that ATCP retransmits when it enters the loss state and when its retransmission timer expires.
    pub enum LossRetransmission {
        /// The first unacknowledged segment.
        First = "first",
        /// All unacknowledged data within ATCP's congestion window.
        All = "all",
    }
}

named! {
    /// Position of ATCP's retransmissions in the sender's interface queue.
    pub enum QueuePosition {
        /// At the head of the queue, so that a retransmission overtakes the waiting packets.
        Ahead = "ahead",
        /// At the tail of the queue, as other packets.
        Behind = "behind",
    }
}

named! {
    /// Event that takes ATCP from the loss state back to normal.
    pub enum LossExit {
        /// A new acknowledgment (liu-singh-2001 §III-A).
        Ack = "ack",
        /// A new acknowledgment, or new data from the peer (liu-singh-2001 §IV).
        AckOrData = "ack-or-data",
    }
}

named! {
    /// Order of an ECN echo and the new acknowledgment that carries it.
    pub enum EchoOrder {
        /// The echo is processed first; the loss state becomes congested, and the window is not restored.
        First = "first",
        /// The acknowledgment is processed first; it ends the loss state before the echo is processed.
        AfterAck = "after-ack",
    }
}

named! {
    /// Time at which TCP's window before the loss state is restored.
    pub enum CwndRestoreTime {
        /// Before TCP processes the acknowledgment that ends the loss state.
        Before = "before",
        /// After TCP has processed that acknowledgment, which undoes TCP's response to an ECN echo in it.
        After = "after",
    }
}

named! {
    /// Duplicate acknowledgments withheld from TCP in the loss state.
    pub enum WithheldDuplicates {
        /// All of them.
        All = "all",
        /// Only the third one, which begins the loss state.
        Third = "third",
    }
}

named! {
    /// Event that takes ATCP from the congested state back to normal.
    pub enum CongestedExit {
        /// Transmission of any segment by TCP, including acknowledgments (liu-singh-2001 §IV).
        Segment = "segment",
        /// Transmission of a segment with new data (liu-singh-2001 §III-A).
        NewData = "new-data",
    }
}

options! {
    /// Options of ATCP. Where liu-singh-2001 allows two interpretations, both are available.
    pub struct AtcpOptions {
        /// Interval between checks of TCP's and ATCP's retransmission timers (liu-singh-2001 §IV). A TCP
        /// with a shorter retransmission timeout times out between two checks.
        tick: time(500 ms, Self::MIN_TICK..),
        /// Time of the first check of the retransmission timers; the others follow at multiples of `tick`.
        // The checks coincide with and precede the ticks of a coarse TCP clock.
        tick_phase: first_tick,
        /// Time from entering the disconnected state to TCP's first persist probe (liu-singh-2001 §V-C).
        // 5 s in the 4.4BSD that the authors modified.
        persist_min: time(2 s, Self::MIN_TICK..),
        /// Maximum interval between two persist probes (liu-singh-2001 §V-C).
        persist_max: time(60 s, Self::MIN_TICK..),
        /// Data that ATCP retransmits when it enters the loss state and when its retransmission timer
        /// expires (liu-singh-2001 §III-A, §IV).
        // §III-A lets ATCP transmit the unacknowledged segments, possibly all of them; §IV retransmits the
        // one that timed out, and §V-A mentions one. The default is the first: with one lost packet in
        // thirty most of a window has arrived, and retransmitting all of it costs more than it repairs,
        // which contradicts Fig. 8.
        resend: word(LossRetransmission::First),
        /// Position of ATCP's retransmissions in the sender's interface queue.
        // liu-singh-2001 §IV calls tcp_output(), after which a packet would be queued behind the sender's
        // data in the queue that emulates the link. The default is ahead of the queue: the transfer time is
        // independent of the delay, as in Fig. 8, only if the retransmission does not wait behind the
        // stalled window.
        retransmission: word(QueuePosition::Ahead),
        /// Event that ends the loss state.
        // §III-A and §IV are equivalent in the one-way transfers of liu-singh-2001. The default is the
        // former: the peer's data does not show that the hole is filled, so that in a two-way transfer ATCP
        // would enter the loss state and retransmit again for each of the peer's segments.
        leave_loss: word(LossExit::Ack),
        /// ATCP's retransmission timeout in the loss state is doubled at each expiry, up to 64 s (RFC 6298
        /// §5.5).
        // The paper gives ATCP its own timers without a rule for them. Fig. 4 "adjusts" the RTO, which in
        // the surrounding BSD code means doubling.
        backoff: flag(true),
        /// Event that ends the congested state.
        // liu-singh-2001 §V measured the implementation of §IV, and the peer repeats its echo until the
        // sender's window is reduced (RFC 3168 §6.1.3), which returns ATCP to this state while the
        // congestion lasts.
        congested_until: word(CongestedExit::Segment),
        /// Order in which ATCP in the loss state processes an ECN echo and the new acknowledgment that
        /// carries it.
        // liu-singh-2001 §IV does not specify it: atcp_input() examines the bit first in the normal state.
        // The default is the same order for both.
        echo: word(EchoOrder::First),
        /// Time at which TCP's congestion window is restored when the loss state ends.
        // liu-singh-2001 §IV sets TCP's window to ATCP's, if that is larger, once TCP has left persist mode,
        // before or after tcp_input() processes the segment. The default does not interfere with TCP's
        // response to an echo in the segment, as §III-A requires.
        restore: word(CwndRestoreTime::Before),
        /// Duplicate acknowledgments that are withheld from TCP in the loss state.
        // liu-singh-2001 §III-A withholds the third duplicate from TCP and does not mention later ones. The
        // default is all: TCP must not have counted them when it is resumed.
        duplicates: word(WithheldDuplicates::All),
        /// SND.NXT is set back to SND.UNA in the disconnected state, as 4.4BSD does when the peer's window
        /// closes.
        // That is the method by which liu-singh-2001 §IV puts TCP in persist mode.
        pull_back: flag(true),
    }
}

impl AtcpOptions {
    /// Minimum tick.
    pub const MIN_TICK: Duration = Duration::from_millis(1);
}
