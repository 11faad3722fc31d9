//! Packets that a link layer gave up, and gets again because their neighbour seems to be busy.

use driftway_radio::OutgoingPacket;

use super::super::Run;
use super::AdhocNetwork;
use super::arp::is_arp;
use crate::addresses::address;

impl Run<'_, AdhocNetwork> {
    /// A node's link layer gave up on a packet. If the neighbour seems to be there, it gets the packet
    /// again, before all that waits.
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

    /// A node's link layer has sent a packet, to a neighbour that acknowledged it where there is one.
    pub(super) fn on_frame_sent(&mut self, node: usize, to: Option<u32>) {
        let Some(retry) = &mut self.net.nodes[node].link_retry else { return };
        self.net.accounting.link_retries_sent += u64::from(retry.on_sent());
        if let Some(to) = to {
            self.on_neighbour_heard(node as u32, to);
        }
    }
}
