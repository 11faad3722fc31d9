//! The links of hosts to their next hops, of which their connections get signals.

use driftway_base::{Duration, Ipv4Addr};

/// Monitors the links of all nodes in a network whose scenario has `link_signals`.
pub struct LinkMonitor {
    /// A link is fading when its expected lifetime is below this.
    pub lead: Duration,
    /// The next hops that each node's host uses.
    next_hops: Vec<Vec<MonitoredNextHop>>,
}

/// The neighbour through which a host's packets to a destination leave.
#[derive(Clone, Copy, Debug)]
pub struct MonitoredNextHop {
    to: Ipv4Addr,
    neighbour: u32,
    state: LinkState,
}

/// The state of a link as last signalled to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// It carries frames.
    Up,
    /// It is expected to fail within the lead time.
    Fading,
    /// The link layer could not reach the neighbour.
    Down,
}

impl LinkMonitor {
    /// A link is reported to be fading when its expected lifetime is below `lead`.
    pub fn new(lead: Duration, nodes: usize) -> Self {
        Self { lead, next_hops: vec![Vec::new(); nodes] }
    }

    /// Records that a packet of a node's host to this destination leaves through a neighbour.
    pub fn on_sent(&mut self, node: usize, to: Ipv4Addr, neighbour: u32) {
        let Some(hops) = self.next_hops.get_mut(node) else { return };
        match hops.iter_mut().find(|hop| hop.to == to) {
            Some(hop) if hop.neighbour == neighbour => {}
            Some(hop) => *hop = MonitoredNextHop { to, neighbour, state: LinkState::Up },
            None => hops.push(MonitoredNextHop { to, neighbour, state: LinkState::Up }),
        }
    }

    /// Returns the destinations that a node's host reaches through a neighbour.
    pub fn destinations_via(
        &self,
        node: usize,
        neighbour: u32,
    ) -> impl Iterator<Item = Ipv4Addr> + '_ {
        let hops = self.next_hops.get(node).into_iter().flatten();
        hops.filter(move |hop| hop.neighbour == neighbour).map(|hop| hop.to)
    }

    /// Updates the state of the link to a neighbour; returns the destinations behind it whose
    /// connections have to be notified.
    pub fn update_state(
        &mut self,
        node: usize,
        neighbour: u32,
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
