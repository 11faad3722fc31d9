//! carry's states, and what moves it between them.

use crate::kit::{States, named};

named! {
    /// Where carry is.
    pub enum State {
        /// Losses are watched.
        Open = "open",
        /// The peer is silent for longer than losses explain. TCP goes on by itself; probes that cost
        /// little look for the end.
        Suspecting = "suspecting",
        /// There is no path; TCP is held, and probes look for one.
        Disconnected = "disconnected",
        /// There is one again, and what was out when it broke is on its way once more.
        Resuming = "resuming",
    }
}

named! {
    /// What moves carry.
    pub enum Transition {
        /// A router, or the own host, has no way to the peer.
        PathLost = "no way",
        /// More retransmissions of the oldest segment are without an answer than losses explain.
        Silence = "no answer for longer than losses explain",
        /// The answer does not show that there was an outage.
        LateAnswer = "late, or answered at once",
        /// The peer was heard, or there is a route again.
        PathRestored = "peer heard, or route restored",
        /// All is acknowledged that was out when the path was back.
        Repaired = "all acknowledged",
        /// The driver can't hold TCP.
        Unsupported = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Open;
    const CLOSED: Transition = Transition::Closed;

    fn next(self, cause: Transition) -> Self {
        match (self, cause) {
            (Self::Open | Self::Suspecting | Self::Resuming, Transition::PathLost) => {
                Self::Disconnected
            }
            (Self::Open, Transition::Silence) => Self::Suspecting,
            (Self::Suspecting, Transition::LateAnswer) => Self::Open,
            (Self::Suspecting | Self::Disconnected, Transition::PathRestored) => Self::Resuming,
            (Self::Resuming, Transition::Repaired) => Self::Open,
            (Self::Disconnected, Transition::Unsupported) => Self::Open,
            (_, Transition::Closed) => Self::Open,
            (unmoved, _) => unmoved,
        }
    }
}
