//! Sets of nodes that are connected.

use crate::Mixed;

/// The sets of nodes that are connected: of each node, another one of its set, and of one node in
/// each set, that node itself.
#[derive(Clone)]
pub(super) struct Components(Vec<usize>);

impl Components {
    /// Each node alone.
    pub(super) fn of_nodes(mixed: &Mixed) -> Self {
        Self((0..mixed.nodes.len()).collect())
    }

    /// Nodes that wires connect.
    pub(super) fn of_wires(mixed: &Mixed) -> Self {
        let mut components = Self::of_nodes(mixed);
        for wire in &mixed.wires {
            components.join(wire.between[0], wire.between[1]);
        }
        components
    }

    /// The node that stands for the set of `node`.
    pub(super) fn root(&mut self, node: u32) -> usize {
        let mut root = node as usize;
        while self.0[root] != root {
            // Shortens the way for later calls.
            self.0[root] = self.0[self.0[root]];
            root = self.0[root];
        }
        root
    }

    /// Connects the sets of two nodes.
    pub(super) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one] = other;
    }
}
