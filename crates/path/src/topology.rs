//! Nodes and links of a path, and the choice of the next hop.

use driftway_base::{Ipv4Addr, RandomStream, Rate};
use driftway_link::{
    DeliveryOrder, Discipline, Duplex, LinkConfig, PathLink, QueueConfig, RedConfig, Side,
};
use driftway_scenario::{BitRate, Link, MultipathPolicy, Path, Size};

use crate::addresses::{EdgeSubnet, edge_subnet, node_at};

/// Typical packet size in a queue (bytes), for RED's decay during idle time.
pub const TYPICAL_PACKET_BYTES: u32 = 500;

/// An outgoing interface of a node: its side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// Number of the link.
    pub link: usize,
    /// Side of the node.
    pub side: Side,
}

/// Location of a node: on the chain, or on a parallel route.
#[derive(Clone, Copy, Debug)]
enum NodeLocation {
    Chain(usize),
    Parallel { route: usize, after: usize },
}

/// A route parallel to the chain.
struct ParallelRoute {
    from: usize,
    to: usize,
    /// Links in order.
    links: Vec<usize>,
    /// Used only while no other route is usable.
    standby: bool,
}

impl ParallelRoute {
    /// Returns its interface at the node `at` of the chain towards `goal`; `None` if it does not
    /// lead there.
    fn link_towards(&self, at: usize, goal: usize) -> Option<LinkEnd> {
        if goal > at && self.from == at && self.to <= goal {
            self.links.first().map(|link| LinkEnd { link: *link, side: Side::A })
        } else if goal < at && self.to == at && self.from >= goal {
            self.links.last().map(|link| LinkEnd { link: *link, side: Side::B })
        } else {
            None
        }
    }
}

/// The nodes and links of a path.
pub struct Topology {
    locations: Vec<NodeLocation>,
    /// Last node of the chain.
    last_node: usize,
    routes: Vec<ParallelRoute>,
    /// True for links whose routers send source quenches.
    sends_source_quench: Vec<bool>,
    /// Nodes at side A and B of each link.
    endpoints: Vec<[usize; 2]>,
    spread: MultipathPolicy,
    /// Next route for round-robin, for each node.
    round_robin_next: Vec<usize>,
    route_streams: Vec<RandomStream>,
}

impl Topology {
    /// Builds the topology and its links; link *k* − 1 is hop *k*.
    pub fn build(path: &Path, seed: u64) -> (Self, Vec<PathLink>) {
        let ends = path.hops as usize;
        let mut places: Vec<NodeLocation> = (0..=ends).map(NodeLocation::Chain).collect();
        let mut joins: Vec<[usize; 2]> = (0..ends).map(|n| [n, n + 1]).collect();
        let mut links: Vec<PathLink> = (1..=path.hops)
            .map(|hop| PathLink::new(link_config(&path.hop_link(hop)), seed, hop - 1))
            .collect();
        let mut quenches: Vec<bool> =
            (1..=path.hops).map(|hop| path.hop_link(hop).queue.source_quench).collect();
        let mut routes = Vec::new();
        for beside in &path.parallel {
            let route = routes.len();
            let mut own = Vec::new();
            let mut last = beside.from as usize;
            for after in 0..beside.hops as usize {
                let next = if after + 1 == beside.hops as usize {
                    beside.to as usize
                } else {
                    places.push(NodeLocation::Parallel { route, after });
                    places.len() - 1
                };
                own.push(links.len());
                joins.push([last, next]);
                let number = links.len() as u32;
                let link = path.parallel_link(beside);
                quenches.push(link.queue.source_quench);
                links.push(PathLink::new(link_config(&link), seed, number));
                last = next;
            }
            routes.push(ParallelRoute {
                from: beside.from as usize,
                to: beside.to as usize,
                links: own,
                standby: beside.standby,
            });
        }
        let draws = (0..places.len()).map(|n| RandomStream::new(seed, "route", n as u64)).collect();
        let turns = vec![0; places.len()];
        (
            Self {
                locations: places,
                last_node: ends,
                routes,
                sends_source_quench: quenches,
                endpoints: joins,
                spread: path.spread,
                round_robin_next: turns,
                route_streams: draws,
            },
            links,
        )
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.locations.len()
    }

    /// Returns the node of an address, or the node in front of its network.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<usize> {
        let end = || match edge_subnet(address)? {
            EdgeSubnet::First => Some(0),
            EdgeSubnet::Last => Some(self.last_node),
        };
        node_at(address, self.locations.len()).or_else(end)
    }

    /// Returns the last node of the chain.
    pub fn last_node(&self) -> usize {
        self.last_node
    }

    /// Returns true if a drop in this link's queues causes a source quench.
    pub fn sends_source_quench(&self, link: usize) -> bool {
        self.sends_source_quench[link]
    }

    /// Returns the node at the other end of a link.
    pub fn across(&self, link: usize, from: Side) -> usize {
        let [a, b] = self.endpoints[link];
        if from == Side::A { b } else { a }
    }

    /// Returns the interface from `node` towards `destination`, chosen among the usable ones by
    /// round-robin or at random; a standby route only if no other is usable. `None` if there is
    /// none.
    pub fn choose_link(
        &mut self,
        node: usize,
        destination: usize,
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
        let choice = match (candidates(false).count(), self.spread) {
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
        node: usize,
        destination: usize,
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

    /// Returns the link between these nodes; the first of several.
    pub fn link_between(&self, nodes: [usize; 2]) -> Option<usize> {
        let [a, b] = nodes;
        self.endpoints.iter().position(|ends| *ends == [a, b] || *ends == [b, a])
    }

    const fn link_on_chain(at: usize, goal: usize) -> LinkEnd {
        if goal > at {
            LinkEnd { link: at, side: Side::A }
        } else {
            LinkEnd { link: at - 1, side: Side::B }
        }
    }

    fn link_on_parallel_route(&self, route: usize, after: usize, goal: usize) -> LinkEnd {
        let route = &self.routes[route];
        if goal >= route.to {
            LinkEnd { link: route.links[after + 1], side: Side::A }
        } else {
            LinkEnd { link: route.links[after], side: Side::B }
        }
    }

    /// Returns the chain node to route towards: the destination, or the start of its parallel
    /// route.
    fn chain_node_of(&self, destination: usize) -> usize {
        match self.locations[destination] {
            NodeLocation::Chain(at) => at,
            NodeLocation::Parallel { route, .. } => self.routes[route].from,
        }
    }
}

/// Converts the link of a scenario.
fn link_config(link: &Link) -> LinkConfig {
    let BitRate(rate) = link.rate;
    LinkConfig {
        rate,
        delay: link_delay(link.delay),
        errors: match link.errors() {
            driftway_scenario::LinkErrors::None => driftway_link::ErrorModel::None,
            driftway_scenario::LinkErrors::Bit(rate) => {
                driftway_link::ErrorModel::BitErrorRate(rate)
            }
            driftway_scenario::LinkErrors::Packet(rate) => {
                driftway_link::ErrorModel::FrameErrorRate(rate)
            }
        },
        queue: QueueConfig {
            limit: link.queue.packets as usize,
            discipline: discipline(link, rate),
            mark_loss: link.mark_loss,
        },
        duplex: match link.duplex {
            driftway_scenario::Duplex::Full => Duplex::Full,
            driftway_scenario::Duplex::Shared => Duplex::Shared,
            driftway_scenario::Duplex::PerPacket => Duplex::PerPacket,
        },
        order: match link.order {
            driftway_scenario::DeliveryOrder::Fifo => DeliveryOrder::Fifo,
            driftway_scenario::DeliveryOrder::Free => DeliveryOrder::Free,
        },
    }
}

fn discipline(link: &Link, rate: Rate) -> Discipline {
    match link.queue.red() {
        None => Discipline::DropTail {
            ecn_threshold: link.queue.ecn_threshold.map(|packets| packets as usize),
        },
        Some(red) => Discipline::Red(RedConfig {
            min_threshold: red.min_threshold,
            max_threshold: red.max_threshold,
            max_probability: red.max_probability,
            weight: red.weight,
            frame_time: rate.transmission_time(TYPICAL_PACKET_BYTES),
            ecn: red.ecn,
        }),
    }
}

/// Converts the delay of a scenario.
pub fn link_delay(delay: driftway_scenario::Delay) -> driftway_link::Delay {
    let (low, high) = delay.bounds();
    if low == high {
        driftway_link::Delay::Fixed(low)
    } else {
        driftway_link::Delay::Uniform { low, high }
    }
}

/// Converts a size of a scenario to bytes.
pub fn packet_bytes(Size(bytes): Size) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Duration;
    use driftway_scenario::{Network, Scenario, Time};

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
            Network::Adhoc(_) => unreachable!("the network is a path"),
        }
    }

    fn build(text: &str) -> Topology {
        Topology::build(&path(text), 1).0
    }

    /// Follows the next hops from node to node.
    fn walk(topology: &mut Topology, from: usize, to: usize) -> Vec<usize> {
        let mut nodes = vec![from];
        while let Some(link_end) = topology.choose_link(nodes[nodes.len() - 1], to, |_| true) {
            nodes.push(topology.across(link_end.link, link_end.side));
            assert!(nodes.len() < 100, "no end: {nodes:?}");
        }
        nodes
    }

    const LOOP: &str = "hops = 4\n[[network.parallel]]\nfrom = 1\nto = 3\nhops = 3\n";

    #[test]
    fn addresses_and_nodes_are_one_to_one() {
        let topology = build("hops = 4");
        assert_eq!(topology.nodes(), 5);
        for node in 0..5 {
            assert_eq!(topology.node_at(crate::addresses::address(node)), Some(node));
        }
        assert_eq!(crate::addresses::address(0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(topology.node_at(crate::addresses::address(5)), None);
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 0, 0, 0)), None);
        assert_eq!(topology.node_at(Ipv4Addr::new(192, 168, 0, 1)), None);
        // The networks behind the ends, but not a node's own address.
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 1, 7, 1)), Some(0));
        assert_eq!(topology.node_at(Ipv4Addr::new(10, 2, 0, 1)), Some(4));
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
        assert_eq!(topology.nodes(), 7);
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
    fn every_pair_of_chain_nodes_is_connected_with_any_spread() {
        for spread in ["round-robin", "random"] {
            let routes = format!(
                "spread = \"{spread}\"\n{LOOP}[[network.parallel]]\nfrom = 0\nto = 4\nhops = 1\n\
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
    fn random_spread_is_seeded_and_uniform() {
        let routes = format!("spread = \"random\"\n{LOOP}");
        let choices = |seed| {
            let mut topology = Topology::build(&path(&routes), seed).0;
            (0..1000)
                .map(|_| topology.choose_link(1, 4, |_| true).unwrap().link)
                .collect::<Vec<_>>()
        };
        assert_eq!(choices(1), choices(1));
        assert_ne!(choices(1), choices(2));
        let beside = choices(1).iter().filter(|link| **link == 4).count();
        assert!((437..=563).contains(&beside), "four times √1000/2 off: {beside}");
    }

    #[test]
    fn overrides_and_parallel_routes_set_links() {
        let (_, links) = Topology::build(
            &path(
                "hops = 2\n[[network.override]]\nhop = 2\nrate = \"2 Mbit/s\"\n\
                 [[network.parallel]]\nfrom = 0\nto = 2\nhops = 2\nrate = \"4 Mbit/s\"\n",
            ),
            1,
        );
        assert_eq!(links.len(), 4);
        let took: Vec<_> = links
            .into_iter()
            .map(|mut link| {
                let frame = driftway_link::Frame { id: 0, bytes: 1000, ecn_capable: false };
                link.enqueue(
                    driftway_base::Instant::ZERO,
                    Side::A,
                    frame,
                    driftway_link::QueuePosition::Tail,
                );
                link.next_timeout().unwrap().as_nanos() / 1_000_000
            })
            .collect();
        assert_eq!(took, [8, 4, 2, 2]);
    }

    #[test]
    fn delays_are_fixed_where_their_bounds_are_equal() {
        let ms = Duration::from_millis;
        let around = |spread| driftway_scenario::Delay::MeanSpread { mean: Time(ms(20)), spread };
        assert_eq!(
            link_delay(driftway_scenario::Delay::Fixed(Time(ms(20)))),
            driftway_link::Delay::Fixed(ms(20))
        );
        assert_eq!(link_delay(around(0.0)), driftway_link::Delay::Fixed(ms(20)));
        assert_eq!(
            link_delay(around(0.5)),
            driftway_link::Delay::Uniform { low: ms(10), high: ms(30) }
        );
    }
}
