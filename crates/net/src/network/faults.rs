//! The effects of faults, and packets that a cut link does not carry.

use driftway_base::{DropReason, FaultId, LinkId, NodeId, Signal, SignalKind};
use driftway_route::feedback::{SchemeName, UndeliverablePacket};
use driftway_scenario::{FaultKind, PartitionSignal};
use driftway_wire::Packet;

use super::schedule::TimerId;
use super::task::Task;
use super::{Network, OPAQUE_STREAM};
use crate::addresses::address;
use crate::event::{Event, FaultPlace};
use crate::faults::{FaultAction, PartitionNotification};
use crate::interface::{Departure, Interface, LinkEnd, Place};
use crate::output::Output;

impl Network {
    pub(super) fn schedule_fault(&mut self, fault: FaultId) {
        if let Some(at) = self.faults.next_instant(fault) {
            self.schedule.schedule(TimerId::Fault(fault), at);
        }
    }

    /// Handles the wake-up of a fault.
    pub(super) fn on_fault(&mut self, fault: FaultId) {
        let planned = self.faults.fire(fault, self.now);
        self.add_planned_actions(planned);
        self.schedule_fault(fault);
    }

    /// Adds tasks for this number of planned actions.
    fn add_planned_actions(&mut self, planned: usize) {
        (0..planned).for_each(|_| self.work.add(Task::ApplyFaultAction));
    }

    /// Applies the next planned action of a fault.
    pub(super) fn apply_next_action(&mut self) {
        if let Some((kind, action)) = self.faults.next_action() {
            self.apply_action(kind, action);
        }
    }

    pub(super) fn apply_action(&mut self, kind: FaultKind, action: FaultAction) {
        let now = self.now;
        match action {
            FaultAction::Cut { link, queue, signals } => {
                let is_first = self.wires.cut(now, link, queue);
                self.report_fault(kind, link, true);
                if signals && is_first {
                    self.signal_link_ends(link, SignalKind::LinkDown);
                }
                self.work.add(Task::MarkLinkReady { link });
            }
            FaultAction::SignalFading { link, lead } => {
                if !self.wires.is_cut(link) {
                    self.signal_link_ends(link, SignalKind::LinkFading { expected_lifetime: lead });
                }
            }
            FaultAction::Heal { link, signals } => {
                let is_whole = self.wires.heal(now, link);
                self.report_fault(kind, link, false);
                self.work.add(Task::MarkLinkReady { link });
                if is_whole {
                    self.on_link_restored(link);
                    if signals {
                        self.signal_link_ends(link, SignalKind::LinkUp);
                    }
                    self.work.add(Task::AfterHeal { link });
                }
            }
            FaultAction::MoveToFront { link, side, frames } => {
                self.wires.link_mut(link).move_next_to_front(side, frames);
                self.report_fault(kind, link, true);
            }
            FaultAction::Reverse { link, side, frames, max_wait } => {
                self.wires.link_mut(link).reverse_next(now, side, frames, max_wait);
                self.report_fault(kind, link, true);
                self.work.mark_link_ready(link);
            }
            FaultAction::CrossTraffic { link, side, bytes } => {
                self.send_cross_traffic(link, side, bytes);
            }
            FaultAction::Rate { link, rate } => self.wires.link_mut(link).set_rate(now, rate),
            FaultAction::Delay { link, delay } => self.wires.link_mut(link).set_delay(now, delay),
            FaultAction::Flood { link, side, begins, marks } => {
                if marks {
                    self.wires.link_mut(link).force_marks(side, begins);
                }
                self.report_fault(kind, link, begins);
            }
            FaultAction::RadioDown { node, drops_queue, signals } => {
                self.report(kind, FaultPlace::Node(node), true);
                let was_on = self.has_radio_on(node);
                self.switch_radios_off(node, drops_queue);
                if signals && was_on {
                    self.work.signal(node, Signal::new(SignalKind::LinkDown));
                }
            }
            FaultAction::RadioUp { node, signals } => {
                self.report(kind, FaultPlace::Node(node), false);
                self.switch_radios_on(node);
                if signals && self.has_radio_on(node) {
                    self.work.signal(node, Signal::new(SignalKind::LinkUp));
                }
            }
            FaultAction::SignalRadioFading { node, lead } => {
                if self.has_radio_on(node) {
                    let fading = SignalKind::LinkFading { expected_lifetime: lead };
                    self.work.signal(node, Signal::new(fading));
                }
            }
        }
    }

    /// Applies the changes that follow the end of a link's cut.
    pub(super) fn after_heal(&mut self, link: LinkId) {
        let planned = self.faults.on_healed(link);
        self.add_planned_actions(planned);
    }

    fn report_fault(&mut self, kind: FaultKind, link: LinkId, begins: bool) {
        self.report(kind, FaultPlace::Link(link), begins);
    }

    fn report(&mut self, kind: FaultKind, place: FaultPlace, begins: bool) {
        self.recorder.push(Event::Fault { kind, place, begins });
    }

    pub(super) fn has_radio_on(&self, node: NodeId) -> bool {
        self.nodes[node].radios.iter().any(|radio| self.medium.radio(*radio).is_on())
    }

    /// Switches the radios of a node off. What the node sends over the air waits in their queues, or
    /// is dropped if `drops_queue` is set.
    fn switch_radios_off(&mut self, node: NodeId, drops_queue: bool) {
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            if !self.medium.switch_off(self.now, radio) {
                continue;
            }
            self.schedule_air(self.medium.radio(radio).air);
            while drops_queue
                && let Some(item) = self.medium.radio_mut(radio).queue.dequeue(self.now)
            {
                self.drop(Place::at_radio(radio, item.next_hop), item.id, DropReason::Partition);
            }
        }
    }

    fn switch_radios_on(&mut self, node: NodeId) {
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            if self.medium.switch_on(self.now, radio) {
                self.transmit_next(radio);
                self.schedule_air(self.medium.radio(radio).air);
            }
        }
    }

    /// Handles a packet that was on a link or queued for it when it was cut.
    pub(super) fn on_packet_cut(&mut self, link_end: LinkEnd, packet: &Packet) {
        let signal = self.faults.cut_signal(link_end.link);
        if signal == Some(PartitionSignal::Rfn) && self.on_route_failed(link_end, packet) {
            self.report_loss_on_link(link_end, packet);
        }
    }

    /// Handles a packet for a link that is cut: its router may send a notification.
    pub(super) fn on_packet_refused(
        &mut self,
        link_end: LinkEnd,
        Departure { id, place, .. }: Departure,
    ) {
        let link = link_end.link;
        let notification = self.faults.draw_notification(link);
        let node = self.topology.node_of(link_end);
        let Some(packet) = self.packets.get(id).map(|routed| routed.packet) else { return };
        if notification == Some(PartitionNotification::RouteFailure)
            && self.on_route_failed(link_end, &packet)
        {
            return self.forward(node, id, place);
        }
        let at = Place::Interface(Interface::Wire(link_end), None);
        self.drop(at, id, DropReason::Unreachable);
        if packet.ip.source == address(node)
            && self.faults.cut_signal(link) == Some(PartitionSignal::Link)
        {
            self.work.request(Output::LocalDrop { node, packet });
        }
        // An error could not quote what is not known.
        if packet.payload().stream == OPAQUE_STREAM {
            return;
        }
        if let Some(PartitionNotification::MessageLost | PartitionNotification::HostUnreachable) =
            notification
        {
            let lost = UndeliverablePacket {
                packet: &packet,
                reason: DropReason::LinkFailure,
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
