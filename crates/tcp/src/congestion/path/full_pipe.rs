//! The estimate that the pipe is full: the bandwidth grows no more, although more is sent.

/// Growth in a round that says that there is more bandwidth to be found.
const GROWTH: f64 = 1.25;
/// Rounds without it until the pipe counts as full: enough for a receiver to enlarge its window.
const ROUNDS: u32 = 3;

/// Detection of a plateau of the bandwidth (draft-ietf-ccwg-bbr-04 §5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullPipe {
    /// The bandwidth from which growth counts (bytes per second).
    baseline: f64,
    rounds: u32,
    now: bool,
    reached: bool,
}

impl FullPipe {
    /// Handles the end of a round in which the application limited nothing.
    pub fn on_round(&mut self, bandwidth: f64) {
        if self.now {
            return;
        }
        if bandwidth >= self.baseline * GROWTH {
            self.restart(bandwidth);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= ROUNDS;
        self.reached |= self.now;
    }
    /// Starts the detection again from `baseline`.
    pub fn restart(&mut self, baseline: f64) {
        (self.baseline, self.rounds, self.now) = (baseline, 0, false);
    }
    /// Forgets the baseline alone, after a timeout.
    pub fn forget_baseline(&mut self) {
        self.baseline = 0.0;
    }
    /// Notes that losses show the pipe to be full.
    pub fn set_reached(&mut self) {
        self.reached = true;
    }
    /// The pipe is full since the detection started.
    pub fn is_full_now(&self) -> bool {
        self.now
    }
    /// The pipe was full at some time.
    pub fn was_reached(&self) -> bool {
        self.reached
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn three_rounds_without_growth_by_a_quarter_mean_full() {
        let mut pipe = FullPipe::default();
        for bandwidth in [100.0, 124.0, 124.0, 126.0, 130.0, 150.0] {
            pipe.on_round(bandwidth);
            assert!(!pipe.was_reached(), "{pipe:?}");
        }
        pipe.on_round(155.0);
        assert!(pipe.was_reached() && pipe.is_full_now());
        pipe.restart(155.0);
        assert!(pipe.was_reached() && !pipe.is_full_now());
    }
}
