//! Route errors (RFC 3561 §6.11).

use driftway_base::{Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvError, AodvMessage};

use super::table::Precursors;
use super::{Aodv, ErrorRule};
use crate::{Hop, Output};

/// A route error under construction, with its recipients.
pub(super) struct Report {
    error: AodvError,
    to: Audience,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Nobody,
    One(Ipv4Addr),
    All,
}

impl Report {
    pub(super) const fn new(no_delete: bool) -> Self {
        Self { error: AodvError::new(no_delete), to: Audience::Nobody }
    }

    fn hears(&mut self, neighbour: Ipv4Addr) {
        self.to = match self.to {
            Audience::Nobody => Audience::One(neighbour),
            Audience::One(one) if one == neighbour => self.to,
            _ => Audience::All,
        };
    }

    fn hear(&mut self, precursors: &Precursors) {
        precursors.as_slice().iter().for_each(|one| self.hears(*one));
        if precursors.overflowed() {
            self.to = Audience::All;
        }
    }
}

impl Aodv {
    /// Invalidates all routes over the broken link to `neighbour`, except the one to `spared`.
    pub(super) fn break_link(
        &mut self,
        now: Instant,
        neighbour: Ipv4Addr,
        spared: Option<Ipv4Addr>,
    ) {
        if self.config.even_numbers {
            self.seq += 2;
        }
        let forgotten = self.forgotten_at(now);
        let mut report = Report::new(false);
        for at in 0..self.table.len() {
            let repairing_is_valid = self.config.repairing_is_valid;
            let Some((destination, route)) = self.table.at_mut(at) else { break };
            if route.holds(repairing_is_valid)
                && route.next_hop == neighbour
                && Some(destination) != spared
            {
                let seq = route.next_seq();
                route.invalidate(seq, forgotten);
                let precursors = match self.config.errors {
                    ErrorRule::Precursors => {
                        core::mem::replace(&mut route.precursors, Precursors::NONE)
                    }
                    ErrorRule::Broadcast => route.precursors.clone(),
                };
                if route.wanted {
                    self.outbox.push(Output::RouteLost(destination));
                }
                self.add(now, &mut report, destination, seq, &precursors, now);
            }
            if let Some((_, route)) = self.table.at_mut(at) {
                route.precursors.remove(neighbour);
            }
        }
        self.wake(forgotten);
        self.send_report(now, report, now);
    }

    /// Handles a route error from a neighbour.
    pub(super) fn on_error(&mut self, now: Instant, from: Ipv4Addr, error: &AodvError) {
        if error.no_delete {
            return self.pass_longer(now, from, error);
        }
        let forgotten = self.forgotten_at(now);
        let at = self.jittered(now);
        let mut report = Report::new(false);
        let mut purged = false;
        for (destination, seq) in error.unreachable() {
            let repairing_is_valid = self.config.repairing_is_valid;
            let Some(route) = self.table.get_mut(*destination) else { continue };
            if !route.holds(repairing_is_valid) || route.next_hop != from {
                continue;
            }
            let told = Seq(*seq);
            let seq = match self.config.errors {
                // The reporting node has no route, whatever number it states. Incrementing the number in any
                // case prevents routing loops.
                ErrorRule::Precursors => route.next_seq().map(|next| next.max(told)),
                ErrorRule::Broadcast if route.seq.is_some_and(|known| known.after(told)) => {
                    continue;
                }
                ErrorRule::Broadcast => Some(told),
            };
            route.invalidate(seq, forgotten);
            let precursors = core::mem::replace(&mut route.precursors, Precursors::NONE);
            if route.wanted {
                self.outbox.push(Output::RouteLost(*destination));
            }
            if self.config.purge_on_error && !purged {
                purged = true;
                self.outbox.push(Output::Purge(from));
            }
            if !precursors.is_empty() {
                self.add(now, &mut report, *destination, seq, &precursors, at);
            }
        }
        self.wake(forgotten);
        self.send_report(now, report, at);
    }

    /// Sends an error for a packet that came from `last_hop` and has no route.
    pub(super) fn tell_no_route(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        last_hop: Ipv4Addr,
    ) {
        let forgotten = self.forgotten_at(now);
        let Some(route) = self.table.get_mut(destination) else { return };
        route.until = route.until.max(forgotten);
        let seq = route.seq;
        self.wake(forgotten);
        let mut report = Report::new(false);
        report.hears(last_hop);
        report.error.push(destination, seq.map_or(0, |seq| seq.0));
        self.send_report(now, report, now);
    }

    /// Reports a repaired route that is longer than before (RFC 3561 §6.12): its users may look for a better
    /// one and must not delete it.
    pub(super) fn tell_longer(&mut self, now: Instant, destination: Ipv4Addr) {
        if self.config.errors == ErrorRule::Broadcast {
            return;
        }
        let Some(route) = self.table.get(destination) else { return };
        let (seq, precursors) = (route.seq, route.precursors.clone());
        let mut report = Report::new(true);
        self.add(now, &mut report, destination, seq, &precursors, now);
        self.send_report(now, report, now);
    }

    fn pass_longer(&mut self, now: Instant, from: Ipv4Addr, error: &AodvError) {
        let at = self.jittered(now);
        let mut report = Report::new(true);
        for (destination, seq) in error.unreachable() {
            let Some(route) = self.table.get(*destination) else { continue };
            if route.is_valid() && route.next_hop == from {
                let precursors = route.precursors.clone();
                self.add(now, &mut report, *destination, Some(Seq(*seq)), &precursors, at);
            }
        }
        self.send_report(now, report, at);
    }

    /// Adds an unreachable destination; a full error is sent at `at`.
    pub(super) fn add(
        &mut self,
        now: Instant,
        report: &mut Report,
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
            let full = core::mem::replace(report, Report::new(report.error.no_delete));
            self.send_report(now, full, at);
            report.error.push(destination, seq);
        }
        report.hear(precursors);
    }

    /// Sends an error at `at`, if it is not empty and the rate limit permits.
    pub(super) fn send_report(&mut self, now: Instant, report: Report, at: Instant) {
        if report.error.unreachable().is_empty() || self.errors_left.take(now).is_err() {
            return;
        }
        self.stats.route_errors += 1;
        let error = AodvMessage::Error(report.error);
        match (self.config.errors, report.to) {
            // Only broadcasts need jitter.
            (ErrorRule::Precursors, Audience::One(one)) => {
                self.say(now, now, error, 1, Hop::To(one))
            }
            _ => self.say(now, at, error, 1, Hop::All),
        }
    }
}
