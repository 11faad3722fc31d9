//! Given routes: the next link from each node to each destination.

use std::collections::VecDeque;

use driftway_link::Side;

use crate::interface::LinkEnd;

/// A table of next links. Destinations without an entry are not reached by wires.
#[derive(Clone, Debug, Default)]
pub struct RouteTable {
    /// By node, then destination; empty for nodes without wires.
    next: Vec<Vec<Option<LinkEnd>>>,
}

impl RouteTable {
    /// Creates the table of shortest routes, by the number of links; of equal ones, the route over
    /// the first link in order. `endpoints` has the nodes at side A and B of each link.
    pub fn shortest(nodes: usize, endpoints: &[[usize; 2]]) -> Self {
        let mut neighbours: Vec<Vec<(usize, LinkEnd)>> = vec![Vec::new(); nodes];
        for (link, [a, b]) in endpoints.iter().copied().enumerate() {
            neighbours[a].push((b, LinkEnd { link, side: Side::A }));
            neighbours[b].push((a, LinkEnd { link, side: Side::B }));
        }
        let routes = |from: usize| {
            let mut first = vec![None; nodes];
            let mut queue = VecDeque::from([(from, None)]);
            while let Some((node, by)) = queue.pop_front() {
                for (next, link_end) in &neighbours[node] {
                    if *next != from && first[*next].is_none() {
                        let by = by.unwrap_or(*link_end);
                        first[*next] = Some(by);
                        queue.push_back((*next, Some(by)));
                    }
                }
            }
            first
        };
        let next = (0..nodes)
            .map(|node| if neighbours[node].is_empty() { Vec::new() } else { routes(node) });
        Self { next: next.collect() }
    }

    /// Returns the link from `node` towards `destination`.
    pub fn next_link(&self, node: usize, destination: usize) -> Option<LinkEnd> {
        *self.next.get(node)?.get(destination)?
    }

    /// Returns the number of links from `node` to `destination`; `None` if wires do not lead there.
    pub fn distance(
        &self,
        node: usize,
        destination: usize,
        endpoints: &[[usize; 2]],
    ) -> Option<usize> {
        let (mut at, mut links) = (node, 0);
        while at != destination {
            let link_end = self.next_link(at, destination)?;
            let [a, b] = *endpoints.get(link_end.link)?;
            at = if link_end.side == Side::A { b } else { a };
            links += 1;
        }
        Some(links)
    }

    /// Sets the link from `node` towards `destination` to that towards `via`.
    pub fn set_via(&mut self, node: usize, destination: usize, via: usize) {
        let link_end = self.next_link(node, via);
        if let Some(entry) = self.next.get_mut(node).and_then(|row| row.get_mut(destination)) {
            *entry = link_end;
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn routes_are_shortest_and_end_where_wires_end() {
        // 0 – 1 – 2 – 3, 0 – 3; 4 – 5 apart; 6 without a wire.
        let mut table = RouteTable::shortest(7, &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5]]);
        let link = |from, to| table.next_link(from, to).map(|end| (end.link, end.side));
        assert_eq!(link(0, 1), Some((0, Side::A)));
        assert_eq!(link(0, 3), Some((3, Side::B)));
        assert_eq!(link(0, 2), Some((0, Side::A)), "of two equal ones the first");
        assert_eq!(link(5, 4), Some((4, Side::B)));
        for (from, to) in [(0, 4), (4, 0), (0, 6), (6, 0), (2, 2), (9, 0), (0, 9)] {
            assert_eq!(link(from, to), None, "{from} to {to}");
        }
        table.set_via(0, 6, 3);
        assert_eq!(table.next_link(0, 6).map(|end| end.link), Some(3));
    }
}
