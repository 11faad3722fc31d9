//! Nodes and wires, and the choice of the next wire.

use driftway_base::Ipv4Addr;
use driftway_base::{LinkId, NodeId};
use driftway_link::Side;
use typed_index_collections::TiVec;

use crate::addresses::{EdgeSubnet, edge_subnet, node_at};
use crate::interface::LinkEnd;
use crate::wired::chain::Chain;
use crate::wired::route_table::RouteTable;

/// The ends of all links, and the routes over them.
pub struct Topology {
    nodes: usize,
    /// Nodes at side A and B of each link.
    endpoints: TiVec<LinkId, [NodeId; 2]>,
    routes: WiredRoutes,
}

/// The routes over wires. They do not change, but for the gateways to nodes on the air.
pub enum WiredRoutes {
    /// A chain of nodes with parallel routes.
    Chain(Chain),
    /// A table of next links.
    Table(RouteTable),
}

impl Topology {
    /// Creates a topology from the nodes at side A and B of each link.
    pub fn new(nodes: usize, endpoints: TiVec<LinkId, [NodeId; 2]>, routes: WiredRoutes) -> Self {
        Self { nodes, endpoints, routes }
    }

    /// Returns the node of an address, or the node in front of its network.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<NodeId> {
        let end = || match (&self.routes, edge_subnet(address)?) {
            (WiredRoutes::Chain(_), EdgeSubnet::First) => Some(NodeId::new(0)),
            (WiredRoutes::Chain(chain), EdgeSubnet::Last) => Some(chain.last_node()),
            (WiredRoutes::Table(_), _) => None,
        };
        node_at(address, self.nodes).or_else(end)
    }

    /// Returns the last node of a chain; the first is 0.
    pub fn last_node(&self) -> Option<NodeId> {
        match &self.routes {
            WiredRoutes::Chain(chain) => Some(chain.last_node()),
            WiredRoutes::Table(_) => None,
        }
    }

    /// Returns the nodes at side A and B of a link.
    pub fn nodes_of(&self, link: LinkId) -> [NodeId; 2] {
        self.endpoints[link]
    }

    /// Returns the node at the end of a link.
    pub fn node_of(&self, end: LinkEnd) -> NodeId {
        let [a, b] = self.endpoints[end.link];
        if end.side == Side::A { a } else { b }
    }

    /// Returns the node at the other end of a link.
    pub fn across(&self, end: LinkEnd) -> NodeId {
        self.node_of(end.across())
    }

    /// Returns true if packets from `node` to `destination` leave by a wire.
    pub fn has_route(&self, node: NodeId, destination: NodeId) -> bool {
        match &self.routes {
            WiredRoutes::Chain(_) => true,
            WiredRoutes::Table(table) => table.next_link(node, destination).is_some(),
        }
    }

    /// Sets the route from `node` to `destination`, which wires do not reach, to that to a gateway.
    pub fn set_gateway(&mut self, node: NodeId, destination: NodeId, gateway: NodeId) {
        if let WiredRoutes::Table(table) = &mut self.routes {
            table.set_via(node, destination, gateway);
        }
    }

    /// Returns the wire from `node` towards `destination`, chosen among the usable ones. `None` if
    /// there is none.
    pub fn choose_link(
        &mut self,
        node: NodeId,
        destination: NodeId,
        usable: impl Fn(LinkEnd) -> bool,
    ) -> Option<LinkEnd> {
        match &mut self.routes {
            WiredRoutes::Chain(chain) => chain.choose_link(node, destination, usable),
            WiredRoutes::Table(table) => {
                table.next_link(node, destination).filter(|link_end| usable(*link_end))
            }
        }
    }

    /// Returns every wire from `node` towards `destination`, including standby routes.
    pub fn candidate_links(
        &self,
        node: NodeId,
        destination: NodeId,
    ) -> impl Iterator<Item = LinkEnd> + '_ {
        let (chain, table) = match &self.routes {
            WiredRoutes::Chain(chain) => (Some(chain), None),
            WiredRoutes::Table(table) => (None, table.next_link(node, destination)),
        };
        chain
            .into_iter()
            .flat_map(move |chain| chain.candidate_links(node, destination))
            .chain(table)
    }

    /// Returns the link between these nodes; the first of several.
    pub fn link_between(&self, nodes: [NodeId; 2]) -> Option<LinkId> {
        let [a, b] = nodes;
        self.endpoints.position(|ends| *ends == [a, b] || *ends == [b, a])
    }

    /// Returns the wired interfaces of a node.
    pub fn link_ends(&self, node: NodeId) -> impl Iterator<Item = LinkEnd> + '_ {
        let sides = |link| [Side::A, Side::B].map(|side| LinkEnd { link, side });
        let all = self.endpoints.keys().flat_map(sides);
        all.filter(move |link_end| self.node_of(*link_end) == node)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ipv4Addr;
    use driftway_scenario::{Network, Path, Scenario};

    use crate::addresses::address;
    use crate::wired::chain::{Chain, ChainLinks};

    fn path(text: &str) -> Path {
        let text = format!(
            r#"
            name = "a path"
            duration = "9 s"
            [[flow]]
            from = 0
            to = 1
            application = "ftp"
            [network]
            kind = "path"
            link = {{ rate = "1 Mbit/s", delay = "10 ms" }}
            {text}
            "#
        );
        match Scenario::parse("path.toml", &text, &[]).unwrap().network {
            Network::Path(path) => path,
            _ => unreachable!("the network is a path"),
        }
    }

    fn build_seeded(text: &str, seed: u64) -> Topology {
        let ChainLinks { chain, endpoints, .. } = Chain::build(&path(text), seed);
        Topology::new(chain.nodes(), endpoints, WiredRoutes::Chain(chain))
    }

    fn build(text: &str) -> Topology {
        build_seeded(text, 1)
    }

    /// Follows the next hops from node to node.
    fn walk(topology: &mut Topology, from: u32, to: u32) -> Vec<u32> {
        let (mut nodes, to) = (vec![from], NodeId::new(to));
        while let Some(link_end) =
            topology.choose_link(NodeId::new(nodes[nodes.len() - 1]), to, |_| true)
        {
            nodes.push(topology.across(link_end).number());
            assert!(nodes.len() < 100, "no end: {nodes:?}");
        }
        nodes
    }

    const LOOP: &str = "hops = 4\n[[network.parallel]]\nfrom = 1\nto = 3\nhops = 3\n";

    #[test]
    fn addresses_and_nodes_are_one_to_one() {
        let topology = build("hops = 4");
        assert_eq!(topology.nodes, 5);
        for node in (0..5).map(NodeId::new) {
            assert_eq!(topology.node_at(address(node)), Some(node));
        }
        assert_eq!(address(NodeId::new(0)), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(topology.node_at(address(NodeId::new(5))), None);
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 0, 0, 0)), None);
        assert_eq!(topology.node_at(Ipv4Addr::new(192, 168, 0, 1)), None);
        // The networks behind the ends, but not a node's own address.
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 1, 7, 1)), Some(NodeId::new(0)));
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 2, 0, 1)), Some(NodeId::new(4)));
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 3, 0, 1)), None);
    }

    #[test]
    fn a_chain_is_traversed_in_both_directions() {
        let mut topology = build("hops = 4");
        assert_eq!(walk(&mut topology, 0, 4), [0, 1, 2, 3, 4]);
        assert_eq!(walk(&mut topology, 4, 0), [4, 3, 2, 1, 0]);
        assert_eq!(walk(&mut topology, 1, 3), [1, 2, 3]);
        assert_eq!(walk(&mut topology, 2, 2), [2]);
    }

    /// Nodes of a parallel route follow those of the chain: 5 and 6 here.
    #[test]
    fn routes_alternate_in_each_direction() {
        let mut topology = build(LOOP);
        assert_eq!(topology.nodes, 7);
        let mut there: Vec<_> = (0..4).map(|_| walk(&mut topology, 0, 4)).collect();
        there.sort();
        assert_eq!(
            there,
            [
                [0, 1, 2, 3, 4].to_vec(),
                [0, 1, 2, 3, 4].into(),
                [0, 1, 5, 6, 3, 4].into(),
                [0, 1, 5, 6, 3, 4].into()
            ]
        );
        let back = [walk(&mut topology, 4, 0), walk(&mut topology, 4, 0)];
        assert!(back.contains(&vec![4, 3, 2, 1, 0]), "{back:?}");
        assert!(back.contains(&vec![4, 3, 6, 5, 1, 0]), "{back:?}");
    }

    /// A parallel route leads only to nodes at or beyond its end.
    #[test]
    fn a_parallel_route_leads_to_its_end_and_beyond() {
        let mut topology = build(LOOP);
        for _ in 0..4 {
            assert_eq!(walk(&mut topology, 0, 2), [0, 1, 2]);
            assert_eq!(walk(&mut topology, 2, 4), [2, 3, 4]);
            assert_eq!(walk(&mut topology, 4, 2), [4, 3, 2]);
        }
    }

    /// A router on a parallel route can send ICMP messages to the senders.
    #[test]
    fn nodes_of_a_parallel_route_reach_the_ends() {
        let mut topology = build(LOOP);
        assert_eq!(walk(&mut topology, 5, 0), [5, 1, 0]);
        assert_eq!(walk(&mut topology, 6, 0), [6, 5, 1, 0]);
        assert_eq!(walk(&mut topology, 5, 4), [5, 6, 3, 4]);
        assert_eq!(walk(&mut topology, 6, 3), [6, 3]);
    }

    #[test]
    fn every_pair_of_chain_nodes_is_connected_with_any_multipath_policy() {
        for multipath in ["round-robin", "random"] {
            let routes = format!(
                "multipath = \"{multipath}\"\n{LOOP}[[network.parallel]]\nfrom = 0\nto = 4\nhops = 1\n\
                 [[network.parallel]]\nfrom = 1\nto = 3\nhops = 1\n"
            );
            let mut topology = build(&routes);
            for _ in 0..20 {
                for from in 0..5 {
                    for to in 0..5 {
                        let nodes = walk(&mut topology, from, to);
                        assert_eq!((nodes[0], nodes[nodes.len() - 1]), (from, to));
                    }
                }
            }
        }
    }

    #[test]
    fn random_multipath_is_seeded_and_uniform() {
        let routes = format!("multipath = \"random\"\n{LOOP}");
        let choices = |seed| {
            let mut topology = build_seeded(&routes, seed);
            (0..1000)
                .map(|_| {
                    topology
                        .choose_link(NodeId::new(1), NodeId::new(4), |_| true)
                        .unwrap()
                        .link
                        .number()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(choices(1), choices(1));
        assert_ne!(choices(1), choices(2));
        let beside = choices(1).iter().filter(|link| **link == 4).count();
        assert!((437..=563).contains(&beside), "four times √1000/2 off: {beside}");
    }
}
