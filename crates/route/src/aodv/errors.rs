//! Route errors (RFC 3561 §6.11).

use driftway_base::{Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvError, AodvMessage};

use super::table::Precursors;
use super::{Aodv, ErrorRule};
use crate::{LinkDestination, Output};

/// A route error under construction, with its recipients.
pub(super) struct PendingError {
    error: AodvError,
    recipients: Recipients,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Recipients {
    Nobody,
    One(Ipv4Addr),
    All,
}

impl PendingError {
    pub(super) const fn new(no_delete: bool) -> Self {
        Self { error: AodvError::new(no_delete), recipients: Recipients::Nobody }
    }

    fn add_recipient(&mut self, neighbour: Ipv4Addr) {
        self.recipients = match self.recipients {
            Recipients::Nobody => Recipients::One(neighbour),
            Recipients::One(one) if one == neighbour => self.recipients,
            _ => Recipients::All,
        };
    }

    fn add_precursors(&mut self, precursors: &Precursors) {
        precursors.as_slice().iter().for_each(|one| self.add_recipient(*one));
        if precursors.overflowed() {
            self.recipients = Recipients::All;
        }
    }
}

impl Aodv {
    /// Invalidates all routes over the broken link to `neighbour`, except the one to `spared`.
    pub(super) fn invalidate_link(
        &mut self,
        now: Instant,
        neighbour: Ipv4Addr,
        spared: Option<Ipv4Addr>,
    ) {
        if self.config.even_numbers {
            self.seq += 2;
        }
        let forgotten = self.deletion_time(now);
        let mut report = PendingError::new(false);
        for at in 0..self.table.len() {
            let repairing_is_valid = self.config.repairing_is_valid;
            let Some((destination, route)) = self.table.at_mut(at) else { break };
            if route.is_usable(repairing_is_valid)
                && route.next_hop == neighbour
                && Some(destination) != spared
            {
                let seq = route.incremented_seq();
                route.invalidate(seq, forgotten);
                let precursors = match self.config.errors {
                    ErrorRule::Precursors => {
                        core::mem::replace(&mut route.precursors, Precursors::NONE)
                    }
                    ErrorRule::Broadcast => route.precursors.clone(),
                };
                if route.has_traffic {
                    self.outbox.push(Output::RouteLost(destination));
                }
                self.add_unreachable(now, &mut report, destination, seq, &precursors, now);
            }
            if let Some((_, route)) = self.table.at_mut(at) {
                route.precursors.remove(neighbour);
            }
        }
        self.schedule(forgotten);
        self.send_error(now, report, now);
    }

    /// Handles a route error from a neighbour.
    pub(super) fn on_error(&mut self, now: Instant, from: Ipv4Addr, error: &AodvError) {
        if error.no_delete {
            return self.forward_longer_route(now, from, error);
        }
        let forgotten = self.deletion_time(now);
        let at = self.jittered(now);
        let mut report = PendingError::new(false);
        let mut purged = false;
        for (destination, seq) in error.unreachable() {
            let repairing_is_valid = self.config.repairing_is_valid;
            let Some(route) = self.table.get_mut(*destination) else { continue };
            if !route.is_usable(repairing_is_valid) || route.next_hop != from {
                continue;
            }
            let reported_seq = Seq(*seq);
            let seq = match self.config.errors {
                // The reporting node has no route, whatever number it states. Incrementing the number in any
                // case prevents routing loops.
                ErrorRule::Precursors => route.incremented_seq().map(|next| next.max(reported_seq)),
                ErrorRule::Broadcast
                    if route.seq.is_some_and(|known| known.after(reported_seq)) =>
                {
                    continue;
                }
                ErrorRule::Broadcast => Some(reported_seq),
            };
            route.invalidate(seq, forgotten);
            let precursors = core::mem::replace(&mut route.precursors, Precursors::NONE);
            if route.has_traffic {
                self.outbox.push(Output::RouteLost(*destination));
            }
            if self.config.purge_on_error && !purged {
                purged = true;
                self.outbox.push(Output::PurgeQueue(from));
            }
            if !precursors.is_empty() {
                self.add_unreachable(now, &mut report, *destination, seq, &precursors, at);
            }
        }
        self.schedule(forgotten);
        self.send_error(now, report, at);
    }

    /// Sends an error for a packet that came from `last_hop` and has no route.
    pub(super) fn report_no_route(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        last_hop: Ipv4Addr,
    ) {
        let forgotten = self.deletion_time(now);
        let Some(route) = self.table.get_mut(destination) else { return };
        route.until = route.until.max(forgotten);
        let seq = route.seq;
        self.schedule(forgotten);
        let mut report = PendingError::new(false);
        report.add_recipient(last_hop);
        report.error.push(destination, seq.map_or(0, |seq| seq.0));
        self.send_error(now, report, now);
    }

    /// Reports a repaired route that is longer than before (RFC 3561 §6.12): its users may look for a better
    /// one and must not delete it.
    pub(super) fn report_longer_route(&mut self, now: Instant, destination: Ipv4Addr) {
        if self.config.errors == ErrorRule::Broadcast {
            return;
        }
        let Some(route) = self.table.get(destination) else { return };
        let (seq, precursors) = (route.seq, route.precursors.clone());
        let mut report = PendingError::new(true);
        self.add_unreachable(now, &mut report, destination, seq, &precursors, now);
        self.send_error(now, report, now);
    }

    fn forward_longer_route(&mut self, now: Instant, from: Ipv4Addr, error: &AodvError) {
        let at = self.jittered(now);
        let mut report = PendingError::new(true);
        for (destination, seq) in error.unreachable() {
            let Some(route) = self.table.get(*destination) else { continue };
            if route.is_valid() && route.next_hop == from {
                let precursors = route.precursors.clone();
                self.add_unreachable(
                    now,
                    &mut report,
                    *destination,
                    Some(Seq(*seq)),
                    &precursors,
                    at,
                );
            }
        }
        self.send_error(now, report, at);
    }

    /// Adds an unreachable destination; a full error is sent at `at`.
    pub(super) fn add_unreachable(
        &mut self,
        now: Instant,
        report: &mut PendingError,
        destination: Ipv4Addr,
        seq: Option<Seq>,
        precursors: &Precursors,
        at: Instant,
    ) {
        if self.config.errors == ErrorRule::Precursors && precursors.is_empty() {
            return;
        }
        let seq = seq.map_or(0, |seq| seq.0);
        if !report.error.push(destination, seq) {
            let full = core::mem::replace(report, PendingError::new(report.error.no_delete));
            self.send_error(now, full, at);
            report.error.push(destination, seq);
        }
        report.add_precursors(precursors);
    }

    /// Sends an error at `at`, if it is not empty and the rate limit permits.
    pub(super) fn send_error(&mut self, now: Instant, report: PendingError, at: Instant) {
        if report.error.unreachable().is_empty() || self.rerr_limit.try_acquire(now).is_err() {
            return;
        }
        self.stats.route_errors += 1;
        let error = AodvMessage::Error(report.error);
        match (self.config.errors, report.recipients) {
            // Only broadcasts need jitter.
            (ErrorRule::Precursors, Recipients::One(one)) => {
                self.send_message(now, now, error, 1, LinkDestination::Unicast(one))
            }
            _ => self.send_message(now, at, error, 1, LinkDestination::Broadcast),
        }
    }
}
