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
    pub enum Cause {
        /// A router, or the own host, has no way to the peer.
        PathGone = "no way",
        /// More retransmissions of the oldest segment are without an answer than losses explain.
        Silence = "no answer for longer than losses explain",
        /// The answer does not show that there was an outage.
        Answered = "late, or answered at once",
        /// The peer was heard, or there is a route again.
        PathBack = "peer heard, or route restored",
        /// All is acknowledged that was out when the path was back.
        Repaired = "all acknowledged",
        /// The driver can't hold TCP.
        Refused = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Cause = Cause;
    const START: Self = Self::Open;
    const CLOSED: Cause = Cause::Closed;

    fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            (Self::Open | Self::Suspecting | Self::Resuming, Cause::PathGone) => Self::Disconnected,
            (Self::Open, Cause::Silence) => Self::Suspecting,
            (Self::Suspecting, Cause::Answered) => Self::Open,
            (Self::Suspecting | Self::Disconnected, Cause::PathBack) => Self::Resuming,
            (Self::Resuming, Cause::Repaired) => Self::Open,
            (Self::Disconnected, Cause::Refused) => Self::Open,
            (_, Cause::Closed) => Self::Open,
            (unmoved, _) => unmoved,
        }
    }
}
