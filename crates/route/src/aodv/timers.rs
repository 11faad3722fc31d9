//! Timers.

use driftway_base::{Duration, FailedLink, Instant};

use super::table::{Phase, Route, Search, State};
use super::{Aodv, SearchRule};
use crate::DropReason;

impl Aodv {
    /// Runs the timers that are due.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.due > now {
            return;
        }
        // The steps below schedule timers of their own.
        self.due = Instant::FAR_FUTURE;
        while let Some(old) = self.buffer.take_old(now) {
            self.give_up(old, DropReason::BufferTimeout);
        }
        while let Some((_, destination)) =
            self.repairs.front().copied().filter(|(at, _)| *at <= now)
        {
            self.repairs.pop_front();
            self.end_repair(now, destination);
        }
        while let Some(silent) = self.awaited.take_due(now) {
            self.blame(now, silent);
        }
        while self.blacklist.take_due(now).is_some() {}
        match self.config.expiry_interval {
            None => self.expire(now),
            Some(_) if self.next_round <= now => self.round(now),
            Some(_) => {}
        }
        // A route that expires with the last hello message is not lost.
        self.hello_timers(now);
        self.search_timers(now);
        self.forget(now);
        // Losses by a failed repair or in the buffer.
        if !self.losses.is_empty() {
            self.report_losses(now, FailedLink { from: self.address, to: self.address });
        }
        self.reckon(now);
    }

    /// Invalidates each route at its expiry.
    fn expire(&mut self, now: Instant) {
        let forgotten = self.forgotten_at(now);
        for at in 0..self.table.len() {
            if let Some((_, route)) = self.table.at_mut(at)
                && route.is_valid()
                && route.until <= now
            {
                // RFC 3561 §6.1: an expired route counts as a lost one.
                let seq = route.next_seq();
                route.invalidate(seq, forgotten);
                route.precursors.clear();
            }
        }
    }

    /// Serves searches in order of their last request, so that the rate limit starves none.
    fn search_timers(&mut self, now: Instant) {
        let due = |search: &Search| search.phase != Phase::Idle && search.until <= now;
        // Each has moved its deadline when the next is selected.
        while let Some((destination, _)) = self
            .table
            .iter()
            .filter(|(_, route)| due(&route.search))
            .min_by_key(|(_, Route { search, .. })| (search.asked, search.ttl, search.wide))
        {
            self.on_search_due(now, destination);
        }
    }

    /// Deletes invalid entries after DELETE_PERIOD.
    fn forget(&mut self, now: Instant) {
        if self.config.delete_period.is_some() {
            self.table.retain(|route| {
                route.state != State::Invalid
                    || route.until > now
                    || route.search.phase != Phase::Idle
            });
        }
    }

    /// ns-2.35: checks all routes every half second.
    fn round(&mut self, now: Instant) {
        self.next_round = Instant::FAR_FUTURE;
        let forgotten = self.forgotten_at(now);
        let mut delay = Duration::ZERO;
        for at in 0..self.table.len() {
            let Some((destination, route)) = self.table.at_mut(at) else { break };
            match route.state {
                State::Valid if route.until < now => {
                    let seq = route.next_seq();
                    route.invalidate(seq, forgotten);
                    self.give_up_waiting(destination, DropReason::NoRoute);
                }
                State::Valid => {
                    while let Some(packet) = self.buffer.take(destination) {
                        self.forward(now, packet, None, now + delay);
                        delay = delay + self.config.release_spacing;
                    }
                }
                State::Repairing | State::Invalid if self.buffer.has(destination) => {
                    if let SearchRule::OnDemand { pause } = self.config.search {
                        self.demand(now, destination, pause);
                    }
                }
                State::Repairing | State::Invalid => {}
            }
        }
    }

    /// Recomputes the next timer.
    fn reckon(&mut self, now: Instant) {
        let others = [
            self.buffer.next_timeout(),
            self.repairs.front().map(|(at, _)| *at),
            self.awaited.next_timeout(),
            self.blacklist.next_timeout(),
            self.neighbours.next_timeout(),
            self.config.hello.map(|_| self.next_hello),
        ];
        let mut due = others.into_iter().flatten().min().unwrap_or(Instant::FAR_FUTURE);
        let mut first_end = Instant::FAR_FUTURE;
        let forgets = self.config.delete_period.is_some();
        for (_, route) in self.table.iter() {
            match route.state {
                State::Valid => first_end = first_end.min(route.until),
                // A route under repair ends with its search.
                State::Repairing => {}
                State::Invalid if forgets && route.search.phase == Phase::Idle => {
                    due = due.min(route.until);
                }
                State::Invalid => {}
            }
            if route.search.phase != Phase::Idle {
                due = due.min(route.search.until);
            }
        }
        self.wake(due);
        self.wake_for_route(first_end);
        if self.buffer.len() > 0 {
            self.wake_for_buffer(now);
        }
    }

    /// Schedules a timer at `at`.
    pub(super) fn wake(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }

    /// Schedules a timer for the expiry of a route at `until`.
    pub(super) fn wake_for_route(&mut self, until: Instant) {
        match self.config.expiry_interval {
            None => self.wake(until),
            Some(interval) => self.wake_for_round(until, interval),
        }
    }

    /// Schedules a check that may send buffered packets.
    pub(super) fn wake_for_buffer(&mut self, now: Instant) {
        if let Some(interval) = self.config.expiry_interval {
            self.wake_for_round(now, interval);
        }
    }

    /// Schedules the first check after `at`, at a multiple of the interval.
    fn wake_for_round(&mut self, at: Instant, interval: Duration) {
        if at < self.next_round {
            let interval = interval.as_nanos().max(1);
            let rounds = (at.as_nanos() / interval).saturating_add(1);
            let next = Instant::from_nanos(rounds.saturating_mul(interval));
            self.next_round = self.next_round.min(next);
        }
        self.wake(self.next_round);
    }
}
