//! The nodes and links of a path, and which way packets go.

use base::{Ipv4Addr, RandomStream, Rate};
use link::{Discipline, Duplex, LinkConfig, Order, PathLink, QueueConfig, RedConfig, Side};
use scenario::{BitRate, Link, Path, Size, Spread};

/// A size that a link's queue typically holds, for RED's notion of an idle queue (bytes).
const TYPICAL_PACKET: u32 = 500;

/// A way out of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Which link.
    pub link: usize,
    /// The node's side of it.
    pub side: Side,
}

/// A node's place: on the chain, or on a route beside it.
#[derive(Clone, Copy, Debug)]
enum Place {
    Chain(usize),
    Beside { route: usize, after: usize },
}

/// A route beside the chain.
struct Route {
    from: usize,
    to: usize,
    /// Its links in order.
    links: Vec<usize>,
}

/// The nodes and links of a path.
pub struct Topology {
    places: Vec<Place>,
    routes: Vec<Route>,
    /// The nodes at side A and B of each link.
    joins: Vec<[usize; 2]>,
    spread: Spread,
    /// Which route is next, for each node.
    turns: Vec<usize>,
    draws: Vec<RandomStream>,
}

impl Topology {
    /// Builds it, with its links; link *k* − 1 is hop *k*.
    pub fn build(path: &Path, seed: u64) -> (Self, Vec<PathLink>) {
        let ends = path.hops as usize;
        let mut places: Vec<Place> = (0..=ends).map(Place::Chain).collect();
        let mut joins: Vec<[usize; 2]> = (0..ends).map(|n| [n, n + 1]).collect();
        let mut links: Vec<PathLink> = (1..=path.hops)
            .map(|hop| PathLink::new(config(&path.link_of(hop)), seed, hop - 1))
            .collect();
        let mut routes = Vec::new();
        for beside in &path.parallel {
            let route = routes.len();
            let mut own = Vec::new();
            let mut last = beside.from as usize;
            for after in 0..beside.hops as usize {
                let next = if after + 1 == beside.hops as usize {
                    beside.to as usize
                } else {
                    places.push(Place::Beside { route, after });
                    places.len() - 1
                };
                own.push(links.len());
                joins.push([last, next]);
                let number = links.len() as u32;
                links.push(PathLink::new(config(&path.link_beside(beside)), seed, number));
                last = next;
            }
            routes.push(Route { from: beside.from as usize, to: beside.to as usize, links: own });
        }
        let draws = (0..places.len()).map(|n| RandomStream::new(seed, "route", n as u64)).collect();
        let turns = vec![0; places.len()];
        (Self { places, routes, joins, spread: path.spread, turns, draws }, links)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.places.len()
    }

    /// The address of a node.
    pub fn address(node: usize) -> Ipv4Addr {
        Ipv4Addr::from(0x0a00_0001 + node as u32)
    }

    /// The node of an address.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<usize> {
        let node = u32::from(address).checked_sub(0x0a00_0001)? as usize;
        (node < self.places.len()).then_some(node)
    }

    /// The node at the other end of a link.
    pub fn across(&self, link: usize, from: Side) -> usize {
        let [a, b] = self.joins[link];
        if from == Side::A { b } else { a }
    }

    /// The way from `node` towards `destination`, one of several in turn or at random; `None` if
    /// there is none.
    pub fn exit(&mut self, node: usize, destination: usize) -> Option<Exit> {
        let goal = self.goal(destination);
        match self.places[node] {
            Place::Beside { route, after } => {
                let route = &self.routes[route];
                let forward = goal >= route.to;
                let exit = if forward {
                    Exit { link: route.links[after + 1], side: Side::A }
                } else {
                    Exit { link: route.links[after], side: Side::B }
                };
                Some(exit)
            }
            Place::Chain(at) if at == goal => None,
            Place::Chain(at) => {
                let beside = |route: &&Route| {
                    if goal > at {
                        route.from == at && route.to <= goal
                    } else {
                        route.to == at && route.from >= goal
                    }
                };
                let ways = 1 + self.routes.iter().filter(beside).count();
                let choice = match self.spread {
                    _ if ways == 1 => 0,
                    Spread::RoundRobin => {
                        let turn = &mut self.turns[node];
                        *turn = (*turn + 1) % ways;
                        *turn
                    }
                    Spread::Random => self.draws[node].below(ways as u64) as usize,
                };
                let route = match choice {
                    0 => None,
                    n => self.routes.iter().filter(beside).nth(n - 1),
                };
                Some(match (route, goal > at) {
                    (None, true) => Exit { link: at, side: Side::A },
                    (None, false) => Exit { link: at - 1, side: Side::B },
                    (Some(route), true) => Exit { link: route.links[0], side: Side::A },
                    (Some(route), false) => {
                        Exit { link: route.links[route.links.len() - 1], side: Side::B }
                    }
                })
            }
        }
    }

    /// The node on the chain to go for: that of the destination, or where its route begins.
    fn goal(&self, destination: usize) -> usize {
        match self.places[destination] {
            Place::Chain(at) => at,
            Place::Beside { route, .. } => self.routes[route].from,
        }
    }
}

/// A scenario's link as the link itself wants it.
fn config(link: &Link) -> LinkConfig {
    let BitRate(rate) = link.rate;
    LinkConfig {
        rate,
        delay: delay(link.delay),
        errors: match link.errors() {
            scenario::Errors::None => link::Errors::None,
            scenario::Errors::Bit(rate) => link::Errors::Bits(rate),
            scenario::Errors::Packet(rate) => link::Errors::Packets(rate),
        },
        queue: QueueConfig {
            limit: link.queue.packets as usize,
            discipline: discipline(link, rate),
            mark_loss: link.mark_loss,
        },
        duplex: match link.duplex {
            scenario::Duplex::Full => Duplex::Full,
            scenario::Duplex::Shared => Duplex::Shared,
        },
        order: match link.order {
            scenario::Order::Fifo => Order::Fifo,
            scenario::Order::Free => Order::Free,
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
            frame_time: rate.time_for(TYPICAL_PACKET),
            ecn: red.ecn,
        }),
    }
}

/// A scenario's delay as a link wants it.
pub fn delay(delay: scenario::Delay) -> link::Delay {
    let (low, high) = delay.bounds();
    if low == high { link::Delay::Fixed(low) } else { link::Delay::Uniform { low, high } }
}

/// A size as packets count it.
pub fn bytes(Size(bytes): Size) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
