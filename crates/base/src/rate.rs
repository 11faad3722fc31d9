//! Link rates.

use crate::Duration;

/// A bit rate (bit/s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// `bits` bit/s; at least one, because a link of rate zero is a partition.
    pub const fn from_bps(bits: u64) -> Self {
        Self(if bits == 0 { 1 } else { bits })
    }
    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Transmission time of `bytes` bytes, rounded up to a nanosecond; at most [`Duration::MAX`].
    pub const fn transmission_time(self, bytes: u32) -> Duration {
        const NANOS_PER_BYTE_AND_BPS: u64 = 8 * 1_000_000_000;
        if let Some(bits) = (bytes as u64).checked_mul(NANOS_PER_BYTE_AND_BPS) {
            return Duration::from_nanos(bits.div_ceil(self.0));
        }
        let bits = bytes as u128 * NANOS_PER_BYTE_AND_BPS as u128;
        let nanos = bits.div_ceil(self.0 as u128);
        Duration::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_packet_of_140_bytes_takes_35_ms_at_32_kbit_s() {
        assert_eq!(Rate::from_bps(32_000).transmission_time(140), Duration::from_millis(35));
        assert_eq!(Rate::from_bps(0).transmission_time(1), Duration::from_secs(8));
        assert_eq!(Rate::from_bps(1).transmission_time(u32::MAX), Duration::MAX);
        assert_eq!(Rate::from_bps(3).transmission_time(1), Duration::from_nanos(2_666_666_667));
    }
}
