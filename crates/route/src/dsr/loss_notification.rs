//! Early packet loss notification, best-effort ACK delivery (yu-2004 §4), and explicit link failure
//! notification (yu-2004 §3.1, after Holland & Vaidya 1999): what DSR says of packets of TCP that a
//! failed link did not carry. Each is a switch of [`DsrConfig`](super::DsrConfig) by itself.
//!
//! | switch | who says what |
//! |---|---|
//! | `elfn` | the node at the link names the packet that failed, lost or not, to where its source route begins |
//! | `epln` | the same, all data that is lost with it, and who has salvaged a packet passes the news on |
//! | `bead` | the same for acknowledgments; a node with the news and a cached route sends the last one again |
//! | `relay_notices` | a packet lists who has salvaged it, and the news goes back from one to the next |
//!
//! Nothing here starts a route discovery (§4.1): who has no cached route says nothing.
//!
//! What the paper leaves open, and what is done:
//!
//! - *What is known at the link* is known once every packet has met its fate, so the errors leave after
//!   that, whatever `error_first` says.
//! - *A list that is too long* for one error goes on in a second one to the same source.
//! - *A notification that waits in the queue* for the same neighbour is lost like the one that failed
//!   (§4.1, case 5), and its source hears of that, too.
//! - *A notification that is salvaged* is not lost: the error about it does not take its list along.
//! - *Data at the node that has salvaged it*: algorithm 1 has no look-up for it; the text of §4.3.3 has.
//! - *How often an acknowledgment is sent again*: it counts as salvaged once more than the one that was
//!   lost (RFC 4728 §6.4, total salvage count), and ends as that does.
//! - *Packets that wait* in the send buffer, and are dropped there later, are nobody's news.

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::{
    ConnInfo, ConnList, ConnPackets, DsrError, DsrErrorKind, DsrHeader, AddressList, RELAYS_MAX, RoutedPacket,
};

use super::Dsr;
use super::maintenance::SalvageOutcome;
use super::originate::{MAX_SALVAGE_COUNT, salvage_count};
use super::path::{self, SourceRoute, Path};
use crate::drop_list::{DropList, loss_signals};
use crate::{LinkDestination, Output};

/// A packet that a failed link did not carry, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedPacket {
    pub packet: RoutedPacket,
    pub outcome: SalvageOutcome,
}

impl FailedPacket {
    /// A notification that is lost.
    fn is_lost_notification(&self) -> bool {
        self.outcome == SalvageOutcome::Lost && is_loss_notification(&self.packet)
    }
}

/// Does it carry the news of lost packets?
pub(super) fn is_loss_notification(packet: &RoutedPacket) -> bool {
    packet.is_control() && packet.dsr.as_ref().is_some_and(DsrHeader::has_conn_list)
}

impl Dsr {
    /// Is anything said of packets that are lost?
    pub(super) const fn reports_losses(&self) -> bool {
        self.config.elfn || self.config.epln || self.config.bead
    }

    /// §4.3.1: the link to `to` did not carry these packets, the first of which has shown that.
    pub(super) fn report_losses(&mut self, now: Instant, to: Ipv4Addr, failed: &[FailedPacket]) {
        for (place, one) in failed.iter().enumerate() {
            // Its own TCP has heard of it, and a lost notification goes on by the cache.
            if one.packet.packet.ip.source == self.address {
                continue;
            }
            let Some(source) = route_source(&one.packet) else { continue };
            if one.is_lost_notification() {
                self.send_error_with(now, to, &one.packet, &ConnList::EMPTY);
                continue;
            }
            let before = failed.get(..place).unwrap_or_default();
            let same = |other: &&FailedPacket| route_source(&other.packet) == Some(source);
            let is_first = !before.iter().filter(same).any(|other| !other.is_lost_notification());
            let reports = place == 0 || self.config.error_per_source && is_first;
            if one.packet.is_control() {
                if reports {
                    self.send_error_with(now, to, &without_loss_list(&one.packet), &ConnList::EMPTY);
                }
                continue;
            }
            // One error to each source, with all that is lost of it.
            if before.iter().filter(same).any(|other| !other.packet.is_control()) {
                continue;
            }
            let own = source == self.address;
            let mut infos = core::mem::take(&mut self.drop_list);
            for (place, other) in failed.iter().enumerate() {
                if route_source(&other.packet) == Some(source) {
                    infos.add(self.loss_entry(other, place == 0 && !own));
                }
            }
            if own {
                self.notify_endpoints(now, to, salvage_count(&one.packet), &infos);
            } else {
                let mut reported = false;
                for list in infos.lists() {
                    reported = true;
                    if self.send_error_with(now, to, &one.packet, &list) {
                        self.stats.loss_notices += 1;
                    }
                }
                if !reported && reports {
                    self.send_error_with(now, to, &one.packet, &ConnList::EMPTY);
                }
            }
            infos.clear();
            self.drop_list = infos;
        }
    }

    /// What is to be said of a packet; `first`: it is the one that has shown that the link failed.
    fn loss_entry(&self, failed: &FailedPacket, first: bool) -> Option<ConnInfo> {
        let lost = failed.outcome == SalvageOutcome::Lost;
        let mut info = ConnInfo::from_packet(&failed.packet.packet, !lost)?;
        let says = match info.packets {
            ConnPackets::Data { .. } if first => self.config.elfn || self.config.epln,
            ConnPackets::Data { .. } => lost && self.config.epln,
            ConnPackets::Acks { .. } => lost && self.config.bead,
        };
        if self.config.relay_notices {
            info.relays = failed.packet.dsr.as_ref().map_or(AddressList::EMPTY, DsrHeader::salvagers);
        }
        says.then_some(info)
    }

    /// §4.3.1: this node is the TCP sender of the packet that failed. Its TCP hears of that first; then the
    /// packet takes another route, or waits for one.
    pub(super) fn signal_own_link_failure(&mut self, to: Ipv4Addr, packet: &RoutedPacket) {
        if packet.packet.ip.source == self.address
            && (self.config.elfn || self.config.epln)
            && let Some(info) = ConnInfo::from_packet(&packet.packet, true)
        {
            self.signal_loss(&info, FailedLink { from: self.address, to }, self.address);
        }
    }

    /// §4.3.1: this node has salvaged these packets, or has sent these acknowledgments again, and its
    /// own link has lost them. It has no other way for them.
    fn notify_endpoints(&mut self, now: Instant, to: Ipv4Addr, salvage: u8, infos: &DropList) {
        let kind = DsrErrorKind::NodeUnreachable(to);
        for info in infos.as_slice() {
            let destination = info.flow.source.address;
            let error = DsrError { kind, salvage, source: self.address, destination };
            self.relay_notification(now, error, *info);
        }
    }

    /// §4.3.3, algorithm 1: a notification for this node. What goes on inside of the next error stays
    /// in the header.
    pub(super) fn on_loss_notification(&mut self, now: Instant, header: &mut DsrHeader, from: Ipv4Addr) {
        let Some(list) = header.conn_list() else { return };
        let Some(error) = header.errors().next().copied() else { return };
        let DsrErrorKind::NodeUnreachable(to) = error.kind else { return };
        let nested = header.errors().nth(1).is_some();
        let salvage = innermost_salvage_count(header);
        let mut rest = ConnList::EMPTY;
        for mut info in list.entries() {
            if info.flow.source.address == self.address {
                self.signal_loss(&info, FailedLink { from: error.source, to }, from);
                self.resend_ack(now, &mut info, salvage);
                continue;
            }
            let renewed = self.resend_ack(now, &mut info, salvage);
            if nested {
                // It fits: it was there.
                rest.push(&info);
            } else if !renewed {
                self.relay_notification(now, error, info);
            }
        }
        header.set_conn_list(&rest);
    }

    /// §4.3.2: a notification for another passes.
    pub(super) fn on_forwarded_notification(&mut self, now: Instant, packet: &mut RoutedPacket) {
        if !self.config.bead || !is_loss_notification(packet) {
            return;
        }
        let Some(header) = &mut packet.dsr else { return };
        let Some(list) = header.conn_list() else { return };
        let salvage = innermost_salvage_count(header);
        let mut after = ConnList::EMPTY;
        for mut info in list.entries() {
            self.resend_ack(now, &mut info, salvage);
            after.push(&info);
        }
        header.set_conn_list(&after);
    }

    /// Sends the last of the lost acknowledgments again if there is a cached route to the TCP sender,
    /// and notes that.
    fn resend_ack(&mut self, now: Instant, info: &mut ConnInfo, salvage: u8) -> bool {
        if !self.config.bead || salvage >= self.config.salvage_limit.min(MAX_SALVAGE_COUNT) {
            return false;
        }
        let Some(mut ack) = info.ack_to_resend() else { return false };
        let Some(path) = self.cache.select_for_salvage(now, ack.ip.destination) else { return false };
        let Some(next) = path.get(1) else { return false };
        info.mark_ack_sent();
        self.stats.resent_acks += 1;
        ack.ip.identification = self.new_identification();
        let mut packet = RoutedPacket::plain(ack);
        path::set_source_route(&mut packet, &path, salvage + 1);
        self.cache.on_route_used(now, &path, true);
        self.outbox.push(Output::Duplicated);
        self.transmit(now, now, packet, LinkDestination::Unicast(next));
        true
    }

    /// §4.3.3: news for the own TCP.
    fn signal_loss(&mut self, info: &ConnInfo, link: FailedLink, reporter: Ipv4Addr) {
        for signal in loss_signals(info, link, reporter) {
            self.outbox.push(Output::Signal(signal));
        }
    }

    /// A notification of this node, which stands between: to the packets' source, or to who has
    /// salvaged them before.
    fn relay_notification(&mut self, now: Instant, error: DsrError, mut info: ConnInfo) {
        let says = match info.packets {
            ConnPackets::Data { .. } => self.config.epln,
            ConnPackets::Acks { ack_sent: sent, .. } => self.config.bead && !sent,
        };
        if !says {
            return;
        }
        let source = info.flow.source.address;
        let mut relays = info.relays.as_slice();
        let mut to = source;
        let path = loop {
            if to != self.address
                && let Some(path) = self.cache.select(now, to)
            {
                break path;
            }
            let Some((relay, rest)) = relays.split_first() else { return };
            (to, relays) = (*relay, rest);
        };
        if to != source {
            info.relays = AddressList::new(relays).unwrap_or_default();
        }
        let mut list = ConnList::EMPTY;
        list.push(&info);
        let error = DsrError { destination: to, ..error };
        let mut header = DsrHeader { errors: [Some(error), None, None], ..DsrHeader::default() };
        header.set_conn_list(&list);
        if let (DsrErrorKind::NodeUnreachable(unreachable), Some(next)) = (error.kind, path.get(1))
        {
            let link = FailedLink { from: error.source, to: unreachable };
            self.cache.on_error_sent(link, next, &mut header);
        }
        let packet = self.control_packet(to, header);
        self.stats.loss_notices += 1;
        self.stats.passed_notices += 1;
        self.stats.route_errors += 1;
        self.send_on_path(now, now, packet, &path);
    }

    /// §4.3.2: a notification of this node on a cached route, or not at all.
    pub(super) fn send_on_cached_route(&mut self, now: Instant, packet: RoutedPacket) -> SalvageOutcome {
        match self.cache.select(now, packet.packet.ip.destination) {
            Some(path) => {
                self.send_on_path(now, now, packet, &path);
                SalvageOutcome::Rerouted
            }
            None => {
                self.stats.lost_notices += 1;
                self.drop_packet(packet, crate::DropReason::NoRoute);
                SalvageOutcome::Lost
            }
        }
    }

    /// Notes in a packet that this node salvages who has done so before.
    pub(super) fn record_salvager(&self, packet: &mut RoutedPacket) {
        if !self.config.relay_notices || packet.is_control() {
            return;
        }
        let source = packet.packet.ip.source;
        let Some(last) = route_source(packet).filter(|last| *last != source) else { return };
        let Some(header) = &mut packet.dsr else { return };
        let mut nodes = AddressList::EMPTY;
        nodes.push(last);
        for node in header.salvagers().as_slice().iter().take(RELAYS_MAX - 1) {
            nodes.push(*node);
        }
        header.set_salvagers(&nodes);
    }
}

/// How often the packets had been salvaged that the list of a header is about: its first error was the last
/// one in it, those around it are about notifications.
fn innermost_salvage_count(header: &DsrHeader) -> u8 {
    header.errors().last().map_or(0, |error| error.salvage)
}

/// A routing packet whose news goes on with the packet itself, so that an error about its link has none of it.
fn without_loss_list(packet: &RoutedPacket) -> RoutedPacket {
    let mut packet = *packet;
    if is_loss_notification(&packet)
        && let Some(header) = &mut packet.dsr
    {
        header.errors = Default::default();
        header.set_conn_list(&ConnList::EMPTY);
    }
    packet
}

/// Where the packet's source route begins.
fn route_source(packet: &RoutedPacket) -> Option<Ipv4Addr> {
    SourceRoute::of_packet(packet).and_then(|on| on.path.first())
}

/// The way back on which an error travels, from the node at the failed link.
pub(super) fn error_return_path(packet: &RoutedPacket, me: Ipv4Addr) -> Option<Path> {
    let carried = SourceRoute::of_packet(packet)?;
    let mut back = carried.path;
    back.truncate(carried.next_position);
    (back.last() == Some(me) && !back.has_loop()).then(|| back.reversed())
}
