//! Link changes of a movement: how often two nodes come into range of each other, or leave it.

use driftway_base::{Duration, Instant, StationId};
use driftway_radio::Positions;
use driftway_scenario::{Network, Scenario, Time};

/// Time between two looks at all pairs. Two nodes at 20 m/s approach each other by 10 m meanwhile: a shorter
/// visit reaches 5 cm into a range of 250 m.
const STEP: Duration = Duration::from_millis(250);

/// The number of changes during a run of `scenario` with `seed`, for a range in metres; `None` if it is no
/// ad hoc network.
pub fn link_changes(scenario: &Scenario, seed: u64, range: f64) -> Option<f64> {
    let Network::Adhoc(adhoc) = &scenario.network else { return None };
    let mut positions = Positions::new(adhoc.mobility(seed).ok()?, range);
    let stations: Vec<StationId> = (0..positions.stations()).map(StationId::from).collect();
    let Time(duration) = scenario.duration;
    let end = Instant::ZERO + duration;
    let (mut linked, mut places) = (Vec::new(), Vec::new());
    let (mut now, mut changes) = (Instant::ZERO, 0_u64);
    while now <= end {
        places.clear();
        places.extend(stations.iter().map(|of| positions.position(*of, now)));
        let pairs = places
            .iter()
            .enumerate()
            .flat_map(|(at, a)| places[..at].iter().map(move |b| is_within(range, *a, *b)));
        if linked.is_empty() {
            linked = pairs.collect();
        } else {
            for (before, is_linked) in linked.iter_mut().zip(pairs) {
                changes += u64::from(*before != is_linked);
                *before = is_linked;
            }
        }
        now += STEP;
    }
    Some(changes as f64)
}

fn is_within(range: f64, a: (f64, f64), b: (f64, f64)) -> bool {
    let (dx, dy) = (a.0 - b.0, a.1 - b.1);
    dx * dx + dy * dy <= range * range
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_node_that_passes_another_changes_their_link_twice() {
        let text = "name = 'a'\nduration = '100 s'\n[network]\nkind = 'adhoc'\nnodes = 3\n\
                    area = ['2000 m', '10 m']\nrouting = { protocol = 'aodv' }\n\
                    [network.mobility]\nmodel = 'constant-velocity'\n\
                    positions = [['500 m', '0 m'], ['0 m', '0 m'], ['1900 m', '0 m']]\n\
                    velocities = [['0 m/s', '0 m/s'], ['10 m/s', '0 m/s'], ['0 m/s', '0 m/s']]\n\
                    [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
        let scenario =
            Scenario::parse("a.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        // Node 1 is within 250 m of node 0 from 25 s to 75 s, and ends 900 m from node 2.
        assert_eq!(link_changes(&scenario, 1, 250.0), Some(2.0));
        assert_eq!(link_changes(&scenario, 1, 1000.0), Some(1.0));
        assert_eq!(link_changes(&scenario, 1, 10.0), Some(2.0));
    }
}
