//! The table of an aid's transitions.

use super::Named;

/// The states of an aid, and the transitions between them.
pub trait States: Named {
    /// What moves it. The names are the labels of the diagram.
    type Transition: Named;
    /// Where it begins.
    const INITIAL: Self;
    /// There is no connection any more.
    const CLOSED: Self::Transition;
    /// The state after `cause`. Whatever is not listed changes nothing.
    #[must_use]
    fn next(self, cause: Self::Transition) -> Self;
}

/// Checks that the transitions are `arrows`, apart from those at the causes `besides`, which the
/// paper does not have.
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
