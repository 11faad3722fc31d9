//! Transition table of an aid.

use super::Named;

/// The states of an aid and the transitions between them.
pub trait States: Named {
    /// Transitions; their names are the labels of the diagram.
    type Transition: Named;
    /// Initial state.
    const INITIAL: Self;
    /// Transition for a closed connection.
    const CLOSED: Self::Transition;
    /// The state after `transition`. Unlisted combinations do not change the state.
    #[must_use]
    fn next(self, cause: Self::Transition) -> Self;
}

/// Asserts that the transitions are `arrows`, except for those of `besides`, which are not in the paper.
#[cfg(test)]
pub(crate) fn assert_transitions<S: States>(
    arrows: &[(S, S::Transition, S)],
    besides: &[S::Transition],
) {
    for &from in S::ALL {
        for &cause in S::Transition::ALL.iter().filter(|cause| !besides.contains(cause)) {
            let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, cause));
            assert_eq!(from.next(cause), arrow.map_or(from, |arrow| arrow.2), "{cause:?}");
        }
    }
}
