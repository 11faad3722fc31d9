//! The time of the next review of routes after a change of a link.

use driftway_base::{Duration, Instant};

/// Minimum pause after a review. It is as long as the review was: a link that fails again and again
/// takes no more than half of the time, and thousands of flows do not wait for a link that is back.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// Schedule of the reviews.
#[derive(Debug, Default)]
pub struct LinkReviews {
    /// The review in progress: its start, and the number of flows left to be asked.
    in_progress: Option<(Instant, usize)>,
    /// Earliest time of the next one.
    next_at: Instant,
}

impl LinkReviews {
    /// Begins a review, for which so many flows are to be asked.
    pub fn begin(&mut self, now: Instant, flows: usize) {
        self.in_progress = Some((now, flows));
        self.on_asked(now, 0);
    }

    /// Records that so many flows have had their turn to be asked.
    pub fn on_asked(&mut self, now: Instant, flows: usize) {
        if let Some((start, left)) = &mut self.in_progress {
            *left = left.saturating_sub(flows);
            if *left == 0 {
                self.next_at = now + now.since(*start).max(PAUSE_MIN);
                self.in_progress = None;
            }
        }
    }

    /// Earliest time of the next review; far in the future while one is in progress.
    pub fn next_at(&self) -> Instant {
        if self.in_progress.is_some() { Instant::FAR_FUTURE } else { self.next_at }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_pause_is_as_long_as_the_review() {
        let mut reviews = LinkReviews::default();
        assert_eq!(reviews.next_at(), Instant::ZERO);
        reviews.begin(at(1000), 4000);
        assert_eq!(reviews.next_at(), Instant::FAR_FUTURE);
        reviews.on_asked(at(1300), 3999);
        assert_eq!(reviews.next_at(), Instant::FAR_FUTURE);
        reviews.on_asked(at(1500), 8);
        assert_eq!(reviews.next_at(), at(2000));
        // Of flows that are asked without a review.
        reviews.on_asked(at(1900), 8);
        assert_eq!(reviews.next_at(), at(2000));
    }

    #[test]
    fn a_review_of_few_flows_has_the_shortest_pause() {
        let mut reviews = LinkReviews::default();
        reviews.begin(at(1000), 0);
        assert_eq!(reviews.next_at(), at(1005));
        reviews.begin(at(2000), 3);
        reviews.on_asked(at(2001), 3);
        assert_eq!(reviews.next_at(), at(2006));
    }
}
