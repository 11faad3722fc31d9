//! Errors of building a network.

/// The reason why a network cannot be built: a scenario that has not been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(pub(super) String);

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}
