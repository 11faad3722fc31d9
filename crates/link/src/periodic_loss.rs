//! Periodic losses: every N-th frame, the deterministic loss process of the models of TCP (mathis-1997).

/// Counts the frames that end their transmission in one direction, whatever else becomes of them.
#[derive(Clone, Debug)]
pub(crate) struct PeriodicLoss {
    /// Period in frames; 0: no frame is lost.
    every: u32,
    /// Frames since the last lost one.
    since: u32,
}

impl PeriodicLoss {
    pub(crate) const fn new(every: u32) -> Self {
        Self { every, since: 0 }
    }

    /// Counts the next frame, and returns true if it is lost: the frames N, 2N, 3N, …
    pub(crate) const fn count(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.since += 1;
        let is_lost = self.since >= self.every;
        if is_lost {
            self.since = 0;
        }
        is_lost
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_nth_frame_is_lost() {
        let lost = |every| -> Vec<u32> {
            let mut loss = PeriodicLoss::new(every);
            (1..=12).filter(|_| loss.count()).collect()
        };
        assert_eq!(lost(5), [5, 10]);
        assert_eq!(lost(2), [2, 4, 6, 8, 10, 12]);
        assert_eq!(lost(0), []);
    }
}
