//! Route discovery (RFC 4728 §8.2): originating and forwarding requests.

use driftway_base::{DropReason, Duration, Instant, Ipv4Addr};
use driftway_wire::{
    AddressList, DsrError, DsrErrorKind, DsrHeader, DsrRequest, DsrRequestOrOptions, RoutedPacket,
};

use super::Dsr;
use super::cache::LearnedBy;
use super::config::{NonPropagatingRequests, ReplyFromCache};
use super::path::Path;
use crate::LinkDestination;

/// The progress of a route discovery.
pub(super) enum DiscoveryProgress {
    /// It continues.
    Ongoing,
    /// It has reached the retry limit.
    Failed,
}

/// The minimum interval between scans of the send buffer.
const SCAN_INTERVAL_MIN: Duration = Duration::from_millis(1);

impl Dsr {
    /// Sends a request for `target`, for which a packet is buffered, if it is time. `own`: the packet is of
    /// this node.
    pub(super) fn discover_route(
        &mut self,
        now: Instant,
        target: Ipv4Addr,
        own: bool,
    ) -> DiscoveryProgress {
        let config = &self.config;
        let Some(search) = self.requests.discovery(now, target) else {
            return DiscoveryProgress::Ongoing;
        };
        if now >= search.not_before {
            let retries = config.request_retries.unwrap_or(u8::MAX);
            if search.attempts > retries {
                return DiscoveryProgress::Failed;
            }
            // RFC 4728 §8.2.1: the period grows with each attempt.
            let factor = config.request_backoff.saturating_pow(u32::from(search.attempts));
            let period = config.request_period.times(u64::from(factor));
            let period = period.min(config.request_period_max).max(SCAN_INTERVAL_MIN);
            search.attempts = search.attempts.saturating_add(1).min(254);
            search.not_before = now + period;
            if !own {
                // That of a packet of this node has been counted when the packet was buffered.
                self.stats.discoveries += u64::from(search.attempts == 1);
                let over = search.attempts.checked_sub(config.salvage_requests);
                self.stats.failed_discoveries += u64::from(over == Some(1));
                if over.is_some_and(|over| over > 0) {
                    return DiscoveryProgress::Failed;
                }
            }
            let ring_zero = match config.ring_zero {
                NonPropagatingRequests::Never => false,
                NonPropagatingRequests::First => search.attempts == 1,
                NonPropagatingRequests::Each => true,
            };
            search.ring_zero_until = ring_zero.then(|| now + config.ring_zero_wait);
            self.send_request(now, target, ring_zero);
        } else if own && search.ring_zero_until.is_some_and(|until| now >= until) {
            search.ring_zero_until = None;
            if config.ring_zero == NonPropagatingRequests::First {
                // RFC 4728 §3.3.3: the non-propagating request precedes the first period.
                search.not_before = now + config.request_period;
            }
            self.send_request(now, target, false);
        }
        DiscoveryProgress::Ongoing
    }

    /// Originates a request (RFC 4728 §8.2.1).
    fn send_request(&mut self, now: Instant, target: Ipv4Addr, ring_zero: bool) {
        let id = self.next_request;
        self.next_request = id.wrapping_add(1);
        let mut dsr = DsrHeader {
            request_or_options: DsrRequestOrOptions::Request(DsrRequest {
                id,
                target,
                route: AddressList::EMPTY,
            }),
            ..DsrHeader::default()
        };
        if let Some((link, when)) = self.last_error
            && self.config.spread_error.is_some_and(|age| now.since(when) < age)
        {
            // RFC 4728 §3.4.4: so that caches nearby do not reply with the failed link.
            let error = DsrError {
                kind: DsrErrorKind::NodeUnreachable(link.to),
                salvage: 0,
                source: link.from,
                destination: self.address,
            };
            dsr.errors = [Some(error), None, None];
            // A propagating request is needed to spread the error.
            if !ring_zero {
                self.last_error = None;
            }
        }
        let mut packet = self.control_packet(Ipv4Addr::BROADCAST, dsr);
        packet.packet.ip.ttl = if ring_zero { 1 } else { self.config.hop_limit };
        let at = now + self.draw_jitter();
        self.transmit(now, at, &mut packet, LinkDestination::Broadcast);
    }

    /// Handles a received request (RFC 4728 §8.2.2).
    pub(super) fn on_request(&mut self, now: Instant, from: Ipv4Addr, packet: &mut RoutedPacket) {
        let ip = packet.packet.ip;
        let Some(dsr) = &packet.dsr else { return };
        let Some(request) = dsr.request().copied() else { return };
        let before = request.route.as_slice().iter().rev().nth(1).copied().unwrap_or(ip.source);
        if before == self.address && request.route.as_slice().last() == Some(&from) {
            // The neighbour forwards a request of this node, so it is reachable (RFC 4728 §4.6).
            self.blacklist.remove(from);
        }
        // RFC 4728 §8.2.1 does not define requests with a source route.
        if ip.source == self.address || dsr.source_route.is_some() || self.avoids_link(now, from) {
            return;
        }
        if self.config.snoop_errors {
            self.on_errors(now, packet, from, None);
        }
        let mut so_far = Path::EMPTY;
        so_far.push(ip.source);
        so_far.extend(request.route.as_slice());
        if so_far.contains(self.address) || so_far.has_loop() {
            return;
        }
        let is_target = self.is_destination(request.target);
        // RFC 4728 §8.2.2; another copy may arrive over a bidirectional link.
        if !is_target && self.blacklist.get(from).is_some_and(|until| now < until) {
            return;
        }
        let known = self.requests.is_known(now, ip.source, request.id, request.target);
        // The route must have room for this node.
        if so_far.len() >= usize::from(self.config.max_nodes) {
            if !known {
                self.drop_packet(*packet, DropReason::RouteTooLong);
            }
            return;
        }
        if known && !(is_target && self.config.answer_every_copy) {
            return;
        }
        self.requests.record(now, ip.source, request.id, request.target);
        so_far.push(self.address);
        let back = so_far.reversed();
        if self.cache.on_route_learned(now, &back, LearnedBy::Request) {
            self.on_new_route(now);
        }
        if is_target {
            return self.reply_as_target(now, &so_far, &back, request.target);
        }
        let may_answer = match self.config.reply_from_cache {
            ReplyFromCache::Never => false,
            ReplyFromCache::NonPropagating => ip.ttl <= 1,
            ReplyFromCache::Always => true,
        };
        if may_answer && self.reply_from_cache(now, &so_far, request.target) {
            if self.config.forward_answered {
                self.forward_answered(now, *packet, request.target);
            }
            return;
        }
        if ip.ttl <= 1 {
            return;
        }
        packet.packet.ip.ttl -= 1;
        if let Some(request) = packet.dsr.as_mut().and_then(|dsr| dsr.request_mut())
            && request.route.push(self.address)
        {
            let at = now + self.draw_jitter();
            self.transmit(now, at, packet, LinkDestination::Broadcast);
        }
    }

    /// Handles new routes in the cache: buffered packets may have a route (RFC 4728 §4.1).
    pub(super) fn on_new_route(&mut self, now: Instant) {
        self.report_found_routes(now);
        if self.config.release_on_any_route {
            self.send_buffered(now);
        }
    }

    /// Sends the buffered packets that have a route now.
    pub(super) fn send_buffered(&mut self, now: Instant) {
        if self.send_buffer.is_empty() {
            return;
        }
        let (mut at, mut missed) = (now, None);
        for slot in 0..self.send_buffer.slots() {
            let Some(waiting) = self.send_buffer.get(slot) else { continue };
            let destination = waiting.packet.packet.ip.destination;
            // Most buffered packets are for the same destination.
            if missed == Some(destination) {
                continue;
            }
            let Some(path) = self.cache.select(now, destination) else {
                missed = Some(destination);
                continue;
            };
            if let Some(packet) = self.send_buffer.take(slot) {
                self.send_on_path(now, at, packet, &path);
                at += self.config.release_spacing;
            }
        }
    }

    /// Scans the send buffer: drops expired packets, sends those with a route, and repeats requests that are
    /// due.
    pub(super) fn scan_send_buffer(&mut self, now: Instant) {
        let mut missed = None;
        for slot in 0..self.send_buffer.slots() {
            let Some(waiting) = self.send_buffer.get(slot) else { continue };
            let ip = waiting.packet.packet.ip;
            if now.since(waiting.buffered_at) >= self.config.send_buffer_timeout {
                self.drop_buffered(slot, DropReason::SendBufferTimeout);
                let over = !self.send_buffer.has_packets_for(ip.destination);
                self.stats.failed_discoveries += u64::from(over);
            } else if missed != Some(ip.destination)
                && let Some(path) = self.cache.select(now, ip.destination)
            {
                if let Some(packet) = self.send_buffer.take(slot) {
                    self.send_on_path(now, now, packet, &path);
                }
            } else {
                missed = Some(ip.destination);
                let own = self.is_originator(&waiting.packet);
                match self.discover_route(now, ip.destination, own) {
                    DiscoveryProgress::Ongoing => {}
                    DiscoveryProgress::Failed if own => {
                        self.drop_buffered(slot, DropReason::DiscoveryFailed);
                        self.fail_discovery(now, ip.destination);
                    }
                    DiscoveryProgress::Failed => self.drop_buffered(slot, DropReason::NoRoute),
                }
            }
        }
    }

    /// Ends a failed discovery and drops the packets buffered for it. The next one may start after the
    /// longest period.
    pub(super) fn fail_discovery(&mut self, now: Instant, target: Ipv4Addr) {
        for slot in 0..self.send_buffer.slots() {
            let Some(waiting) = self.send_buffer.get(slot) else { continue };
            if waiting.packet.packet.ip.destination == target {
                self.drop_buffered(slot, DropReason::DiscoveryFailed);
            }
        }
        self.requests.reset_search(now, target);
        self.stats.failed_discoveries += 1;
        let pause = self.config.request_period_max;
        if let Some(search) = self.requests.discovery(now, target) {
            search.not_before = now + pause;
        }
    }

    fn drop_buffered(&mut self, slot: usize, reason: DropReason) {
        if let Some(packet) = self.send_buffer.take(slot) {
            self.drop_packet(packet, reason);
        }
    }

    /// Schedules the next scan of the send buffer.
    pub(super) fn schedule_scan(&mut self, now: Instant) {
        if self.send_buffer.is_empty() {
            self.next_scan = None;
            return;
        }
        match (self.config.scan, self.next_scan) {
            (Some(_), Some(_)) => {}
            (Some(period), None) => self.next_scan = Some(now + self.draw_first_scan_delay(period)),
            (None, _) => {
                let due = self.send_buffer.iter().map(|waiting| {
                    let ip = &waiting.packet.packet.ip;
                    let ends = waiting.buffered_at + self.config.send_buffer_timeout;
                    let own = self.is_originator(&waiting.packet);
                    ends.min(self.next_request_at(ip.destination, own))
                });
                self.next_scan = due.min().map(|due| due.max(now + SCAN_INTERVAL_MIN));
            }
        }
    }

    fn next_request_at(&self, target: Ipv4Addr, own: bool) -> Instant {
        let Some(search) = self.requests.existing_search(target) else { return Instant::ZERO };
        match search.ring_zero_until {
            Some(until) if own => until.min(search.not_before),
            _ => search.not_before,
        }
    }

    /// Draws the time to the first scan: scans run all the time, so this is the residual of an interval in
    /// progress, in which longer intervals are more likely to be found.
    fn draw_first_scan_delay(&mut self, period: Duration) -> Duration {
        // An interval of 1 to 2 periods with a density proportional to its length: with probability 2/3
        // uniform, else the longer of two.
        let (any, other) = (self.scan_random.uniform_f64(), self.scan_random.uniform_f64());
        let span =
            1.0 + if self.scan_random.uniform_f64() * 3.0 < 2.0 { any } else { any.max(other) };
        let rest = span * self.scan_random.uniform_f64() * period.as_nanos() as f64;
        Duration::from_nanos(rest as u64)
    }

    /// Draws the interval between two scans.
    pub(super) fn draw_scan_period(&mut self, period: Duration) -> Duration {
        period + self.scan_random.uniform_duration(Duration::ZERO, period)
    }

    pub(super) fn draw_jitter(&mut self) -> Duration {
        self.jitter_random.uniform_duration(Duration::ZERO, self.config.jitter)
    }
}
