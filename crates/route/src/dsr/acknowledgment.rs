//! Network-layer confirmation of receipt, for link layers that do not report failures: passive
//! acknowledgments (RFC 4728 §8.3.2) and requested ones (§8.3.3).

use driftway_base::{DropReason, Duration, Instant, Ipv4Addr};
use driftway_wire::{DsrHeader, DsrOption, RoutedPacket};

use super::Dsr;
use super::config::NextHopConfirmation;
use super::maintenance_buffer::{PENDING_MAX, has_further_hop};
use crate::{LinkDestination, Output};

impl Dsr {
    fn uses_network_acks(&self) -> bool {
        self.config.confirm == NextHopConfirmation::NetworkLayer
    }

    /// The time to wait for a passive acknowledgment after the n-th retransmission; `None`: the packet
    /// requests an acknowledgment. RFC 4728 §8.3.2: never on the last hop; and a link is considered broken
    /// only if a requested acknowledgment is missing.
    fn passive_ack_timeout(
        &self,
        packet: &RoutedPacket,
        to: Ipv4Addr,
        again: u8,
    ) -> Option<Duration> {
        let config = &self.config;
        let listens =
            config.promiscuous && again < config.try_passive_acks.min(config.max_maint_rexmt);
        (listens && has_further_hop(packet, to)).then_some(self.config.passive_ack_timeout)
    }

    /// Stores a copy of a packet that leaves for the neighbour `to` at `at` until it is confirmed, unless the
    /// neighbour has confirmed another within the hold-off time (RFC 4728 §8.3).
    pub(super) fn await_confirmation(
        &mut self,
        at: Instant,
        packet: &mut RoutedPacket,
        to: Ipv4Addr,
    ) {
        if !self.uses_network_acks() || has_ack(packet) {
            return;
        }
        // An acknowledgment request copied into an error from an overheard packet was meant for another node.
        packet.dsr.as_mut().and_then(DsrHeader::take_ack_request);
        if self.maintenance.is_in_holdoff(at, to, self.config.maint_holdoff) {
            return;
        }
        let passive = self.passive_ack_timeout(packet, to, 0);
        let Some(id) = self.maintenance.push(at, *packet, to, passive) else { return };
        if passive.is_none() && !add_ack_request(packet, id) {
            self.maintenance.pop();
        }
    }

    /// Acknowledges a received packet if it requests that. Returns false for a duplicate, whose
    /// acknowledgment was lost.
    pub(super) fn confirm_receipt(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        packet: &mut RoutedPacket,
    ) -> bool {
        if !self.uses_network_acks() {
            return true;
        }
        self.on_passive_ack(now, from, packet);
        let asks_all = packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some());
        if asks_all || packet.packet.ip.destination == Ipv4Addr::BROADCAST {
            return true;
        }
        for option in packet.dsr.iter().flat_map(DsrHeader::extra_options) {
            if let DsrOption::Ack { id, source, destination } = option
                && destination == self.address
            {
                self.maintenance.on_ack(now, source, id);
            }
        }
        if has_ack(packet) {
            // RFC 4728 §8.3.3: acknowledgments are not acknowledged.
            return true;
        }
        let again = self.maintenance.record_received(packet);
        let asked = packet.dsr.as_mut().and_then(DsrHeader::take_ack_request);
        if let Some(id) = asked {
            self.acknowledge(now, from, id);
        }
        if again {
            // As a link layer does; otherwise the copies would multiply at each hop: a packet whose
            // acknowledgments are all lost is both forwarded and salvaged.
            if !packet.is_control() {
                self.drop_packet(*packet, DropReason::Loop);
            }
            return false;
        }
        true
    }

    fn acknowledge(&mut self, now: Instant, to: Ipv4Addr, id: u16) {
        let mut dsr = DsrHeader::default();
        dsr.add_option(DsrOption::Ack { id, source: self.address, destination: to });
        let mut packet = self.control_packet(to, dsr);
        self.enqueue(now, now, &mut packet, LinkDestination::Unicast(to));
    }

    /// Handles any packet heard from a neighbour as a possible passive acknowledgment.
    pub(super) fn on_passive_ack(&mut self, now: Instant, from: Ipv4Addr, packet: &RoutedPacket) {
        if self.uses_network_acks() {
            self.maintenance.on_overheard(now, from, packet);
        }
    }

    /// Drops a packet that the link layer could not deliver, if its reports are ignored; returns true in that
    /// case.
    pub(super) fn ignores_link_layer(&mut self, packet: &RoutedPacket) -> bool {
        if self.uses_network_acks() && !packet.is_control() {
            self.drop_packet(*packet, DropReason::Unconfirmed);
        }
        self.uses_network_acks()
    }

    /// Retransmits unconfirmed packets, or considers their link broken.
    pub(super) fn run_ack_timers(&mut self, now: Instant) {
        while let Some(at) = self.maintenance.due(now) {
            let Some(waiting) = self.maintenance.get(at).copied() else { return };
            if waiting.retransmissions >= self.config.max_maint_rexmt {
                self.on_unconfirmed(now, at, waiting.to);
                continue;
            }
            let passive =
                self.passive_ack_timeout(&waiting.packet, waiting.to, waiting.retransmissions + 1);
            let Some(waiting) = self.maintenance.retransmit(now, at, passive) else { return };
            let mut packet = waiting.packet;
            if passive.is_none() {
                add_ack_request(&mut packet, waiting.id);
            }
            self.stats.retransmitted += 1;
            self.record_duplicate(&packet);
            self.enqueue(now, now, &mut packet, LinkDestination::Unicast(waiting.to));
        }
    }

    /// Reports errors for all packets that wait for that neighbour and salvages them (RFC 4728 §4.5).
    fn on_unconfirmed(&mut self, now: Instant, at: usize, to: Ipv4Addr) {
        let Some(first) = self.maintenance.take(at) else { return };
        self.maintenance.forget_neighbour(to);
        // The queued packets have copies here.
        self.outbox.push(Output::PurgeQueue(to));
        let mut others = core::mem::take(&mut self.unconfirmed_scratch);
        if others.capacity() == 0 {
            others.reserve_exact(PENDING_MAX);
        }
        others.extend(core::iter::from_fn(|| self.maintenance.take_for(to)));
        self.record_duplicate(&first.packet);
        others.iter().for_each(|packet| self.record_duplicate(packet));
        let mut rest = others.drain(..);
        self.handle_link_failure(now, to, first.packet, &mut || rest.next());
        drop(rest);
        self.unconfirmed_scratch = others;
    }

    /// Accounts for a packet that was sent before and is sent or dropped again.
    fn record_duplicate(&mut self, packet: &RoutedPacket) {
        if !packet.is_control() {
            self.outbox.push(Output::Duplicated);
        }
    }
}

/// Returns true if the packet carries an Acknowledgment option.
fn has_ack(packet: &RoutedPacket) -> bool {
    let mut options = packet.dsr.iter().flat_map(DsrHeader::extra_options);
    options.any(|option| matches!(option, DsrOption::Ack { .. }))
}

/// Adds an Acknowledgment Request option, if there is room.
fn add_ack_request(packet: &mut RoutedPacket, id: u16) -> bool {
    packet.dsr.get_or_insert_default().add_option(DsrOption::AckRequest { id })
}
