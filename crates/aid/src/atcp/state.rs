//! States and transitions of ATCP (liu-singh-2001 Fig. 2).

use driftway_base::named;

use crate::kit::States;

named! {
    /// States of ATCP.
    pub enum State {
        /// Counts duplicate acknowledgments and monitors TCP's retransmission timer.
        Normal = "normal",
        /// Leaves the response to congestion to TCP.
        Congested = "congested",
        /// Retransmits while TCP is in persist mode.
        Loss = "loss",
        /// TCP is in persist mode with a congestion window of one segment; waits for an answer to its probes.
        Disconnected = "disconnected",
    }
}

named! {
    /// Transitions of ATCP.
    pub enum Transition {
        /// The duplicate acknowledgment at which TCP would retransmit (DupThresh).
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer would expire before ATCP's next tick.
        TimeoutImminent = "RTO about to expire",
        /// The peer acknowledges new data.
        NewAck = "new ACK",
        /// The peer sends new data.
        NewData = "new data (leave_loss = ack-or-data)",
        /// The peer echoes a congestion mark (ECE).
        CongestionEcho = "ECN echo",
        /// A router sends a source quench.
        SourceQuench = "source quench",
        /// A router has no route to the destination.
        Unreachable = "destination unreachable",
        /// TCP sends a segment that ends [`State::Congested`].
        TcpSends = "TCP sends",
        /// TCP sends a segment that it would not send in persist mode.
        TcpLeavesPersist = "TCP sends other than a probe",
        /// The driver does not support [`Act::Hold`](driftway_base::Act) or
        /// [`Act::Resend`](driftway_base::Act).
        Unsupported = "unsupported by the driver",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Normal;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Disconnected];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            // liu-singh-2001 §III-A "Lossy Channel", §IV
            (Self::Normal, Transition::ThirdDuplicate | Transition::TimeoutImminent) => Self::Loss,
            (Self::Loss, Transition::NewAck | Transition::NewData) => Self::Normal,
            // liu-singh-2001 §III-A "Congested", "Other Transitions". A source quench counts only in the loss
            // state: in the normal state TCP responds to it without ATCP.
            (Self::Normal | Self::Loss, Transition::CongestionEcho) => Self::Congested,
            (Self::Loss, Transition::SourceQuench) => Self::Congested,
            (Self::Congested, Transition::TcpSends) => Self::Normal,
            // liu-singh-2001 §III-A "Disconnected", §IV atcp_notify()
            (_, Transition::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Transition::TcpLeavesPersist) => Self::Normal,
            // Not in the paper, where ATCP is part of the kernel's TCP.
            (Self::Loss | Self::Disconnected, Transition::Unsupported) => Self::Normal,
            (_, Transition::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
