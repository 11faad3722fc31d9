//! Counts of an aid's decisions about losses.

/// Number of loss episodes by the aid's decision about TCP's reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossDecisions {
    /// Undone: the loss was not congestion.
    pub undone: u64,
    /// Kept: congestion was echoed (ECN).
    pub ce: u64,
    /// Kept: a queue was visible in the round-trip times.
    pub delay: u64,
    /// Kept: many segments were lost, or losses were more frequent than with reductions.
    pub rate: u64,
    /// Kept: losses had become more frequent without reductions, while no queue was visible.
    pub short_queue: u64,
    /// Kept: nothing showed that the loss was not congestion.
    pub unknown: u64,
}
