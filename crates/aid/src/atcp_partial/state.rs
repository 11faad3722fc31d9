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
    pub enum Transition {
        /// TCP has responded to the third duplicate acknowledgment.
        ThirdDuplicate = "third duplicate ACK",
        /// TCP's retransmission timer has gone off.
        Timeout = "timeout",
        /// The peer acknowledges something for the first time.
        NewAck = "new ACK",
        /// The peer echoes a congestion mark, and `ecn` is `congested`.
        CongestionEcho = "ECN echo",
        /// The peer echoes a congestion mark, and `ecn` is `normal`.
        EchoToNormal = "ECN echo (ecn = normal)",
        /// TCP sends something new.
        TcpSends = "TCP sends",
        /// A router has no way to the destination.
        Unreachable = "destination unreachable",
        /// Anything arrives of the connection.
        PacketArrival = "a packet arrives",
        /// The driver can't hold TCP.
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
            // Not in the thesis, where both are one piece of code.
            (Self::Loss | Self::Disconnected, Transition::Unsupported) => Self::Normal,
            (_, Transition::Closed) => Self::Normal,
            (unmoved, _) => unmoved,
        }
    }
}
