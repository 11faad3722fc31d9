//! States and transitions of carry.

use crate::kit::{States, named};

named! {
    /// States of carry.
    pub enum State {
        /// Monitors losses.
        Open = "open",
        /// The peer is silent for longer than losses explain. TCP continues unchanged; probes at a low rate
        /// detect the end.
        Suspecting = "suspecting",
        /// There is no path; TCP is held, and probes detect the end.
        Disconnected = "disconnected",
        /// The path is restored, and the data outstanding at the outage is being retransmitted.
        Resuming = "resuming",
    }
}

named! {
    /// Transitions of carry.
    pub enum Cause {
        /// A router or the local host has no route to the peer.
        PathGone = "no way",
        /// The oldest segment was retransmitted more often without an answer than losses explain.
        Silence = "no answer for longer than losses explain",
        /// The answer does not show that there was an outage.
        Answered = "late, or answered at once",
        /// A segment of the peer arrived, or a route was restored.
        PathBack = "peer heard, or route restored",
        /// All data outstanding when the path was restored is acknowledged.
        Repaired = "all acknowledged",
        /// The driver does not support [`Act::Hold`](driftway_base::Act).
        Refused = "driver refuses",
        /// The connection is closed.
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
