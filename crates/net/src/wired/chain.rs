//! A chain of nodes with parallel routes, and the choice of the next hop.

use driftway_base::{LinkId, NodeId, RandomStream};
use driftway_link::Side;
use driftway_scenario::{Link, MultipathPolicy, Path};
use typed_index_collections::{TiVec, ti_vec};

use crate::interface::LinkEnd;

/// Location of a node: on the chain, or on a parallel route.
#[derive(Clone, Copy, Debug)]
enum NodeLocation {
    Chain(NodeId),
    Parallel { route: usize, after: usize },
}

/// A route parallel to the chain.
struct ParallelRoute {
    from: NodeId,
    to: NodeId,
    /// Links in order.
    links: Vec<LinkId>,
    /// Used only while no other route is usable.
    standby: bool,
}

impl ParallelRoute {
    /// Returns its interface at the node `at` of the chain towards `goal`; `None` if it does not
    /// lead there.
    fn link_towards(&self, at: NodeId, goal: NodeId) -> Option<LinkEnd> {
        if goal > at && self.from == at && self.to <= goal {
            self.links.first().map(|link| LinkEnd { link: *link, side: Side::A })
        } else if goal < at && self.to == at && self.from >= goal {
            self.links.last().map(|link| LinkEnd { link: *link, side: Side::B })
        } else {
            None
        }
    }
}

/// The nodes of a path and the routes between them.
pub struct Chain {
    locations: TiVec<NodeId, NodeLocation>,
    /// Last node of the chain.
    last_node: NodeId,
    routes: Vec<ParallelRoute>,
    multipath: MultipathPolicy,
    /// Next route for round-robin, for each node.
    round_robin_next: TiVec<NodeId, usize>,
    route_streams: TiVec<NodeId, RandomStream>,
}

/// A chain with its links: link *k* − 1 is hop *k*, those of parallel routes follow.
pub struct ChainLinks {
    /// The nodes and routes.
    pub chain: Chain,
    /// Nodes at side A and B of each link.
    pub endpoints: TiVec<LinkId, [NodeId; 2]>,
    /// The links as the scenario has them.
    pub links: TiVec<LinkId, Link>,
}

impl Chain {
    /// Builds the chain of a path.
    pub fn build(path: &Path, seed: u64) -> ChainLinks {
        let nodes = (0..=path.hops).map(NodeId::new);
        let mut locations: TiVec<NodeId, _> = nodes.map(NodeLocation::Chain).collect();
        let ends = (0..path.hops).map(|n| [n, n + 1].map(NodeId::new));
        let mut endpoints: TiVec<LinkId, [NodeId; 2]> = ends.collect();
        let mut links: TiVec<LinkId, Link> =
            (1..=path.hops).map(|hop| path.hop_link(hop)).collect();
        let mut routes = Vec::new();
        for parallel in &path.parallel {
            let route = routes.len();
            let mut own = Vec::new();
            let [from, to] = [parallel.from, parallel.to].map(NodeId::new);
            let mut last = from;
            for after in 0..parallel.hops as usize {
                let next = if after + 1 == parallel.hops as usize {
                    to
                } else {
                    locations.push_and_get_key(NodeLocation::Parallel { route, after })
                };
                endpoints.push([last, next]);
                own.push(links.push_and_get_key(path.parallel_link(parallel)));
                last = next;
            }
            routes.push(ParallelRoute { from, to, links: own, standby: parallel.standby });
        }
        let nodes = locations.len();
        let chain = Self {
            last_node: NodeId::new(path.hops),
            routes,
            multipath: path.multipath,
            round_robin_next: ti_vec![0; nodes],
            route_streams: locations
                .keys()
                .map(|node| RandomStream::new(seed, "route", node.into()))
                .collect(),
            locations,
        };
        ChainLinks { chain, endpoints, links }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.locations.len()
    }

    /// Returns the last node of the chain; the first is 0.
    pub fn last_node(&self) -> NodeId {
        self.last_node
    }

    /// Returns the interface from `node` towards `destination`, chosen among the usable ones by
    /// round-robin or at random; a standby route only if no other is usable. `None` if there is
    /// none.
    pub fn choose_link(
        &mut self,
        node: NodeId,
        destination: NodeId,
        usable: impl Fn(LinkEnd) -> bool,
    ) -> Option<LinkEnd> {
        let goal = self.chain_node_of(destination);
        let at = match self.locations[node] {
            NodeLocation::Parallel { route, after } => {
                return Some(self.link_on_parallel_route(route, after, goal))
                    .filter(|link_end| usable(*link_end));
            }
            NodeLocation::Chain(at) if at == goal => return None,
            NodeLocation::Chain(at) => at,
        };
        let candidates = |standby: bool| {
            let chain = Some(Self::link_on_chain(at, goal)).filter(|_| !standby);
            let routes = self.routes.iter().filter(move |route| route.standby == standby);
            let beside = routes.filter_map(move |route| route.link_towards(at, goal));
            chain.into_iter().chain(beside).filter(|link_end| usable(*link_end))
        };
        let choice = match (candidates(false).count(), self.multipath) {
            (0, _) => return candidates(true).next(),
            (1, _) => 0,
            (count, MultipathPolicy::RoundRobin) => {
                let turn = &mut self.round_robin_next[node];
                *turn = (*turn + 1) % count;
                *turn
            }
            (count, MultipathPolicy::Random) => {
                self.route_streams[node].uniform_below(count as u64) as usize
            }
        };
        candidates(false).nth(choice)
    }

    /// Returns every interface from `node` towards `destination`, including standby routes.
    pub fn candidate_links(
        &self,
        node: NodeId,
        destination: NodeId,
    ) -> impl Iterator<Item = LinkEnd> + '_ {
        let goal = self.chain_node_of(destination);
        let (only, at) = match self.locations[node] {
            NodeLocation::Parallel { route, after } => {
                (Some(self.link_on_parallel_route(route, after, goal)), goal)
            }
            NodeLocation::Chain(at) => ((at != goal).then(|| Self::link_on_chain(at, goal)), at),
        };
        // No route begins at a node of a parallel route: `at` is then `goal`, from which no route
        // leads on.
        only.into_iter()
            .chain(self.routes.iter().filter_map(move |route| route.link_towards(at, goal)))
    }

    fn link_on_chain(at: NodeId, goal: NodeId) -> LinkEnd {
        if goal > at {
            LinkEnd { link: LinkId::new(at.number()), side: Side::A }
        } else {
            LinkEnd { link: LinkId::new(at.number() - 1), side: Side::B }
        }
    }

    fn link_on_parallel_route(&self, route: usize, after: usize, goal: NodeId) -> LinkEnd {
        let route = &self.routes[route];
        if goal >= route.to {
            LinkEnd { link: route.links[after + 1], side: Side::A }
        } else {
            LinkEnd { link: route.links[after], side: Side::B }
        }
    }

    /// Returns the chain node to route towards: the destination, or the start of its parallel
    /// route.
    fn chain_node_of(&self, destination: NodeId) -> NodeId {
        match self.locations[destination] {
            NodeLocation::Chain(at) => at,
            NodeLocation::Parallel { route, .. } => self.routes[route].from,
        }
    }
}
