//! Early packet loss notification, best-effort ACK delivery and explicit link failure notification
//! (yu-2004 §3.1, §4) over AODV. yu-2004 calls the first two applicable to any routing protocol, and
//! describes them for DSR only.
//!
//! What is other than under DSR:
//!
//! - *The addressee* is the packet's source, by a message of its own ([`AodvLosses`]) that goes from hop to
//!   hop on the route to it, which the packets themselves have kept alive. Errors of AODV speak of
//!   destinations and go to neighbours, so that nothing can ride on them.
//! - *A node without a route* has lost a packet as much as one whose link failed, and says so: packets
//!   carry no route that could fail under them.
//! - *Nobody salvages* but by a repair or another route of the same table, after which the packet has the
//!   same source; so there is nobody between, and no list of salvagers.
//! - *A notification that is lost* is not tried again: a table has one route.
//! - *An acknowledgment is sent again* by a node on the way of the notification, or by the receiver's, whose
//!   route to the TCP sender is valid and leads elsewhere than to where the notification comes from. With one
//!   route to a destination that is rare.
//!
//! - *What ns-2.35's errors take out of the queue* (`purge_on_error`) is nobody's news.
//!
//! Nothing here looks for a route.

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::{AodvLossNotification, AodvMessage, ConnInfo, ConnList, ConnPackets, Packet, RoutedPacket};

use super::Aodv;
use super::table::Route;
use crate::drop_list::loss_signals;
use crate::{LinkDestination, Output};

impl Aodv {
    const fn reports_losses(&self) -> bool {
        self.config.elfn || self.config.epln || self.config.bead
    }

    /// A packet is lost because there is no way for it.
    pub(super) fn record_loss(&mut self, packet: &Packet) {
        if !self.reports_losses() || packet.ip.source == self.address {
            return;
        }
        let info = ConnInfo::from_packet(packet, false);
        self.drop_list.add(info.filter(|info| match info.packets {
            ConnPackets::Data { .. } => self.config.epln,
            ConnPackets::Acks { .. } => self.config.bead,
        }));
    }

    /// The packet that has shown a link to have failed, and whether it has another way. §4.3.1: if this
    /// node is its sender, its TCP hears of it.
    pub(super) fn record_triggering_packet(&mut self, link: FailedLink, packet: &Packet, saved: bool) {
        if !self.config.elfn && !self.config.epln {
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
            // What is lost is noted where it is given up.
            self.drop_list.add(Some(info));
        }
    }

    /// A packet that waited behind the first is lost here, at its sender: its TCP hears of it (§4.3.3).
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

    /// Says what has been noted, to each source.
    pub(super) fn report_losses(&mut self, now: Instant, link: FailedLink) {
        while let Some(source) = self.drop_list.first_source() {
            let list = self.drop_list.take_for_source(source);
            if list.is_empty() {
                return self.drop_list.clear();
            }
            self.stats.loss_notices += 1;
            self.stats.route_errors += 1;
            self.send_loss_notification(now, source, AodvLossNotification { link, reporter: self.address, list });
        }
    }

    /// On the route to `source`, or not at all.
    fn send_loss_notification(&mut self, now: Instant, source: Ipv4Addr, losses: AodvLossNotification) {
        match self.table.get(source).filter(|route| route.is_valid()) {
            Some(route) => {
                let next = LinkDestination::Unicast(route.next_hop);
                self.send_message(now, now, AodvMessage::LossNotification(losses), 1, next);
            }
            None => self.stats.lost_notices += 1,
        }
    }

    /// A notification comes. All its entries are of one source.
    pub(super) fn on_loss_notification(&mut self, now: Instant, from: Ipv4Addr, losses: &AodvLossNotification) {
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
                // It fits: it was there.
                rest.push(&info);
            }
        }
        if let Some(source) = source {
            self.send_loss_notification(now, source, AodvLossNotification { list: rest, ..*losses });
        }
    }

    /// §4.3.2: sends the last of the lost acknowledgments again, if there is a route.
    /// Not over the neighbour that the notification comes from: that is the way on which they were lost, whose
    /// RERR may still be on its way.
    fn resend_ack(&mut self, now: Instant, from: Ipv4Addr, info: &mut ConnInfo) {
        if !self.config.bead {
            return;
        }
        let Some(ack) = info.ack_to_resend() else { return };
        let route = self.table.get(ack.ip.destination);
        let leads = |route: &Route| route.is_valid() && route.next_hop != from;
        if ack.ip.destination == self.address || !route.is_some_and(leads) {
            return;
        }
        info.mark_ack_sent();
        self.stats.resent_acks += 1;
        self.outbox.push(Output::Duplicated);
        self.forward(now, RoutedPacket::plain(ack), None, now);
    }
}
