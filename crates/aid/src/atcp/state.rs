//! ATCP's four states and what moves it between them (liu-singh-2001 Fig. 2).

use crate::kit::{States, named};

named! {
    /// Where ATCP is.
    pub enum State {
        /// Counts duplicate acknowledgments and watches TCP's retransmission timer; invisible.
        Normal = "normal",
        /// Leaves TCP's response to congestion alone.
        Congested = "congested",
        /// Retransmits for a TCP that it keeps in persist mode.
        Loss = "loss",
        /// Waits for TCP's persist probes to find a route.
        Disconnected = "disconnected",
    }
}

named! {
    /// What moves ATCP.
    pub enum Transition {
        /// The duplicate acknowledgment at which TCP would retransmit.
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer would go off before ATCP looks again.
        TimeoutImminent = "RTO about to expire",
        /// The peer acknowledges something for the first time.
        NewAck = "new ACK",
        /// The peer sends something for the first time.
        NewData = "new data (leave_loss = ack-or-data)",
        /// The peer echoes a congestion mark.
        CongestionEcho = "ECN echo",
        /// A router asks to send less.
        SourceQuench = "source quench",
        /// A router has no way to the destination.
        Unreachable = "destination unreachable",
        /// TCP sends what ends [`State::Congested`].
        TcpSends = "TCP sends",
        /// TCP sends what it would not in persist mode.
        TcpLeavesPersist = "TCP sends other than a probe",
        /// The driver can't hold TCP, or not retransmit for it.
        Unsupported = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Normal;
    const CLOSED: Transition = Transition::Closed;

    fn next(self, cause: Transition) -> Self {
        match (self, cause) {
            // liu-singh-2001 §III-A "Lossy Channel", §IV
            (Self::Normal, Transition::ThirdDuplicate | Transition::TimeoutImminent) => Self::Loss,
            (Self::Loss, Transition::NewAck | Transition::NewData) => Self::Normal,
            // liu-singh-2001 §III-A "Congested", "Other Transitions". A quench counts only in
            // loss: in the normal state there is nothing that ATCP would have to undo, and TCP
            // answers it by itself.
            (Self::Normal | Self::Loss, Transition::CongestionEcho) => Self::Congested,
            (Self::Loss, Transition::SourceQuench) => Self::Congested,
            (Self::Congested, Transition::TcpSends) => Self::Normal,
            // liu-singh-2001 §III-A "Disconnected", §IV atcp_notify()
            (_, Transition::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Transition::TcpLeavesPersist) => Self::Normal,
            // Not in the paper, whose TCP can refuse nothing and whose ATCP dies with its TCP.
            (Self::Loss | Self::Disconnected, Transition::Unsupported) => Self::Normal,
            (_, Transition::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
