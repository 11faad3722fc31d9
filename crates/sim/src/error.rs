//! Errors of a run.

/// The reason why a run has no result: an error of driftway, or of what a program has added to it, because a checked
/// scenario has a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Packets are not conserved.
    Conservation(String),
    /// A byte stream was not delivered as it was sent, or was acknowledged before it was delivered.
    Stream(String),
    /// The network cannot be built.
    Setup(String),
    /// Time does not go on: an aid, a routing protocol or a congestion control breaks a rule of its contract.
    Endless(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conservation(what) => write!(f, "packets are not conserved: {what}"),
            Self::Stream(what) => write!(f, "a byte stream is corrupted: {what}"),
            Self::Setup(what) => write!(f, "the network cannot be built: {what}"),
            Self::Endless(what) => write!(f, "the run does not end: {what}"),
        }
    }
}

impl std::error::Error for RunError {}
