//! Received power of a neighbour's frames.

use crate::{Duration, Instant};

/// Received power of the frames heard from a neighbour, and its trend.
///
/// Powers are in mBm (hundredths of a dBm), the unit of Linux drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedPower {
    /// Time of the last frame heard from the neighbour.
    pub heard_at: Instant,
    /// Received power of that frame (mBm).
    pub power_mbm: i32,
    /// Rate of change of the power (hundredths of a decibel per second); `None` until enough frames were
    /// heard.
    pub trend_cdb_per_s: Option<i32>,
    /// Receiver sensitivity: the lowest power at which a frame is received (mBm).
    pub sensitivity_mbm: i32,
}

impl ReceivedPower {
    /// Time for which a trend is extrapolated; after a longer silence it is estimated anew.
    pub const TREND_VALIDITY: Duration = Duration::from_secs(5);

    /// Time from [`heard_at`](Self::heard_at) until the power falls below the receiver sensitivity, if the
    /// trend continues. `None` if the power does not fall or the trend is unknown.
    pub fn expected_lifetime(&self) -> Option<Duration> {
        let fall = self.trend_cdb_per_s.filter(|trend| *trend < 0)?.unsigned_abs();
        let left = self.power_mbm.saturating_sub(self.sensitivity_mbm).max(0).unsigned_abs();
        Some(Duration::from_nanos(u64::from(left) * 1_000_000_000 / u64::from(fall)))
    }

    /// Returns true if the power extrapolated to `now` is at or above the receiver sensitivity. Without a
    /// known trend the power is assumed constant. Frames heard more than
    /// [`TREND_VALIDITY`](Self::TREND_VALIDITY) ago do not count.
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
    fn power_is_extrapolated_for_a_limited_time() {
        let suffices = |trend_cdb_per_s, millis| {
            let heard_at = Instant::from_secs(1);
            ReceivedPower { heard_at, power_mbm: -8900, trend_cdb_per_s, sensitivity_mbm: -9000 }
                .is_receivable_at(heard_at + Duration::from_millis(millis))
        };
        assert!(suffices(Some(-50), 2_000) && !suffices(Some(-50), 2_020));
        assert!(suffices(None, 5_000) && !suffices(None, 5_001) && !suffices(Some(9), 5_001));
        assert!(!suffices(Some(i32::MIN), u64::MAX / 1_000_000));
    }

    #[test]
    fn expected_lifetime_follows_the_trend() {
        let lead = |power_mbm, trend_cdb_per_s| {
            ReceivedPower {
                heard_at: Instant::ZERO,
                power_mbm,
                trend_cdb_per_s,
                sensitivity_mbm: -9000,
            }
            .expected_lifetime()
        };
        assert_eq!(lead(-8500, Some(-250)), Some(Duration::from_secs(2)));
        assert_eq!(lead(-9100, Some(-250)), Some(Duration::ZERO));
        assert_eq!(lead(i32::MAX, Some(i32::MIN)), Some(Duration::from_nanos(999_999_999)));
        for trend_cdb_per_s in [None, Some(0), Some(9)] {
            assert_eq!(lead(-8500, trend_cdb_per_s), None);
        }
    }
}
