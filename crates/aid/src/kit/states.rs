//! Transition table of an aid.

use driftway_base::Named;

/// The states of an aid and the transitions between them.
pub trait States: Named {
    /// Transitions; their names are the labels of the diagram.
    type Transition: Named;
    /// Initial state.
    const INITIAL: Self;
    /// Transition for a closed connection.
    const CLOSED: Self::Transition;
    /// States in which the aid considers the connection disconnected: there is no route, or the host has no
    /// link.
    const DISCONNECTED: &'static [Self];
    /// The state after `transition`. Unlisted combinations do not change the state.
    #[must_use]
    fn next(self, transition: Self::Transition) -> Self;
}

/// Asserts that the transitions are `arrows`, except for those of `besides`, which are not in the paper.
#[cfg(test)]
pub(crate) fn assert_transitions<S: States>(
    arrows: &[(S, S::Transition, S)],
    besides: &[S::Transition],
) {
    for &from in S::ALL {
        for &transition in
            S::Transition::ALL.iter().filter(|transition| !besides.contains(transition))
        {
            let arrow = arrows.iter().find(|arrow| (arrow.0, arrow.1) == (from, transition));
            assert_eq!(
                from.next(transition),
                arrow.map_or(from, |arrow| arrow.2),
                "{transition:?}"
            );
        }
    }
}
