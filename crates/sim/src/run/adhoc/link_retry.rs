//! Link retry: packets that the link layer failed to send, and that it gets again because the
//! neighbour still seems to be in range.

use driftway_radio::OutgoingPacket;

use super::super::Run;
use super::AdhocNetwork;
use super::arp::is_arp;
use crate::addresses::address;

impl Run<'_, AdhocNetwork> {
    /// Decides about a packet that a node's link layer failed to send. If the neighbour seems to be in
    /// range, the link layer gets the packet again, ahead of the queue.
    pub(super) fn retry_link(&mut self, node: usize, id: u32, to: u32) -> bool {
        let Some(retry) = &mut self.net.nodes[node].link_retry else { return false };
        let Some(packet) = self.packets.get(id).filter(|packet| !is_arp(packet)).copied() else {
            return false;
        };
        if !retry.on_failure(self.now, address(to as usize)) {
            return false;
        }
        let in_range = self.net.mac.in_range(self.now, node as u32, to);
        self.net.accounting.link_retries += 1;
        self.net.accounting.vain_link_retries += u64::from(!in_range);
        self.trace_link_retry(node, to, &packet, in_range);
        self.transmit(node, OutgoingPacket { id, to: Some(to), bytes: packet.len() });
        true
    }

    /// Handles a packet that a node's link layer has sent; a neighbour, if it was for one, has
    /// acknowledged it.
    pub(super) fn on_frame_sent(&mut self, node: usize, to: Option<u32>) {
        let Some(retry) = &mut self.net.nodes[node].link_retry else { return };
        self.net.accounting.link_retries_sent += u64::from(retry.on_sent());
        if let Some(to) = to {
            self.on_neighbour_heard(node as u32, to);
        }
    }
}
