//! Early packet loss notification, best-effort ACK delivery (yu-2004 §4), and explicit link failure
//! notification (yu-2004 §3.1, after Holland & Vaidya 1999): DSR's reports of TCP packets that met a failed
//! link. Each is a separate option of [`DsrConfig`](super::DsrConfig).
//!
//! | option | report |
//! |---|---|
//! | `elfn` | the node at the link reports the packet that failed, lost or not, to the first node of its source route |
//! | `epln` | the same, with all data that is lost with it; nodes that have salvaged a packet relay the report |
//! | `bead` | the same for acknowledgments; a node with the report and a cached route retransmits the last one |
//! | `relay_notices` | a packet lists the nodes that have salvaged it, and the report is relayed from one to the next |
//!
//! EPLN and BEAD start no route discovery (§4.1): a node without a cached route sends no report. ELFN's
//! reports are DSR's route errors with one more field (§3.2), and are sent again as DSR sends errors.
//!
//! The TCP sender's own link: with EPLN its failure is always signalled to TCP (§4.3.1), with ELFN only if
//! the node has no other route; §3.2 names route discoveries and received messages as what freezes TCP.
//!
//! Choices where the paper leaves it open:
//!
//! - *Time of the report*: once all packets of the link have been salvaged or dropped, whatever `error_first`
//!   says.
//! - *Long lists* continue in a second error to the same source.
//! - *A notification queued* for the same neighbour is lost like the packet that failed (§4.1, case 5), and
//!   its source is notified of that, too.
//! - *A salvaged notification* is not lost: the error about it does not contain its list.
//! - *Data at the node that has salvaged it*: algorithm 1 has no lookup for it; the text of §4.3.3 has.
//! - *Repeated retransmission of an acknowledgment*: its salvage count is one more than that of the lost one
//!   (RFC 4728 §6.4, total salvage count), with the same limit.
//! - *Packets dropped from the send buffer* are not reported.

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::{
    AddressList, ConnInfo, ConnList, ConnPackets, DsrError, DsrErrorKind, DsrHeader, RELAYS_MAX,
    RoutedPacket,
};

use super::Dsr;
use super::originate::{MAX_SALVAGE_COUNT, salvage_count};
use super::path::{self, Path, SourceRoute};
use crate::drop_list::{DropList, loss_signals};
use crate::{LinkDestination, Output};

/// The outcome of a packet whose link failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SalvageOutcome {
    /// It has another route, or is buffered.
    Rerouted,
    /// It is lost.
    Lost,
}

/// A packet that met a failed link, and its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedPacket {
    pub packet: RoutedPacket,
    pub outcome: SalvageOutcome,
}

impl FailedPacket {
    /// Returns true for a notification that is lost.
    fn is_lost_notification(&self) -> bool {
        self.outcome == SalvageOutcome::Lost && is_loss_notification(&self.packet)
    }
}

/// Returns true if the packet carries a list of lost packets.
pub(super) fn is_loss_notification(packet: &RoutedPacket) -> bool {
    packet.is_control() && packet.dsr.as_ref().is_some_and(DsrHeader::has_conn_list)
}

impl Dsr {
    /// Returns true if any losses are reported.
    pub(super) const fn reports_losses(&self) -> bool {
        self.config.elfn || self.config.epln || self.config.bead
    }

    /// Returns true if lost notifications are sent again on cached routes only (yu-2004 §4.3.2). ELFN's are
    /// ordinary route errors, for which DSR searches (RFC 4728 §8.3.4).
    pub(super) const fn relays_losses(&self) -> bool {
        self.config.epln || self.config.bead
    }

    /// Reports the loss of these packets on the link to `to`, the first of which detected the failure
    /// (yu-2004 §4.3.1).
    pub(super) fn report_losses(&mut self, now: Instant, to: Ipv4Addr, failed: &[FailedPacket]) {
        for (place, one) in failed.iter().enumerate() {
            // The local TCP has been notified, and a lost notification is sent on a cached route.
            if self.is_originator(&one.packet) {
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
                    self.send_error_with(
                        now,
                        to,
                        &without_loss_list(&one.packet),
                        &ConnList::EMPTY,
                    );
                }
                continue;
            }
            // One error per source, with all its losses.
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
                for list in infos.conn_lists() {
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

    /// The entry about a packet, if it is to be reported; `first`: it is the one that detected the failure.
    fn loss_entry(&self, failed: &FailedPacket, first: bool) -> Option<ConnInfo> {
        let lost = failed.outcome == SalvageOutcome::Lost;
        let mut info = ConnInfo::from_packet(&failed.packet.packet, !lost)?;
        let says = match info.packets {
            ConnPackets::Data { .. } if first => self.config.elfn || self.config.epln,
            ConnPackets::Data { .. } => lost && self.config.epln,
            ConnPackets::Acks { .. } => lost && self.config.bead,
        };
        if self.config.relay_notices {
            info.relays =
                failed.packet.dsr.as_ref().map_or(AddressList::EMPTY, DsrHeader::salvagers);
        }
        says.then_some(info)
    }

    /// Notifies the local TCP of a failed packet of its own, which then takes another route, or is buffered:
    /// with EPLN in either case (yu-2004 §4.3.1), with ELFN alone only if no route is available (§3.2).
    pub(super) fn signal_own_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) {
        let ip = packet.packet.ip;
        if ip.source != self.address {
            return;
        }
        let signals = self.config.epln
            || self.config.elfn && self.cache.lookup(now, ip.destination).is_none();
        if signals && let Some(info) = ConnInfo::from_packet(&packet.packet, true) {
            self.signal_loss(&info, FailedLink { from: self.address, to }, self.address);
        }
    }

    /// Notifies the ends about packets that this node has salvaged, or acknowledgments that it has
    /// retransmitted, which its own link has lost without another route (yu-2004 §4.3.1).
    fn notify_endpoints(&mut self, now: Instant, to: Ipv4Addr, salvage: u8, infos: &DropList) {
        let kind = DsrErrorKind::NodeUnreachable(to);
        for info in infos.as_slice() {
            let destination = info.flow.source.address;
            let error = DsrError { kind, salvage, source: self.address, destination };
            self.relay_notification(now, error, *info);
        }
    }

    /// Handles a notification for this node (yu-2004 §4.3.3, algorithm 1). Entries that belong to the next
    /// nested error stay in the header.
    pub(super) fn on_loss_notification(
        &mut self,
        now: Instant,
        header: &mut DsrHeader,
        from: Ipv4Addr,
    ) {
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
                // There is room: the entry was in the received list.
                rest.push(&info);
            } else if !renewed {
                self.relay_notification(now, error, info);
            }
        }
        header.set_conn_list(&rest);
    }

    /// Handles a notification that this node forwards (yu-2004 §4.3.2).
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

    /// Retransmits the last of the lost acknowledgments if there is a cached route to the TCP sender, and
    /// marks the entry.
    fn resend_ack(&mut self, now: Instant, info: &mut ConnInfo, salvage: u8) -> bool {
        if !self.config.bead || salvage >= self.config.salvage_limit.min(MAX_SALVAGE_COUNT) {
            return false;
        }
        let Some(mut ack) = info.ack_to_resend() else { return false };
        if self.is_destination(ack.ip.destination) {
            return false;
        }
        let Some(path) = self.cache.select_for_salvage(now, ack.ip.destination) else {
            return false;
        };
        let Some(next) = path.get(1) else { return false };
        info.mark_ack_sent();
        self.stats.resent_acks += 1;
        ack.ip.identification = self.take_identification();
        let mut packet = RoutedPacket::plain(ack);
        path::set_source_route(&mut packet, &path, salvage + 1);
        self.cache.on_route_used(now, &path, true);
        self.outbox.push(Output::Duplicated);
        self.transmit(now, now, &mut packet, LinkDestination::Unicast(next));
        true
    }

    /// Signals a loss to the local TCP (yu-2004 §4.3.3).
    fn signal_loss(&mut self, info: &ConnInfo, link: FailedLink, reporter: Ipv4Addr) {
        for signal in loss_signals(info, link, reporter) {
            self.outbox.push(Output::Signal(signal));
        }
    }

    /// Sends a notification of this intermediate node to the packets' source, or to the previous node that
    /// has salvaged them.
    fn relay_notification(&mut self, now: Instant, error: DsrError, mut info: ConnInfo) {
        let says = match info.packets {
            ConnPackets::Data { .. } => self.config.epln,
            ConnPackets::Acks { ack_sent, .. } => self.config.bead && !ack_sent,
        };
        if !says {
            return;
        }
        let source = info.flow.source.address;
        // The external host does not understand it.
        if self.external.contains(source) {
            return;
        }
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

    /// Sends a notification of this node on a cached route, or drops it (yu-2004 §4.3.2).
    pub(super) fn send_on_cached_route(
        &mut self,
        now: Instant,
        packet: RoutedPacket,
    ) -> SalvageOutcome {
        match self.cache.select(now, packet.packet.ip.destination) {
            Some(path) => {
                self.send_on_path(now, now, packet, &path);
                SalvageOutcome::Rerouted
            }
            None => {
                self.stats.lost_notices += 1;
                self.drop_packet(packet, driftway_base::DropReason::NoRoute);
                SalvageOutcome::Lost
            }
        }
    }

    /// Lists the previous salvagers in a packet that this node salvages.
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

/// The salvage count of the packets listed in a header: that of the innermost error, since the outer ones are
/// about notifications.
fn innermost_salvage_count(header: &DsrHeader) -> u8 {
    header.errors().last().map_or(0, |error| error.salvage)
}

/// A copy of a control packet without its loss list, which is forwarded with the packet itself, so that the
/// error about the link does not contain it.
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

/// The first node of the packet's source route.
fn route_source(packet: &RoutedPacket) -> Option<Ipv4Addr> {
    SourceRoute::within_network(packet).and_then(|on| on.path.first())
}

/// The reverse of the travelled route, for an error from the node at the failed link.
pub(super) fn error_return_path(packet: &RoutedPacket, me: Ipv4Addr) -> Option<Path> {
    let carried = SourceRoute::within_network(packet)?;
    let mut back = carried.path;
    back.truncate(carried.next_position);
    (back.last() == Some(me) && !back.has_loop()).then(|| back.reversed())
}
