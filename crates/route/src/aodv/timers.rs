//! Timers.

use driftway_base::{DropReason, Duration, FailedLink, Instant};

use super::table::{Phase, Route, RouteState, Search};
use super::{Aodv, SearchRule};

impl Aodv {
    /// Runs the timers that are due.
    pub(super) fn run_timers(&mut self, now: Instant) {
        if self.next_timer > now {
            return;
        }
        // The steps below schedule timers of their own.
        self.next_timer = Instant::FAR_FUTURE;
        while let Some(old) = self.buffer.take_expired(now) {
            self.drop_packet(old, DropReason::SendBufferTimeout);
        }
        while let Some((_, destination)) =
            self.repair_timeouts.front().copied().filter(|(at, _)| *at <= now)
        {
            self.repair_timeouts.pop_front();
            self.on_repair_timeout(now, destination);
        }
        while let Some(silent) = self.awaiting_ack.take_due(now) {
            self.blacklist_neighbour(now, silent);
        }
        while self.blacklist.take_due(now).is_some() {}
        match self.config.expiry_interval {
            None => self.expire_routes(now),
            Some(_) if self.next_expiry_check <= now => self.check_expiry(now),
            Some(_) => {}
        }
        // A route that expires with the last hello message is not lost.
        self.run_hello_timers(now);
        self.run_search_timers(now);
        self.delete_expired(now);
        // Losses by a failed repair or in the buffer.
        if !self.drop_list.is_empty() {
            self.report_losses(now, FailedLink { from: self.address, to: self.address });
        }
        self.recompute_next_timer(now);
    }

    /// Invalidates each route at its expiry.
    fn expire_routes(&mut self, now: Instant) {
        let forgotten = self.deletion_time(now);
        for at in 0..self.table.len() {
            if let Some((_, route)) = self.table.at_mut(at)
                && route.is_valid()
                && route.until <= now
            {
                // RFC 3561 §6.1: an expired route counts as a lost one.
                let seq = route.incremented_seq();
                route.invalidate(seq, forgotten);
                route.precursors.clear();
            }
        }
    }

    /// Serves searches in order of their last request, so that the rate limit starves none.
    fn run_search_timers(&mut self, now: Instant) {
        let due = |search: &Search| search.phase != Phase::Idle && search.until <= now;
        // Each has moved its deadline when the next is selected.
        while let Some((destination, _)) =
            self.table.iter().filter(|(_, route)| due(&route.search)).min_by_key(
                |(_, Route { search, .. })| {
                    (search.requested_at, search.ttl, search.network_wide_requests)
                },
            )
        {
            self.on_search_timeout(now, destination);
        }
    }

    /// Deletes invalid entries after DELETE_PERIOD.
    fn delete_expired(&mut self, now: Instant) {
        if self.config.delete_period.is_some() {
            self.table.retain(|route| {
                route.state != RouteState::Invalid
                    || route.until > now
                    || route.search.phase != Phase::Idle
            });
        }
    }

    /// ns-2.35: checks all routes every half second.
    fn check_expiry(&mut self, now: Instant) {
        self.next_expiry_check = Instant::FAR_FUTURE;
        let forgotten = self.deletion_time(now);
        let mut delay = Duration::ZERO;
        for at in 0..self.table.len() {
            let Some((destination, route)) = self.table.at_mut(at) else { break };
            match route.state {
                RouteState::Valid if route.until < now => {
                    let seq = route.incremented_seq();
                    route.invalidate(seq, forgotten);
                    self.drop_buffered(destination, DropReason::NoRoute);
                }
                RouteState::Valid => {
                    while let Some(packet) = self.buffer.take(destination) {
                        self.forward(now, packet, None, now + delay);
                        delay = delay + self.config.release_spacing;
                    }
                }
                RouteState::Repairing | RouteState::Invalid
                    if self.buffer.has_packets_for(destination) =>
                {
                    if let SearchRule::OnDemand { pause } = self.config.search {
                        self.search_on_demand(now, destination, pause);
                    }
                }
                RouteState::Repairing | RouteState::Invalid => {}
            }
        }
    }

    /// Recomputes the next timer.
    fn recompute_next_timer(&mut self, now: Instant) {
        let others = [
            self.buffer.next_timeout(),
            self.repair_timeouts.front().map(|(at, _)| *at),
            self.awaiting_ack.next_timeout(),
            self.blacklist.next_timeout(),
            self.neighbours.next_timeout(),
            self.config.hello.map(|_| self.next_hello),
        ];
        let mut due = others.into_iter().flatten().min().unwrap_or(Instant::FAR_FUTURE);
        let mut first_end = Instant::FAR_FUTURE;
        let forgets = self.config.delete_period.is_some();
        for (_, route) in self.table.iter() {
            match route.state {
                RouteState::Valid => first_end = first_end.min(route.until),
                // A route under repair ends with its search.
                RouteState::Repairing => {}
                RouteState::Invalid if forgets && route.search.phase == Phase::Idle => {
                    due = due.min(route.until);
                }
                RouteState::Invalid => {}
            }
            if route.search.phase != Phase::Idle {
                due = due.min(route.search.until);
            }
        }
        self.schedule(due);
        self.schedule_route_expiry(first_end);
        if self.buffer.len() > 0 {
            self.schedule_buffer_check(now);
        }
    }

    /// Schedules a timer at `at`.
    pub(super) fn schedule(&mut self, at: Instant) {
        self.next_timer = self.next_timer.min(at);
    }

    /// Schedules a timer for the expiry of a route at `until`.
    pub(super) fn schedule_route_expiry(&mut self, until: Instant) {
        match self.config.expiry_interval {
            None => self.schedule(until),
            Some(interval) => self.schedule_expiry_check(until, interval),
        }
    }

    /// Schedules a check that may send buffered packets.
    pub(super) fn schedule_buffer_check(&mut self, now: Instant) {
        if let Some(interval) = self.config.expiry_interval {
            self.schedule_expiry_check(now, interval);
        }
    }

    /// Schedules the first check after `at`, at a multiple of the interval.
    fn schedule_expiry_check(&mut self, at: Instant, interval: Duration) {
        if at < self.next_expiry_check {
            let interval = interval.as_nanos().max(1);
            let rounds = (at.as_nanos() / interval).saturating_add(1);
            let next = Instant::from_nanos(rounds.saturating_mul(interval));
            self.next_expiry_check = self.next_expiry_check.min(next);
        }
        self.schedule(self.next_expiry_check);
    }
}
