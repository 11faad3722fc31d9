//! The links of hosts to their next hops, of which their connections get signals.

use driftway_base::{Duration, Ipv4Addr, NodeId};
use typed_index_collections::{TiVec, ti_vec};

/// Monitors the links of all nodes in a network whose scenario has `link_signals`.
pub struct LinkMonitor {
    /// A link is fading when its expected lifetime is below this.
    pub lead: Duration,
    /// The next hops that each node's host uses.
    next_hops: TiVec<NodeId, Vec<MonitoredNextHop>>,
}

/// The neighbour through which a host's packets to a destination leave.
#[derive(Clone, Copy, Debug)]
pub struct MonitoredNextHop {
    to: Ipv4Addr,
    neighbour: NodeId,
    state: LinkState,
}

/// The state of a link as last signalled to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It carries frames.
    Up,
    /// It is expected to fail within the lead time.
    Fading,
    /// The link layer could not reach the neighbour, or has not reached a new one yet.
    Down,
}

impl LinkMonitor {
    /// A link is reported to be fading when its expected lifetime is below `lead`.
    pub fn new(lead: Duration, nodes: usize) -> Self {
        Self { lead, next_hops: ti_vec![Vec::new(); nodes] }
    }

    /// Records that a packet of a node's host to this destination leaves through a neighbour. One that
    /// takes the place of a link that fades or has failed is not known to work yet.
    pub fn on_sent(&mut self, node: NodeId, to: Ipv4Addr, neighbour: NodeId) {
        let Some(hops) = self.next_hops.get_mut(node) else { return };
        match hops.iter_mut().find(|hop| hop.to == to) {
            Some(hop) if hop.neighbour == neighbour => {}
            Some(hop) => {
                hop.neighbour = neighbour;
                if hop.state == LinkState::Fading {
                    hop.state = LinkState::Down;
                }
            }
            None => hops.push(MonitoredNextHop { to, neighbour, state: LinkState::Up }),
        }
    }

    /// Returns the destinations that a node's host reaches through a neighbour.
    pub fn destinations_via(
        &self,
        node: NodeId,
        neighbour: NodeId,
    ) -> impl Iterator<Item = Ipv4Addr> + '_ {
        let hops = self.next_hops.get(node).into_iter().flatten();
        hops.filter(move |hop| hop.neighbour == neighbour).map(|hop| hop.to)
    }

    /// Updates the state of the link to a neighbour; returns the destinations behind it whose
    /// connections have to be notified.
    pub fn update_state(
        &mut self,
        node: NodeId,
        neighbour: NodeId,
        next: impl Fn(LinkState) -> LinkState,
    ) -> Vec<(Ipv4Addr, LinkState)> {
        let Some(hops) = self.next_hops.get_mut(node) else { return Vec::new() };
        let mut changed = Vec::new();
        for hop in hops.iter_mut().filter(|hop| hop.neighbour == neighbour) {
            let link = next(hop.state);
            if std::mem::replace(&mut hop.state, link) != link {
                changed.push((hop.to, link));
            }
        }
        changed
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::addresses::address;

    const NODE: NodeId = NodeId::new(0);
    const ONE: NodeId = NodeId::new(1);
    const TWO: NodeId = NodeId::new(2);

    fn server() -> Ipv4Addr {
        address(NodeId::new(9))
    }

    /// A monitor whose node's packets to the server leave through neighbour 1 in this state.
    fn monitor(state: LinkState) -> LinkMonitor {
        let mut monitor = LinkMonitor::new(Duration::from_secs(1), 1);
        monitor.on_sent(NODE, server(), ONE);
        monitor.update_state(NODE, ONE, |_| state);
        monitor
    }

    fn reach(monitor: &mut LinkMonitor, neighbour: NodeId) -> Vec<(Ipv4Addr, LinkState)> {
        monitor.update_state(NODE, neighbour, |_| LinkState::Up)
    }

    #[test]
    fn each_change_of_a_link_is_returned_once() {
        let mut monitor = monitor(LinkState::Down);
        assert_eq!(monitor.update_state(NODE, ONE, |_| LinkState::Down), []);
        assert_eq!(reach(&mut monitor, TWO), [], "no packets leave through this neighbour");
        assert_eq!(reach(&mut monitor, ONE), [(server(), LinkState::Up)]);
        assert_eq!(reach(&mut monitor, ONE), []);
    }

    /// A new next hop is reported to be up if the old one was reported not to be.
    #[test]
    fn a_new_next_hop_takes_over_the_state_of_the_old_one() {
        for state in [LinkState::Fading, LinkState::Down] {
            let mut monitor = monitor(state);
            monitor.on_sent(NODE, server(), TWO);
            assert_eq!(reach(&mut monitor, ONE), [], "no packets leave through it any more");
            assert_eq!(reach(&mut monitor, TWO), [(server(), LinkState::Up)], "{state:?}");
        }
        let mut monitor = monitor(LinkState::Up);
        monitor.on_sent(NODE, server(), TWO);
        assert_eq!(reach(&mut monitor, TWO), []);
        assert_eq!(monitor.destinations_via(NODE, TWO).collect::<Vec<_>>(), [server()]);
    }
}
