//! Node positions, and the nodes within range of a transmitter.
//!
//! This code runs for every frame. In a small network all nodes are scanned: their legs are stored
//! as one array per coordinate, so that the compiler vectorizes the loop. In a larger network each
//! transmitter keeps a list of the nodes that can come within range for a while.

mod legs;
mod neighbour_lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use driftway_base::Instant;

use crate::mobility::Mobility;
use legs::Legs;
use neighbour_lists::NeighbourLists;

/// Maximum number of nodes for which a scan is as fast as lists, at the density usual in the
/// literature (`make bench`: hearers).
const MAX_SCANNED_NODES: usize = 64;

/// A node within range of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeInRange {
    /// Node number.
    pub node: u32,
    /// Squared distance between the two (m²).
    pub distance_squared: f64,
}

/// Positions of the nodes of a network.
///
/// Time never goes back. A position depends only on the node and the time, not on earlier queries.
#[derive(Clone, Debug)]
pub struct Positions {
    mobility: Mobility,
    legs: Legs,
    /// End of each moving node's leg, earliest first.
    leg_ends: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Earliest of these.
    next_leg_end: Instant,
    now: Instant,
    reach_squared: f64,
    neighbour_lists: Option<NeighbourLists>,
    distances_squared: Box<[f64]>,
    candidates: Box<[NodeInRange]>,
}

impl Positions {
    /// Creates the positions for a range of `reach` metres ([`Propagation::reach`]).
    ///
    /// [`Propagation::reach`]: crate::Propagation::reach
    pub fn new(mobility: Mobility, reach: f64) -> Self {
        let scanned = mobility.nodes() <= MAX_SCANNED_NODES;
        Self::with_neighbour_lists(mobility, reach, !scanned)
    }

    fn with_neighbour_lists(mut mobility: Mobility, reach: f64, lists: bool) -> Self {
        let nodes = mobility.nodes();
        let mut legs = Legs::new(nodes);
        let mut leg_ends = BinaryHeap::with_capacity(nodes);
        for node in 0..nodes {
            let Some(leg) = mobility.next_leg(node) else { continue };
            legs.set(node, &leg);
            if leg.until < Instant::FAR_FUTURE {
                leg_ends.push(Reverse((leg.until, node as u32)));
            }
        }
        let next_leg_end =
            leg_ends.peek().map_or(Instant::FAR_FUTURE, |&Reverse((until, _))| until);
        let none = NodeInRange { node: 0, distance_squared: 0.0 };
        let mut positions = Self {
            neighbour_lists: lists.then(|| NeighbourLists::new(&legs, reach)),
            mobility,
            legs,
            leg_ends,
            next_leg_end,
            now: Instant::ZERO,
            reach_squared: reach * reach,
            distances_squared: vec![0.0; nodes].into_boxed_slice(),
            candidates: vec![none; nodes].into_boxed_slice(),
        };
        positions.advance_to(Instant::ZERO);
        positions
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.distances_squared.len()
    }

    /// Advances the time to `now`.
    #[inline]
    pub fn advance_to(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time went back from {:?} to {now:?}", self.now);
        self.now = now;
        if now >= self.next_leg_end {
            self.start_due_legs(now);
        }
    }

    #[cold]
    fn start_due_legs(&mut self, now: Instant) {
        while let Some(mut top) = self.leg_ends.peek_mut() {
            let Reverse((until, node)) = *top;
            if until > now {
                self.next_leg_end = until;
                return;
            }
            let Some(leg) = self.mobility.next_leg(node as usize) else {
                PeekMut::pop(top);
                continue;
            };
            let since = leg.since.as_nanos() as f64;
            let (x, y) = self.legs.at(node as usize, since);
            let (dx, dy) = (leg.x - x, leg.y - y);
            let gap = (dx * dx + dy * dy).sqrt();
            if let Some(lists) = &mut self.neighbour_lists {
                lists.on_new_leg(node, &leg, gap);
            }
            self.legs.distance_before[node as usize] =
                self.legs.distance_moved(node as usize, since) + gap;
            self.legs.set(node as usize, &leg);
            if leg.until < Instant::FAR_FUTURE {
                *top = Reverse((leg.until, node));
            } else {
                PeekMut::pop(top);
            }
        }
        self.next_leg_end = Instant::FAR_FUTURE;
    }

    /// Returns the position of a node (metres).
    ///
    /// # Panics
    /// If the node does not exist.
    pub fn position(&mut self, node: u32, now: Instant) -> (f64, f64) {
        self.advance_to(now);
        self.legs.at(node as usize, now.as_nanos() as f64)
    }

    /// Returns the length of a node's trajectory since the start (m).
    ///
    /// # Panics
    /// If the node does not exist.
    pub fn distance_moved(&mut self, node: u32, now: Instant) -> f64 {
        self.advance_to(now);
        self.legs.distance_moved(node as usize, now.as_nanos() as f64)
    }

    /// Appends every other node within range of `from` to `out`, in order of node number.
    ///
    /// # Panics
    /// If the node does not exist.
    pub fn nodes_in_range(&mut self, now: Instant, from: u32, out: &mut Vec<NodeInRange>) {
        self.advance_to(now);
        let nanos = now.as_nanos() as f64;
        let place = self.legs.at(from as usize, nanos);
        let (mut count, reach_squared) = (0, self.reach_squared);
        // Each candidate is written and then counted or not: no branch depends on the distance.
        let mut add = |node: u32, distance_squared: f64| {
            self.candidates[count] = NodeInRange { node, distance_squared };
            count += usize::from(distance_squared <= reach_squared);
        };
        if let Some(lists) = &mut self.neighbour_lists {
            let (list, packed_legs) = lists.candidates_of(from, now, &self.legs);
            for &node in list {
                let (x, y) = packed_legs[node as usize].at(nanos);
                let (dx, dy) = (x - place.0, y - place.1);
                add(node, dx * dx + dy * dy);
            }
        } else {
            self.legs.distances_squared(nanos, place, &mut self.distances_squared);
            self.distances_squared[from as usize] = f64::INFINITY;
            for (node, &square) in self.distances_squared.iter().enumerate() {
                add(node as u32, square);
            }
        }
        out.extend_from_slice(&self.candidates[..count]);
    }
}

#[cfg(test)]
mod test;
