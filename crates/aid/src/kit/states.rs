//! Transition table of an aid.

use super::Named;

/// The states of an aid and the transitions between them.
pub trait States: Named {
    /// Transitions; their names are the labels of the diagram.
    type Cause: Named;
    /// Initial state.
    const START: Self;
    /// Transition for a closed connection.
    const CLOSED: Self::Cause;
    /// The state after `transition`. Unlisted combinations do not change the state.
    #[must_use]
    fn after(self, cause: Self::Cause) -> Self;
}

/// Asserts that the transitions are `arrows`, except for those of `besides`, which are not in the paper.
#[cfg(test)]
pub(crate) fn assert_transitions<S: States>(arrows: &[(S, S::Cause, S)], besides: &[S::Cause]) {
    for &from in S::ALL {
        for &cause in S::Cause::ALL.iter().filter(|cause| !besides.contains(cause)) {
            let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, cause));
            assert_eq!(from.after(cause), arrow.map_or(from, |arrow| arrow.2), "{cause:?}");
        }
    }
}
