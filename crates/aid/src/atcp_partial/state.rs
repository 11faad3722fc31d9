//! States and transitions of partial ATCP (westin-2003 §3.1, §3.2).

use crate::kit::{States, named};

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
    pub enum Cause {
        /// TCP has responded to the third duplicate acknowledgment.
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer has expired.
        Timeout = "timeout",
        /// The peer acknowledges new data.
        NewAck = "new ACK",
        /// The peer echoes a congestion mark, and `ecn` is `congested`.
        CongestionEcho = "ECN echo",
        /// The peer echoes a congestion mark, and `ecn` is `normal`.
        PlainEcho = "ECN echo (ecn = normal)",
        /// TCP sends new data.
        TcpSends = "TCP sends",
        /// A router has no route to the destination.
        Unreachable = "destination unreachable",
        /// A packet of the connection arrives.
        Packet = "a packet arrives",
        /// The driver does not support [`Act::Hold`](driftway_base::Act).
        Refused = "driver refuses",
        /// The connection is closed.
        Closed = "connection gone",
    }
}

impl States for State {
    type Cause = Cause;
    const START: Self = Self::Normal;
    const CLOSED: Cause = Cause::Closed;

    fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            // westin-2003 §3.2.1 "Loss"
            (Self::Normal, Cause::ThirdDuplicate | Cause::Timeout) => Self::Loss,
            (Self::Loss, Cause::NewAck) => Self::Normal,
            // westin-2003 §3.1 "Congested", and §3.2.1, which follows the reference code instead
            (Self::Normal | Self::Loss, Cause::CongestionEcho) => Self::Congested,
            (Self::Loss, Cause::PlainEcho) => Self::Normal,
            (Self::Congested, Cause::TcpSends) => Self::Normal,
            // westin-2003 §3.2.1 "Broken routes", §4.8.1
            (_, Cause::Unreachable) => Self::Disconnected,
            (Self::Disconnected, Cause::Packet) => Self::Normal,
            // Not in the thesis, where ATCP is part of TCP.
            (Self::Loss | Self::Disconnected, Cause::Refused) => Self::Normal,
            (_, Cause::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
