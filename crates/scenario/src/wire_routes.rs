//! Routes over the wires of a mixed network.

use std::collections::VecDeque;

use crate::Mixed;

/// The wire over which each node reaches each other: that of a `[[network.route]]`, or else the first of a
/// shortest route by the number of wires; of equal ones, the one whose first wire comes first in the file.
#[derive(Clone, Debug, Default)]
pub struct WireRoutes {
    /// The ends of each wire.
    ends: Vec<[usize; 2]>,
    /// Next wire by node, then destination; empty for nodes without wires.
    next: Vec<Vec<Option<usize>>>,
}

impl Mixed {
    /// Routes over the wires.
    pub fn wire_routes(&self) -> WireRoutes {
        let ends = |between: [u32; 2]| between.map(|node| node as usize);
        let wires: Vec<[usize; 2]> = self.wires.iter().map(|wire| ends(wire.between)).collect();
        let mut routes = WireRoutes::shortest(self.nodes.len(), wires);
        for route in &self.routes {
            let row = routes.next.get_mut(route.at as usize);
            if let Some(next) = row.and_then(|row| row.get_mut(route.to as usize)) {
                *next = (route.via as usize).checked_sub(1);
            }
        }
        routes
    }
}

impl WireRoutes {
    fn shortest(nodes: usize, ends: Vec<[usize; 2]>) -> Self {
        let mut neighbours: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
        for (wire, [a, b]) in ends.iter().copied().enumerate() {
            neighbours[a].push((b, wire));
            neighbours[b].push((a, wire));
        }
        let routes = |from: usize| {
            let mut first = vec![None; nodes];
            let mut queue = VecDeque::from([(from, None)]);
            while let Some((node, by)) = queue.pop_front() {
                for (next, wire) in &neighbours[node] {
                    if *next != from && first[*next].is_none() {
                        let by = by.unwrap_or(*wire);
                        first[*next] = Some(by);
                        queue.push_back((*next, Some(by)));
                    }
                }
            }
            first
        };
        let next = (0..nodes)
            .map(|node| if neighbours[node].is_empty() { Vec::new() } else { routes(node) });
        Self { next: next.collect(), ends }
    }

    /// Index of the wire from `node` towards `destination`; `None` if wires do not lead there.
    pub fn next_wire(&self, node: usize, destination: usize) -> Option<usize> {
        *self.next.get(node)?.get(destination)?
    }

    /// The next node from `node` towards `destination`; `None` if wires do not lead there.
    pub fn next_node(&self, node: usize, destination: usize) -> Option<usize> {
        let [a, b] = *self.ends.get(self.next_wire(node, destination)?)?;
        Some(if a == node { b } else { a })
    }

    /// The number of wires from `node` to `destination`; `None` if wires do not lead there, or if the routes
    /// go in a circle.
    pub fn length(&self, node: usize, destination: usize) -> Option<usize> {
        let (mut at, mut wires) = (node, 0);
        while at != destination {
            at = self.next_node(at, destination)?;
            wires += 1;
            if wires > self.next.len() {
                return None;
            }
        }
        Some(wires)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn routes_are_shortest_and_end_where_wires_end() {
        // 0 – 1 – 2 – 3, 0 – 3; 4 – 5 apart; 6 without a wire.
        let routes = WireRoutes::shortest(7, vec![[0, 1], [1, 2], [2, 3], [3, 0], [4, 5]]);
        assert_eq!(routes.next_wire(0, 1), Some(0));
        assert_eq!(routes.next_wire(0, 3), Some(3));
        assert_eq!(routes.next_wire(0, 2), Some(0), "of two equal ones the first");
        assert_eq!(routes.next_node(5, 4), Some(4));
        assert_eq!((routes.length(0, 2), routes.length(2, 2)), (Some(2), Some(0)));
        for (from, to) in [(0, 4), (4, 0), (0, 6), (6, 0), (2, 2), (9, 0), (0, 9)] {
            assert_eq!(routes.next_wire(from, to), None, "{from} to {to}");
        }
    }
}
