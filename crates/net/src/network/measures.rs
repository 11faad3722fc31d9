//! Measures of hops and of the energy of radios.

use std::collections::VecDeque;

use driftway_base::{Instant, NodeId};
use driftway_radio::RadioTime;
use driftway_wire::Packet;
use typed_index_collections::{TiVec, ti_vec};

use super::Network;

/// The energy that the radios of a node have drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeEnergy {
    /// The energy (J).
    pub joules: f64,
    /// The times of its radios in each state, added up.
    pub time: RadioTime,
}

impl Network {
    /// Returns the number of hops that a packet has taken to its destination: its time to live decreases at
    /// each node between.
    #[inline]
    pub fn hops_taken(&self, packet: &Packet) -> u32 {
        u32::from(self.initial_ttl(packet).saturating_sub(packet.ip.ttl)) + 1
    }

    /// Returns the energy that the radios of a node have drawn up to `at`, which is not before the last
    /// wake-up, of those whose power is known; `None` if that of none is.
    pub fn energy(&self, node: NodeId, at: Instant) -> Option<NodeEnergy> {
        let radios = self.nodes.get(node)?.radios.iter();
        let drawn = radios.filter_map(|radio| {
            let station = self.medium.radio(*radio).station;
            let (joules, time) = self.medium.air_of(*radio).energy(station, at)?;
            Some(NodeEnergy { joules, time })
        });
        drawn.reduce(|sum, other| NodeEnergy {
            joules: sum.joules + other.joules,
            time: RadioTime {
                transmit: sum.time.transmit + other.time.transmit,
                receive: sum.time.receive + other.time.receive,
                idle: sum.time.idle + other.time.idle,
                off: sum.time.off + other.time.off,
            },
        })
    }

    /// Returns the least number of hops from one node to another at present: over wires that are not cut,
    /// and from radio to radio where a frame can be decoded. `None` if they are not connected.
    pub fn shortest_hops(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let mut hops: TiVec<NodeId, u32> = ti_vec![u32::MAX; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        let mut next = Vec::new();
        *hops.get_mut(from)? = 0;
        while let Some(node) = queue.pop_front() {
            if node == to {
                return Some(hops[node]);
            }
            next.clear();
            self.add_neighbours(node, &mut next);
            for neighbour in next.drain(..) {
                if hops[neighbour] == u32::MAX {
                    hops[neighbour] = hops[node] + 1;
                    queue.push_back(neighbour);
                }
            }
        }
        None
    }

    /// Returns a number that changes whenever wires are cut or restored, or radios switched: while no node
    /// moves, it says how long [`shortest_hops`](Self::shortest_hops) stays the same.
    #[inline]
    pub fn connectivity_changes(&self) -> u64 {
        self.wires.changes() + self.medium.changes()
    }

    /// Adds the nodes that a node can reach by one hop.
    fn add_neighbours(&mut self, node: NodeId, neighbours: &mut Vec<NodeId>) {
        let (topology, wires) = (&self.topology, &self.wires);
        let usable = topology.link_ends(node).filter(|end| !wires.is_cut(end.link));
        neighbours.extend(usable.map(|end| topology.across(end)));
        for radio in &self.nodes[node].radios {
            self.medium.add_hearers(self.now, *radio, neighbours);
        }
    }
}
