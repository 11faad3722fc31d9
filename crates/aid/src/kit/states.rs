//! The table of an aid's transitions.

use super::Named;

/// The states of an aid, and the transitions between them.
pub trait States: Named {
    /// What moves it. The names are the labels of the diagram.
    type Cause: Named;
    /// Where it begins.
    const START: Self;
    /// There is no connection any more.
    const CLOSED: Self::Cause;
    /// The state after `cause`. Whatever is not listed changes nothing.
    #[must_use]
    fn after(self, cause: Self::Cause) -> Self;
}

/// Checks that the transitions are `arrows`, apart from those at the causes `besides`, which the
/// paper does not have.
#[cfg(test)]
pub(crate) fn assert_transitions<S: States>(arrows: &[(S, S::Cause, S)], besides: &[S::Cause]) {
    for &from in S::ALL {
        for &cause in S::Cause::ALL.iter().filter(|cause| !besides.contains(cause)) {
            let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, cause));
            assert_eq!(from.after(cause), arrow.map_or(from, |arrow| arrow.2), "{cause:?}");
        }
    }
}
