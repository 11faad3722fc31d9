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

impl LossDecisions {
    /// Adds the decisions that `now` has beyond `before`, both of one connection.
    pub fn add_difference(&mut self, before: &Self, now: &Self) {
        let differences = [
            (&mut self.undone, now.undone, before.undone),
            (&mut self.ce, now.ce, before.ce),
            (&mut self.delay, now.delay, before.delay),
            (&mut self.rate, now.rate, before.rate),
            (&mut self.short_queue, now.short_queue, before.short_queue),
            (&mut self.unknown, now.unknown, before.unknown),
        ];
        for (count, now, before) in differences {
            *count = count.saturating_add(now.saturating_sub(before));
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn differences_are_added() {
        let before = LossDecisions { undone: 1, ce: 2, ..LossDecisions::default() };
        let now = LossDecisions { undone: 4, ce: 2, delay: 1, rate: 2, short_queue: 3, unknown: 4 };
        let mut all = LossDecisions { undone: 10, ce: 10, ..LossDecisions::default() };
        all.add_difference(&before, &now);
        let expected = LossDecisions { undone: 13, ce: 10, ..now };
        assert_eq!(all, expected);
    }
}
