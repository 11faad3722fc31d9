//! The flows without a path, by the host to which they go: the turns in which they probe.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use driftway_base::Ipv4Addr;

/// Turns by the index of the flow in its table. All operations but the last one are at most logarithmic
/// in the number of flows: when a link fails, thousands to one host may be without a path.
#[derive(Debug, Default)]
pub(super) struct ProbeTurns {
    hosts: BTreeMap<Ipv4Addr, Host>,
    states: Vec<PathState>,
}

#[derive(Debug, Default)]
struct Host {
    /// Flows with something to probe with.
    probing: BTreeSet<usize>,
    /// Flows that have probed, or were disconnected, since they last had a turn because the path of
    /// another one came back.
    waiting: BTreeSet<usize>,
}

/// State of a flow, as far as its probes depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PathState {
    pub is_disconnected: bool,
    /// It has something to probe with, too.
    pub can_probe: bool,
}

impl ProbeTurns {
    /// Records the state of a flow.
    pub fn update(&mut self, index: usize, destination: Ipv4Addr, state: PathState) {
        if self.states.len() <= index {
            self.states.resize(index + 1, PathState::default());
        }
        let Some(listed) = self.states.get_mut(index) else { return };
        let before = core::mem::replace(listed, state);
        if before == state {
            return;
        }
        let host = self.hosts.entry(destination).or_default();
        if state.can_probe {
            host.probing.insert(index);
        } else {
            host.probing.remove(&index);
        }
        if !state.is_disconnected {
            host.waiting.remove(&index);
        } else if !before.is_disconnected {
            host.waiting.insert(index);
        }
        if host.probing.is_empty() && host.waiting.is_empty() {
            self.hosts.remove(&destination);
        }
    }

    /// Records that a flow has sent a probe.
    pub fn on_probe(&mut self, index: usize, destination: Ipv4Addr) {
        if let Some(host) = self.hosts.get_mut(&destination) {
            host.waiting.insert(index);
        }
    }

    /// Number of flows that probe the path to the host of this one: before it, and in all. Only one
    /// has none before it. Of the others the number is their rank if all flows go to this host, and
    /// spreads them evenly otherwise.
    pub fn turn(&self, index: usize, destination: Ipv4Addr) -> (u64, u64) {
        let Some(probing) = self.hosts.get(&destination).map(|host| &host.probing) else {
            return (0, 1);
        };
        let all = probing.len().max(1);
        let is_first = probing.first().is_none_or(|first| *first >= index);
        let before = if is_first { 0 } else { (index % all).max(1) };
        (before as u64, all as u64)
    }

    /// The flows that are to probe at once, because the path of another one came back.
    pub fn take_waiting(&mut self, destination: Ipv4Addr) -> BTreeSet<usize> {
        self.hosts
            .get_mut(&destination)
            .map_or_else(BTreeSet::new, |host| core::mem::take(&mut host.waiting))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const HOSTS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    const OPEN: PathState = PathState { is_disconnected: false, can_probe: false };
    const SILENT: PathState = PathState { is_disconnected: true, can_probe: false };
    const PROBING: PathState = PathState { is_disconnected: true, can_probe: true };

    #[test]
    fn one_flow_to_each_host_is_the_first() {
        let mut turns = ProbeTurns::default();
        assert_eq!(turns.turn(3, HOSTS[0]), (0, 1));
        for index in 0..6 {
            turns.update(index, HOSTS[index % 2], PROBING);
        }
        turns.update(1, HOSTS[1], SILENT);
        assert_eq!([0, 2, 4].map(|index| turns.turn(index, HOSTS[0])), [(0, 3), (2, 3), (1, 3)]);
        assert_eq!([3, 5].map(|index| turns.turn(index, HOSTS[1])), [(0, 2), (1, 2)]);
        turns.update(0, HOSTS[0], OPEN);
        assert_eq!([2, 4].map(|index| turns.turn(index, HOSTS[0])), [(0, 2), (1, 2)]);
    }

    #[test]
    fn each_flow_has_one_turn_until_it_probes() {
        let mut turns = ProbeTurns::default();
        (0..3).for_each(|index| turns.update(index, HOSTS[0], PROBING));
        turns.update(0, HOSTS[0], OPEN);
        assert_eq!(turns.take_waiting(HOSTS[0]), BTreeSet::from([1, 2]));
        assert_eq!(turns.take_waiting(HOSTS[0]), BTreeSet::new());
        turns.on_probe(2, HOSTS[0]);
        turns.update(3, HOSTS[0], SILENT);
        assert_eq!(turns.take_waiting(HOSTS[0]), BTreeSet::from([2, 3]));
        assert_eq!(turns.take_waiting(HOSTS[1]), BTreeSet::new());
    }

    #[test]
    fn nothing_is_left_of_flows_that_are_gone() {
        let mut turns = ProbeTurns::default();
        for state in [PROBING, SILENT, PROBING, OPEN] {
            turns.update(7, HOSTS[0], state);
        }
        turns.on_probe(7, HOSTS[0]);
        assert!(turns.hosts.is_empty(), "{turns:?}");
    }
}
