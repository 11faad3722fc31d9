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
    pub enum Cause {
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
        Refused = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Cause = Cause;
    const START: Self = Self::Normal;
    const CLOSED: Cause = Cause::Closed;

    fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            // liu-singh-2001 §III-A "Lossy Channel", §IV
            (Self::Normal, Cause::ThirdDuplicate | Cause::TimeoutImminent) => Self::Loss,
            (Self::Loss, Cause::NewAck | Cause::NewData) => Self::Normal,
            // liu-singh-2001 §III-A "Congested", "Other Transitions". A quench counts only in
            // loss: in the normal state there is nothing that ATCP would have to undo, and TCP
            // answers it by itself.
            (Self::Normal | Self::Loss, Cause::CongestionEcho) => Self::Congested,
            (Self::Loss, Cause::SourceQuench) => Self::Congested,
            (Self::Congested, Cause::TcpSends) => Self::Normal,
            // liu-singh-2001 §III-A "Disconnected", §IV atcp_notify()
            (_, Cause::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Cause::TcpLeavesPersist) => Self::Normal,
            // Not in the paper, whose TCP can refuse nothing and whose ATCP dies with its TCP.
            (Self::Loss | Self::Disconnected, Cause::Refused) => Self::Normal,
            (_, Cause::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
