//! Rate limits of control messages.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant};

/// A limit of `per_second` messages in any second.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    per_second: u8,
    sent: VecDeque<Instant>,
}

impl RateLimit {
    /// 0: unlimited.
    pub(crate) const fn new(per_second: u8) -> Self {
        Self { per_second, sent: VecDeque::new() }
    }

    /// Counts one message if it may be sent now.
    ///
    /// # Errors
    /// If not: the instant at which one may.
    pub(crate) fn try_acquire(&mut self, now: Instant) -> Result<(), Instant> {
        if self.per_second == 0 {
            return Ok(());
        }
        if self.sent.len() >= usize::from(self.per_second)
            && let Some(first) = self.sent.front()
        {
            let free = *first + Duration::from_secs(1);
            if free > now {
                return Err(free);
            }
            self.sent.pop_front();
        }
        self.sent.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ten_per_second_in_a_sliding_window() {
        let mut limit = RateLimit::new(10);
        for ms in 0..10 {
            assert_eq!(limit.try_acquire(Instant::from_millis(ms)), Ok(()));
        }
        let free = Instant::from_millis(1000);
        assert_eq!(limit.try_acquire(Instant::from_millis(999)), Err(free));
        assert_eq!(limit.try_acquire(free), Ok(()));
        assert_eq!(limit.try_acquire(free), Err(Instant::from_millis(1001)));
        let mut none = RateLimit::new(0);
        assert!((0..99).all(|_| none.try_acquire(Instant::ZERO).is_ok()));
    }
}
