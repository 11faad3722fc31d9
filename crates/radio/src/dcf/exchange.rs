//! Frame exchanges: transmission of a station's packet, and responses to other stations.

use driftway_base::{Instant, StationId};

use super::access_state::{COMMITTED, NAV_FROM_RTS, NO_BACKOFF, Phase};
use super::config::{ACK_BYTES, CTS_BYTES, RTS_BYTES, ResponseTimeout};
use super::medium::FrameToSend;
use super::transmission::FrameKind;
use super::transmit_state::PendingResponse;
use super::{Dcf, Event, EventKind};
use crate::{FailReason, MacReport, OutgoingPacket};

impl Dcf {
    /// Accepts a packet at a station that has none.
    pub(super) fn accept_packet(&mut self, now: u64, station: StationId, packet: OutgoingPacket) {
        let state = &mut self.transmit_states[station];
        state.accept(packet, &self.config);
        if self.access_states[station].has(NAV_FROM_RTS) {
            self.check_rts_nav(station, now, false);
        }
        let access = &mut self.access_states[station];
        let backing_off =
            access.phase == Phase::PostBackoff && access.backoff_ends_at(&self.timing) > now;
        access.phase = Phase::Contend;
        if !backing_off {
            // §9.2.5.1: immediately if the medium is idle, else after a backoff.
            let at_once = !self.config.backoff_before_first && !access.is_busy(now, &self.timing);
            access.set_to(NO_BACKOFF, at_once);
            access.slots = if at_once {
                0
            } else {
                access.busy_until = access.busy_until.max(now);
                self.transmit_states[station].draw_backoff(&self.config)
            };
        }
        self.arm_backoff_timer(station);
    }

    /// Starts a backoff for the current packet, or for the next one.
    fn start_backoff(&mut self, station: StationId) {
        let state = &mut self.transmit_states[station];
        let access = &mut self.access_states[station];
        access.slots = state.draw_backoff(&self.config);
        access.clear(NO_BACKOFF | COMMITTED);
        if state.packet.is_none() {
            access.phase = Phase::PostBackoff;
            return;
        }
        access.phase = Phase::Contend;
        self.arm_backoff_timer(station);
    }

    /// Sets the timer for the end of the backoff, or earlier for the deadline of the RTS whose NAV
    /// defers it.
    pub(super) fn arm_backoff_timer(&mut self, station: StationId) {
        let access = &self.access_states[station];
        let mut at = access.backoff_ends_at(&self.timing);
        if access.has(NAV_FROM_RTS) {
            at = at.min(self.transmit_states[station].rts_nav_deadline + 1);
        }
        self.arm_timer(station, at);
    }

    /// Ensures that a station's timer expires at `at` at the latest.
    pub(super) fn arm_timer(&mut self, station: StationId, at: u64) {
        // A deadline that has already been processed is due now.
        let at = at.max(self.now);
        if at < self.access_states[station].timer_at {
            self.arm_timer_at(station, at);
        }
    }

    /// Sets a station's timer to `at`; an earlier event for it is ignored.
    pub(super) fn arm_timer_at(&mut self, station: StationId, at: u64) {
        self.access_states[station].timer_at = at;
        self.event_queue.push(Event::new(at, EventKind::StationTimer(station)));
    }

    /// Handles a station's timer, which may be early because its deadline has moved.
    pub(super) fn on_timer(&mut self, now: u64, station: StationId, reports: &mut Vec<MacReport>) {
        let access = &mut self.access_states[station];
        if access.timer_at != now {
            return;
        }
        access.timer_at = u64::MAX;
        match access.phase {
            Phase::Contend => {
                if access.has(NAV_FROM_RTS) {
                    self.check_rts_nav(station, now, false);
                }
                let access = &self.access_states[station];
                if access.has(COMMITTED) || access.backoff_ends_at(&self.timing) <= now {
                    self.send_first_frame(now, station);
                } else {
                    self.arm_backoff_timer(station);
                }
            }
            Phase::AwaitCts | Phase::AwaitAck => self.check_response_timeout(now, station, reports),
            Phase::Aborted => self.report_aborted(station, reports),
            Phase::PostBackoff | Phase::Idle | Phase::CtsReceived | Phase::Broadcast => {}
        }
    }

    /// Checks whether the response is missing. Frames under reception at the deadline have been
    /// processed by now.
    fn check_response_timeout(
        &mut self,
        now: u64,
        station: StationId,
        reports: &mut Vec<MacReport>,
    ) {
        let state = &mut self.transmit_states[station];
        let access = &self.access_states[station];
        let deadline = state.response_deadline;
        if now < deadline + self.max_propagation_delay {
            self.arm_timer(station, deadline + self.max_propagation_delay);
            return;
        }
        // §9.2.5.7, §9.2.8: a frame has been detected, and its end decides.
        if self.config.response_timeout == ResponseTimeout::Preamble
            && access.rx_transmission.is_some()
            && access.rx_start + self.timing.preamble <= deadline
            && access.rx_end > deadline
        {
            state.response_deadline = access.rx_end;
            let at = state.response_deadline + self.max_propagation_delay;
            self.arm_timer(station, at);
            return;
        }
        self.attempt_failed(deadline, station, reports);
    }

    /// Sends the first frame of an exchange at the end of the backoff.
    fn send_first_frame(&mut self, now: u64, station: StationId) {
        let access = &mut self.access_states[station];
        access.slots = 0;
        access.clear(NO_BACKOFF | COMMITTED);
        let state = &self.transmit_states[station];
        match state.packet {
            Some(OutgoingPacket { to: Some(to), .. }) if state.uses_rts => {
                self.send_rts(now, station, to);
            }
            Some(OutgoingPacket { to: Some(to), .. }) => self.send_data(now, station, to),
            Some(OutgoingPacket { to: None, .. }) => self.send_broadcast(now, station),
            None => {}
        }
    }

    fn send_rts(&mut self, now: u64, station: StationId, to: StationId) {
        self.access_states[station].phase = Phase::AwaitCts;
        let airtime = self.transmit_states[station].airtime;
        let duration = self.duration_field_us(self.timing.nav_around_data + airtime);
        let rts = (FrameKind::Rts, RTS_BYTES, self.timing.rts);
        let end = self.send_control(now, station, to, rts, duration);
        self.await_response(station, end + self.timing.cts_timeout);
    }

    fn send_data(&mut self, now: u64, station: StationId, to: StationId) {
        self.access_states[station].phase = Phase::AwaitAck;
        let duration = self.duration_field_us(self.timing.sifs + self.timing.ack);
        let state = &self.transmit_states[station];
        let frame = FrameToSend {
            kind: FrameKind::Data,
            from: station,
            to: Some(to),
            bytes: state.bytes,
            rate: self.config.data_rate,
            airtime: state.airtime,
            duration,
        };
        let end = self.transmit(now, frame);
        self.await_response(station, end + self.timing.ack_timeout);
    }

    fn send_broadcast(&mut self, now: u64, station: StationId) {
        self.access_states[station].phase = Phase::Broadcast;
        let state = &self.transmit_states[station];
        let frame = FrameToSend {
            kind: FrameKind::Data,
            from: station,
            to: None,
            bytes: state.bytes,
            rate: self.config.basic_rate,
            airtime: state.airtime,
            duration: 0,
        };
        self.transmit(now, frame);
    }

    /// Sends a control frame of this kind, size and airtime; returns the end of its transmission.
    fn send_control(
        &mut self,
        now: u64,
        from: StationId,
        to: StationId,
        (kind, bytes, airtime): (FrameKind, u32, u64),
        duration: u32,
    ) -> u64 {
        let rate = self.config.basic_rate;
        self.transmit(now, FrameToSend { kind, from, to: Some(to), bytes, rate, airtime, duration })
    }

    /// Waits for a response until `deadline`.
    fn await_response(&mut self, station: StationId, deadline: u64) {
        self.transmit_states[station].response_deadline = deadline;
        self.arm_timer(station, deadline + self.max_propagation_delay);
    }

    /// Sends the pending response after a SIFS.
    pub(super) fn on_response_due(&mut self, now: u64, station: StationId) {
        let state = &mut self.transmit_states[station];
        let sends = self.access_states[station].tx_end > now;
        match core::mem::replace(&mut state.pending_response, PendingResponse::None) {
            // The station began to transmit within the SIFS, before the end of the frame that it
            // would answer.
            PendingResponse::Ack { .. } | PendingResponse::Cts { .. } if sends => {}
            PendingResponse::None => {}
            PendingResponse::Ack { to } => {
                let ack = (FrameKind::Ack, ACK_BYTES, self.timing.ack);
                self.send_control(now, station, to, ack, 0);
            }
            PendingResponse::Cts { to, duration } => self.send_cts(now, station, to, duration),
            PendingResponse::Data => self.continue_with_data(now, station, sends),
        }
    }

    /// Sends a CTS, unless it needs an idle medium.
    fn send_cts(&mut self, now: u64, station: StationId, to: StationId, duration: u32) {
        let access = &self.access_states[station];
        if self.config.cts_needs_idle && access.is_busy(now, &self.timing) {
            self.transmit_states[station].counters.cts_refused += 1;
            return;
        }
        let cts = (FrameKind::Cts, CTS_BYTES, self.timing.cts);
        let end = self.send_control(now, station, to, cts, duration);
        if self.config.cts_holds_backoff {
            let wait = u64::from(duration) * 1_000;
            self.access_states[station].busy_until =
                end + wait.saturating_sub(self.timing.nav_after_data);
        }
    }

    /// Sends data after a CTS, or holds it back: because the station `sends` another frame, or if
    /// data needs an idle medium.
    fn continue_with_data(&mut self, now: u64, station: StationId, sends: bool) {
        let state = &mut self.transmit_states[station];
        let Some(to) = state.packet.and_then(|packet| packet.to) else { return };
        let access = &mut self.access_states[station];
        if sends || self.config.data_needs_idle && access.is_busy(now, &self.timing) {
            state.counters.data_held_back += 1;
            state.double_contention_window(&self.config);
            access.busy_until = access.busy_until.max(now);
            self.start_backoff(station);
            return;
        }
        self.send_data(now, station, to);
    }

    /// Schedules a response a SIFS after `at`.
    pub(super) fn schedule_response(&mut self, at: u64, station: StationId, owed: PendingResponse) {
        self.transmit_states[station].pending_response = owed;
        // Ends are processed when they have reached the most distant station, possibly after the
        // SIFS.
        let at = (at + self.timing.sifs).max(self.now);
        self.event_queue.push(Event::new(at, EventKind::ResponseDue(station)));
    }

    /// Completes a packet.
    pub(super) fn complete_packet(
        &mut self,
        at: u64,
        station: StationId,
        reports: &mut Vec<MacReport>,
    ) {
        let state = &mut self.transmit_states[station];
        state.cw = self.config.cw_min;
        let Some(packet) = state.packet.take() else { return };
        self.start_backoff(station);
        let OutgoingPacket { id, to, .. } = packet;
        reports.push(MacReport::Sent { station, id, to, at: Instant::from_nanos(at) });
    }

    /// Handles a missing response.
    pub(super) fn attempt_failed(
        &mut self,
        at: u64,
        station: StationId,
        reports: &mut Vec<MacReport>,
    ) {
        let state = &mut self.transmit_states[station];
        let access = &mut self.access_states[station];
        let Some(OutgoingPacket { id, to: Some(to), bytes, .. }) = state.packet else { return };
        // The first slot begins with the timeout, or a DIFS later.
        let since =
            if self.config.difs_after_timeout { at } else { at.saturating_sub(self.timing.difs) };
        access.busy_until = access.busy_until.max(since);
        let of_rts = access.phase == Phase::AwaitCts;
        let reason = if of_rts {
            state.counters.cts_timeouts += 1;
            FailReason::NoCts
        } else {
            state.counters.ack_timeouts += 1;
            state.is_retry = true;
            FailReason::NoAck
        };
        // §9.2.4: an RTS is a short frame.
        let limit = self.config.retry_limit(bytes, reason);
        let count = if state.uses_rts && !of_rts {
            &mut state.long_retries
        } else {
            &mut state.short_retries
        };
        *count += 1;
        if *count < limit {
            state.double_contention_window(&self.config);
            self.start_backoff(station);
            return;
        }
        *count = 0;
        state.counters.count_failure(reason);
        state.cw = self.config.cw_min;
        state.packet = None;
        if self.config.backoff_after_giving_up {
            self.start_backoff(station);
        } else {
            access.phase = Phase::Idle;
        }
        reports.push(MacReport::Failed { station, id, to, reason, at: Instant::from_nanos(at) });
    }

    /// Converts nanoseconds to the microseconds of a duration field.
    pub(super) fn duration_field_us(&self, nanos: u64) -> u32 {
        let round = if self.config.durations_round_up { 999 } else { 500 };
        ((nanos + round) / 1_000) as u32
    }
}
