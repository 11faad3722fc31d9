//! Hops of packets with data: those that they take, and the fewest that are possible.

use driftway_base::{FlowId, NodeId};
use driftway_wire::{Packet, Payload};

use super::Hosts;
use super::shortest_hops::ShortestHops;
use crate::sockets::SocketId;
use crate::world::World;

impl Hosts {
    /// Counts the hops of a packet with data that has reached the host of its flow's receiver.
    pub(super) fn count_hops(&mut self, world: &World<'_>, id: SocketId, packet: &Packet) {
        if id.is_sender() || packet.payload().is_empty() {
            return;
        }
        if let Some(flow) = self.flows.get_mut(id.flow) {
            flow.hops.add(world.net.hops_taken(packet));
        }
    }

    /// Keeps the fewest possible hops for what a sender has just sent, unless it is a retransmission.
    #[inline]
    pub(super) fn keep_shortest_hops(
        &mut self,
        world: &mut World<'_>,
        id: FlowId,
        payload: Payload,
    ) {
        if matches!(self.shortest_hops, ShortestHops::Unmeasured) {
            return;
        }
        let ends = {
            let flow = &self.scenario.flows[id.index()];
            [flow.from, flow.to].map(NodeId::new)
        };
        let (shortest, net) = (&mut self.shortest_hops, &mut world.net);
        let end = payload.offset + u64::from(payload.len);
        let first = &mut self.flows[id].first_transmissions;
        first.set_shortest_hops(end, || shortest.find(net, id, ends));
    }
}
