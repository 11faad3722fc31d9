//! Link retry: packets that the link layer failed to send, and that it gets again because the
//! neighbour still seems to be in range.

use super::Network;
use crate::addresses::address;
use crate::event::Event;
use driftway_base::{NodeId, PacketId, RadioId};

impl Network {
    /// Decides about a packet that a link layer failed to send. If the neighbour seems to be in range,
    /// the link layer gets the packet again, ahead of the queue.
    pub(super) fn retry_link(&mut self, radio: RadioId, id: PacketId, to: NodeId) -> bool {
        let of = self.medium.radio_mut(radio);
        let (node, is_on) = (of.node, of.is_on());
        let Some(retry) = &mut of.link_retry else { return false };
        let Some(packet) = self.packets.get(id).copied() else {
            return false;
        };
        if !is_on || !retry.on_failure(self.now, address(to)) {
            return false;
        }
        let in_range = self.in_range(node, to);
        self.counters.link_retries += 1;
        self.counters.vain_link_retries += u64::from(!in_range);
        self.recorder.record(|| Event::LinkRetried { node, to, packet, in_range });
        self.transmit(radio, id, Some(to), packet.len());
        true
    }

    /// Handles a packet that a link layer has sent; a neighbour, if it was for one, has acknowledged
    /// it.
    pub(super) fn on_frame_sent(&mut self, radio: RadioId, to: Option<NodeId>) {
        if let Some(to) = to {
            self.on_neighbour_reached(self.medium.radio(radio).node, to);
        }
        let of = self.medium.radio_mut(radio);
        let Some(retry) = &mut of.link_retry else { return };
        self.counters.link_retries_sent += u64::from(retry.on_sent());
        if let Some(to) = to {
            self.on_neighbour_heard(self.medium.radio(radio).node, to);
        }
    }
}
