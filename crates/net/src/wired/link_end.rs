//! Wired interfaces.

use driftway_link::Side;

/// A wired interface of a node: its side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Number of the link.
    pub link: usize,
    /// Side of the node.
    pub side: Side,
}
