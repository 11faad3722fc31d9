//! The effects of faults, and packets that a cut link does not carry.

use driftway_base::{Signal, SignalKind};
use driftway_link::QueuePosition;
use driftway_route::DropReason as RouteDrop;
use driftway_route::feedback::{SchemeName, UndeliverablePacket};
use driftway_scenario::{FaultKind, PartitionSignal};
use driftway_wire::Packet;

use super::Network;
use super::task::Task;
use crate::drop_reason::PacketDropReason;
use crate::event::Event;
use crate::output::Output;
use crate::wired::faults::{FaultAction, PartitionNotification};
use crate::wired::link_end::LinkEnd;

impl Network {
    pub(super) fn schedule_fault(&mut self, number: usize) {
        if let Some(at) = self.active_faults[number].next_instant() {
            self.wakeups.schedule(number as u32, at);
        }
    }

    /// Handles the wake-up of a fault.
    pub(super) fn on_fault(&mut self, number: usize) {
        let mut actions = std::mem::take(&mut self.new_actions);
        let fault = &mut self.active_faults[number];
        fault.fire(self.now, &mut actions);
        let kind = fault.kind();
        self.plan_actions(kind, &mut actions);
        self.new_actions = actions;
        self.schedule_fault(number);
    }

    /// Plans actions of a fault of this kind before those that are already planned.
    fn plan_actions(&mut self, kind: FaultKind, actions: &mut Vec<FaultAction>) {
        for action in actions.drain(..).rev() {
            self.fault_actions.push((kind, action));
            self.tasks.push(Task::ApplyFaultAction);
        }
    }

    /// Applies the next planned action of a fault.
    pub(super) fn apply_next_action(&mut self) {
        if let Some((kind, action)) = self.fault_actions.pop() {
            self.apply_action(kind, action);
        }
    }

    fn apply_action(&mut self, kind: FaultKind, action: FaultAction) {
        let now = self.now;
        match action {
            FaultAction::Cut { link, queue, seen } => {
                self.cut_counts[link] += 1;
                self.links[link].partition(now, queue);
                self.report_fault(kind, link, true);
                if seen && self.cut_counts[link] == 1 {
                    self.signal_link_ends(link, SignalKind::LinkDown);
                }
                self.tasks.push(Task::MarkLinkReady { link });
            }
            FaultAction::SignalFading { link, lead } => {
                if self.cut_counts[link] == 0 {
                    self.signal_link_ends(link, SignalKind::LinkFading { expected_lifetime: lead });
                }
            }
            FaultAction::Heal { link, signal_ends } => {
                self.cut_counts[link] -= 1;
                self.report_fault(kind, link, false);
                self.tasks.push(Task::MarkLinkReady { link });
                if self.cut_counts[link] == 0 {
                    self.links[link].heal(now);
                    self.on_link_restored(link);
                    if signal_ends {
                        self.signal_link_ends(link, SignalKind::LinkUp);
                    }
                    self.tasks.push(Task::AfterHeal { link });
                }
            }
            FaultAction::MoveToFront { link, side, frames } => {
                self.links[link].move_next_to_front(side, frames);
                self.report_fault(kind, link, true);
            }
            FaultAction::Reverse { link, side, frames, max_wait } => {
                self.links[link].reverse_next(now, side, frames, max_wait);
                self.report_fault(kind, link, true);
                self.ready_links.push_back(link);
            }
            FaultAction::CrossTraffic { link, side, bytes } => {
                self.send_cross_traffic(link, side, bytes);
            }
            FaultAction::Rate { link, rate } => self.links[link].set_rate(now, rate),
            FaultAction::Delay { link, delay } => self.links[link].set_delay(now, delay),
            FaultAction::Flood { link, side, begins, marks } => {
                if marks {
                    self.links[link].force_marks(side, begins);
                }
                self.report_fault(kind, link, begins);
            }
            FaultAction::RadioDown { node, drops_queue, signals } => {
                self.report(kind, node, true);
                let was_on = self.has_radio_on(node);
                self.switch_radios_off(node, drops_queue);
                if signals && was_on {
                    self.signal_radio(node, SignalKind::LinkDown);
                }
            }
            FaultAction::RadioUp { node, signals } => {
                self.report(kind, node, false);
                self.switch_radios_on(node);
                if signals && self.has_radio_on(node) {
                    self.signal_radio(node, SignalKind::LinkUp);
                }
            }
            FaultAction::SignalRadioFading { node, lead } => {
                if self.has_radio_on(node) {
                    self.signal_radio(node, SignalKind::LinkFading { expected_lifetime: lead });
                }
            }
        }
    }

    /// Applies the changes that follow the end of a link's cut.
    pub(super) fn after_heal(&mut self, link: usize) {
        let mut actions = std::mem::take(&mut self.new_actions);
        for number in (0..self.active_faults.len()).rev() {
            let fault = &mut self.active_faults[number];
            fault.on_healed(link, &mut actions);
            let kind = fault.kind();
            self.plan_actions(kind, &mut actions);
        }
        self.new_actions = actions;
    }

    fn report_fault(&mut self, kind: FaultKind, link: usize, begins: bool) {
        self.report(kind, link + 1, begins);
    }

    fn report(&mut self, kind: FaultKind, place: usize, begins: bool) {
        self.events.push_back(Event::Fault { kind, place: place as u32, begins });
    }

    fn has_radio_on(&self, node: usize) -> bool {
        self.nodes[node].radios.iter().any(|radio| self.radios[*radio].down_count == 0)
    }

    /// Signals a change of its radio to a node's host.
    fn signal_radio(&mut self, node: usize, kind: SignalKind) {
        self.outputs.push_back(Output::Signal { node, signal: Signal::new(kind) });
    }

    /// Switches the radios of a node off. What the node sends over the air waits in their queues, or
    /// is dropped if `drops_queue` is set.
    fn switch_radios_off(&mut self, node: usize, drops_queue: bool) {
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            let of = &mut self.radios[radio];
            of.down_count += 1;
            if of.down_count > 1 {
                continue;
            }
            let (air, station) = (of.air, of.station);
            self.airs[air].mac.set_enabled(self.now, station, false);
            self.schedule_air(air);
            while drops_queue && let Some(item) = self.radios[radio].queue.dequeue(self.now) {
                self.drop_on_air(node, item.id, item.next_hop, PacketDropReason::Partition);
            }
        }
    }

    fn switch_radios_on(&mut self, node: usize) {
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            let of = &mut self.radios[radio];
            of.down_count -= 1;
            if of.down_count == 0 {
                let (air, station) = (of.air, of.station);
                self.airs[air].mac.set_enabled(self.now, station, true);
                self.transmit_next(radio);
                self.schedule_air(air);
            }
        }
    }

    /// Handles a packet that was on a link or queued for it when it was cut.
    pub(super) fn on_packet_cut(&mut self, link_end: LinkEnd, packet: &Packet) {
        let signal = self.active_faults.iter().find_map(|fault| fault.cut_signal(link_end.link));
        if signal == Some(PartitionSignal::Rfn) && self.on_route_failed(link_end, packet) {
            self.report_loss_on_link(link_end, packet);
        }
    }

    /// Handles a packet for a link that is cut: its router may send a notification.
    pub(super) fn on_packet_refused(&mut self, link_end: LinkEnd, id: u32, place: QueuePosition) {
        let link = link_end.link;
        let notification =
            self.active_faults.iter_mut().find_map(|fault| fault.draw_notification(link));
        let node = self.topology.node_of(link_end);
        if notification == Some(PartitionNotification::RouteFailure)
            && let Some(packet) = self.packets.get(id).map(|routed| routed.packet)
            && self.on_route_failed(link_end, &packet)
        {
            return self.forward(node, id, place);
        }
        let Some(packet) = self.drop_on_link(link, id, PacketDropReason::Unreachable) else {
            return;
        };
        if let Some(PartitionNotification::MessageLost | PartitionNotification::HostUnreachable) =
            notification
        {
            let lost = UndeliverablePacket {
                packet: &packet,
                reason: RouteDrop::LinkFailure,
                link: None,
                packet_id: None,
            };
            if let Some(icmp) = self.nodes[node].feedback.scheme_mut(SchemeName::Icmp) {
                icmp.on_undeliverable(self.now, &lost);
            }
            self.send_icmp(node, notification == Some(PartitionNotification::MessageLost));
        }
    }
}
