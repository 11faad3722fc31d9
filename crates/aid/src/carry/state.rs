//! States and transitions of carry.

use driftway_base::named;

use crate::kit::States;

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
    pub enum Transition {
        /// A router or the local host has no route to the peer.
        PathLost = "path lost",
        /// The host's own link is down.
        LinkDown = "own link down",
        /// The oldest segment was retransmitted more often without an answer than losses explain.
        Silence = "no answer for longer than losses explain",
        /// The answer does not show that there was an outage.
        LateAnswer = "answer shows no outage",
        /// A segment of the peer arrived, or a route was restored.
        PathRestored = "peer heard, or route restored",
        /// All data outstanding when the path was restored is acknowledged.
        Repaired = "all acknowledged",
        /// The driver does not support [`Act::Hold`](driftway_base::Act).
        Unsupported = "unsupported by the driver",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Open;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Disconnected];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            (
                Self::Open | Self::Suspecting | Self::Resuming,
                Transition::PathLost | Transition::LinkDown,
            ) => Self::Disconnected,
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
