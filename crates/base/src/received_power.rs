//! What a node's radio knows of a neighbour.

use crate::{Duration, Instant};

/// The received power of what a node has heard of a neighbour, and its trend.
///
/// Powers are in mBm, hundredths of a dBm, as Linux' drivers give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPower {
    /// When the neighbour was heard last.
    pub heard_at: Instant,
    /// The power then (mBm).
    pub power_mbm: i32,
    /// How that changes (hundredths of a decibel per second); `None` before it was heard often enough.
    pub trend_cdb_per_s: Option<i32>,
    /// The least power at which a frame is received (mBm).
    pub sensitivity_mbm: i32,
}

impl ReceivedPower {
    /// For so long a trend is continued; after a longer silence it is learnt anew.
    pub const TREND_VALIDITY: Duration = Duration::from_secs(5);

    /// For how long from [`at`](Self::at) on the neighbour is heard, if the trend holds; `None` if it
    /// does not fade, or if that is not known.
    pub fn expected_lifetime(&self) -> Option<Duration> {
        let fall = self.trend_cdb_per_s.filter(|trend| *trend < 0)?.unsigned_abs();
        let left = self.power_mbm.saturating_sub(self.sensitivity_mbm).max(0).unsigned_abs();
        Some(Duration::from_nanos(u64::from(left) * 1_000_000_000 / u64::from(fall)))
    }

    /// Is the power at `now`, if the trend holds, enough to receive a frame? Without a known trend the
    /// power is taken to stay. What was heard more than [`LASTS`](Self::LASTS) ago says nothing.
    pub fn is_receivable_at(&self, now: Instant) -> bool {
        let gone = now.since(self.heard_at);
        if gone > Self::TREND_VALIDITY {
            return false;
        }
        let change = i64::from(self.trend_cdb_per_s.unwrap_or(0)) * gone.as_millis() as i64 / 1_000;
        i64::from(self.power_mbm) + change >= i64::from(self.sensitivity_mbm)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_power_is_continued_with_its_trend_for_a_while() {
        let suffices = |trend, millis| {
            let at = Instant::from_secs(1);
            ReceivedPower {
                heard_at: at,
                power_mbm: -8900,
                trend_cdb_per_s: trend,
                sensitivity_mbm: -9000,
            }
            .is_receivable_at(at + Duration::from_millis(millis))
        };
        assert!(suffices(Some(-50), 2_000) && !suffices(Some(-50), 2_020));
        assert!(suffices(None, 5_000) && !suffices(None, 5_001) && !suffices(Some(9), 5_001));
        assert!(!suffices(Some(i32::MIN), u64::MAX / 1_000_000));
    }

    #[test]
    fn what_fades_is_heard_for_as_long_as_its_power_lasts() {
        let lead = |power, trend| {
            ReceivedPower {
                heard_at: Instant::ZERO,
                power_mbm: power,
                trend_cdb_per_s: trend,
                sensitivity_mbm: -9000,
            }
            .expected_lifetime()
        };
        assert_eq!(lead(-8500, Some(-250)), Some(Duration::from_secs(2)));
        assert_eq!(lead(-9100, Some(-250)), Some(Duration::ZERO));
        assert_eq!(lead(i32::MAX, Some(i32::MIN)), Some(Duration::from_nanos(999_999_999)));
        for trend in [None, Some(0), Some(9)] {
            assert_eq!(lead(-8500, trend), None);
        }
    }
}
