//! The received power of neighbours, for routing protocols that use it.

use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr, Strength};

/// The maximum number of neighbours; the one heard longest ago is evicted.
const KNOWN: usize = 256;

/// The received power of each neighbour and its trend, as last measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strengths {
    heard: Vec<(Ipv4Addr, Strength)>,
}

impl Strengths {
    /// Records a measurement.
    pub fn on_strength(&mut self, neighbour: Ipv4Addr, strength: Strength) {
        if let Some((_, known)) = self.heard.iter_mut().find(|(known, _)| *known == neighbour) {
            *known = strength;
        } else if self.heard.len() < KNOWN {
            self.heard.push((neighbour, strength));
        } else if let Some(oldest) = self.heard.iter_mut().min_by_key(|(_, known)| known.at) {
            *oldest = (neighbour, strength);
        }
    }

    /// The last measurement of a neighbour; `None` if it was never heard.
    pub fn strength(&self, neighbour: Ipv4Addr) -> Option<&Strength> {
        self.heard.iter().find(|(known, _)| *known == neighbour).map(|(_, strength)| strength)
    }

    /// Returns true if a neighbour will be out of range within `span`, according to the trend of its power.
    pub fn ends_within(&self, now: Instant, neighbour: Ipv4Addr, span: Duration) -> bool {
        let strength = self.strength(neighbour);
        let end = strength.and_then(|strength| Some(strength.at + strength.lead()?));
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
    fn heard(at: u64, above: i32, trend: Option<i32>) -> Strength {
        let trend = trend.map(|trend| trend * 100);
        Strength { at: Instant::from_secs(at), power: LEAST + above * 100, trend, least: LEAST }
    }

    #[test]
    fn only_a_falling_power_ends_a_link() {
        let mut strengths = Strengths::default();
        let (now, span) = (Instant::from_secs(10), Duration::from_secs(2));
        assert!(!strengths.ends_within(now, node(1), span), "never heard");
        for (strength, ends) in [
            (heard(10, 4, Some(-2)), true),
            (heard(10, 5, Some(-2)), false),
            (heard(9, 5, Some(-2)), true),
            (heard(10, 1, Some(0)), false),
            (heard(10, 1, Some(3)), false),
            (heard(10, 1, None), false),
        ] {
            strengths.on_strength(node(1), strength);
            assert_eq!(strengths.ends_within(now, node(1), span), ends, "{strength:?}");
        }
        assert_eq!(strengths.heard.len(), 1);
    }

    #[test]
    fn the_number_of_neighbours_is_bounded() {
        let mut strengths = Strengths::default();
        for n in 0..1_000 {
            strengths.on_strength(node(n as u32), heard(n, 1, None));
        }
        assert_eq!(strengths.heard.len(), KNOWN);
        assert!(strengths.strength(node(743)).is_none());
        assert_eq!(strengths.strength(node(999)), Some(&heard(999, 1, None)));
    }
}
