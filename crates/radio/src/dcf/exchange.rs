//! Frame exchanges: transmission of a station's packet, and responses to other stations.

use driftway_base::Instant;

use super::config::{ACK_BYTES, CTS_BYTES, RTS_BYTES, ResponseTimeout};
use super::desk::Owed;
use super::flight::{Fate, Flight, FrameKind, Heard};
use super::medium::Sending;
use super::record::Outcome;
use super::station::{BAD, COMMITTED, DIRECT, LISTENS, NAV_OF_RTS, NONE, Phase};
use super::{Dcf, agenda};
use crate::{FailReason, Outgoing, Report};

impl Dcf {
    /// Accepts a packet at a station that has none.
    pub(super) fn begin(&mut self, now: u64, node: u32, packet: Outgoing) {
        let desk = &mut self.desks[node as usize];
        desk.take(packet, &self.config);
        if self.stations[node as usize].is(NAV_OF_RTS) {
            self.after_rts(node, now, false);
        }
        let station = &mut self.stations[node as usize];
        let backing_off = station.phase == Phase::After && station.sends_at(&self.timing) > now;
        station.phase = Phase::Contend;
        if !backing_off {
            // §9.2.5.1: immediately if the medium is idle, else after a backoff.
            let at_once = self.config.first_at_once && !station.is_busy(now, &self.timing);
            station.set_to(DIRECT, at_once);
            station.slots = if at_once {
                0
            } else {
                station.held = station.held.max(now);
                self.desks[node as usize].draw(&self.config)
            };
        }
        self.arm_back_off(node);
    }

    /// Starts a backoff for the current packet, or for the next one.
    fn back_off(&mut self, node: u32) {
        let desk = &mut self.desks[node as usize];
        let station = &mut self.stations[node as usize];
        station.slots = desk.draw(&self.config);
        station.clear(DIRECT | COMMITTED);
        if desk.packet.is_none() {
            station.phase = Phase::After;
            return;
        }
        station.phase = Phase::Contend;
        self.arm_back_off(node);
    }

    /// Sets the timer for the end of the backoff, or earlier for the deadline of the RTS whose NAV
    /// defers it.
    pub(super) fn arm_back_off(&mut self, node: u32) {
        let station = &self.stations[node as usize];
        let mut at = station.sends_at(&self.timing);
        if station.is(NAV_OF_RTS) {
            at = at.min(self.desks[node as usize].nav_checked + 1);
        }
        self.arm(node, at);
    }

    /// Ensures that a station's timer expires at `at` at the latest.
    fn arm(&mut self, node: u32, at: u64) {
        // A deadline that has already been processed is due now.
        let at = at.max(self.now);
        if at < self.stations[node as usize].armed {
            self.arm_at(node, at);
        }
    }

    /// Sets a station's timer to `at`; an earlier event for it is ignored.
    pub(super) fn arm_at(&mut self, node: u32, at: u64) {
        self.stations[node as usize].armed = at;
        self.agenda.push(agenda::Event::new(at, agenda::Kind::Timer, node));
    }

    /// Handles a station's timer, which may be early because its deadline has moved.
    pub(super) fn on_timer(&mut self, now: u64, node: u32, reports: &mut Vec<Report>) {
        let station = &mut self.stations[node as usize];
        if station.armed != now {
            return;
        }
        station.armed = u64::MAX;
        match station.phase {
            Phase::Contend => {
                if station.is(NAV_OF_RTS) {
                    self.after_rts(node, now, false);
                }
                let station = &self.stations[node as usize];
                if station.is(COMMITTED) || station.sends_at(&self.timing) <= now {
                    self.send_first(now, node);
                } else {
                    self.arm_back_off(node);
                }
            }
            Phase::AwaitCts | Phase::AwaitAck => self.check_deadline(now, node, reports),
            Phase::After | Phase::Idle | Phase::Cleared | Phase::Broadcast => {}
        }
    }

    /// Checks whether the response is missing. Frames under reception at the deadline have been
    /// processed by now.
    fn check_deadline(&mut self, now: u64, node: u32, reports: &mut Vec<Report>) {
        let desk = &mut self.desks[node as usize];
        let station = &self.stations[node as usize];
        let deadline = desk.deadline;
        if now < deadline + self.margin {
            self.arm(node, deadline + self.margin);
            return;
        }
        // §9.2.5.7, §9.2.8: a frame has been detected, and its end decides.
        if self.config.response_timeout == ResponseTimeout::Preamble
            && station.rx_flight != NONE
            && station.rx_start + self.timing.preamble <= deadline
            && station.rx_end > deadline
        {
            desk.deadline = station.rx_end;
            let at = desk.deadline + self.margin;
            self.arm(node, at);
            return;
        }
        self.attempt_failed(deadline, node, reports);
    }

    /// Sends the first frame of an exchange at the end of the backoff.
    fn send_first(&mut self, now: u64, node: u32) {
        let station = &mut self.stations[node as usize];
        station.slots = 0;
        station.clear(DIRECT | COMMITTED);
        let desk = &self.desks[node as usize];
        let Some(packet) = desk.packet else { return };
        let Some(to) = packet.to else {
            station.phase = Phase::Broadcast;
            let airtime = desk.airtime;
            let (bytes, rate) = (desk.bytes, self.config.basic_rate);
            let kind = FrameKind::Data;
            let from = node;
            self.put_on_air(
                now,
                Sending { kind, from, to: NONE, bytes, rate, airtime, duration: 0 },
            );
            return;
        };
        if !desk.long {
            self.send_data(now, node, to);
            return;
        }
        station.phase = Phase::AwaitCts;
        let duration = self.microseconds(self.timing.around_data + desk.airtime);
        let airtime = self.timing.rts;
        let (kind, bytes, rate) = (FrameKind::Rts, RTS_BYTES, self.config.basic_rate);
        let end =
            self.put_on_air(now, Sending { kind, from: node, to, bytes, rate, airtime, duration });
        self.expect(node, end + self.timing.cts_timeout);
    }

    fn send_data(&mut self, now: u64, node: u32, to: u32) {
        self.stations[node as usize].phase = Phase::AwaitAck;
        let desk = &self.desks[node as usize];
        let duration = self.microseconds(self.timing.sifs + self.timing.ack);
        let (kind, bytes, rate) = (FrameKind::Data, desk.bytes, self.config.data_rate);
        let airtime = desk.airtime;
        let end =
            self.put_on_air(now, Sending { kind, from: node, to, bytes, rate, airtime, duration });
        self.expect(node, end + self.timing.ack_timeout);
    }

    /// Waits for a response until `deadline`.
    fn expect(&mut self, node: u32, deadline: u64) {
        self.desks[node as usize].deadline = deadline;
        self.arm(node, deadline + self.margin);
    }

    /// Sends the pending response after a SIFS.
    pub(super) fn on_respond(&mut self, now: u64, node: u32) {
        let desk = &mut self.desks[node as usize];
        let owed = core::mem::replace(&mut desk.owed, Owed::Nothing);
        let rate = self.config.basic_rate;
        let sends = self.stations[node as usize].tx_end > now;
        match owed {
            // The station began to transmit within the SIFS, before the end of the frame that it
            // would answer.
            Owed::Ack { .. } | Owed::Cts { .. } if sends => {}
            Owed::Nothing => {}
            Owed::Ack { to } => {
                let (kind, bytes, airtime) = (FrameKind::Ack, ACK_BYTES, self.timing.ack);
                let from = node;
                self.put_on_air(now, Sending { kind, from, to, bytes, rate, airtime, duration: 0 });
            }
            Owed::Cts { to, duration } => {
                let station = &self.stations[node as usize];
                if self.config.cts_needs_idle && station.is_busy(now, &self.timing) {
                    desk.counters.cts_refused += 1;
                    return;
                }
                let (kind, bytes, airtime) = (FrameKind::Cts, CTS_BYTES, self.timing.cts);
                let from = node;
                let end = self
                    .put_on_air(now, Sending { kind, from, to, bytes, rate, airtime, duration });
                if self.config.cts_holds_backoff {
                    let station = &mut self.stations[node as usize];
                    let wait = u64::from(duration) * 1_000;
                    station.held = end + wait.saturating_sub(self.timing.after_data);
                }
            }
            Owed::Data => {
                let Some(to) = desk.packet.and_then(|packet| packet.to) else { return };
                let station = &mut self.stations[node as usize];
                if sends || self.config.data_needs_idle && station.is_busy(now, &self.timing) {
                    desk.counters.data_held_back += 1;
                    desk.widen(&self.config);
                    station.held = station.held.max(now);
                    self.back_off(node);
                    return;
                }
                self.send_data(now, node, to);
            }
        }
    }

    /// Completes a frame at all stations within decoding range.
    pub(super) fn on_end(&mut self, number: u32, reports: &mut Vec<Report>) {
        let flight = self.flights.get(number);
        let heard = core::mem::take(&mut flight.heard);
        let flight = Flight { heard, ..*flight };
        let mut outcome = if flight.to == NONE { Outcome::ByAll(0) } else { Outcome::OutOfRange };
        for heard in &flight.heard {
            let result = self.heard(&flight, number, heard, reports);
            match (&mut outcome, result) {
                (Outcome::ByAll(count), Outcome::Received) => *count += 1,
                (Outcome::ByAll(_), _) => {}
                (outcome, result) if heard.node == flight.to => *outcome = result,
                _ => {}
            }
        }
        if flight.entry != 0 {
            self.recorder.settle(flight.entry, outcome);
        }
        if flight.kind == FrameKind::Data && flight.to == NONE {
            self.finish(flight.end, flight.from, reports);
        }
        self.flights.get(number).heard = flight.heard;
        self.flights.close(number);
    }

    /// Completes a frame at one station.
    fn heard(
        &mut self,
        flight: &Flight,
        number: u32,
        heard: &Heard,
        reports: &mut Vec<Report>,
    ) -> Outcome {
        let node = heard.node;
        let mine = flight.to == node || flight.to == NONE;
        let counters = &mut self.desks[node as usize].counters;
        match heard.fate {
            Fate::Good => {}
            Fate::Collided => {
                counters.collisions += u64::from(mine);
                return Outcome::Collided;
            }
            Fate::Deaf => {
                counters.deaf += u64::from(mine);
                return Outcome::Deaf;
            }
        }
        let at = flight.end + u64::from(heard.delay);
        let station = &mut self.stations[node as usize];
        if station.rx_flight == number {
            station.rx_flight = NONE;
        }
        if self.lossy {
            let desk = &mut self.desks[node as usize];
            if desk.errors.hits(self.config.frame_error) {
                desk.counters.errors += u64::from(mine);
                // Another frame may have arrived within the last microsecond.
                if station.rx_end == at {
                    station.set(BAD);
                }
                return Outcome::Damaged;
            }
        }
        if flight.to == node {
            return self.addressed(at, node, flight, reports);
        }
        if self.config.response_timeout == ResponseTimeout::Preamble
            && matches!(station.phase, Phase::AwaitCts | Phase::AwaitAck)
        {
            self.attempt_failed(at, node, reports);
        }
        if flight.to != NONE {
            self.reserve(at, node, flight);
        }
        if flight.kind == FrameKind::Data {
            self.pass_on(at, node, flight, reports);
        }
        Outcome::Received
    }

    /// Sets the NAV from the duration field of a frame for another station (§9.2.5.4).
    #[inline]
    fn reserve(&mut self, at: u64, node: u32, flight: &Flight) {
        let station = &mut self.stations[node as usize];
        let until = at + u64::from(flight.duration) * 1_000;
        if until <= station.nav {
            return;
        }
        if flight.kind == FrameKind::Rts && self.config.rts_nav_ends {
            let desk = &mut self.desks[node as usize];
            desk.nav_before = station.nav;
            desk.nav_checked = at + self.timing.rts_silence;
            station.set(NAV_OF_RTS);
            station.nav = until;
            if station.phase == Phase::Contend {
                self.arm(node, at + self.timing.rts_silence + 1);
            }
            return;
        }
        station.clear(NAV_OF_RTS);
        station.nav = until;
    }

    /// Restores the NAV that an RTS has set if no frame followed in time (§9.2.5.4).
    #[cold]
    pub(super) fn after_rts(&mut self, node: u32, at: u64, announced: bool) {
        let station = &mut self.stations[node as usize];
        let desk = &self.desks[node as usize];
        if at > desk.nav_checked {
            station.nav = desk.nav_before;
            station.held = station.held.max(desk.nav_checked);
            station.clear(NAV_OF_RTS);
        } else if announced {
            station.clear(NAV_OF_RTS);
        }
    }

    /// Reports a broadcast, or in promiscuous mode a packet for another station.
    fn pass_on(&mut self, at: u64, node: u32, flight: &Flight, reports: &mut Vec<Report>) {
        let Some(packet) = self.packet_of(flight) else { return };
        let (from, id, at) = (flight.from, packet.id, Instant::from_nanos(at));
        if flight.to == NONE {
            reports.push(Report::Received { node, from, id, broadcast: true, at });
        } else if self.stations[node as usize].is(LISTENS) {
            reports.push(Report::Overheard { node, from, to: flight.to, id, at });
        }
    }

    /// Handles a frame addressed to this station.
    fn addressed(
        &mut self,
        at: u64,
        node: u32,
        flight: &Flight,
        reports: &mut Vec<Report>,
    ) -> Outcome {
        if self.desks[node as usize].owed != Owed::Nothing {
            // It is switching to transmit (§9.2.3.1), and only a frame shorter than a SIFS fits in.
            self.desks[node as usize].counters.deaf += 1;
            return Outcome::Deaf;
        }
        let phase = self.stations[node as usize].phase;
        match (flight.kind, phase) {
            (FrameKind::Cts, Phase::AwaitCts) => {
                let desk = &mut self.desks[node as usize];
                if self.config.cts_resets_short_count {
                    desk.short_retries = 0;
                }
                self.stations[node as usize].phase = Phase::Cleared;
                self.owe(at, node, Owed::Data);
                return Outcome::Received;
            }
            (FrameKind::Ack, Phase::AwaitAck) => {
                let desk = &mut self.desks[node as usize];
                if desk.long {
                    desk.long_retries = 0;
                } else {
                    desk.short_retries = 0;
                }
                desk.counters.acknowledged += 1;
                self.finish(at, node, reports);
                return Outcome::Received;
            }
            (FrameKind::Cts | FrameKind::Ack, _) => return Outcome::Received,
            (FrameKind::Rts | FrameKind::Data, Phase::AwaitCts | Phase::AwaitAck)
                if self.config.response_timeout == ResponseTimeout::Preamble =>
            {
                self.attempt_failed(at, node, reports);
            }
            (FrameKind::Rts | FrameKind::Data, _) => {}
        }
        if flight.kind == FrameKind::Rts {
            self.requested(at, node, flight)
        } else {
            self.data_came(at, node, flight, reports)
        }
    }

    /// Handles an RTS for this station.
    fn requested(&mut self, at: u64, node: u32, flight: &Flight) -> Outcome {
        let station = &self.stations[node as usize];
        let desk = &mut self.desks[node as usize];
        let refuses = if self.config.cts_needs_idle {
            !matches!(station.phase, Phase::After | Phase::Contend | Phase::Idle)
                || station.held > at
        } else {
            station.nav > at
        };
        if refuses {
            desk.counters.cts_refused += 1;
            return Outcome::Refused;
        }
        let left =
            (u64::from(flight.duration) * 1_000).saturating_sub(self.timing.sifs + self.timing.cts);
        let duration = self.microseconds(left);
        self.owe(at, node, Owed::Cts { to: flight.from, duration });
        Outcome::Received
    }

    /// Handles data for this station: acknowledged whatever the state of the medium (§9.2.8),
    /// reported once.
    fn data_came(
        &mut self,
        at: u64,
        node: u32,
        flight: &Flight,
        reports: &mut Vec<Report>,
    ) -> Outcome {
        let from = flight.from;
        if self.config.cts_holds_backoff {
            let station = &mut self.stations[node as usize];
            station.held = station.held.min(at);
        }
        self.owe(at, node, Owed::Ack { to: from });
        let Some(packet) = self.packet_of(flight) else { return Outcome::Received };
        if core::mem::replace(&mut self.desks[from as usize].taken, true) {
            self.desks[node as usize].counters.duplicates += 1;
            return Outcome::Duplicate;
        }
        let (id, at) = (packet.id, Instant::from_nanos(at));
        reports.push(Report::Received { node, from, id, broadcast: false, at });
        Outcome::Received
    }

    /// Returns the packet that a frame carries, if its sender still has it.
    fn packet_of(&self, flight: &Flight) -> Option<Outgoing> {
        let sender = &self.desks[flight.from as usize];
        sender.packet.filter(|_| sender.sequence == flight.sequence)
    }

    /// Schedules a response a SIFS after `at`.
    fn owe(&mut self, at: u64, node: u32, owed: Owed) {
        self.desks[node as usize].owed = owed;
        // Ends are processed when they have reached the most distant station, possibly after the
        // SIFS.
        let at = (at + self.timing.sifs).max(self.now);
        self.agenda.push(agenda::Event::new(at, agenda::Kind::Respond, node));
    }

    /// Completes a packet.
    fn finish(&mut self, at: u64, node: u32, reports: &mut Vec<Report>) {
        let desk = &mut self.desks[node as usize];
        desk.cw = self.config.cw_min;
        let Some(packet) = desk.packet.take() else { return };
        self.back_off(node);
        let Outgoing { id, to, .. } = packet;
        reports.push(Report::Sent { node, id, to, at: Instant::from_nanos(at) });
    }

    /// Handles a missing response.
    fn attempt_failed(&mut self, at: u64, node: u32, reports: &mut Vec<Report>) {
        let desk = &mut self.desks[node as usize];
        let station = &mut self.stations[node as usize];
        let Some(Outgoing { id, to: Some(to), bytes }) = desk.packet else { return };
        // The first slot begins with the timeout, or a DIFS later.
        let since =
            if self.config.difs_after_timeout { at } else { at.saturating_sub(self.timing.difs) };
        station.held = station.held.max(since);
        let of_rts = station.phase == Phase::AwaitCts;
        let reason = if of_rts {
            desk.counters.cts_missing += 1;
            FailReason::NoCts
        } else {
            desk.counters.acks_missing += 1;
            desk.again = true;
            FailReason::NoAck
        };
        // §9.2.4: an RTS is a short frame.
        let limit = self.config.retry_limit(bytes, reason);
        let count =
            if desk.long && !of_rts { &mut desk.long_retries } else { &mut desk.short_retries };
        *count += 1;
        if *count < limit {
            desk.widen(&self.config);
            self.back_off(node);
            return;
        }
        *count = 0;
        match reason {
            FailReason::NoCts => desk.counters.failed_no_cts += 1,
            FailReason::NoAck => desk.counters.failed_no_ack += 1,
        }
        desk.cw = self.config.cw_min;
        desk.packet = None;
        if self.config.backoff_after_giving_up {
            self.back_off(node);
        } else {
            station.phase = Phase::Idle;
        }
        reports.push(Report::Failed { node, id, to, reason, at: Instant::from_nanos(at) });
    }

    /// Converts nanoseconds to the microseconds of a duration field.
    pub(super) fn microseconds(&self, nanos: u64) -> u32 {
        let round = if self.config.durations_round_up { 999 } else { 500 };
        ((nanos + round) / 1_000) as u32
    }
}
