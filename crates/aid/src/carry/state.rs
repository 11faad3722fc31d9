//! carry's states, what moves it between them, and the diagram of both.

use alloc::string::String;

use crate::diagram::dot;

/// Where carry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Losses are watched.
    Open,
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
    /// The oldest segment was repeated so often without a sign of the peer.
    Silence,
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
    pub const ALL: [Self; 3] = [Self::Open, Self::Disconnected, Self::Resuming];

    /// The state after `cause`. Whatever is not listed changes nothing.
    #[must_use]
    pub const fn after(self, cause: Cause) -> Self {
        match (self, cause) {
            (Self::Open | Self::Resuming, Cause::PathGone | Cause::Silence) => Self::Disconnected,
            (Self::Disconnected, Cause::PathBack) => Self::Resuming,
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
            Self::Disconnected => "disconnected",
            Self::Resuming => "resuming",
        }
    }
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::PathGone,
        Self::Silence,
        Self::PathBack,
        Self::Repaired,
        Self::Refused,
        Self::Closed,
    ];

    const fn label(self) -> &'static str {
        match self {
            Self::PathGone => "no way",
            Self::Silence => "no answer (suspect_after)",
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
