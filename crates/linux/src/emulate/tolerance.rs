//! The lateness that a network tolerates.

use driftway_base::Duration;
use driftway_scenario::{Adhoc, BitRate, Fault, HopChange, Link, Network, Path, Scenario};

/// Tolerated lateness of the 99th percentile over wires, as a share of the shortest hop's time.
const SHARE_OF_HOP: f64 = 0.1;
/// Tolerated lateness of the 99th percentile over radios. A slot of 802.11 is 20 µs, but only the
/// network counts slots, and it keeps its own time; a kernel's TCP sees frames, whose time on the air
/// is some milliseconds with 1000 bytes at 2 Mbit/s.
const OVER_RADIOS: Duration = Duration::from_millis(1);

/// The lateness of packets that does not matter in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// The network's own jitter: what a packet takes longer because another one was in front of it at the
    /// slowest hop, and the spread of delays.
    pub jitter: Duration,
    /// The shortest time of a packet of the MTU's size over any wire, at any time; `None` without
    /// wires.
    pub shortest_hop: Option<Duration>,
    /// True if some node has a radio.
    pub has_radios: bool,
}

impl Tolerance {
    /// Returns the tolerance of a scenario's network.
    pub fn new(scenario: &Scenario, mtu: u16) -> Self {
        match &scenario.network {
            Network::Path(path) => {
                let hops = (1..=path.hops).map(|hop| jitter(&path.hop_link(hop), mtu));
                Self {
                    jitter: hops.max().unwrap_or_default(),
                    shortest_hop: Some(shortest_hop(path, mtu)),
                    has_radios: false,
                }
            }
            Network::Adhoc(adhoc) => {
                Self { jitter: air_jitter(adhoc, mtu), shortest_hop: None, has_radios: true }
            }
            Network::Mixed(mixed) => {
                let wires = (1..).zip(&mixed.wires);
                let times = wires
                    .map(|(hop, wire)| shortest_time(&wire.link, &mixed.faults, Some(hop), mtu));
                let wires = mixed.wires.iter().map(|wire| jitter(&wire.link, mtu));
                let airs = mixed.airs.iter().map(|air| air_jitter(&air.adhoc, mtu));
                Self {
                    jitter: wires.chain(airs).max().unwrap_or_default(),
                    shortest_hop: times.min(),
                    has_radios: !mixed.airs.is_empty(),
                }
            }
        }
    }

    /// Returns the lateness that a program does not see: the network's own jitter, or what
    /// [`tolerated`](Self::tolerated) is where that is more.
    pub fn unnoticed(&self) -> Duration {
        self.jitter.max(self.tolerated())
    }

    /// Returns the tolerated lateness of one packet in a hundred where a kernel is measured: a tenth of the shortest wire's
    /// time, and over radios a millisecond; of both the smaller.
    pub fn tolerated(&self) -> Duration {
        let of_hop =
            |hop: Duration| Duration::from_nanos((hop.as_nanos() as f64 * SHARE_OF_HOP) as u64);
        let over_radios = self.has_radios.then_some(OVER_RADIOS);
        self.shortest_hop.map(of_hop).into_iter().chain(over_radios).min().unwrap_or_default()
    }

    /// Describes the limit that was exceeded.
    pub fn description(&self) -> String {
        let tolerated = self.tolerated();
        match self.shortest_hop {
            Some(hop) if !self.has_radios || tolerated < OVER_RADIOS => {
                format!("over a tenth of the shortest hop's time ({} µs)", hop.as_nanos() / 1000)
            }
            _ => format!("over the {} µs tolerated over radios", tolerated.as_nanos() / 1000),
        }
    }
}

/// The time of a full packet on a link, and the spread of its delay. A measured rate counts in the mean.
fn jitter(link: &Link, mtu: u16) -> Duration {
    let (low, high) = link.delay_bounds();
    link.mean_rate().transmission_time(mtu.into()) + high.saturating_sub(low)
}

/// The time of a full packet at a station with the air to itself.
fn air_jitter(adhoc: &Adhoc, mtu: u16) -> Duration {
    adhoc.dcf().map_or(OVER_RADIOS, |mac| mac.service_time(mtu.into()))
}

/// The shortest time of a packet of `mtu` bytes over any hop of a path, including later changes. A hop
/// that takes less than a hundredth of the path's time, such as one that only stands for a host that
/// is disconnected, does not count: no lateness is small beside it, and none matters.
fn shortest_hop(path: &Path, mtu: u16) -> Duration {
    let own = (1..=path.hops).map(|hop| (Some(hop), path.hop_link(hop)));
    let parallel = path.parallel.iter().map(|route| (None, path.parallel_link(route)));
    let time = |(hop, link)| shortest_time(&link, &path.faults, hop, mtu);
    let whole: Duration = own.clone().map(time).fold(Duration::ZERO, |sum, hop| sum + hop);
    let times = own.chain(parallel).map(time).filter(|hop| hop.times(100) >= whole);
    times.min().unwrap_or_default()
}

/// The shortest time of a packet over a link in either direction, including later changes of this hop.
/// A measured rate counts in the mean.
fn shortest_time(link: &Link, faults: &[Fault], hop: Option<u32>, mtu: u16) -> Duration {
    let back = link.reversed();
    let mut rates = vec![link.mean_rate(), back.mean_rate()];
    let mut delays = vec![link.delay_bounds().0, back.delay_bounds().0];
    for fault in faults {
        if let Fault::Change(HopChange { hop: changed, rate, delay, .. }) = fault
            && hop == Some(*changed)
        {
            rates.extend(rate.iter().map(|BitRate(rate)| *rate));
            delays.extend(delay.iter().map(|delay| delay.bounds().0));
        }
    }
    let serialised = rates.into_iter().map(|rate| rate.transmission_time(mtu.into())).min();
    serialised.unwrap_or_default() + delays.into_iter().min().unwrap_or_default()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_hop_that_takes_no_time_does_not_count() {
        let text = "name = \"t\"\nduration = \"9 s\"\n[network]\nkind = \"path\"\nhops = 3\n\
                    link = { rate = \"10 Mbit/s\", delay = \"2 ms\" }\n[[network.override]]\n\
                    hop = 1\nrate = \"100 Gbit/s\"\ndelay = \"0 s\"\n\
                    [[flow]]\nfrom = 0\nto = 3\napplication = \"ftp\"\n";
        let scenario = Scenario::parse("t.toml", text, &[]).unwrap();
        let tolerance = Tolerance::new(&scenario, 1250);
        assert_eq!(tolerance.shortest_hop, Some(Duration::from_millis(3)));
        // 1250 bytes at 10 Mbit/s.
        assert_eq!(tolerance.unnoticed(), Duration::from_millis(1));
    }

    #[test]
    fn the_smaller_tolerance_counts() {
        let hop = |micros| Some(Duration::from_micros(micros));
        for (shortest_hop, has_radios, micros, says) in [
            (hop(500), false, 50, "shortest hop's time (500 µs)"),
            (None, true, 1000, "over the 1000 µs tolerated over radios"),
            (hop(500), true, 50, "shortest hop's time (500 µs)"),
            (hop(50_000), true, 1000, "tolerated over radios"),
        ] {
            let tolerance = Tolerance { jitter: Duration::ZERO, shortest_hop, has_radios };
            assert_eq!(tolerance.unnoticed(), tolerance.tolerated());
            assert_eq!(tolerance.tolerated(), Duration::from_micros(micros));
            assert!(tolerance.description().contains(says), "{}", tolerance.description());
        }
    }
}
