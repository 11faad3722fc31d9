//! Measures of hops and of the energy of radios.

use std::collections::VecDeque;

use driftway_base::{Instant, NodeId, StationId};
use driftway_radio::{RadioTime, StationInRange};
use driftway_wire::Packet;
use typed_index_collections::{TiVec, ti_vec};

use super::Network;
use crate::air::radio::Air;

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
            let radio = &self.medium.radios[*radio];
            let Air { mac, power, .. } = &self.medium.airs[radio.air];
            let time = mac.radio_time(radio.station, at)?;
            Some(NodeEnergy { joules: power.as_ref()?.energy(&time), time })
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
        let (mut near, mut next) = (Vec::new(), Vec::new());
        *hops.get_mut(from)? = 0;
        while let Some(node) = queue.pop_front() {
            if node == to {
                return Some(hops[node]);
            }
            next.clear();
            self.add_neighbours(node, &mut near, &mut next);
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
        self.connectivity_changes
    }

    /// Adds the nodes that a node can reach by one hop.
    fn add_neighbours(
        &mut self,
        node: NodeId,
        near: &mut Vec<StationInRange>,
        neighbours: &mut Vec<NodeId>,
    ) {
        let (topology, wires) = (&self.topology, &self.wires);
        let usable = topology.link_ends(node).filter(|end| !wires.is_cut(end.link));
        neighbours.extend(usable.map(|end| topology.across(end.link, end.side)));
        for radio in &self.nodes[node].radios {
            let of = &self.medium.radios[*radio];
            if of.down_count > 0 {
                continue;
            }
            let (air, own) = (of.air, of.station);
            let Air { mac, radios, nodes, .. } = &mut self.medium.airs[air];
            near.clear();
            mac.stations_in_range(self.now, own, near);
            let all = &self.medium.radios;
            let hears = |hearer: &StationId| {
                all[radios[*hearer]].down_count == 0 && mac.in_range(self.now, own, *hearer)
            };
            let hearers = near.iter().map(|hearer| hearer.station).filter(hears);
            neighbours.extend(hearers.map(|station| nodes[station]));
        }
    }
}
