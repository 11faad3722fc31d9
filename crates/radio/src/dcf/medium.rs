//! Transmission of a frame, and its effect on all stations in range.
//!
//! All is computed at the start of the frame. Later changes at a station that the frame reaches (up
//! to 2 µs later over 550 m) are stored with their instants, and the station's own actions are
//! compared with these.

use driftway_base::{Duration, Instant, Rate};

use super::Dcf;
use super::config::CaptureModel;
use super::event_queue::{Event, EventKind};
use super::record::{FrameRecord, ReceptionOutcome};
use super::station::{
    COMMITTED, DISABLED, NAV_FROM_RTS, NO_BACKOFF, NONE, Phase, RX_FAILED, Station, Suspension,
};
use super::transmission::{FrameKind, FrameReceiver, ReceptionState};
use crate::NodeInRange;

/// A frame to transmit.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameToSend {
    pub kind: FrameKind,
    pub from: u32,
    pub to: u32,
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
    transmission: u32,
    /// True if it can be decoded.
    is_decodable: bool,
}

impl Dcf {
    /// Transmits a frame; returns the end of its transmission.
    pub(super) fn transmit(&mut self, now: u64, frame: FrameToSend) -> u64 {
        let end = now + frame.airtime;
        self.begin_transmitting(now, end, frame.from);
        let number = self.transmissions.allocate();
        let mut in_range = core::mem::take(&mut self.in_range);
        in_range.clear();
        self.positions.nodes_in_range(Instant::from_nanos(now), frame.from, &mut in_range);
        let furthest = if self.has_shadowing {
            self.propagate::<true>(now, end, frame.from, number, &in_range)
        } else {
            self.propagate::<false>(now, end, frame.from, number, &in_range)
        };
        self.in_range = in_range;
        let entry = if self.recorder.is_enabled() { self.record_frame(now, frame) } else { 0 };
        let sequence = self.transmit_states[frame.from as usize].sequence;
        let transmission = self.transmissions.get(number);
        (transmission.sequence, transmission.is_cut) = (sequence, false);
        (transmission.kind, transmission.from, transmission.to) =
            (frame.kind, frame.from, frame.to);
        (transmission.end, transmission.duration, transmission.record_number) =
            (end, frame.duration, entry);
        self.event_queue.push(Event::new(end + furthest, EventKind::FrameEnd, number));
        self.frames_sent += 1;
        self.count_frame(frame);
        end
    }

    /// Propagates a frame to all stations in range; returns the propagation delay to the most
    /// distant one that can decode it. Most stations are idle, count no slots and are otherwise
    /// unaffected: for these the code below has no data-dependent branches.
    fn propagate<const SHADOWED: bool>(
        &mut self,
        now: u64,
        end: u64,
        from: u32,
        transmission: u32,
        in_range: &[NodeInRange],
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
        let moved = if SHADOWED { self.positions.distance_moved(from, at) } else { 0.0 };
        for (receiver, &delay) in in_range.iter().zip(&delays) {
            let square = receiver.distance_squared;
            let (signal, is_decodable) = if SHADOWED {
                let moved = moved + self.positions.distance_moved(receiver.node, at);
                let power = self.propagation.power_after_moving(from, receiver.node, square, moved);
                if power < self.propagation.sense_power() {
                    continue;
                }
                (power as f32, power >= self.propagation.receive_power())
            } else {
                (square as f32, square <= self.receive_squared)
            };
            let new =
                Arrival { at: now + delay, until: end + delay, signal, transmission, is_decodable };
            let station = &mut self.stations[receiver.node as usize];
            let state = if !summed
                && station.rx_end <= new.at
                && station.is_unaffected_by_arrival(new.at, &self.timing)
            {
                occupy_receiver(
                    station,
                    new,
                    self.timing.nav_after_rx_failure,
                    self.config.eifs_when_only_sensed,
                )
            } else {
                let was_bad = station.has(RX_FAILED);
                let state = self.on_arrival(receiver.node, new);
                if was_bad {
                    self.recheck_eifs(receiver.node);
                }
                state
            };
            // Each receiver is written and then counted or not.
            if let Some(place) = scratch.get_mut(count) {
                *place = FrameReceiver { node: receiver.node, delay: delay as u32, state };
            }
            count += usize::from(is_decodable);
            furthest = furthest.max(if is_decodable { delay } else { 0 });
        }
        self.transmissions.get(transmission).receivers.extend_from_slice(&scratch[..count]);
        (self.new_receivers, self.delays) = (scratch, delays);
        furthest
    }

    /// Converts a station's signal strength to watts.
    fn power_of_signal(&self, signal: f32) -> f64 {
        let signal = f64::from(signal);
        if self.has_shadowing { signal } else { self.propagation.power(signal) }
    }

    /// Begins a transmission: the station neither receives nor counts slots.
    fn begin_transmitting(&mut self, now: u64, end: u64, node: u32) {
        let station = &mut self.stations[node as usize];
        debug_assert!(station.tx_end <= now, "a station transmits one frame at a time");
        let was_bad = station.has(RX_FAILED);
        if station.counts_slots() {
            self.suspend_backoff(node, now);
        }
        let station = &mut self.stations[node as usize];
        if station.rx_end > now {
            let transmission = core::mem::replace(&mut station.rx_transmission, NONE);
            let sensed = self.config.eifs_when_only_sensed && station.rx_end > end;
            station.set_to(RX_FAILED, sensed);
            if transmission != NONE {
                self.transmissions.set_reception(transmission, node, ReceptionState::Transmitting);
            }
        }
        let station = &mut self.stations[node as usize];
        station.tx_end = end;
        station.busy_until = station.busy_until.max(end);
        if was_bad {
            self.recheck_eifs(node);
        }
    }

    /// Re-arms the timer where the end of an EIFS may have changed the end of the backoff.
    #[inline]
    fn recheck_eifs(&mut self, node: u32) {
        let station = &self.stations[node as usize];
        if self.timing.eifs_can_end && station.phase == Phase::Contend && !station.has(COMMITTED) {
            self.arm_backoff_timer(node);
        }
    }

    /// Processes the arrival of a frame at a station that it may affect; returns the state of the
    /// frame there.
    fn on_arrival(&mut self, node: u32, mut new: Arrival) -> ReceptionState {
        if self.stations[node as usize].has(DISABLED) {
            self.follow_while_disabled(node, new);
            return ReceptionState::Disabled;
        }
        if self.stations[node as usize].has(NAV_FROM_RTS) {
            self.check_rts_nav(node, new.at, new.is_decodable);
        }
        if self.stations[node as usize].counts_slots() {
            self.suspend_backoff(node, new.at);
        }
        let mut drowned = false;
        if self.interference.is_enabled() {
            let power = self.power_of_signal(new.signal);
            self.interference.add(self.now, node, (new.at, new.until), power, new.transmission);
            // A frame that outlasts a stronger one no longer occupies the receiver, but still
            // interferes.
            drowned = new.is_decodable && !self.exceeds_sinr(node, new.at, power, new.transmission);
        }
        let station = &mut self.stations[node as usize];
        if station.rx_end > new.at {
            return self.resolve_overlap(node, new);
        }
        new.is_decodable &= !drowned;
        let reception = occupy_receiver(
            station,
            new,
            self.timing.nav_after_rx_failure,
            self.config.eifs_when_only_sensed,
        );
        if drowned {
            station.set_to(RX_FAILED, new.until > station.tx_end);
            return ReceptionState::Collided;
        }
        reception
    }

    /// Notes a frame at a disabled station, which will sense what is left of it when enabled.
    #[cold]
    #[inline(never)]
    fn follow_while_disabled(&mut self, node: u32, new: Arrival) {
        let power = self.power_of_signal(new.signal);
        if self.interference.is_enabled() {
            self.interference.add(self.now, node, (new.at, new.until), power, new.transmission);
        }
        let is_stronger = power > self.power_of_signal(self.stations[node as usize].rx_signal);
        let station = &mut self.stations[node as usize];
        if station.rx_end > new.at {
            merge_signals(station, new, self.config.capture, is_stronger);
        } else {
            (station.rx_start, station.rx_end) = (new.at, new.until);
            station.rx_signal = new.signal;
        }
    }

    /// Returns whether the ratio of this power to all other signals together is at least the
    /// capture ratio.
    fn exceeds_sinr(&self, node: u32, at: u64, power: f64, transmission: u32) -> bool {
        let others = self.interference.power_excluding(node, at, transmission);
        others == 0.0 || power >= self.propagation.capture_ratio() * others
    }

    /// Suspends the backoff of a station that counts slots: the medium becomes busy.
    fn suspend_backoff(&mut self, node: u32, at: u64) {
        let station = &mut self.stations[node as usize];
        if station.has(COMMITTED) {
            return;
        }
        match station.suspend_backoff(at, &self.timing) {
            Suspension::Suspended => {}
            Suspension::NeedsBackoff => {
                station.clear(NO_BACKOFF);
                station.slots = self.transmit_states[node as usize].draw_backoff(&self.config);
            }
            Suspension::Transmits(at) => {
                station.set(COMMITTED);
                let at = at.max(self.now);
                if station.timer_at != at {
                    self.arm_timer_at(node, at);
                }
            }
        }
    }

    /// Resolves the overlap of two frames at one receiver.
    fn resolve_overlap(&mut self, node: u32, new: Arrival) -> ReceptionState {
        let station = self.stations[node as usize];
        let (old_power, new_power) =
            (self.power_of_signal(station.rx_signal), self.power_of_signal(new.signal));
        let ratio = self.propagation.capture_ratio();
        let can_turn =
            station.rx_transmission == NONE || new.at < station.rx_start + self.timing.preamble;
        let (old_wins, new_wins) = match self.config.capture {
            CaptureModel::First => {
                let old_first = station.rx_start <= new.at;
                (
                    old_first && old_power >= ratio * new_power,
                    !old_first && new_power >= ratio * old_power,
                )
            }
            CaptureModel::Stronger => {
                (old_power >= ratio * new_power, can_turn && new_power >= ratio * old_power)
            }
            CaptureModel::Sinr => {
                let at = new.at.max(station.rx_start);
                let old_wins = match station.rx_transmission {
                    NONE => old_power >= ratio * new_power,
                    transmission => self.exceeds_sinr(node, at, old_power, transmission),
                };
                (old_wins, can_turn && self.exceeds_sinr(node, at, new_power, new.transmission))
            }
        };
        let sensed = self.config.eifs_when_only_sensed;
        if old_wins {
            self.defer_for_weak_frame(node, new.at, new.until);
            return ReceptionState::Collided;
        }
        if station.rx_transmission != NONE {
            self.transmissions.set_reception(
                station.rx_transmission,
                node,
                ReceptionState::Collided,
            );
        }
        if new_wins {
            self.defer_for_weak_frame(node, station.rx_start, station.rx_end);
            let station = &mut self.stations[node as usize];
            station.clear(RX_FAILED);
            return occupy_receiver(station, new, 0, sensed);
        }
        // An EIFS follows if the start of a frame was detected that will not be received
        // (§9.2.3.4).
        let announced =
            station.rx_transmission != NONE || station.has(RX_FAILED) || new.is_decodable || sensed;
        let station = &mut self.stations[node as usize];
        station.rx_transmission = NONE;
        merge_signals(station, new, self.config.capture, new_power > old_power);
        station.set_to(RX_FAILED, announced && station.rx_end > station.tx_end);
        ReceptionState::Collided
    }

    /// Defers to a frame that is too weak to disturb the one being received, but keeps the medium
    /// busy.
    fn defer_for_weak_frame(&mut self, node: u32, at: u64, until: u64) {
        match self.config.capture {
            CaptureModel::First => {
                let reserved = self.duration_field_us(self.timing.eifs + (until - at));
                let station = &mut self.stations[node as usize];
                station.nav = station.nav.max(at + u64::from(reserved) * 1_000);
            }
            CaptureModel::Stronger | CaptureModel::Sinr => {
                let station = &mut self.stations[node as usize];
                station.busy_until = station.busy_until.max(until);
            }
        }
    }

    fn count_frame(&mut self, frame: FrameToSend) {
        let state = &mut self.transmit_states[frame.from as usize];
        let counters = &mut state.counters;
        let retry = match frame.kind {
            FrameKind::Rts => state.short_retries + state.long_retries > 0,
            FrameKind::Data => state.is_retry,
            FrameKind::Cts | FrameKind::Ack => false,
        };
        counters.retries += u64::from(retry);
        counters.airtime = counters.airtime + Duration::from_nanos(frame.airtime);
        match frame.kind {
            FrameKind::Rts => counters.rts += 1,
            FrameKind::Cts => counters.cts += 1,
            FrameKind::Ack => counters.acks += 1,
            FrameKind::Data if frame.to == NONE => counters.broadcasts += 1,
            FrameKind::Data => counters.data += 1,
        }
    }

    #[cold]
    fn record_frame(&mut self, now: u64, frame: FrameToSend) -> u64 {
        let state = &self.transmit_states[frame.from as usize];
        let data = frame.kind == FrameKind::Data;
        self.recorder.record(FrameRecord {
            at: Instant::from_nanos(now),
            airtime: Duration::from_nanos(frame.airtime),
            rate: frame.rate,
            kind: frame.kind,
            from: frame.from,
            to: (frame.to != NONE).then_some(frame.to),
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
    station: &mut Station,
    new: Arrival,
    nav_of_bad: u64,
    eifs_when_only_sensed: bool,
) -> ReceptionState {
    let reserved = if station.has(RX_FAILED) { station.rx_end + nav_of_bad } else { 0 };
    station.nav = station.nav.max(reserved);
    (station.rx_start, station.rx_end) = (new.at, new.until);
    station.rx_signal = new.signal;
    let good = new.is_decodable & (station.tx_end <= new.at);
    let bad = !good & eifs_when_only_sensed & (new.until > station.tx_end);
    station.rx_transmission = if good { new.transmission } else { NONE };
    station.set_to(RX_FAILED, bad);
    if good { ReceptionState::Decodable } else { ReceptionState::Transmitting }
}

/// Adds a frame to those that occupy the receiver and cannot be decoded.
#[inline(always)]
fn merge_signals(station: &mut Station, new: Arrival, capture: CaptureModel, is_stronger: bool) {
    station.rx_start = station.rx_start.min(new.at);
    match capture {
        CaptureModel::First if new.until > station.rx_end => station.rx_signal = new.signal,
        CaptureModel::Stronger | CaptureModel::Sinr if is_stronger => {
            station.rx_signal = new.signal
        }
        _ => {}
    }
    station.rx_end = station.rx_end.max(new.until);
}

/// Returns the propagation delay over a squared distance (m²) in whole nanoseconds.
#[inline]
pub(super) fn propagation_delay_ns(distance_squared: f64, nanos_per_metre: f64) -> u64 {
    // 2⁵²: the sum holds its integer part in the low bits, which is faster than a conversion.
    const INTEGER: f64 = 4_503_599_627_370_496.0;
    (distance_squared.sqrt() * nanos_per_metre + INTEGER).to_bits() - INTEGER.to_bits()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn delays_are_exact_to_the_nanosecond() {
        let nanos_per_metre = 1e9 / 299_792_458.0;
        for metres in [0.0, 0.1, 1.0, 33.3, 200.0, 250.0, 550.0, 12_345.6, 4e5, 9e8] {
            let nanos = (metres * 1e9_f64 / 299_792_458.0).round();
            assert_eq!(
                propagation_delay_ns(metres * metres, nanos_per_metre),
                nanos as u64,
                "{metres} m"
            );
        }
    }
}
