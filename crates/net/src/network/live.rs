//! Changes of a network by its driver while it runs: their effects.

use std::collections::BTreeSet;

use driftway_base::{LinkId, NodeId};
use driftway_link::QueueOnPartition;
use driftway_scenario::FaultKind;

use super::Network;
use super::live_change::{ImpossibleChange, LiveChange};
use crate::faults::FaultAction;

impl Network {
    /// Changes the network now. The driver polls afterwards, as after a command of a host.
    ///
    /// # Errors
    /// The change is not possible, and nothing has changed.
    pub fn change(&mut self, change: LiveChange) -> Result<(), ImpossibleChange> {
        let partition = FaultKind::Partition;
        let (kind, action) = match change {
            LiveChange::Rate { link, rate } => {
                (FaultKind::Change, FaultAction::Rate { link: self.known(link)?, rate })
            }
            LiveChange::Delay { link, delay } => {
                (FaultKind::Change, FaultAction::Delay { link: self.known(link)?, delay })
            }
            LiveChange::Errors { link, errors } => {
                let (link, now) = (self.known(link)?, self.now);
                self.wires.link_mut(link).set_errors(now, errors);
                return Ok(());
            }
            LiveChange::Link { link, is_up } => {
                let link = self.known(link)?;
                toggle(&mut self.down_by_driver.links, link, is_up)?;
                let queue = QueueOnPartition::Drop;
                let down = FaultAction::Cut { link, queue, signals: true };
                let up = FaultAction::Heal { link, signals: true };
                (partition, if is_up { up } else { down })
            }
            LiveChange::Radio { node, is_up } => {
                self.with_radio(node)?;
                toggle(&mut self.down_by_driver.radios, node, is_up)?;
                let down = FaultAction::RadioDown { node, drops_queue: true, signals: true };
                let up = FaultAction::RadioUp { node, signals: true };
                (FaultKind::RadioDown, if is_up { up } else { down })
            }
            LiveChange::Position { node, x, y } => {
                self.with_radio(node)?;
                if !x.is_finite() || !y.is_finite() {
                    return Err(ImpossibleChange::Position);
                }
                for radio in &self.nodes[node].radios {
                    let (mac, station) = self.medium.mac_of(*radio);
                    mac.positions().place(station, self.now, (x, y));
                }
                return Ok(());
            }
        };
        self.apply_action(kind, action);
        Ok(())
    }

    /// Returns the nodes at the ends of a link.
    pub fn link_nodes(&self, link: LinkId) -> [NodeId; 2] {
        self.topology.nodes_of(link)
    }

    /// Returns true if a fault or a change has cut a link.
    pub fn is_cut(&self, link: LinkId) -> bool {
        self.wires.is_cut(link)
    }

    /// Returns true if a node has a radio that is on.
    pub fn is_radio_on(&self, node: NodeId) -> bool {
        self.has_radio_on(node)
    }

    fn known(&self, link: LinkId) -> Result<LinkId, ImpossibleChange> {
        self.links().get(link).map(|_| link).ok_or(ImpossibleChange::NoLink)
    }

    fn with_radio(&self, node: NodeId) -> Result<(), ImpossibleChange> {
        let has_radio = self.nodes.get(node).is_some_and(|node| !node.radios.is_empty());
        if has_radio { Ok(()) } else { Err(ImpossibleChange::NoRadio) }
    }
}

/// Removes what comes up from those that are down, or adds what goes down.
fn toggle<T: Ord>(down: &mut BTreeSet<T>, which: T, is_up: bool) -> Result<(), ImpossibleChange> {
    match is_up {
        true if !down.remove(&which) => Err(ImpossibleChange::IsNotDown),
        false if !down.insert(which) => Err(ImpossibleChange::IsDown),
        _ => Ok(()),
    }
}
