//! Route maintenance (RFC 4728 §8.3): link failures, route errors, salvaging.

use driftway_base::{DropReason, FailedLink, Instant, Ipv4Addr};
use driftway_wire::{
    ConnList, DSR_ERRORS_MAX, DsrError, DsrErrorKind, DsrHeader, DsrRequestOrOptions, RoutedPacket,
};

use super::Dsr;
use super::cache::LinkFailureReport;
use super::config::SalvageReplies;
use super::flow::strip_flow;
use super::loss_notification::{
    FailedPacket, SalvageOutcome, error_return_path, is_loss_notification,
};
use super::notices::is_link_failure_notice;
use super::originate::{MAX_SALVAGE_COUNT, salvage_count};
use super::path::{self, SourceRoute};
use crate::{LinkDestination, Output};

/// The maximum number of sources notified of one link failure.
const NOTIFIED_MAX: usize = 16;

impl Dsr {
    /// Handles a packet that could not be delivered over the link to `to`.
    pub(super) fn handle_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        mut packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.stats.link_failures += 1;
        if packet.dsr.as_ref().is_none_or(|dsr| dsr.source_route.is_none()) {
            self.restore_source_route(&mut packet);
        }
        let is_reply = packet.dsr.as_ref().is_some_and(|dsr| dsr.reply.is_some());
        if is_reply && !self.config.blacklist_timeout.is_zero() {
            // RFC 4728 §4.6: broadcasts of the neighbour arrive here, but packets to it do not.
            while self.blacklist.take_due(now).is_some() {}
            self.blacklist.set(to, now + self.config.blacklist_timeout);
        }
        let link = FailedLink { from: self.address, to };
        let route = SourceRoute::of_packet(&packet).map(|on| on.path);
        self.remove_link(now, link, LinkFailureReport::LinkLayer { route: route.as_ref() });
        if self.reports_losses() {
            return self.reroute_and_report(now, to, packet, queued);
        }
        let mut notified = NotifiedSources::default();
        if self.config.error_first {
            self.send_error_once(now, to, &packet, &mut notified);
        }
        self.reroute_or_drop(now, packet, Some(to));
        while let Some(packet) = queued() {
            if self.config.error_per_source {
                self.send_error_once(now, to, &packet, &mut notified);
            }
            self.reroute_or_drop(now, packet, hop_after_failed(&packet));
        }
        if !self.config.error_first {
            self.send_error_once(now, to, &packet, &mut notified);
        }
    }

    /// The same with reports of losses, which are known only at the end.
    fn reroute_and_report(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.signal_own_link_failure(now, to, &packet);
        let mut failed = core::mem::take(&mut self.failed_scratch);
        let outcome = self.reroute_or_drop(now, packet, Some(to));
        failed.push(FailedPacket { packet, outcome });
        while let Some(packet) = queued() {
            let outcome = self.reroute_or_drop(now, packet, hop_after_failed(&packet));
            failed.push(FailedPacket { packet, outcome });
        }
        self.report_losses(now, to, &failed);
        failed.clear();
        self.failed_scratch = failed;
    }

    /// Removes a failed link from the flows and the cache.
    fn remove_link(&mut self, now: Instant, link: FailedLink, report: LinkFailureReport<'_>) {
        self.flows.remove_link(link);
        if self.cache.on_link_failure(now, link, report) {
            self.report_lost_routes(now);
        }
    }

    /// Sends an error to the first node of the packet's route, on the reverse of the travelled route, once
    /// per source (RFC 4728 §8.3.4).
    fn send_error_once(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: &RoutedPacket,
        notified: &mut NotifiedSources,
    ) {
        let source = SourceRoute::within_network(packet).and_then(|on| on.path.first());
        if let Some(source) = source.filter(|source| !notified.contains(*source))
            && self.send_error_with(now, to, packet, &ConnList::EMPTY)
        {
            notified.insert(source);
        }
    }

    /// The same with a list of losses; returns true if an error was sent.
    pub(super) fn send_error_with(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: &RoutedPacket,
        list: &ConnList,
    ) -> bool {
        // Nodes that have a link of the notice's path in their cache are notified of that by other notices.
        if is_link_failure_notice(packet) {
            return false;
        }
        let Some(back) = error_return_path(packet, self.address) else { return false };
        let Some(source) = back.last().filter(|source| *source != self.address) else {
            return false;
        };
        let kind = DsrErrorKind::NodeUnreachable(to);
        let Some(mut dsr) = self.error_about(packet, kind, source) else { return false };
        if !list.is_empty() {
            dsr.set_conn_list(list);
        }
        self.stats.route_errors += 1;
        if let Some(next) = back.get(1) {
            self.cache.on_error_sent(FailedLink { from: self.address, to }, next, &mut dsr);
        }
        let mut error = self.control_packet(source, dsr);
        if back.len() > 2 || self.config.route_to_neighbour {
            path::set_source_route(&mut error, &back, 0);
        }
        if let Some(next) = back.get(1) {
            self.transmit(now, now, &mut error, LinkDestination::Unicast(next));
        }
        true
    }

    /// The header of an error to `destination` about `packet`. An error in the packet is nested in it, with
    /// its extra options, if there is room and the failure count is below the limit: each failure replaces
    /// the old packet by a new one, and without a limit a network that loses frames fills with errors about
    /// errors. RFC 4728 §8.3.4 would send the new one alone then.
    pub(super) fn error_about(
        &mut self,
        packet: &RoutedPacket,
        kind: DsrErrorKind,
        destination: Ipv4Addr,
    ) -> Option<DsrHeader> {
        let before = packet.dsr.as_ref().map_or([None; DSR_ERRORS_MAX], |dsr| dsr.errors);
        let full = self.config.nest_errors && before.iter().all(Option::is_some);
        let ends = self.config.count_errors && before[0].is_some();
        if full || ends && self.failure_count(packet) >= MAX_SALVAGE_COUNT {
            return None;
        }
        // Errors that are not nested are counted in the new one.
        let salvage = if self.config.nest_errors || !ends {
            salvage_count(packet)
        } else {
            self.failure_count(packet).saturating_add(1).min(MAX_SALVAGE_COUNT)
        };
        let mut errors = [None; DSR_ERRORS_MAX];
        errors[0] = Some(DsrError { kind, salvage, source: self.address, destination });
        if !self.config.nest_errors || before[0].is_none() {
            return Some(DsrHeader { errors, ..DsrHeader::default() });
        }
        self.stats.nested_errors += 1;
        for (slot, error) in errors.iter_mut().skip(1).zip(before) {
            *slot = error;
        }
        let request_or_options =
            packet.dsr.as_ref().map_or(DsrRequestOrOptions::None, further_options);
        Some(DsrHeader { errors, request_or_options, ..DsrHeader::default() })
    }

    /// The number of failures that a packet has met: each increments its salvage count, or nests the error
    /// that it was in a new one (total salvage count, RFC 4728 §6.4, except that the first error may be about
    /// a packet that has met none).
    fn failure_count(&self, packet: &RoutedPacket) -> u8 {
        let one = u8::from(self.config.count_errors);
        let errors = packet.dsr.iter().filter(|_| packet.is_control()).flat_map(DsrHeader::errors);
        let met =
            errors.fold(0u8, |met, error| met.saturating_add(error.salvage).saturating_add(one));
        salvage_count(packet).saturating_add(met.saturating_sub(one))
    }

    /// Reroutes a packet whose next hop has failed, buffers it, or drops it (RFC 4728 §8.3.6); `broken`: the
    /// node behind the link that a reply must not contain.
    pub(super) fn reroute_or_drop(
        &mut self,
        now: Instant,
        mut packet: RoutedPacket,
        broken: Option<Ipv4Addr>,
    ) -> SalvageOutcome {
        let ip = packet.packet.ip;
        if self.external.contains(ip.destination) {
            self.deliver_external(&packet);
            return SalvageOutcome::Rerouted;
        }
        let own = self.is_originator(&packet);
        // Requests are broadcast, so they cannot fail.
        if packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some()) {
            return self.drop_lost(packet, DropReason::LinkFailure);
        }
        strip_flow(&mut packet);
        if packet.dsr.as_ref().is_some_and(|dsr| dsr.reply.is_some()) {
            let strips_reply = match self.config.salvage_replies {
                SalvageReplies::Never => true,
                SalvageReplies::UnlessBroken => {
                    !own && self.cache.lookup(now, ip.destination).is_some()
                        && broken.is_some_and(|broken| self.reply_contains_link(&packet, broken))
                }
            };
            if strips_reply && !strip_reply(&mut packet) {
                return self.drop_lost(packet, DropReason::LinkFailure);
            }
        }
        // A notice is not rerouted.
        if is_link_failure_notice(&packet) {
            return self.drop_lost(packet, DropReason::LinkFailure);
        }
        if own && self.relays_losses() && is_loss_notification(&packet) {
            return self.send_on_cached_route(now, packet);
        }
        if own {
            self.route_own_packet(now, packet);
            return SalvageOutcome::Rerouted;
        }
        if !self.config.salvage {
            return self.drop_lost(packet, DropReason::LinkFailure);
        }
        if self.failure_count(&packet) >= self.config.salvage_limit {
            return self.drop_lost(packet, DropReason::SalvageLimit);
        }
        if let Some(path) = self.cache.select_for_salvage(now, ip.destination) {
            let Some(next) = path.get(1) else {
                return self.drop_lost(packet, DropReason::BadRoute);
            };
            self.stats.salvaged += 1;
            self.cache.on_route_used(now, &path, !packet.is_control());
            let salvage_count = salvage_count(&packet) + 1;
            if !packet.is_control() {
                self.outbox.push(Output::Salvaged { packet: packet.packet, salvage_count });
            }
            self.record_salvager(&mut packet);
            path::set_source_route(&mut packet, &path, salvage_count);
            self.transmit(now, now, &mut packet, LinkDestination::Unicast(next));
            SalvageOutcome::Rerouted
        } else if self.config.salvage_requests > 0 {
            self.buffer_packet(now, packet);
            SalvageOutcome::Rerouted
        } else {
            self.drop_lost(packet, DropReason::NoRoute)
        }
    }

    fn drop_lost(&mut self, packet: RoutedPacket, reason: DropReason) -> SalvageOutcome {
        self.drop_packet(packet, reason);
        SalvageOutcome::Lost
    }

    /// Returns true if the packet's reply contains the link between this node and `other`.
    fn reply_contains_link(&self, packet: &RoutedPacket, other: Ipv4Addr) -> bool {
        let reply = packet.dsr.as_ref().and_then(|dsr| dsr.reply.as_ref());
        let path = reply
            .and_then(|reply| super::replies::replied_route(packet.packet.ip.destination, reply));
        path.is_some_and(|path| {
            let mut links = path.as_slice().windows(2);
            links.any(|link| link == [self.address, other] || link == [other, self.address])
        })
    }

    /// Handles the errors in a packet (RFC 4728 §8.3.5). `from`: the neighbour that sent it; `also_sent_to`:
    /// another one that receives it, because this node forwards it there or it was overheard on its way there.
    pub(super) fn on_errors(
        &mut self,
        now: Instant,
        packet: &RoutedPacket,
        from: Ipv4Addr,
        also_sent_to: Option<Ipv4Addr>,
    ) {
        let Some(header) = packet.dsr.as_ref().filter(|header| header.errors[0].is_some()) else {
            return;
        };
        let reporter = packet.packet.ip.source;
        let report = LinkFailureReport::RouteError { reporter, from, also_sent_to, header };
        for error in header.all_errors() {
            if let DsrErrorKind::NodeUnreachable(to) = error.kind {
                self.remove_link(now, FailedLink { from: error.source, to }, report);
            }
        }
        if header.request().is_some() {
            return;
        }
        let mut header = *header;
        if self.reports_losses() && self.is_destination(packet.packet.ip.destination) {
            self.on_loss_notification(now, &mut header, reporter);
        }
        let request_or_options = further_options(&header);
        let mut held =
            DsrHeader { errors: header.errors, request_or_options, ..DsrHeader::default() };
        let mut carried = salvage_count(packet);
        while let Some(first) = held.take_error() {
            if !self.is_destination(first.destination) {
                return;
            }
            match first.kind {
                // A notice has informed all nodes concerned, so it is not piggybacked.
                DsrErrorKind::NodeUnreachable(_) if is_link_failure_notice(packet) => {}
                DsrErrorKind::NodeUnreachable(to) => {
                    self.last_error = Some((FailedLink { from: first.source, to }, now));
                }
                kind => self.on_flow_error(kind),
            }
            // A nested error is sent on to its destination, with the failures so far (the total salvage
            // count, RFC 4728 §6.4).
            if let Some(next) = &mut held.errors[0] {
                let met = [first.salvage, u8::from(self.config.count_errors), carried]
                    .into_iter()
                    .fold(next.salvage, u8::saturating_add);
                next.salvage = met.min(MAX_SALVAGE_COUNT);
                carried = 0;
            }
            if let Some(next) = held.errors[0]
                && !self.is_destination(next.destination)
            {
                let packet = self.control_packet(next.destination, held);
                if self.relays_losses() && is_loss_notification(&packet) {
                    self.send_on_cached_route(now, packet);
                } else {
                    self.route_own_packet(now, packet);
                }
                return;
            }
        }
    }
}

/// The extra options.
fn further_options(dsr: &DsrHeader) -> DsrRequestOrOptions {
    match dsr.request_or_options {
        DsrRequestOrOptions::ExtraOptions(_) => dsr.request_or_options,
        DsrRequestOrOptions::None | DsrRequestOrOptions::Request(_) => DsrRequestOrOptions::None,
    }
}

/// The hop after the failed one, which ns-2.35 checks instead.
fn hop_after_failed(packet: &RoutedPacket) -> Option<Ipv4Addr> {
    SourceRoute::of_packet(packet).and_then(|on| on.path.get(on.next_position + 1))
}

/// Removes the reply; returns true if the rest is worth sending.
fn strip_reply(packet: &mut RoutedPacket) -> bool {
    let control = packet.is_control();
    packet.dsr.as_mut().is_none_or(|dsr| {
        dsr.reply = None;
        !control || dsr.errors().next().is_some() || dsr.extra_options().next().is_some()
    })
}

/// The sources notified of a link failure.
#[derive(Default)]
struct NotifiedSources {
    list: [Option<Ipv4Addr>; NOTIFIED_MAX],
    len: usize,
}

impl NotifiedSources {
    fn contains(&self, source: Ipv4Addr) -> bool {
        self.list.contains(&Some(source))
    }

    fn insert(&mut self, source: Ipv4Addr) {
        if let Some(slot) = self.list.get_mut(self.len) {
            *slot = Some(source);
            self.len += 1;
        }
    }
}
