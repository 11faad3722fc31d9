//! Wake-ups of nodes with radios: packets that have reached their queues, and the timers of ARP, route probes and
//! routing.

use driftway_base::NodeId;

use super::Network;
use super::task::Task;
use crate::interface::Interface;

impl Network {
    /// Handles a wake-up of a node: packets that have reached its queues, and timers of ARP, probes
    /// and routing.
    pub(super) fn on_node_timer(&mut self, node: NodeId) {
        let pending = self.work.pending();
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            while let Some(packet) = self.medium.radio_mut(radio).next_arrival(self.now) {
                self.enqueue(Interface::Radio(radio), packet);
            }
            if let Some(at) = self.medium.radio(radio).next_arrival_at() {
                self.schedule_node(node, at);
            }
            self.on_arp_timer(radio);
        }
        if self.work.waits(pending, Task::ProbesAndRouting { node }) {
            return;
        }
        self.on_probe_and_routing_timers(node);
    }

    /// Announces the probes of a node that are due, and calls its routing if that is.
    pub(super) fn on_probe_and_routing_timers(&mut self, node: NodeId) {
        let pending = self.work.pending();
        self.announce_probes(node);
        if self.work.waits(pending, Task::RoutingTimer { node }) {
            return;
        }
        self.on_routing_timer(node);
    }

    /// Calls a node's routing if its timeout is due.
    pub(super) fn on_routing_timer(&mut self, node: NodeId) {
        let Some(routing) = &mut self.nodes[node].routing else { return };
        match routing.next_timeout() {
            Some(at) if at <= self.now => {
                routing.on_timeout(self.now);
                self.work.mark_ready(node);
            }
            Some(at) => self.schedule_node(node, at),
            None => {}
        }
    }
}
