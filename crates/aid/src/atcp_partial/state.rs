//! States and transitions of partial ATCP (westin-2003 §3.1, §3.2).

use driftway_base::named;

use crate::kit::States;

named! {
    /// States of partial ATCP.
    pub enum State {
        /// TCP runs unassisted.
        Normal = "normal",
        /// A congestion mark was echoed (`ecn = congested`); losses are left to TCP.
        Congested = "congested",
        /// TCP has responded to a loss, and no new data has been acknowledged since.
        Loss = "loss",
        /// TCP sends probes.
        Disconnected = "disconnected",
    }
}

named! {
    /// Transitions of partial ATCP.
    pub enum Transition {
        /// TCP has responded to the third duplicate acknowledgment.
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer has expired.
        Timeout = "timeout",
        /// The peer acknowledges new data.
        NewAck = "new ACK",
        /// The peer echoes a congestion mark, and `ecn` is `congested`.
        CongestionEcho = "ECN echo",
        /// The peer echoes a congestion mark, and `ecn` is `normal`.
        EchoToNormal = "ECN echo (ecn = normal)",
        /// TCP sends new data.
        TcpSends = "TCP sends",
        /// A router has no route to the destination.
        Unreachable = "destination unreachable",
        /// A packet of the connection arrives.
        PacketArrival = "packet received",
        /// The driver does not support [`Act::Hold`](driftway_base::Act).
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
            // westin-2003 §3.2.1 "Loss"
            (Self::Normal, Transition::ThirdDuplicate | Transition::Timeout) => Self::Loss,
            (Self::Loss, Transition::NewAck) => Self::Normal,
            // westin-2003 §3.1 "Congested", and §3.2.1, which follows the reference code instead
            (Self::Normal | Self::Loss, Transition::CongestionEcho) => Self::Congested,
            (Self::Loss, Transition::EchoToNormal) => Self::Normal,
            (Self::Congested, Transition::TcpSends) => Self::Normal,
            // westin-2003 §3.2.1 "Broken routes", §4.8.1
            (_, Transition::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Transition::PacketArrival) => Self::Normal,
            // Not in the thesis, where ATCP is part of TCP.
            (Self::Loss | Self::Disconnected, Transition::Unsupported) => Self::Normal,
            (_, Transition::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
