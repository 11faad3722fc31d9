//! Changes of a network by its driver while it runs.

use std::collections::BTreeSet;

use driftway_base::{LinkId, NodeId, Rate};
use driftway_link::{Delay, ErrorModel, QueueOnPartition, Side};
use driftway_scenario::FaultKind;

use super::Network;
use crate::faults::FaultAction;

/// A change of a running network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LiveChange {
    /// Sets the rate of a link, from the next frame on.
    Rate {
        /// The link.
        link: LinkId,
        /// The rate.
        rate: Rate,
    },
    /// Sets the delay of a link, from the next frame on.
    Delay {
        /// The link.
        link: LinkId,
        /// The delay.
        delay: Delay,
    },
    /// Sets the errors of a link, from the next frame on.
    Errors {
        /// The link.
        link: LinkId,
        /// The errors.
        errors: ErrorModel,
    },
    /// Cuts a link, which its ends notice, or ends this cut.
    Link {
        /// The link.
        link: LinkId,
        /// True if it is up from now on.
        is_up: bool,
    },
    /// Switches the radios of a node off, which its host notices, or on again.
    Radio {
        /// The node.
        node: NodeId,
        /// True if they are on from now on.
        is_up: bool,
    },
    /// Moves a node with radios to a position, where it stays.
    Position {
        /// The node.
        node: NodeId,
        /// Position (m).
        x: f64,
        /// Position (m).
        y: f64,
    },
}

/// Reason for which a network cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpossibleChange {
    /// There is no such link.
    NoLink,
    /// The node does not exist, or has no radio.
    NoRadio,
    /// The link or the radio is already down by an earlier change.
    IsDown,
    /// No earlier change has taken the link or the radio down.
    IsNotDown,
    /// The position is not finite.
    Position,
}

/// Links and radios that changes of the driver keep down.
#[derive(Default)]
pub(super) struct DownByDriver {
    links: BTreeSet<LinkId>,
    radios: BTreeSet<NodeId>,
}

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
                self.wires.links[link].set_errors(now, errors);
                return Ok(());
            }
            LiveChange::Link { link, is_up } => {
                let link = self.known(link)?;
                toggle(&mut self.down_by_driver.links, link, is_up)?;
                let queue = QueueOnPartition::Drop;
                let down = FaultAction::Cut { link, queue, seen: true };
                let up = FaultAction::Heal { link, signal_ends: true };
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
                for radio in self.nodes[node].radios.clone() {
                    let of = &self.medium.radios[radio];
                    let (air, station, now) = (of.air, of.station, self.now);
                    self.medium.airs[air].mac.place(station, now, (x, y));
                }
                return Ok(());
            }
        };
        self.apply_action(kind, action);
        Ok(())
    }

    /// Returns the nodes at the ends of a link.
    pub fn link_nodes(&self, link: LinkId) -> [NodeId; 2] {
        let other = |side| self.topology.across(link, side);
        [other(Side::B), other(Side::A)]
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
        if link.index() < self.wires.len() { Ok(link) } else { Err(ImpossibleChange::NoLink) }
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
