//! The gateways over which wired nodes reach nodes on the air.
//!
//! A wired node uses the gateway that has heard last from the destination. One that has lost its way
//! to the destination is not used until it hears from it again, or until all others have lost
//! theirs, too. Without any of this it is the nearest gateway. All wired nodes learn of a change at
//! once.

use driftway_base::NodeId;
use typed_index_collections::{TiVec, ti_vec};

/// The gateways of a network, and what they know of the nodes on the air.
#[derive(Default)]
pub struct Gateways {
    /// The gateway that splits TCP connections; `None`: there is none.
    splitting: Option<NodeId>,
    /// The part of the network to which each node belongs, by its first node: wires join those of a part.
    parts: TiVec<NodeId, NodeId>,
    /// The gateways that each node without a radio reaches by wires, the nearest first.
    of_node: Vec<(NodeId, Vec<NodeId>)>,
    /// Knowledge about the gateways to each node; empty if no node has several gateways to choose from.
    known: TiVec<NodeId, KnownGateways>,
}

/// Knowledge about the gateways to a node.
#[derive(Clone, Debug, Default)]
struct KnownGateways {
    /// Those that have heard from it and not lost it since, the last one first.
    heard: Vec<NodeId>,
    /// Those that have lost their way to it.
    lost: Vec<NodeId>,
}

impl Gateways {
    /// Makes a gateway split TCP connections; `None`: there is none that does.
    pub fn splitting(gateway: Option<NodeId>) -> Self {
        Self { splitting: gateway, ..Self::default() }
    }

    /// Sets the gateways of these nodes without radios, the nearest first. `parts` has for each node the first
    /// of those that wires join to it.
    pub fn set_choice(
        &mut self,
        parts: TiVec<NodeId, NodeId>,
        of_node: Vec<(NodeId, Vec<NodeId>)>,
    ) {
        if of_node.iter().any(|(_, gateways)| gateways.len() > 1) {
            self.known = ti_vec![KnownGateways::default(); parts.len()];
            (self.parts, self.of_node) = (parts, of_node);
        }
    }

    /// Returns true if a gateway splits TCP connections.
    pub fn splits_at(&self, node: NodeId) -> bool {
        self.splitting == Some(node)
    }

    /// Returns true if some node has gateways to choose from.
    pub fn has_choice(&self) -> bool {
        !self.known.is_empty()
    }

    /// Handles a packet of a node that has come to a gateway over the air; true if the node is
    /// reached by another gateway now.
    pub fn on_heard(&mut self, gateway: NodeId, from: NodeId) -> bool {
        let Some(known) = self.known.get_mut(from) else { return false };
        if known.heard.first() == Some(&gateway)
            || self.parts.get(gateway) == self.parts.get(from)
            || !self.of_node.iter().any(|(_, gateways)| gateways.contains(&gateway))
        {
            return false;
        }
        known.heard.retain(|other| *other != gateway);
        known.heard.insert(0, gateway);
        known.lost.retain(|other| *other != gateway);
        true
    }

    /// Handles the loss of a gateway's way to a node; true if the node may be reached by another
    /// gateway now.
    pub fn on_lost(&mut self, gateway: NodeId, to: NodeId) -> bool {
        let mut lists = self.of_node.iter().map(|(_, gateways)| gateways);
        let Some(all) = lists.find(|gateways| gateways.contains(&gateway)) else { return false };
        let Some(known) = self.known.get_mut(to) else { return false };
        known.heard.retain(|other| *other != gateway);
        if !known.lost.contains(&gateway) {
            known.lost.push(gateway);
        }
        if all.iter().all(|gateway| known.lost.contains(gateway)) {
            known.lost.retain(|other| *other == gateway || !all.contains(other));
        }
        all.len() > 1
    }

    /// Returns the nodes without radios that do not reach a node by wires, and the gateway of each.
    pub fn routes(&self, to: NodeId) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let (known, part) = (self.known.get(to), self.parts.get(to));
        let apart = self.of_node.iter().filter(move |(node, _)| self.parts.get(*node) != part);
        apart.filter_map(move |(node, gateways)| {
            let nearest = gateways.first()?;
            let Some(known) = known else { return Some((*node, *nearest)) };
            let heard = known.heard.iter().find(|gateway| gateways.contains(gateway));
            let usable = || gateways.iter().find(|gateway| !known.lost.contains(gateway));
            Some((*node, *heard.or_else(usable).unwrap_or(nearest)))
        })
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Node 0 is nearer to gateway 1 than to gateway 2; gateway 4 of node 3 is apart. Node 5 is on
    /// the air.
    fn gateways() -> Gateways {
        let parts = [0, 0, 0, 3, 3, 5].map(NodeId::new);
        let of_node = [(0, vec![1, 2]), (3, vec![4])].map(|(node, gateways)| {
            (NodeId::new(node), gateways.into_iter().map(NodeId::new).collect())
        });
        let mut gateways = Gateways::default();
        gateways.set_choice(parts.to_vec().into(), of_node.to_vec());
        assert!(gateways.has_choice());
        gateways
    }

    fn routes_to(gateways: &Gateways, to: u32) -> Vec<(u32, u32)> {
        let routes = gateways.routes(NodeId::new(to));
        routes.map(|(node, gateway)| (node.number(), gateway.number())).collect()
    }

    fn routes(gateways: &Gateways) -> Vec<(u32, u32)> {
        routes_to(gateways, 5)
    }

    fn hear(gateways: &mut Gateways, gateway: u32, from: u32) -> bool {
        gateways.on_heard(NodeId::new(gateway), NodeId::new(from))
    }

    fn lose(gateways: &mut Gateways, gateway: u32) -> bool {
        gateways.on_lost(NodeId::new(gateway), NodeId::new(5))
    }

    #[test]
    fn a_node_is_reached_by_the_gateway_that_heard_from_it() {
        let mut gateways = gateways();
        assert_eq!(routes(&gateways), [(0, 1), (3, 4)]);
        assert!(hear(&mut gateways, 2, 5));
        assert_eq!(routes(&gateways), [(0, 2), (3, 4)]);
        assert!(!hear(&mut gateways, 2, 5), "no change");
        assert!(hear(&mut gateways, 4, 5));
        assert_eq!(routes(&gateways), [(0, 2), (3, 4)], "each among its own gateways");
        assert!(hear(&mut gateways, 1, 5));
        assert_eq!(routes(&gateways), [(0, 1), (3, 4)]);
        assert!(!hear(&mut gateways, 5, 0), "it is no gateway");
        assert!(!hear(&mut gateways, 1, 0), "a wire joins them");
        assert_eq!(routes_to(&gateways, 3), [(0, 1)]);
    }

    #[test]
    fn a_gateway_that_has_lost_its_way_is_not_used_until_all_have() {
        let mut gateways = gateways();
        assert!(lose(&mut gateways, 1));
        assert_eq!(routes(&gateways), [(0, 2), (3, 4)]);
        assert!(lose(&mut gateways, 2));
        assert_eq!(routes(&gateways), [(0, 1), (3, 4)]);
        assert!(lose(&mut gateways, 1));
        assert_eq!(routes(&gateways), [(0, 2), (3, 4)]);
        assert!(hear(&mut gateways, 1, 5));
        assert_eq!(routes(&gateways), [(0, 1), (3, 4)]);
        assert!(!lose(&mut gateways, 4), "there is no other");
        assert!(!lose(&mut gateways, 3), "it is no gateway");
        assert_eq!(routes(&gateways), [(0, 1), (3, 4)]);
    }
}
