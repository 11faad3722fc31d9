//! Confirmation by the network layer, for link layers that say nothing of what they did not carry:
//! passive acknowledgments (RFC 4728 §8.3.2) and those that are asked for (§8.3.3).

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_wire::{DsrHeader, DsrOption, RoutedPacket};

use super::Dsr;
use super::config::NextHopConfirmation;
use super::maintenance_buffer::{PENDING_MAX, has_further_hop};
use crate::{DropReason, LinkDestination, Output};

impl Dsr {
    fn uses_network_acks(&self) -> bool {
        self.config.confirm == NextHopConfirmation::NetworkLayer
    }

    /// For how long a packet that is sent for the n-th time after the first is listened for; `None`:
    /// it asks for an acknowledgment. RFC 4728 §8.3.2: never on the last hop; and a link is broken
    /// only if nobody has answered who was asked.
    fn passive_ack_timeout(&self, packet: &RoutedPacket, to: Ipv4Addr, again: u8) -> Option<Duration> {
        let config = &self.config;
        let listens = config.tap && again < config.try_passive_acks.min(config.max_maint_rexmt);
        (listens && has_further_hop(packet, to)).then_some(self.config.passive_ack_timeout)
    }

    /// A packet leaves for the neighbour `to` at `at`: keeps a copy until it is confirmed, unless the
    /// neighbour has confirmed something just now (RFC 4728 §8.3).
    pub(super) fn await_confirmation(&mut self, at: Instant, packet: &mut RoutedPacket, to: Ipv4Addr) {
        if !self.uses_network_acks() || has_ack(packet) {
            return;
        }
        // What an error takes along from a packet that was overheard was asked of another.
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

    /// A packet has come for this node, or for all. Confirms it if it asks for that. `None`: it has
    /// come before, and its acknowledgment was lost.
    pub(super) fn confirm_receipt(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        mut packet: RoutedPacket,
    ) -> Option<RoutedPacket> {
        if !self.uses_network_acks() {
            return Some(packet);
        }
        self.on_passive_ack(now, from, &packet);
        let asks_all = packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some());
        if asks_all || packet.packet.ip.destination == Ipv4Addr::BROADCAST {
            return Some(packet);
        }
        for option in packet.dsr.iter().flat_map(DsrHeader::extra_options) {
            if let DsrOption::Ack { id, source, destination } = option
                && destination == self.address
            {
                self.maintenance.on_ack(now, source, id);
            }
        }
        if has_ack(&packet) {
            // RFC 4728 §8.3.3: no acknowledgment of one.
            return Some(packet);
        }
        let again = self.maintenance.record_received(&packet);
        let asked = packet.dsr.as_mut().and_then(DsrHeader::take_ack_request);
        if let Some(id) = asked {
            self.acknowledge(now, from, id);
        }
        if again {
            // As a link layer does it; else the copies of each hop would multiply: where all its
            // acknowledgments are lost, a packet goes on and is salvaged.
            if !packet.is_control() {
                self.drop_packet(packet, DropReason::Loop);
            }
            return None;
        }
        Some(packet)
    }

    fn acknowledge(&mut self, now: Instant, to: Ipv4Addr, id: u16) {
        let mut dsr = DsrHeader::default();
        dsr.add_option(DsrOption::Ack { id, source: self.address, destination: to });
        let packet = self.control_packet(to, dsr);
        self.enqueue(now, now, packet, LinkDestination::Unicast(to));
    }

    /// A neighbour is heard to send something.
    pub(super) fn on_passive_ack(&mut self, now: Instant, from: Ipv4Addr, packet: &RoutedPacket) {
        if self.uses_network_acks() {
            self.maintenance.on_overheard(now, from, packet);
        }
    }

    /// The link layer says what it did not carry, and is not believed; is it so?
    pub(super) fn ignores_link_layer(&mut self, packet: &RoutedPacket) -> bool {
        if self.uses_network_acks() && !packet.is_control() {
            self.drop_packet(*packet, DropReason::Unconfirmed);
        }
        self.uses_network_acks()
    }

    /// What has not been confirmed in time is sent again, or its link is broken.
    pub(super) fn run_ack_timers(&mut self, now: Instant) {
        while let Some(at) = self.maintenance.due(now) {
            let Some(waiting) = self.maintenance.get(at).copied() else { return };
            if waiting.retransmissions >= self.config.max_maint_rexmt {
                self.on_unconfirmed(now, at, waiting.to);
                continue;
            }
            let passive = self.passive_ack_timeout(&waiting.packet, waiting.to, waiting.retransmissions + 1);
            let Some(waiting) = self.maintenance.retransmit(now, at, passive) else { return };
            let mut packet = waiting.packet;
            if passive.is_none() {
                add_ack_request(&mut packet, waiting.id);
            }
            self.stats.retransmitted += 1;
            self.record_duplicate(&packet);
            self.enqueue(now, now, packet, LinkDestination::Unicast(waiting.to));
        }
    }

    /// RFC 4728 §4.5: all that waits for that neighbour is taken out, draws errors and is salvaged.
    fn on_unconfirmed(&mut self, now: Instant, at: usize, to: Ipv4Addr) {
        let Some(first) = self.maintenance.take(at) else { return };
        self.maintenance.forget_neighbour(to);
        // There are copies of it here.
        self.outbox.push(Output::PurgeQueue(to));
        let mut others = core::mem::take(&mut self.unconfirmed_scratch);
        if others.capacity() == 0 {
            others.reserve_exact(PENDING_MAX);
        }
        others.extend(core::iter::from_fn(|| self.maintenance.take_for(to)));
        self.record_duplicate(&first.packet);
        others.iter().for_each(|packet| self.record_duplicate(packet));
        let mut rest = others.drain(..);
        self.handle_link_failure(now, to, first.packet, || rest.next());
        drop(rest);
        self.unconfirmed_scratch = others;
    }

    /// What goes out or is dropped next, went out before.
    fn record_duplicate(&mut self, packet: &RoutedPacket) {
        if !packet.is_control() {
            self.outbox.push(Output::Duplicated);
        }
    }
}

/// Does it carry an Acknowledgment?
fn has_ack(packet: &RoutedPacket) -> bool {
    let mut options = packet.dsr.iter().flat_map(DsrHeader::extra_options);
    options.any(|option| matches!(option, DsrOption::Ack { .. }))
}

/// Adds an Acknowledgment Request, if there is room.
fn add_ack_request(packet: &mut RoutedPacket, id: u16) -> bool {
    packet.dsr.get_or_insert_default().add_option(DsrOption::AckRequest { id })
}
