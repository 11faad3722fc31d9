//! Early packet loss notification, best-effort ACK delivery and explicit link failure notification (yu-2004
//! §3.1, §4) over AODV. yu-2004 calls the first two applicable to any routing protocol, and describes them
//! for DSR only.
//!
//! Differences from DSR:
//!
//! - *Recipient*: the packet's source, by a separate message ([`AodvLossNotification`]) that is forwarded hop
//!   by hop on the route to the source, which the packets themselves have refreshed. Route errors of AODV
//!   name destinations and are sent to neighbours, so that a notification cannot be carried in them.
//! - *Nodes without a route* lose packets as well as nodes whose link failed, and report it: packets carry no
//!   source route.
//! - *No salvaging*, except by a repair or another route of the same table, after which the packet has the
//!   same source; so there are no intermediate recipients and no list of salvagers.
//! - *Lost notifications* are not retried: the table has one route.
//! - *Acknowledgments are retransmitted* by a node that forwards the notification, or by that of the TCP
//!   receiver, if its route to the TCP sender is valid and does not lead back to the neighbour that sent the
//!   notification. With one route per destination that is rare.
//! - *Packets removed from the queue by ns-2.35's errors* (`purge_on_error`) are not reported.
//!
//! - *External hosts* of a gateway are not notified: a notification about their packets ends at the gateway.
//!
//! None of this starts a route discovery.

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::{
    AodvLossNotification, AodvMessage, ConnInfo, ConnList, ConnPackets, Packet, RoutedPacket,
};

use super::Aodv;
use super::table::Route;
use crate::drop_list::loss_signals;
use crate::{LinkDestination, Output};

impl Aodv {
    const fn reports_losses(&self) -> bool {
        self.config.elfn || self.config.epln || self.config.bead
    }

    /// Records the loss of a packet that has no route.
    pub(super) fn record_loss(&mut self, packet: &Packet) {
        if !self.reports_losses() || self.is_originator_for(packet.ip.source) {
            return;
        }
        let info = ConnInfo::from_packet(packet, false);
        self.drop_list.add(info.filter(|info| match info.packets {
            ConnPackets::Data { .. } => self.config.epln,
            ConnPackets::Acks { .. } => self.config.bead,
        }));
    }

    /// Records the packet that detected a link failure; `saved`: it has another route. If this node is its
    /// source, the local TCP is notified (yu-2004 §4.3.1).
    pub(super) fn record_triggering_packet(
        &mut self,
        link: FailedLink,
        packet: &Packet,
        saved: bool,
    ) {
        if !self.config.elfn && !self.config.epln || self.external.contains(packet.ip.source) {
            return;
        }
        let Some(info) = ConnInfo::from_packet(packet, saved) else { return };
        if !matches!(info.packets, ConnPackets::Data { .. }) {
            return;
        }
        if packet.ip.source == self.address {
            loss_signals(&info, link, self.address).for_each(|signal| {
                self.outbox.push(Output::Signal(signal));
            });
        } else if saved || !self.config.epln {
            // A lost packet is recorded where it is dropped.
            self.drop_list.add(Some(info));
        }
    }

    /// Notifies the local TCP of a packet that was queued behind the first and is lost at its source (yu-2004
    /// §4.3.3).
    pub(super) fn signal_own_loss(&mut self, link: FailedLink, packet: &Packet) {
        if !self.config.epln || packet.ip.source != self.address {
            return;
        }
        if let Some(info) = ConnInfo::from_packet(packet, false) {
            loss_signals(&info, link, self.address).for_each(|signal| {
                self.outbox.push(Output::Signal(signal));
            });
        }
    }

    /// Sends the recorded losses to each source.
    pub(super) fn report_losses(&mut self, now: Instant, link: FailedLink) {
        while let Some(source) = self.drop_list.first_source() {
            let list = self.drop_list.take_for_source(source);
            if list.is_empty() {
                return self.drop_list.clear();
            }
            self.stats.loss_notices += 1;
            self.stats.route_errors += 1;
            self.send_loss_notification(
                now,
                source,
                AodvLossNotification { link, reporter: self.address, list },
            );
        }
    }

    /// Sends a notification on the route to `source`, or drops it if there is none.
    fn send_loss_notification(
        &mut self,
        now: Instant,
        source: Ipv4Addr,
        losses: AodvLossNotification,
    ) {
        match self.table.get(source).filter(|route| route.is_valid()) {
            Some(route) => {
                let next = LinkDestination::Unicast(route.next_hop);
                self.send_message(now, now, AodvMessage::LossNotification(losses), 1, next);
            }
            None => self.stats.lost_notices += 1,
        }
    }

    /// Handles a received notification. All its entries have the same source.
    pub(super) fn on_loss_notification(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        losses: &AodvLossNotification,
    ) {
        let mut rest = ConnList::EMPTY;
        let mut source = None;
        for mut info in losses.list.entries() {
            self.resend_ack(now, from, &mut info);
            if info.flow.source.address == self.address {
                for signal in loss_signals(&info, losses.link, losses.reporter) {
                    self.outbox.push(Output::Signal(signal));
                }
            } else {
                source = Some(info.flow.source.address);
                // There is room: the entry was in the received list.
                rest.push(&info);
            }
        }
        if let Some(source) = source.filter(|source| !self.external.contains(*source)) {
            self.send_loss_notification(
                now,
                source,
                AodvLossNotification { list: rest, ..*losses },
            );
        }
    }

    /// Retransmits the last of the lost acknowledgments if there is a route (yu-2004 §4.3.2). The neighbour
    /// that sent the notification is not used: on the route over it the acknowledgments were lost, and its
    /// RERR may still be in flight.
    fn resend_ack(&mut self, now: Instant, from: Ipv4Addr, info: &mut ConnInfo) {
        if !self.config.bead {
            return;
        }
        let Some(ack) = info.ack_to_resend() else { return };
        let route = self.table.get(ack.ip.destination);
        let leads = |route: &Route| route.is_valid() && route.next_hop != from;
        if self.is_destination(ack.ip.destination) || !route.is_some_and(leads) {
            return;
        }
        info.mark_ack_sent();
        self.stats.resent_acks += 1;
        self.outbox.push(Output::Duplicated);
        self.forward(now, RoutedPacket::plain(ack), None, now);
    }
}
