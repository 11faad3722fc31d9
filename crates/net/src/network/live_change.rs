//! Changes of a network by its driver while it runs, and what they keep down.

use std::collections::BTreeSet;

use driftway_base::{LinkId, NodeId, Rate};
use driftway_link::{Delay, ErrorModel};

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
    pub links: BTreeSet<LinkId>,
    pub radios: BTreeSet<NodeId>,
}
