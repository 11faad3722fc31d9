//! Network-layer confirmation of receipt, for link layers that do not report failures: passive
//! acknowledgments (RFC 4728 §8.3.2) and requested ones (§8.3.3).

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::{DsrHeader, DsrOption, Routed};

use super::Dsr;
use super::config::Confirm;
use super::maintenance_buffer::{WAITING_MAX, goes_on};
use crate::{DropReason, Hop, Output};

impl Dsr {
    fn confirms(&self) -> bool {
        self.config.confirm == Confirm::NetworkLayer
    }

    /// The time to wait for a passive acknowledgment after the n-th retransmission; `None`: the packet
    /// requests an acknowledgment. RFC 4728 §8.3.2: never on the last hop; and a link is considered broken
    /// only if a requested acknowledgment is missing.
    fn passive(&self, packet: &Routed, to: Ipv4Addr, again: u8) -> Option<Duration> {
        let config = &self.config;
        let listens = config.tap && again < config.try_passive_acks.min(config.max_maint_rexmt);
        (listens && goes_on(packet, to)).then_some(self.config.passive_ack_timeout)
    }

    /// Stores a copy of a packet that leaves for the neighbour `to` at `at` until it is confirmed, unless the
    /// neighbour has confirmed another within the hold-off time (RFC 4728 §8.3).
    pub(super) fn await_confirmation(&mut self, at: Instant, packet: &mut Routed, to: Ipv4Addr) {
        if !self.confirms() || acknowledges(packet) {
            return;
        }
        // An acknowledgment request copied into an error from an overheard packet was meant for another node.
        packet.dsr.as_mut().and_then(DsrHeader::take_ack_request);
        if self.maintenance.holds_off(at, to, self.config.maint_holdoff) {
            return;
        }
        let passive = self.passive(packet, to, 0);
        let Some(id) = self.maintenance.push(at, *packet, to, passive) else { return };
        if passive.is_none() && !ask(packet, id) {
            self.maintenance.pop();
        }
    }

    /// Acknowledges a received packet if it requests that. Returns `None` for a duplicate, whose
    /// acknowledgment was lost.
    pub(super) fn confirm(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        mut packet: Routed,
    ) -> Option<Routed> {
        if !self.confirms() {
            return Some(packet);
        }
        self.heard_passively(now, from, &packet);
        let asks_all = packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some());
        if asks_all || packet.packet.ip.destination == Ipv4Addr::BROADCAST {
            return Some(packet);
        }
        for option in packet.dsr.iter().flat_map(DsrHeader::more) {
            if let DsrOption::Ack { id, source, destination } = option
                && destination == self.address
            {
                self.maintenance.acknowledged(now, source, id);
            }
        }
        if acknowledges(&packet) {
            // RFC 4728 §8.3.3: acknowledgments are not acknowledged.
            return Some(packet);
        }
        let again = self.maintenance.has_come(&packet);
        let asked = packet.dsr.as_mut().and_then(DsrHeader::take_ack_request);
        if let Some(id) = asked {
            self.acknowledge(now, from, id);
        }
        if again {
            // As a link layer does; otherwise the copies would multiply at each hop: a packet whose
            // acknowledgments are all lost is both forwarded and salvaged.
            if !packet.is_control() {
                self.drop_packet(packet, DropReason::Loop);
            }
            return None;
        }
        Some(packet)
    }

    fn acknowledge(&mut self, now: Instant, to: Ipv4Addr, id: u16) {
        let mut dsr = DsrHeader::default();
        dsr.add(DsrOption::Ack { id, source: self.address, destination: to });
        let packet = self.control(to, dsr);
        self.hand_down(now, now, packet, Hop::To(to));
    }

    /// Handles any packet heard from a neighbour as a possible passive acknowledgment.
    pub(super) fn heard_passively(&mut self, now: Instant, from: Ipv4Addr, packet: &Routed) {
        if self.confirms() {
            self.maintenance.heard(now, from, packet);
        }
    }

    /// Drops a packet that the link layer could not deliver, if its reports are ignored; returns true in that
    /// case.
    pub(super) fn ignores_link_layer(&mut self, packet: &Routed) -> bool {
        if self.confirms() && !packet.is_control() {
            self.drop_packet(*packet, DropReason::Unconfirmed);
        }
        self.confirms()
    }

    /// Retransmits unconfirmed packets, or considers their link broken.
    pub(super) fn check_confirmations(&mut self, now: Instant) {
        while let Some(at) = self.maintenance.due(now) {
            let Some(waiting) = self.maintenance.get(at).copied() else { return };
            if waiting.again >= self.config.max_maint_rexmt {
                self.unconfirmed(now, at, waiting.to);
                continue;
            }
            let passive = self.passive(&waiting.packet, waiting.to, waiting.again + 1);
            let Some(waiting) = self.maintenance.again(now, at, passive) else { return };
            let mut packet = waiting.packet;
            if passive.is_none() {
                ask(&mut packet, waiting.id);
            }
            self.stats.retransmitted += 1;
            self.note_copy(&packet);
            self.hand_down(now, now, packet, Hop::To(waiting.to));
        }
    }

    /// Reports errors for all packets that wait for that neighbour and salvages them (RFC 4728 §4.5).
    fn unconfirmed(&mut self, now: Instant, at: usize, to: Ipv4Addr) {
        let Some(first) = self.maintenance.take(at) else { return };
        self.maintenance.lost(to);
        // The queued packets have copies here.
        self.outbox.push(Output::Purge(to));
        let mut others = core::mem::take(&mut self.unconfirmed);
        if others.capacity() == 0 {
            others.reserve_exact(WAITING_MAX);
        }
        others.extend(core::iter::from_fn(|| self.maintenance.take_for(to)));
        self.note_copy(&first.packet);
        others.iter().for_each(|packet| self.note_copy(packet));
        let mut rest = others.drain(..);
        self.link_failed(now, to, first.packet, || rest.next());
        drop(rest);
        self.unconfirmed = others;
    }

    /// Accounts for a packet that was sent before and is sent or dropped again.
    fn note_copy(&mut self, packet: &Routed) {
        if !packet.is_control() {
            self.outbox.push(Output::Copied);
        }
    }
}

/// Returns true if the packet carries an Acknowledgment option.
fn acknowledges(packet: &Routed) -> bool {
    let mut options = packet.dsr.iter().flat_map(DsrHeader::more);
    options.any(|option| matches!(option, DsrOption::Ack { .. }))
}

/// Adds an Acknowledgment Request option, if there is room.
fn ask(packet: &mut Routed, id: u16) -> bool {
    packet.dsr.get_or_insert_default().add(DsrOption::AckRequest { id })
}
