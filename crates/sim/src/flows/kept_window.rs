//! The part of a sender's congestion window that losses leave.

use driftway_tcp::Connection;

/// The mean share of the congestion window that is left when new data are acknowledged for the first time
/// after a loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    sum: f64,
    losses: u64,
}

impl Share {
    fn add(&mut self, share: f64) {
        self.sum += share;
        self.losses += 1;
    }

    /// The mean; `None` without losses.
    pub fn mean(&self) -> Option<f64> {
        (self.losses > 0).then(|| self.sum / self.losses as f64)
    }
}

/// A sender's congestion window over its losses. It changes only at events of its connection: an update after
/// each event, when an aid has acted, misses no change.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptWindow {
    /// The share that is left after fast retransmits.
    pub after_fast_retransmits: Share,
    /// The share that is left after timeouts, those included that follow a fast retransmit.
    pub after_timeouts: Share,
    /// The progress at the last update.
    last: Progress,
    /// The loss after which no new data have been acknowledged yet.
    loss: Option<Loss>,
}

/// A sender's progress.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    cwnd: u32,
    acknowledged: u64,
    fast_retransmits: u64,
    timeouts: u64,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    /// The window before the first sign of it (bytes).
    before: u32,
    by_timeout: bool,
}

impl KeptWindow {
    /// Records the window after an event of the connection.
    pub fn update(&mut self, tcp: &Connection) {
        let stats = tcp.stats();
        self.advance(Progress {
            cwnd: tcp.cwnd(),
            acknowledged: tcp.acknowledged_bytes(),
            fast_retransmits: stats.fast_retransmits,
            timeouts: stats.timeouts,
        });
    }

    fn advance(&mut self, now: Progress) {
        let last = std::mem::replace(&mut self.last, now);
        let timed_out = now.timeouts > last.timeouts;
        if timed_out || now.fast_retransmits > last.fast_retransmits {
            let before = self.loss.map_or(last.cwnd, |loss| loss.before);
            let by_timeout = timed_out || self.loss.is_some_and(|loss| loss.by_timeout);
            self.loss = Some(Loss { before, by_timeout });
        } else if now.acknowledged > last.acknowledged
            && let Some(Loss { before, by_timeout }) = self.loss.take()
            && before > 0
        {
            let share = f64::from(now.cwnd) / f64::from(before);
            match by_timeout {
                true => self.after_timeouts.add(share),
                false => self.after_fast_retransmits.add(share),
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn after(steps: &[[u32; 4]]) -> [Option<f64>; 2] {
        let mut watch = KeptWindow::default();
        for &[cwnd, acknowledged, fast_retransmits, timeouts] in steps {
            watch.advance(Progress {
                cwnd,
                acknowledged: acknowledged.into(),
                fast_retransmits: fast_retransmits.into(),
                timeouts: timeouts.into(),
            });
        }
        [watch.after_fast_retransmits.mean(), watch.after_timeouts.mean()]
    }

    #[test]
    fn the_share_is_that_at_the_first_acknowledgment_of_new_data() {
        assert_eq!(after(&[[8, 10, 0, 0], [1, 10, 1, 0], [1, 10, 1, 0]]), [None, None]);
        let reduced = after(&[[8, 10, 0, 0], [1, 10, 1, 0], [2, 14, 1, 0], [3, 15, 1, 0]]);
        assert_eq!(reduced, [Some(0.25), None]);
        let restored = after(&[[8, 10, 0, 0], [1, 10, 1, 0], [8, 14, 1, 0]]);
        assert_eq!(restored, [Some(1.0), None]);
    }

    #[test]
    fn a_timeout_after_a_fast_retransmit_is_a_timeout() {
        let both = after(&[[8, 10, 0, 0], [4, 10, 1, 0], [1, 10, 1, 1], [2, 14, 1, 1]]);
        assert_eq!(both, [None, Some(0.25)]);
        let each =
            after(&[[8, 9, 0, 0], [1, 9, 0, 1], [2, 10, 0, 1], [1, 10, 0, 2], [1, 12, 0, 2]]);
        assert_eq!(each, [None, Some(0.375)]);
    }
}
