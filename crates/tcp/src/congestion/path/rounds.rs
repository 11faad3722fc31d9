//! Round trips, counted by packets (draft-ietf-ccwg-bbr-04 §5.5.1): one ends when data is delivered
//! that was sent after its start, however long that takes.

/// The count of round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    count: u64,
    /// The round ends with the delivery of data that was sent when this much had been delivered.
    next_delivered: u64,
    started: bool,
}

impl Rounds {
    /// Handles a delivery of data that was sent when `prior` bytes had been delivered, of `total`
    /// now.
    pub fn on_delivered(&mut self, prior: u64, total: u64) {
        self.started = prior >= self.next_delivered;
        if self.started {
            self.restart(total);
            self.count += 1;
        }
    }
    /// Notes an acknowledgment that delivers nothing, and so starts no round.
    pub fn on_nothing_delivered(&mut self) {
        self.started = false;
    }
    /// Starts a round with what is sent from now on; `total` bytes are delivered.
    pub fn restart(&mut self, total: u64) {
        self.next_delivered = total;
    }
    /// The present acknowledgment starts a round.
    pub fn has_started(&self) -> bool {
        self.started
    }
    /// Number of the present round.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_round_ends_with_data_sent_after_its_start() {
        let mut rounds = Rounds::default();
        let mut started = |prior, total| {
            rounds.on_delivered(prior, total);
            (rounds.has_started(), rounds.count())
        };
        assert_eq!(started(0, 1000), (true, 1));
        assert_eq!(started(0, 2000), (false, 1));
        assert_eq!(started(999, 3000), (false, 1));
        assert_eq!(started(1000, 4000), (true, 2));
        assert_eq!(started(3999, 5000), (false, 2));
        rounds.on_nothing_delivered();
        assert!(!rounds.has_started());
        rounds.restart(9000);
        rounds.on_delivered(8000, 10_000);
        assert!(!rounds.has_started(), "it started anew");
    }
}
