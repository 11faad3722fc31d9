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
use super::config::CaptureModel;
use super::event_queue::{Event, EventKind};
use super::propagation_delay::propagation_delay_ns;
use super::record::{FrameRecord, ReceptionOutcome};
use super::transmission::{FrameKind, FrameReceiver, ReceptionState, TransmissionId};
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

/// Arrival of a frame at a station.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    until: u64,
    signal: f32,
    transmission: TransmissionId,
    /// True if it can be decoded.
    is_decodable: bool,
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
        let mut in_range = core::mem::take(&mut self.in_range);
        in_range.clear();
        self.positions.stations_in_range(Instant::from_nanos(now), frame.from, &mut in_range);
        self.propagation.on_frame(frame.from);
        let furthest = match (self.varies, self.radio_times.is_some()) {
            (true, false) => self.propagate::<true, false>(now, end, frame.from, number, &in_range),
            (true, true) => self.propagate::<true, true>(now, end, frame.from, number, &in_range),
            (false, false) => {
                self.propagate::<false, false>(now, end, frame.from, number, &in_range)
            }
            (false, true) => self.propagate::<false, true>(now, end, frame.from, number, &in_range),
        };
        self.in_range = in_range;
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
    /// distant one that can decode it. Most stations are idle, count no slots and are otherwise
    /// unaffected: for these the code below has no data-dependent branches.
    fn propagate<const VARIES: bool, const TIMED: bool>(
        &mut self,
        now: u64,
        end: u64,
        from: StationId,
        transmission: TransmissionId,
        in_range: &[StationInRange],
    ) -> u64 {
        let mut scratch = core::mem::take(&mut self.new_receivers);
        let mut delays = core::mem::take(&mut self.delays);
        delays.clear();
        // Computed separately, so that successive square roots do not wait for the stations'
        // processing.
        let nanos_per_metre = self.nanos_per_metre;
        delays.extend(
            in_range.iter().map(|to| propagation_delay_ns(to.distance_squared, nanos_per_metre)),
        );
        let (mut count, mut furthest) = (0, 0);
        let summed = self.interference.is_enabled();
        let at = Instant::from_nanos(now);
        let moved = if VARIES { self.positions.distance_moved(from, at) } else { 0.0 };
        for (receiver, &delay) in in_range.iter().zip(&delays) {
            let square = receiver.distance_squared;
            let (signal, is_decodable) = if VARIES {
                let moved = moved + self.positions.distance_moved(receiver.station, at);
                let power = self.propagation.power_of_frame(from, receiver.station, square, moved);
                if power < self.propagation.sense_power() {
                    continue;
                }
                (power as f32, power >= self.propagation.receive_power())
            } else {
                (square as f32, square <= self.receive_squared)
            };
            let new =
                Arrival { at: now + delay, until: end + delay, signal, transmission, is_decodable };
            if TIMED && let Some(times) = &mut self.radio_times {
                times.on_signal(receiver.station, new.at, new.until);
            }
            let state = self.receive(receiver.station, new, summed);
            // Each receiver is written and then counted or not.
            if let Some(place) = scratch.get_mut(count) {
                *place = FrameReceiver { station: receiver.station, delay: delay as u32, state };
            }
            count += usize::from(is_decodable);
            furthest = furthest.max(if is_decodable { delay } else { 0 });
        }
        self.transmissions.get(transmission).receivers.extend_from_slice(&scratch[..count]);
        (self.new_receivers, self.delays) = (scratch, delays);
        furthest
    }

    /// Receives a frame at a station; returns the state of the frame there.
    #[inline(always)]
    fn receive(&mut self, station: StationId, new: Arrival, summed: bool) -> ReceptionState {
        let access = &mut self.access_states[station];
        if !summed
            && access.rx_end <= new.at
            && access.is_unaffected_by_arrival(new.at, &self.timing)
        {
            return occupy_receiver(
                access,
                new,
                self.timing.nav_after_rx_failure,
                self.config.eifs_when_only_sensed,
            );
        }
        let was_bad = access.has(RX_FAILED);
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

    /// Resolves the overlap of two frames at one receiver.
    fn resolve_overlap(&mut self, station: StationId, new: Arrival) -> ReceptionState {
        let access = self.access_states[station];
        let (old_power, new_power) =
            (self.power_of_signal(access.rx_signal), self.power_of_signal(new.signal));
        let ratio = self.propagation.capture_ratio();
        let can_turn =
            access.rx_transmission.is_none() || new.at < access.rx_start + self.timing.preamble;
        let (old_wins, new_wins) = match self.config.capture {
            CaptureModel::First => {
                let old_first = access.rx_start <= new.at;
                (
                    old_first && old_power >= ratio * new_power,
                    !old_first && new_power >= ratio * old_power,
                )
            }
            CaptureModel::Stronger => {
                (old_power >= ratio * new_power, can_turn && new_power >= ratio * old_power)
            }
            CaptureModel::Sinr => {
                let at = new.at.max(access.rx_start);
                let old_wins = match access.rx_transmission {
                    None => old_power >= ratio * new_power,
                    Some(transmission) => self.exceeds_sinr(station, at, old_power, transmission),
                };
                (old_wins, can_turn && self.exceeds_sinr(station, at, new_power, new.transmission))
            }
        };
        let sensed = self.config.eifs_when_only_sensed;
        if old_wins {
            self.defer_for_weak_frame(station, new.at, new.until);
            return ReceptionState::Collided;
        }
        if let Some(transmission) = access.rx_transmission {
            self.transmissions.set_reception(transmission, station, ReceptionState::Collided);
        }
        if new_wins {
            self.defer_for_weak_frame(station, access.rx_start, access.rx_end);
            let access = &mut self.access_states[station];
            access.clear(RX_FAILED);
            return occupy_receiver(access, new, 0, sensed);
        }
        // An EIFS follows if the start of a frame was detected that will not be received
        // (§9.2.3.4).
        let announced =
            access.rx_transmission.is_some() || access.has(RX_FAILED) || new.is_decodable || sensed;
        let access = &mut self.access_states[station];
        access.rx_transmission = None;
        merge_signals(access, new, self.config.capture, new_power > old_power);
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

/// Occupies an idle receiver with a frame. An earlier reception failure leaves its NAV.
#[inline]
fn occupy_receiver(
    access: &mut AccessState,
    new: Arrival,
    nav_of_bad: u64,
    eifs_when_only_sensed: bool,
) -> ReceptionState {
    let reserved = if access.has(RX_FAILED) { access.rx_end + nav_of_bad } else { 0 };
    access.nav = access.nav.max(reserved);
    (access.rx_start, access.rx_end) = (new.at, new.until);
    access.rx_signal = new.signal;
    let good = new.is_decodable & (access.tx_end <= new.at);
    let bad = !good & eifs_when_only_sensed & (new.until > access.tx_end);
    access.rx_transmission = good.then_some(new.transmission);
    access.set_to(RX_FAILED, bad);
    if good { ReceptionState::Decodable } else { ReceptionState::Transmitting }
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
