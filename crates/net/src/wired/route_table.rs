//! Given routes: the next link from each node to each destination.

use driftway_base::{LinkId, NodeId};
use driftway_link::Side;
use driftway_scenario::WireRoutes;
use typed_index_collections::{TiSlice, TiVec};

use crate::interface::LinkEnd;

/// A table of next links. Destinations without an entry are not reached by wires.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// The next link by node, then destination; empty for nodes without wires.
    next: TiVec<NodeId, TiVec<NodeId, Option<LinkEnd>>>,
}

impl RouteTable {
    /// Creates the table of the routes of a scenario. `endpoints` has the nodes at side A and B of each
    /// link.
    pub fn new(
        routes: &WireRoutes,
        endpoints: &TiSlice<LinkId, [NodeId; 2]>,
        nodes: usize,
    ) -> Self {
        let link_end = |node: NodeId, destination: NodeId| {
            let link = LinkId::from(routes.next_wire(node.index(), destination.index())?);
            let side = if endpoints[link][0] == node { Side::A } else { Side::B };
            Some(LinkEnd { link, side })
        };
        let row = |node: NodeId| {
            let has_wire = endpoints.iter().any(|ends| ends.contains(&node));
            let destinations = if has_wire { nodes } else { 0 };
            let destinations = (0..destinations).map(NodeId::from);
            destinations.map(|destination| link_end(node, destination)).collect()
        };
        Self { next: (0..nodes).map(NodeId::from).map(row).collect() }
    }

    /// Returns the link from `node` towards `destination`.
    pub fn next_link(&self, node: NodeId, destination: NodeId) -> Option<LinkEnd> {
        *self.next.get(node)?.get(destination)?
    }

    /// Sets the link from `node` towards `destination` to that towards `via`.
    pub fn set_via(&mut self, node: NodeId, destination: NodeId, via: NodeId) {
        let link_end = self.next_link(node, via);
        if let Some(entry) = self.next.get_mut(node).and_then(|row| row.get_mut(destination)) {
            *entry = link_end;
        }
    }
}
