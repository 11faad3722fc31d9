//! States of a flow, as its status reports them.

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// Packets pass.
    Open,
    /// The aid holds the flow to repair a loss.
    Held,
    /// There is no path to the peer.
    Disconnected,
    /// The path has come back, and what was stored is being sent.
    Resuming,
}

impl FlowState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Open, Self::Held, Self::Disconnected, Self::Resuming];

    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Held => "held",
            Self::Disconnected => "disconnected",
            Self::Resuming => "resuming",
        }
    }
}
