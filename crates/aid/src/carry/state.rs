//! carry's states, what moves it between them, and the diagram of both.

use alloc::string::String;

use crate::diagram::dot;

/// Where carry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Losses are watched.
    Open,
    /// The peer is silent for longer than losses explain. TCP goes on by itself; probes that cost
    /// little look for the end.
    Suspecting,
    /// There is no path; TCP is held, and probes look for one.
    Disconnected,
    /// There is one again, and what was out when it broke is on its way once more.
    Resuming,
}

/// What moves carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A router, or the own host, has no way to the peer.
    PathGone,
    /// More retransmissions of the oldest segment are without an answer than losses explain.
    Silence,
    /// The answer does not show that there was an outage.
    Answered,
    /// The peer was heard, or there is a route again.
    PathBack,
    /// All is acknowledged that was out when the path was back.
    Repaired,
    /// The driver can't hold TCP.
    Refused,
    /// There is no connection any more.
    Closed,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Open, Self::Suspecting, Self::Disconnected, Self::Resuming];

    /// The state after `cause`. Whatever is not listed changes nothing.
    #[must_use]
    pub const fn after(self, cause: Cause) -> Self {
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

    /// Its name in traces and in the diagram.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Suspecting => "suspecting",
            Self::Disconnected => "disconnected",
            Self::Resuming => "resuming",
        }
    }
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 7] = [
        Self::PathGone,
        Self::Silence,
        Self::Answered,
        Self::PathBack,
        Self::Repaired,
        Self::Refused,
        Self::Closed,
    ];

    const fn label(self) -> &'static str {
        match self {
            Self::PathGone => "no way",
            Self::Silence => "no answer for longer than losses explain",
            Self::Answered => "late, or answered at once",
            Self::PathBack => "peer heard, or route restored",
            Self::Repaired => "all acknowledged",
            Self::Refused => "driver refuses",
            Self::Closed => "connection gone",
        }
    }
}

/// The state diagram in Graphviz' language, made from [`State::after`].
pub fn diagram() -> String {
    let arrows = State::ALL.into_iter().flat_map(|from| {
        let arrow = move |cause: Cause| (from.name(), from.after(cause).name(), cause.label());
        Cause::ALL.into_iter().map(arrow).filter(|(from, to, _)| from != to)
    });
    dot("carry", State::Open.name(), arrows)
}
