//! Shortest paths, for static routes.

use alloc::vec::Vec;

/// Computes the next hops of the shortest paths between the two nodes of each of `pairs`, in both directions,
/// and those from any node on these paths to either end, by breadth-first search. Of equally short paths the
/// next hop with the lowest number is taken.
///
/// Nodes are numbered from 0 to `nodes` - 1; pairs with other numbers are ignored. `hearers(node, list)`
/// pushes the nodes that can receive from `node`, and is called once per node. `found(node, destination, next
/// hop)` is called once per next hop.
///
/// No other routes are computed: in a large network all of them would take most of its memory. A search ends
/// when it has reached all nodes that need its destination.
pub fn shortest_paths(
    nodes: u32,
    hearers: impl FnMut(u32, &mut Vec<u32>),
    pairs: &[(u32, u32)],
    mut found: impl FnMut(u32, u32, u32),
) {
    let known = pairs.iter().filter(|(one, other)| *one.max(other) < nodes);
    let both_ways = known.flat_map(|&(one, other)| [(one, other), (other, one)]);
    let mut demands: Vec<Demand> =
        both_ways.map(|(destination, node)| Demand { destination, node }).collect();
    sort_demands(&mut demands);
    let mut search = BreadthFirstSearch::new(nodes, hearers);
    // A forwarder may have to send an error to the source.
    let mut relays = Vec::new();
    for wants in by_destination(&demands) {
        let destination = search.run(wants);
        for source in wants.iter().map(|want| want.node) {
            let relay = |(node, _)| Demand { destination: source, node };
            relays.extend(search.path(destination, source).map(relay));
        }
    }
    demands.append(&mut relays);
    sort_demands(&mut demands);
    let mut hops = Vec::new();
    for wants in by_destination(&demands) {
        let destination = search.run(wants);
        hops.clear();
        for want in wants {
            hops.extend(search.path(destination, want.node));
        }
        hops.sort_unstable();
        hops.dedup();
        hops.iter().for_each(|(node, hop)| found(*node, destination, *hop));
    }
}

/// A node that needs a route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Demand {
    destination: u32,
    node: u32,
}

fn sort_demands(demands: &mut Vec<Demand>) {
    demands.retain(|want| want.destination != want.node);
    demands.sort_unstable();
    demands.dedup();
}

fn by_destination(demands: &[Demand]) -> impl Iterator<Item = &[Demand]> {
    demands.chunk_by(|one, next| one.destination == next.destination)
}

/// A breadth-first search, run for one destination after another.
struct BreadthFirstSearch {
    /// Pairs of receiver and sender: a search runs backwards from its destination.
    links: Vec<(u32, u32)>,
    /// The number of searches so far.
    generation: u32,
    /// The number of the last search that reached each node, and the next hop there.
    reached: Vec<(u32, u32)>,
    frontier: Vec<u32>,
    next_frontier: Vec<u32>,
}

impl BreadthFirstSearch {
    fn new(nodes: u32, mut hearers: impl FnMut(u32, &mut Vec<u32>)) -> Self {
        let (mut links, mut list) = (Vec::new(), Vec::new());
        for node in 0..nodes {
            list.clear();
            hearers(node, &mut list);
            links.extend(
                list.iter().filter(|to| **to < nodes && **to != node).map(|to| (*to, node)),
            );
        }
        links.sort_unstable();
        links.dedup();
        let reached = alloc::vec![(0, 0); nodes as usize];
        Self { links, generation: 0, reached, frontier: Vec::new(), next_frontier: Vec::new() }
    }

    /// Searches until each of `demands` has a path to its destination, or there is none.
    fn run(&mut self, demands: &[Demand]) -> u32 {
        let destination = demands.first().map_or(u32::MAX, |want| want.destination);
        let Some(start) = self.reached.get_mut(destination as usize) else { return destination };
        self.generation += 1;
        *start = (self.generation, destination);
        self.frontier.clear();
        self.frontier.push(destination);
        while !self.frontier.is_empty()
            && demands.iter().any(|want| self.next_hop(want.node).is_none())
        {
            // In order of number, so that the first to reach a node is the lowest of its next hops.
            self.frontier.sort_unstable();
            for &hop in &self.frontier {
                let first = self.links.partition_point(|(receiver, _)| *receiver < hop);
                let senders = self.links.get(first..).unwrap_or_default();
                for &(_, node) in senders.iter().take_while(|(receiver, _)| *receiver == hop) {
                    if let Some(reached) = self.reached.get_mut(node as usize)
                        && reached.0 != self.generation
                    {
                        *reached = (self.generation, hop);
                        self.next_frontier.push(node);
                    }
                }
            }
            core::mem::swap(&mut self.frontier, &mut self.next_frontier);
            self.next_frontier.clear();
        }
        destination
    }

    /// The next hop of `node` in the last search; that of the destination is itself.
    fn next_hop(&self, node: u32) -> Option<u32> {
        let (by, hop) = *self.reached.get(node as usize)?;
        (by == self.generation).then_some(hop)
    }

    /// The nodes on the path from `node` to the destination of the last search, each with its next hop; empty
    /// if there is no path.
    fn path(&self, destination: u32, node: u32) -> impl Iterator<Item = (u32, u32)> {
        let hop = move |node| Some((node, self.next_hop(node)?));
        let end = move |(node, _): &(u32, u32)| *node != destination;
        core::iter::successors(hop(node), move |(_, next)| hop(*next)).take_while(end)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// The calls of `found` for all pairs, sorted.
    fn paths(nodes: u32, links: &[(u32, u32)], pairs: &[(u32, u32)]) -> Vec<(u32, u32, u32)> {
        let mut found = Vec::new();
        let hearers = |node: u32, list: &mut Vec<u32>| {
            list.extend(links.iter().filter(|(from, _)| *from == node).map(|(_, to)| *to));
        };
        shortest_paths(nodes, hearers, pairs, |node, to, hop| found.push((node, to, hop)));
        found.sort_unstable();
        found
    }

    #[test]
    fn paths_are_shortest_and_ties_go_to_the_lowest_number() {
        // 0 – {3, 1, 2} – 4, and 5 alone; 0 hears 4 but 4 does not hear 0.
        let mut links = Vec::new();
        for middle in [3, 1, 2] {
            links.extend([(0, middle), (middle, 0), (middle, 4), (4, middle)]);
        }
        links.push((4, 0));
        // Node 1 forwards to 4, and may have to send an error to 0.
        assert_eq!(paths(6, &links, &[(0, 4)]), [(0, 4, 1), (1, 0, 0), (1, 4, 4), (4, 0, 0)]);
        assert_eq!(paths(6, &links, &[(5, 0), (9, 0), (2, 2)]), []);
    }

    #[test]
    fn ties_far_from_the_destination_go_to_the_lowest_number_too() {
        // 9 reaches 0 by 8–1–0 and by 7–2–0: node 7 is lower, although 1 is reached before 2.
        let one_way = [(9, 8), (8, 1), (1, 0), (9, 7), (7, 2), (2, 0)];
        assert_eq!(paths(10, &one_way, &[(9, 0)]), [(2, 0, 0), (7, 0, 2), (9, 0, 7)]);
    }

    /// The reverse path differs, and its nodes need not be on the forward path.
    #[test]
    fn forwarders_have_routes_to_both_ends() {
        // A unidirectional ring of six nodes.
        let ring: Vec<_> = (0..6).map(|n| (n, (n + 1) % 6)).collect();
        let found = paths(6, &ring, &[(0, 2), (2, 0)]);
        let to_2 = [(0, 2, 1), (1, 2, 2)];
        let to_0 = [(1, 0, 2), (2, 0, 3), (3, 0, 4), (4, 0, 5), (5, 0, 0)];
        let back_to_2 = [(3, 2, 4), (4, 2, 5), (5, 2, 0)];
        let mut expected = [&to_2[..], &to_0, &back_to_2].concat();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn five_thousand_nodes_are_feasible() {
        let n = 5000;
        let hearers = |node: u32, list: &mut Vec<u32>| {
            list.extend((1..=15).flat_map(|d| [node.wrapping_sub(d), node + d]));
        };
        let mut hops = 0;
        shortest_paths(n, hearers, &[(n - 1, 0)], |_, to, _| hops += u32::from(to == 0));
        assert_eq!(hops, (n - 1).div_ceil(15));
    }
}
