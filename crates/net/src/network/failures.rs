//! Packets that a link layer, or ARP, failed to send to a neighbour.

use driftway_base::{DropReason, NodeId, PacketId, RadioId};
use driftway_link::QueuePosition;
use driftway_radio::FailReason;
use driftway_route::feedback::Scheme;

use super::task::Task;
use super::{Network, Node, link_of};
use crate::addresses::address;
use crate::event::{Event, FailedSend};
use crate::interface::Place;
use crate::output::Output;

impl Network {
    /// Handles a packet that a link layer failed to send. `reason` is `None` if ARP did not resolve
    /// the neighbour.
    pub(super) fn on_link_failure(
        &mut self,
        radio: RadioId,
        id: PacketId,
        to: NodeId,
        reason: Option<FailReason>,
    ) {
        let node = self.medium.radio(radio).node;
        let Some(packet) = self.packets.get(id).copied() else {
            self.drop(Place::at_radio(radio, Some(to)), id, DropReason::Arp);
            return self.transmit_next(radio);
        };
        let in_range = self.in_range(node, to);
        let mac = &self.medium.air_of(radio).mac;
        let attempts = reason.and_then(|reason| mac.attempts(packet.len(), reason));
        let failed = FailedSend { to, reason, attempts };
        self.failed_send = Some(failed);
        self.recorder.record(|| Event::LinkFailed { node, failed, packet, in_range });
        self.work.request(Output::SendFailed { node, to: packet.packet.ip.destination });
        match reason {
            Some(_) => self.counters.link_failures += 1,
            None => self.counters.arp_failures += 1,
        }
        self.counters.false_link_failures += u64::from(in_range);
        self.work.add(Task::FailLink { radio, id, to });
        self.on_neighbour_lost(node, to);
    }

    /// Passes a packet that was not sent, and those queued for the same neighbour, to routing.
    pub(super) fn fail_link(&mut self, radio: RadioId, id: PacketId, to: NodeId) {
        let node = self.medium.radio(radio).node;
        let Some(&packet) = self.packets.enter_routing(id) else { return };
        let now = self.now;
        let mut affected = std::mem::take(&mut self.affected_packets);
        if !packet.is_control() {
            affected.push(packet.packet);
        }
        let (packets, queue) = (&mut self.packets, &mut self.medium.radio_mut(radio).queue);
        let mut messages = Vec::new();
        let Node { routing, feedback, .. } = &mut self.nodes[node];
        let mut queued = || {
            loop {
                let item = queue.dequeue_for(to)?;
                let Some(&packet) = packets.enter_routing(item.id) else {
                    messages.push(item.id);
                    continue;
                };
                if !packet.is_control() {
                    affected.push(packet.packet);
                }
                return Some(packet);
            }
        };
        if let Some(routing) = routing {
            routing.on_link_failure(now, address(to), packet, &mut queued);
        }
        let link = link_of(node, to);
        feedback.on_link_failure(now, link, &affected);
        affected.clear();
        self.affected_packets = affected;
        for message in messages {
            self.drop(Place::at_radio(radio, Some(to)), message, DropReason::Arp);
        }
        self.failed_link = Some(link);
        self.work.add(Task::AfterFailure { radio });
        self.work.add(Task::EndLinkFailure { node });
        self.work.add(Task::DrainRouting { node, place: QueuePosition::Tail });
    }

    pub(super) fn end_link_failure(&mut self, node: NodeId) {
        self.failed_link = None;
        self.nodes[node].feedback.on_link_failure_end(self.now);
        self.work.add(Task::DrainFeedback { node });
    }

    pub(super) fn after_failure(&mut self, radio: RadioId) {
        self.failed_send = None;
        self.transmit_next(radio);
    }
}
