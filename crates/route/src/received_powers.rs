//! The received power of neighbours, for routing protocols that use it.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, ReceivedPower};

/// The maximum number of neighbours; the one heard longest ago is evicted.
const NEIGHBOURS_MAX: usize = 256;

/// The received power of each neighbour and its trend, as last measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceivedPowers {
    heard: Vec<(Ipv4Addr, ReceivedPower)>,
}

impl ReceivedPowers {
    /// Records a measurement.
    pub fn update(&mut self, neighbour: Ipv4Addr, power: ReceivedPower) {
        if let Some((_, known)) = self.heard.iter_mut().find(|(known, _)| *known == neighbour) {
            *known = power;
        } else if self.heard.len() < NEIGHBOURS_MAX {
            self.heard.push((neighbour, power));
        } else if let Some(oldest) = self.heard.iter_mut().min_by_key(|(_, known)| known.heard_at) {
            *oldest = (neighbour, power);
        }
    }

    /// The last measurement of a neighbour; `None` if it was never heard.
    pub fn get(&self, neighbour: Ipv4Addr) -> Option<&ReceivedPower> {
        self.heard.iter().find(|(known, _)| *known == neighbour).map(|(_, power)| power)
    }

    /// Returns true if a neighbour will be out of range within `span`, according to the trend of its power.
    pub fn fades_within(&self, now: Instant, neighbour: Ipv4Addr, span: Duration) -> bool {
        let power = self.get(neighbour);
        let end = power.and_then(|power| Some(power.heard_at + power.expected_lifetime()?));
        end.is_some_and(|end| end <= now + span)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const LEAST: i32 = -9000;

    fn node(n: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0000 + n)
    }

    /// Heard at that second, so many decibels above the sensitivity, with a trend in decibels per second.
    fn heard(at: u64, above: i32, trend_cdb_per_s: Option<i32>) -> ReceivedPower {
        let trend_cdb_per_s = trend_cdb_per_s.map(|trend_cdb_per_s| trend_cdb_per_s * 100);
        ReceivedPower {
            heard_at: Instant::from_secs(at),
            power_mbm: LEAST + above * 100,
            trend_cdb_per_s,
            sensitivity_mbm: LEAST,
        }
    }

    #[test]
    fn only_a_falling_power_ends_a_link() {
        let mut powers = ReceivedPowers::default();
        let (now, span) = (Instant::from_secs(10), Duration::from_secs(2));
        assert!(!powers.fades_within(now, node(1), span), "never heard");
        for (power, ends) in [
            (heard(10, 4, Some(-2)), true),
            (heard(10, 5, Some(-2)), false),
            (heard(9, 5, Some(-2)), true),
            (heard(10, 1, Some(0)), false),
            (heard(10, 1, Some(3)), false),
            (heard(10, 1, None), false),
        ] {
            powers.update(node(1), power);
            assert_eq!(powers.fades_within(now, node(1), span), ends, "{power:?}");
        }
        assert_eq!(powers.heard.len(), 1);
    }

    #[test]
    fn the_number_of_neighbours_is_bounded() {
        let mut powers = ReceivedPowers::default();
        for n in 0..1_000 {
            powers.update(node(n as u32), heard(n, 1, None));
        }
        assert_eq!(powers.heard.len(), NEIGHBOURS_MAX);
        assert!(powers.get(node(743)).is_none());
        assert_eq!(powers.get(node(999)), Some(&heard(999, 1, None)));
    }
}
