//! Transmission of a frame, and its effect on all stations in range.
//!
//! All is computed at the start of the frame. Later changes at a station that the frame reaches (up
//! to 2 µs later over 550 m) are stored with their instants, and the station's own actions are
//! compared with these.

use driftway_base::{Duration, Instant, Rate, StationId};

use super::Dcf;
use super::access_state::{
    AccessState, COMMITTED, DISABLED, NAV_FROM_RTS, NO_BACKOFF, Phase, RX_FAILED, Suspension,
};
use super::arrival::{AffectedStation, Arrival, Arrivals, occupy_receiver};
use super::config::CaptureModel;
use super::event_queue::{Event, EventKind};
use super::propagation_delay::propagation_delay_ns;
use super::record::{FrameRecord, ReceptionOutcome};
use super::transmission::{FrameKind, ReceptionState, TransmissionId};
use crate::StationInRange;

/// A frame to transmit.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameToSend {
    pub kind: FrameKind,
    pub from: StationId,
    pub to: Option<StationId>,
    pub bytes: u32,
    pub rate: Rate,
    /// Airtime (ns).
    pub airtime: u64,
    /// Duration field (µs).
    pub duration: u32,
}

impl Dcf {
    /// Transmits a frame; returns the end of its transmission.
    pub(super) fn transmit(&mut self, now: u64, frame: FrameToSend) -> u64 {
        let end = now + frame.airtime;
        self.begin_transmitting(now, end, frame.from);
        if let Some(times) = &mut self.radio_times {
            times.on_transmit(frame.from, now, end);
        }
        let number = self.transmissions.allocate();
        let furthest = self.propagate(now, end, frame.from, number);
        let entry = if self.recorder.is_enabled() { self.record_frame(now, frame) } else { 0 };
        let sequence = self.transmit_states[frame.from].sequence;
        let transmission = self.transmissions.get(number);
        (transmission.sequence, transmission.is_cut) = (sequence, false);
        (transmission.kind, transmission.from, transmission.to) =
            (frame.kind, frame.from, frame.to);
        (transmission.end, transmission.duration, transmission.record_number) =
            (end, frame.duration, entry);
        self.event_queue.push(Event::new(end + furthest, EventKind::FrameEnd(number)));
        self.frames_sent += 1;
        self.count_frame(frame);
        end
    }

    /// Propagates a frame to all stations in range; returns the propagation delay to the most
    /// distant one that can decode it.
    fn propagate(&mut self, now: u64, end: u64, from: StationId, number: TransmissionId) -> u64 {
        let mut receivers = core::mem::take(&mut self.transmissions.get(number).receivers);
        let mut affected = core::mem::take(&mut self.affected);
        let mut access_states = core::mem::take(&mut self.access_states);
        let arrivals = Arrivals {
            now,
            end,
            transmission: number,
            timing: self.timing,
            eifs_when_only_sensed: self.config.eifs_when_only_sensed,
            uncaptured_squares: if self.config.capture == CaptureModel::First {
                self.capture_squares
            } else {
                0.0
            },
            affects_all: self.interference.is_enabled(),
            access_states: &mut access_states,
            receivers: &mut receivers,
            affected: &mut affected,
        };
        if self.varies {
            self.arrive_with_power(from, arrivals);
        } else {
            self.arrive_by_distance(from, arrivals);
        }
        self.access_states = access_states;
        for AffectedStation { station, receiver, delay, signal } in affected.drain(..) {
            let arrival = Arrival {
                at: now + delay,
                until: end + delay,
                signal,
                transmission: number,
                is_decodable: receiver.is_some(),
            };
            let state = self.receive(station, arrival);
            if let Some(receiver) = receiver {
                receivers[receiver as usize].state = state;
            }
        }
        let furthest = receivers.iter().map(|receiver| receiver.delay).max();
        self.transmissions.get(number).receivers = receivers;
        self.affected = affected;
        furthest.unwrap_or(0).into()
    }

    /// Lets a frame arrive at all stations in range, where its power depends only on the distance.
    #[inline]
    fn arrive_by_distance(&mut self, from: StationId, mut arrivals: Arrivals<'_>) {
        let (now, end) = (arrivals.now, arrivals.end);
        let candidates = self.positions.candidates(Instant::from_nanos(now), from);
        // Computed together, so that successive square roots do not wait for the stations'
        // processing.
        let (nanos_per_metre, squares) = (self.nanos_per_metre, candidates.distances_squared);
        let delays = squares.iter().map(|square| propagation_delay_ns(*square, nanos_per_metre));
        self.delays.clear();
        self.delays.extend(delays);
        if let Some(times) = &mut self.radio_times {
            for ((station, square), delay) in candidates.all().zip(&self.delays) {
                if square <= candidates.reach_squared {
                    times.on_signal(station, now + delay, end + delay);
                }
            }
        }
        let delays = &self.delays[..];
        let limits = (candidates.near_limit(), self.receive_squared);
        arrivals.decode(candidates.near(), delays, limits);
        arrivals.sense(candidates.inner(), &delays[candidates.near_end..]);
        let reach_squared = candidates.reach_squared;
        arrivals.sense_within(candidates.border(), &delays[candidates.inner_end..], reach_squared);
    }

    /// Lets a frame arrive at all stations in range, with the power that each receives.
    fn arrive_with_power(&mut self, from: StationId, mut arrivals: Arrivals<'_>) {
        let at = Instant::from_nanos(arrivals.now);
        self.in_range.clear();
        self.positions.stations_in_range(at, from, &mut self.in_range);
        self.propagation.on_frame(from);
        let moved = self.positions.distance_moved(from, at);
        for &StationInRange { station, distance_squared: square } in &self.in_range {
            let moved = moved + self.positions.distance_moved(station, at);
            let power = self.propagation.power_of_frame(from, station, square, moved);
            if power < self.propagation.sense_power() {
                continue;
            }
            let delay = propagation_delay_ns(square, self.nanos_per_metre);
            if let Some(times) = &mut self.radio_times {
                times.on_signal(station, arrivals.now + delay, arrivals.end + delay);
            }
            arrivals.add(station, delay, power, power >= self.propagation.receive_power());
        }
    }

    /// Receives a frame at a station that it may affect; returns the state of the frame there.
    fn receive(&mut self, station: StationId, new: Arrival) -> ReceptionState {
        let was_bad = self.access_states[station].has(RX_FAILED);
        let state = self.on_arrival(station, new);
        if was_bad {
            self.recheck_eifs(station);
        }
        state
    }

    /// Converts a station's signal strength to watts.
    fn power_of_signal(&self, signal: f32) -> f64 {
        let signal = f64::from(signal);
        if self.varies { signal } else { self.propagation.power(signal) }
    }

    /// Begins a transmission: the station neither receives nor counts slots.
    fn begin_transmitting(&mut self, now: u64, end: u64, station: StationId) {
        let access = &mut self.access_states[station];
        debug_assert!(access.tx_end <= now, "a station transmits one frame at a time");
        let was_bad = access.has(RX_FAILED);
        if access.counts_slots() {
            self.suspend_backoff(station, now);
        }
        let access = &mut self.access_states[station];
        if access.rx_end > now {
            let transmission = access.rx_transmission.take();
            let sensed = self.config.eifs_when_only_sensed && access.rx_end > end;
            access.set_to(RX_FAILED, sensed);
            if let Some(transmission) = transmission {
                self.transmissions.set_reception(
                    transmission,
                    station,
                    ReceptionState::Transmitting,
                );
            }
        }
        let access = &mut self.access_states[station];
        access.tx_end = end;
        access.busy_until = access.busy_until.max(end);
        if was_bad {
            self.recheck_eifs(station);
        }
    }

    /// Re-arms the timer where the end of an EIFS may have changed the end of the backoff.
    #[inline]
    fn recheck_eifs(&mut self, station: StationId) {
        let access = &self.access_states[station];
        if self.timing.eifs_can_end && access.phase == Phase::Contend && !access.has(COMMITTED) {
            self.arm_backoff_timer(station);
        }
    }

    /// Processes the arrival of a frame at a station that it may affect; returns the state of the
    /// frame there.
    fn on_arrival(&mut self, station: StationId, mut new: Arrival) -> ReceptionState {
        if self.access_states[station].has(DISABLED) {
            self.follow_while_disabled(station, new);
            return ReceptionState::Disabled;
        }
        if self.access_states[station].has(NAV_FROM_RTS) {
            self.check_rts_nav(station, new.at, new.is_decodable);
        }
        if self.access_states[station].counts_slots() {
            self.suspend_backoff(station, new.at);
        }
        let mut drowned = false;
        if self.interference.is_enabled() {
            let power = self.power_of_signal(new.signal);
            self.interference.add(self.now, station, (new.at, new.until), power, new.transmission);
            // A frame that outlasts a stronger one no longer occupies the receiver, but still
            // interferes.
            drowned =
                new.is_decodable && !self.exceeds_sinr(station, new.at, power, new.transmission);
        }
        let access = &mut self.access_states[station];
        if access.rx_end > new.at {
            return self.resolve_overlap(station, new);
        }
        new.is_decodable &= !drowned;
        let reception = occupy_receiver(
            access,
            new,
            self.timing.nav_after_rx_failure,
            self.config.eifs_when_only_sensed,
        );
        if drowned {
            access.set_to(RX_FAILED, new.until > access.tx_end);
            return ReceptionState::Collided;
        }
        reception
    }

    /// Notes a frame at a disabled station, which will sense what is left of it when enabled.
    #[cold]
    #[inline(never)]
    fn follow_while_disabled(&mut self, station: StationId, new: Arrival) {
        let power = self.power_of_signal(new.signal);
        if self.interference.is_enabled() {
            self.interference.add(self.now, station, (new.at, new.until), power, new.transmission);
        }
        let is_stronger = power > self.power_of_signal(self.access_states[station].rx_signal);
        let access = &mut self.access_states[station];
        if access.rx_end > new.at {
            merge_signals(access, new, self.config.capture, is_stronger);
        } else {
            (access.rx_start, access.rx_end) = (new.at, new.until);
            access.rx_signal = new.signal;
        }
    }

    /// Returns whether the ratio of this power to all other signals together is at least the
    /// capture ratio.
    fn exceeds_sinr(
        &self,
        station: StationId,
        at: u64,
        power: f64,
        transmission: TransmissionId,
    ) -> bool {
        let others = self.interference.power_excluding(station, at, transmission);
        others == 0.0 || power >= self.propagation.capture_ratio() * others
    }

    /// Suspends the backoff of a station that counts slots: the medium becomes busy.
    fn suspend_backoff(&mut self, station: StationId, at: u64) {
        let access = &mut self.access_states[station];
        if access.has(COMMITTED) {
            return;
        }
        match access.suspend_backoff(at, &self.timing) {
            Suspension::Suspended => {}
            Suspension::NeedsBackoff => {
                access.clear(NO_BACKOFF);
                access.slots = self.transmit_states[station].draw_backoff(&self.config);
            }
            Suspension::Transmits(at) => {
                access.set(COMMITTED);
                let at = at.max(self.now);
                if access.timer_at != at {
                    self.arm_timer_at(station, at);
                }
            }
        }
    }

    /// Returns whether the power of a signal exceeds that of another by the capture ratio.
    fn captures(&self, strong: f32, weak: f32) -> bool {
        if f64::from(weak) < f64::from(strong) * self.capture_squares {
            return false;
        }
        let ratio = self.propagation.capture_ratio();
        self.power_of_signal(strong) >= ratio * self.power_of_signal(weak)
    }

    /// Resolves the overlap of two frames at one receiver.
    fn resolve_overlap(&mut self, station: StationId, new: Arrival) -> ReceptionState {
        let access = &self.access_states[station];
        let (rx_start, rx_end, old_signal) = (access.rx_start, access.rx_end, access.rx_signal);
        let (rx_transmission, had_failed) = (access.rx_transmission, access.has(RX_FAILED));
        let can_turn = rx_transmission.is_none() || new.at < rx_start + self.timing.preamble;
        let (old_wins, new_wins) = match self.config.capture {
            CaptureModel::First if rx_start <= new.at => {
                (self.captures(old_signal, new.signal), false)
            }
            CaptureModel::First => (false, self.captures(new.signal, old_signal)),
            CaptureModel::Stronger => (
                self.captures(old_signal, new.signal),
                can_turn && self.captures(new.signal, old_signal),
            ),
            CaptureModel::Sinr => {
                let at = new.at.max(rx_start);
                let exceeds = |signal, transmission| {
                    self.exceeds_sinr(station, at, self.power_of_signal(signal), transmission)
                };
                let old_wins = match rx_transmission {
                    None => self.captures(old_signal, new.signal),
                    Some(transmission) => exceeds(old_signal, transmission),
                };
                (old_wins, can_turn && exceeds(new.signal, new.transmission))
            }
        };
        let sensed = self.config.eifs_when_only_sensed;
        if old_wins {
            self.defer_for_weak_frame(station, new.at, new.until);
            return ReceptionState::Collided;
        }
        if let Some(transmission) = rx_transmission {
            self.transmissions.set_reception(transmission, station, ReceptionState::Collided);
        }
        if new_wins {
            self.defer_for_weak_frame(station, rx_start, rx_end);
            let access = &mut self.access_states[station];
            access.clear(RX_FAILED);
            return occupy_receiver(access, new, 0, sensed);
        }
        // An EIFS follows if the start of a frame was detected that will not be received
        // (§9.2.3.4).
        let announced = rx_transmission.is_some() || had_failed || new.is_decodable || sensed;
        let is_stronger = self.config.capture != CaptureModel::First
            && self.power_of_signal(new.signal) > self.power_of_signal(old_signal);
        let access = &mut self.access_states[station];
        access.rx_transmission = None;
        merge_signals(access, new, self.config.capture, is_stronger);
        access.set_to(RX_FAILED, announced && access.rx_end > access.tx_end);
        ReceptionState::Collided
    }

    /// Defers to a frame that is too weak to disturb the one being received, but keeps the medium
    /// busy.
    fn defer_for_weak_frame(&mut self, station: StationId, at: u64, until: u64) {
        match self.config.capture {
            CaptureModel::First => {
                let reserved = self.duration_field_us(self.timing.eifs + (until - at));
                let access = &mut self.access_states[station];
                access.nav = access.nav.max(at + u64::from(reserved) * 1_000);
            }
            CaptureModel::Stronger | CaptureModel::Sinr => {
                let access = &mut self.access_states[station];
                access.busy_until = access.busy_until.max(until);
            }
        }
    }

    fn count_frame(&mut self, frame: FrameToSend) {
        let state = &mut self.transmit_states[frame.from];
        let counters = &mut state.counters;
        let retry = match frame.kind {
            FrameKind::Rts => state.short_retries + state.long_retries > 0,
            FrameKind::Data => state.is_retry,
            FrameKind::Cts | FrameKind::Ack => false,
        };
        counters.retries += u64::from(retry);
        counters.airtime = counters.airtime + Duration::from_nanos(frame.airtime);
        let is_control = state.packet.is_some_and(|packet| packet.is_control);
        counters.control_data += u64::from(frame.kind == FrameKind::Data && is_control);
        match frame.kind {
            FrameKind::Rts => counters.rts += 1,
            FrameKind::Cts => counters.cts += 1,
            FrameKind::Ack => counters.acks += 1,
            FrameKind::Data if frame.to.is_none() => counters.broadcasts += 1,
            FrameKind::Data => counters.data += 1,
        }
    }

    #[cold]
    fn record_frame(&mut self, now: u64, frame: FrameToSend) -> u64 {
        let state = &self.transmit_states[frame.from];
        let data = frame.kind == FrameKind::Data;
        self.recorder.record(FrameRecord {
            at: Instant::from_nanos(now),
            airtime: Duration::from_nanos(frame.airtime),
            rate: frame.rate,
            kind: frame.kind,
            from: frame.from,
            to: frame.to,
            bytes: frame.bytes,
            duration_us: frame.duration,
            sequence: if data { state.sequence } else { 0 },
            retry: data && state.is_retry,
            id: if data { state.packet.map(|packet| packet.id) } else { None },
            outcome: ReceptionOutcome::Pending,
        })
    }
}

/// Adds a frame to those that occupy the receiver and cannot be decoded.
#[inline(always)]
fn merge_signals(access: &mut AccessState, new: Arrival, capture: CaptureModel, is_stronger: bool) {
    access.rx_start = access.rx_start.min(new.at);
    match capture {
        CaptureModel::First if new.until > access.rx_end => access.rx_signal = new.signal,
        CaptureModel::Stronger | CaptureModel::Sinr if is_stronger => access.rx_signal = new.signal,
        _ => {}
    }
    access.rx_end = access.rx_end.max(new.until);
}
