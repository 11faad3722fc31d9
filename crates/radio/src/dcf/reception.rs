//! Receptions: the end of a frame at the stations that can decode it.

use driftway_base::{Instant, StationId};

use super::Dcf;
use super::access_state::{NAV_FROM_RTS, PROMISCUOUS, Phase, RX_FAILED};
use super::config::ResponseTimeout;
use super::record::ReceptionOutcome;
use super::transmission::{FrameKind, FrameReceiver, ReceptionState, Transmission, TransmissionId};
use super::transmit_state::PendingResponse;
use crate::{MacReport, OutgoingPacket};

impl Dcf {
    /// Completes a frame at all stations within decoding range.
    pub(super) fn on_frame_end(&mut self, number: TransmissionId, reports: &mut Vec<MacReport>) {
        let transmission = self.transmissions.get(number);
        let receivers = core::mem::take(&mut transmission.receivers);
        let transmission = Transmission { receivers, ..*transmission };
        let outcome = match transmission.to {
            None => self.end_broadcast(&transmission, number, reports),
            Some(to) => self.end_unicast(&transmission, number, to, reports),
        };
        if transmission.record_number != 0 {
            self.recorder.set_reception_outcome(transmission.record_number, outcome);
        }
        if transmission.kind == FrameKind::Data && transmission.to.is_none() && !transmission.is_cut
        {
            self.complete_packet(transmission.end, transmission.from, reports);
        }
        self.transmissions.get(number).receivers = transmission.receivers;
        self.transmissions.release(number);
    }

    /// Completes a broadcast at all stations within decoding range.
    fn end_broadcast(
        &mut self,
        transmission: &Transmission,
        number: TransmissionId,
        reports: &mut Vec<MacReport>,
    ) -> ReceptionOutcome {
        let mut count = 0;
        for receiver in &transmission.receivers {
            let outcome = self.end_reception(transmission, number, receiver, reports);
            count += u32::from(outcome == ReceptionOutcome::Received);
        }
        ReceptionOutcome::Broadcast(count)
    }

    /// Completes a unicast frame at all stations within decoding range. Most of them receive it
    /// without error, and it is not for them: these are not visited by calls.
    fn end_unicast(
        &mut self,
        transmission: &Transmission,
        number: TransmissionId,
        to: StationId,
        reports: &mut Vec<MacReport>,
    ) -> ReceptionOutcome {
        let duration = u64::from(transmission.duration) * 1_000;
        let overheard = transmission.kind == FrameKind::Data;
        let sets_rts_nav = transmission.kind == FrameKind::Rts && self.config.rts_nav_ends;
        let ends_attempts = self.config.response_timeout == ResponseTimeout::Preamble;
        let may_be_damaged = self.has_frame_errors || transmission.is_cut;
        let is_usual = !(sets_rts_nav || ends_attempts || may_be_damaged);
        let mut outcome = ReceptionOutcome::OutOfRange;
        for receiver in &transmission.receivers {
            let station = receiver.station;
            if is_usual && receiver.state == ReceptionState::Decodable && station != to {
                let access = &mut self.access_states[station];
                if access.rx_transmission == Some(number) {
                    access.rx_transmission = None;
                }
                let at = transmission.end + u64::from(receiver.delay);
                access.extend_nav(at + duration);
                if overheard && access.has(PROMISCUOUS) {
                    self.report_data(at, station, transmission, reports);
                }
                continue;
            }
            let result = self.end_reception(transmission, number, receiver, reports);
            if station == to {
                outcome = result;
            }
        }
        outcome
    }

    /// Completes a frame at one station.
    fn end_reception(
        &mut self,
        transmission: &Transmission,
        number: TransmissionId,
        receiver: &FrameReceiver,
        reports: &mut Vec<MacReport>,
    ) -> ReceptionOutcome {
        let station = receiver.station;
        match receiver.state {
            ReceptionState::Decodable => {}
            ReceptionState::Collided => {
                if transmission.is_for(station) {
                    self.transmit_states[station].counters.collisions += 1;
                }
                return ReceptionOutcome::Collided;
            }
            ReceptionState::Transmitting => {
                if transmission.is_for(station) {
                    self.transmit_states[station].counters.missed_while_transmitting += 1;
                }
                return ReceptionOutcome::Transmitting;
            }
            ReceptionState::Disabled => return ReceptionOutcome::OutOfRange,
        }
        let at = transmission.end + u64::from(receiver.delay);
        let access = &mut self.access_states[station];
        if access.rx_transmission == Some(number) {
            access.rx_transmission = None;
        }
        if (self.has_frame_errors || transmission.is_cut)
            && self.draw_error(at, station, transmission)
        {
            return ReceptionOutcome::Damaged;
        }
        if transmission.to == Some(station) {
            return self.on_addressed_frame(at, station, transmission, reports);
        }
        if self.config.response_timeout == ResponseTimeout::Preamble
            && matches!(self.access_states[station].phase, Phase::AwaitCts | Phase::AwaitAck)
        {
            self.attempt_failed(at, station, reports);
        }
        if transmission.to.is_some() {
            self.update_nav(at, station, transmission);
        }
        if transmission.kind == FrameKind::Data {
            self.report_data(at, station, transmission, reports);
        }
        ReceptionOutcome::Received
    }

    /// Draws whether a frame has an error at a station, and counts it; one that is cut has.
    fn draw_error(&mut self, at: u64, station: StationId, transmission: &Transmission) -> bool {
        let state = &mut self.transmit_states[station];
        if !transmission.is_cut && !state.error_stream.bernoulli(self.config.frame_error) {
            return false;
        }
        state.counters.errors += u64::from(transmission.is_for(station));
        // Another frame may have arrived within the last microsecond.
        let access = &mut self.access_states[station];
        if access.rx_end == at {
            access.set(RX_FAILED);
        }
        true
    }

    /// Sets the NAV from the duration field of a frame for another station (§9.2.5.4).
    fn update_nav(&mut self, at: u64, station: StationId, transmission: &Transmission) {
        let access = &mut self.access_states[station];
        let until = at + u64::from(transmission.duration) * 1_000;
        if transmission.kind != FrameKind::Rts || !self.config.rts_nav_ends {
            access.extend_nav(until);
            return;
        }
        if until > access.nav {
            let state = &mut self.transmit_states[station];
            state.nav_before_rts = access.nav;
            state.rts_nav_deadline = at + self.timing.rts_nav_timeout;
            access.set(NAV_FROM_RTS);
            access.nav = until;
            if access.phase == Phase::Contend {
                self.arm_timer(station, at + self.timing.rts_nav_timeout + 1);
            }
        }
    }

    /// Restores the NAV that an RTS has set if no frame followed in time (§9.2.5.4).
    #[cold]
    pub(super) fn check_rts_nav(&mut self, station: StationId, at: u64, announced: bool) {
        let access = &mut self.access_states[station];
        let state = &self.transmit_states[station];
        if at > state.rts_nav_deadline {
            access.nav = state.nav_before_rts;
            access.busy_until = access.busy_until.max(state.rts_nav_deadline);
            access.clear(NAV_FROM_RTS);
        } else if announced {
            access.clear(NAV_FROM_RTS);
        }
    }

    /// Reports a broadcast, or in promiscuous mode a packet for another station.
    fn report_data(
        &mut self,
        at: u64,
        station: StationId,
        transmission: &Transmission,
        reports: &mut Vec<MacReport>,
    ) {
        let Some(packet) = self.packet_of_frame(transmission) else { return };
        let (from, id, at) = (transmission.from, packet.id, Instant::from_nanos(at));
        match transmission.to {
            None => reports.push(MacReport::Received { station, from, id, broadcast: true, at }),
            Some(to) if self.access_states[station].has(PROMISCUOUS) => {
                reports.push(MacReport::Overheard { station, from, to, id, at });
            }
            Some(_) => {}
        }
    }

    /// Handles a frame addressed to this station.
    fn on_addressed_frame(
        &mut self,
        at: u64,
        station: StationId,
        transmission: &Transmission,
        reports: &mut Vec<MacReport>,
    ) -> ReceptionOutcome {
        if self.transmit_states[station].pending_response != PendingResponse::None {
            // It is switching to transmit (§9.2.3.1), and only a frame shorter than a SIFS fits in.
            self.transmit_states[station].counters.missed_while_transmitting += 1;
            return ReceptionOutcome::Transmitting;
        }
        let phase = self.access_states[station].phase;
        match (transmission.kind, phase) {
            (FrameKind::Cts, Phase::AwaitCts) => {
                let state = &mut self.transmit_states[station];
                if self.config.cts_resets_short_count {
                    state.short_retries = 0;
                }
                self.access_states[station].phase = Phase::CtsReceived;
                self.schedule_response(at, station, PendingResponse::Data);
                return ReceptionOutcome::Received;
            }
            (FrameKind::Ack, Phase::AwaitAck) => {
                let state = &mut self.transmit_states[station];
                if state.uses_rts {
                    state.long_retries = 0;
                } else {
                    state.short_retries = 0;
                }
                state.counters.acknowledged += 1;
                self.complete_packet(at, station, reports);
                return ReceptionOutcome::Received;
            }
            (FrameKind::Cts | FrameKind::Ack, _) => return ReceptionOutcome::Received,
            (FrameKind::Rts | FrameKind::Data, Phase::AwaitCts | Phase::AwaitAck)
                if self.config.response_timeout == ResponseTimeout::Preamble =>
            {
                self.attempt_failed(at, station, reports);
            }
            (FrameKind::Rts | FrameKind::Data, _) => {}
        }
        if transmission.kind == FrameKind::Rts {
            self.on_rts(at, station, transmission)
        } else {
            self.on_data(at, station, transmission, reports)
        }
    }

    /// Handles an RTS for this station.
    fn on_rts(
        &mut self,
        at: u64,
        station: StationId,
        transmission: &Transmission,
    ) -> ReceptionOutcome {
        let access = &self.access_states[station];
        let state = &mut self.transmit_states[station];
        let refuses = if self.config.cts_needs_idle {
            !matches!(access.phase, Phase::PostBackoff | Phase::Contend | Phase::Idle)
                || access.busy_until > at
        } else {
            access.nav > at
        };
        if refuses {
            state.counters.cts_refused += 1;
            return ReceptionOutcome::Refused;
        }
        let left = (u64::from(transmission.duration) * 1_000)
            .saturating_sub(self.timing.sifs + self.timing.cts);
        let duration = self.duration_field_us(left);
        self.schedule_response(
            at,
            station,
            PendingResponse::Cts { to: transmission.from, duration },
        );
        ReceptionOutcome::Received
    }

    /// Handles data for this station: acknowledged whatever the state of the medium (§9.2.8),
    /// reported once.
    fn on_data(
        &mut self,
        at: u64,
        station: StationId,
        transmission: &Transmission,
        reports: &mut Vec<MacReport>,
    ) -> ReceptionOutcome {
        let from = transmission.from;
        if self.config.cts_holds_backoff {
            let access = &mut self.access_states[station];
            access.busy_until = access.busy_until.min(at);
        }
        self.schedule_response(at, station, PendingResponse::Ack { to: from });
        let Some(packet) = self.packet_of_frame(transmission) else {
            return ReceptionOutcome::Received;
        };
        if core::mem::replace(&mut self.transmit_states[from].is_received, true) {
            self.transmit_states[station].counters.duplicates += 1;
            return ReceptionOutcome::Duplicate;
        }
        let (id, at) = (packet.id, Instant::from_nanos(at));
        reports.push(MacReport::Received { station, from, id, broadcast: false, at });
        ReceptionOutcome::Received
    }

    /// Returns the packet that a frame carries, if its sender still has it.
    fn packet_of_frame(&self, transmission: &Transmission) -> Option<OutgoingPacket> {
        let sender = &self.transmit_states[transmission.from];
        sender.packet.filter(|_| sender.sequence == transmission.sequence)
    }
}
