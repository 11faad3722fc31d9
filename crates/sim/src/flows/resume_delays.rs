//! The time from the end of a partition to the sender's next data.

use driftway_base::{Duration, Instant};

/// The delays between ends of partitions and the sender's next data.
#[derive(Debug, Default)]
pub struct ResumeDelays {
    /// The end of a partition after which nothing has been sent yet.
    since: Option<Instant>,
    sum: Duration,
    count: u64,
}

impl ResumeDelays {
    /// Records the end of a partition.
    pub fn on_partition_end(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Records the transmission of data.
    pub fn on_sent(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.sum = self.sum + now.since(since);
            self.count += 1;
        }
    }

    /// The mean delay; `None` if nothing was sent after a partition.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum.over(self.count))
    }
}
