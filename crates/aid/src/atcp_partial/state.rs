//! The states of the partial ATCP and what moves it between them (westin-2003 §3.1, §3.2).

use crate::kit::{States, named};

named! {
    /// Where it is.
    pub enum State {
        /// TCP is on its own.
        Normal = "normal",
        /// A congestion mark has been echoed (`ecn = congested`): losses are TCP's.
        Congested = "congested",
        /// TCP has responded to a loss, and nothing new has been acknowledged since.
        Loss = "loss",
        /// TCP probes for a route.
        Disconnected = "disconnected",
    }
}

named! {
    /// What moves it.
    pub enum Cause {
        /// TCP has responded to the third duplicate acknowledgment.
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer has gone off.
        Timeout = "timeout",
        /// The peer acknowledges something for the first time.
        NewAck = "new ACK",
        /// The peer echoes a congestion mark, and `ecn` is `congested`.
        CongestionEcho = "ECN echo",
        /// The peer echoes a congestion mark, and `ecn` is `normal`.
        PlainEcho = "ECN echo (ecn = normal)",
        /// TCP sends something new.
        TcpSends = "TCP sends",
        /// A router has no way to the destination.
        Unreachable = "destination unreachable",
        /// Anything arrives of the connection.
        Packet = "a packet arrives",
        /// The driver can't hold TCP.
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
            // Not in the thesis, where both are one piece of code.
            (Self::Loss | Self::Disconnected, Cause::Refused) => Self::Normal,
            (_, Cause::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
