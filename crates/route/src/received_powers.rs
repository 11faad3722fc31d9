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
    pub fn update(&mut self, neighbour: Ipv4Addr, strength: ReceivedPower) {
        if let Some((_, known)) = self.heard.iter_mut().find(|(known, _)| *known == neighbour) {
            *known = strength;
        } else if self.heard.len() < NEIGHBOURS_MAX {
            self.heard.push((neighbour, strength));
        } else if let Some(oldest) = self.heard.iter_mut().min_by_key(|(_, known)| known.heard_at) {
            *oldest = (neighbour, strength);
        }
    }

    /// The last measurement of a neighbour; `None` if it was never heard.
    pub fn get(&self, neighbour: Ipv4Addr) -> Option<&ReceivedPower> {
        self.heard.iter().find(|(known, _)| *known == neighbour).map(|(_, strength)| strength)
    }

    /// Returns true if a neighbour will be out of range within `span`, according to the trend of its power.
    pub fn fades_within(&self, now: Instant, neighbour: Ipv4Addr, span: Duration) -> bool {
        let strength = self.get(neighbour);
        let end =
            strength.and_then(|strength| Some(strength.heard_at + strength.expected_lifetime()?));
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
    fn heard(at: u64, above: i32, trend: Option<i32>) -> ReceivedPower {
        let trend = trend.map(|trend| trend * 100);
        ReceivedPower {
            heard_at: Instant::from_secs(at),
            power_mbm: LEAST + above * 100,
            trend_cdb_per_s: trend,
            sensitivity_mbm: LEAST,
        }
    }

    #[test]
    fn only_a_falling_power_ends_a_link() {
        let mut strengths = ReceivedPowers::default();
        let (now, span) = (Instant::from_secs(10), Duration::from_secs(2));
        assert!(!strengths.fades_within(now, node(1), span), "never heard");
        for (strength, ends) in [
            (heard(10, 4, Some(-2)), true),
            (heard(10, 5, Some(-2)), false),
            (heard(9, 5, Some(-2)), true),
            (heard(10, 1, Some(0)), false),
            (heard(10, 1, Some(3)), false),
            (heard(10, 1, None), false),
        ] {
            strengths.update(node(1), strength);
            assert_eq!(strengths.fades_within(now, node(1), span), ends, "{strength:?}");
        }
        assert_eq!(strengths.heard.len(), 1);
    }

    #[test]
    fn the_number_of_neighbours_is_bounded() {
        let mut strengths = ReceivedPowers::default();
        for n in 0..1_000 {
            strengths.update(node(n as u32), heard(n, 1, None));
        }
        assert_eq!(strengths.heard.len(), NEIGHBOURS_MAX);
        assert!(strengths.get(node(743)).is_none());
        assert_eq!(strengths.get(node(999)), Some(&heard(999, 1, None)));
    }
}
