//! Ethernet frames: they reach neighbours only, whatever is in them.

use driftway_base::{DropReason, Ecn, NodeId};
use driftway_net::addresses::address;
use driftway_wire::{EthernetFrame, Packet};

use super::{DepartingPacket, EmulatedNetwork};
use crate::emulate::hardware_addresses::HardwareAddresses;
use crate::emulate::kernel_packet::{seen_frame, write_congestion};
use crate::emulate::packet_store::StoredPacket;

impl EmulatedNetwork {
    /// Makes what kernels exchange Ethernet frames, which reach neighbours only.
    pub fn carry_frames(&mut self) {
        self.frames = Some(HardwareAddresses::default());
    }

    /// Returns whether frames are exchanged.
    pub const fn carries_frames(&self) -> bool {
        self.frames.is_some()
    }

    /// Lets a frame enter at a node.
    pub(super) fn enter_frame(&mut self, node: NodeId, frame: &EthernetFrame<'_>, bytes: &[u8]) {
        let nodes = self.net.nodes();
        let Some(addresses) = &mut self.frames else { return };
        addresses.learn(frame.source, node, nodes);
        let to = addresses.node(frame.destination, nodes).filter(|to| *to != node);
        if frame.destination.is_group() {
            let packet = seen_frame(frame).from(address(node));
            for interface in self.net.interfaces(node) {
                let number = self.store.insert(self.net.now(), node, bytes);
                self.net.broadcast(node, interface, packet.numbered(number));
            }
            return;
        }
        let number = self.store.insert(self.net.now(), node, bytes);
        let sent = to.is_some_and(|to| {
            let packet = seen_frame(frame).between(address(node), address(to));
            self.net.send_to_neighbour(node, to, packet.numbered(number))
        });
        if !sent {
            self.store.on_dropped(self.net.now(), number);
            self.count_drop(DropReason::UnknownDestination);
        }
    }

    /// Delivers a frame to a kernel, with the mark of a queue.
    pub(super) fn deliver_frame(
        &mut self,
        kernel: usize,
        packet: &Packet,
        mut stored: StoredPacket,
    ) {
        if packet.ip.ecn == Ecn::Ce {
            write_congestion(&mut stored.bytes);
        }
        let due = self.net.now();
        self.departing.push_back(DepartingPacket { kernel, due, bytes: stored.bytes });
    }
}
