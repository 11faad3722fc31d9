//! Transmission of a frame, and its effect on all stations in range.
//!
//! A frame that begins is logged, and its number added to the inboxes of the stations around. What
//! it does at a station is computed when the station's state matters
//! ([`catch_up`](super::catch_up)), as of the start of the frame. Later changes at a station that
//! the frame reaches (up to 2 µs later over 550 m) are stored with their instants, and the station's
//! own actions are compared with these.

use driftway_base::{Duration, Instant, Rate, StationId};

use super::Dcf;
use super::access_state::{
    AccessState, COMMITTED, DISABLED, NAV_FROM_RTS, NO_BACKOFF, PROMISCUOUS, Phase, RX_FAILED,
    Suspension,
};
use super::config::CaptureModel;
use super::event_queue::{Event, EventKind};
use super::frame_log::{LoggedFrame, ON_AIR};
use super::frame_number::FrameNumber;
use super::propagation_delay::propagation_delay_ns;
use super::reception::{Arrival, ReceptionState};
use super::record::{FrameRecord, ReceptionOutcome};
use super::transmission::FrameKind;

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
    /// Transmits a frame; returns the end of its transmission. The station has caught up.
    pub(super) fn transmit(&mut self, now: u64, frame: FrameToSend) -> u64 {
        let end = now + frame.airtime;
        self.begin_transmitting(now, end, frame.from);
        let transmission = self.transmissions.allocate();
        let number = self.log.next_number();
        if number == FrameNumber::FIRST {
            // Numbers start again: none may be left from before.
            self.access_states.keys().for_each(|station| self.catch_up(station));
        }
        let logged = LoggedFrame {
            start: now,
            end,
            effect_end: 0,
            began: 0,
            ended: ON_AIR,
            place: self.positions.position(frame.from, Instant::from_nanos(now)),
            from: frame.from,
            to: frame.to,
            duration: frame.duration,
            transmission,
            sequence: self.transmit_states[frame.from].sequence,
            kind: frame.kind,
            is_cut: false,
        };
        self.log.push(logged);
        self.positions.keep_from(self.log.oldest_start().unwrap_or(now));
        self.transmissions.get(transmission).frame = number;
        let furthest = if self.has_shadowing {
            self.propagate_shadowed(number, &logged)
        } else {
            self.propagate(number, &logged)
        };
        if let Some(to) = frame.to {
            self.transmissions.get(transmission).add_watcher(to);
        }
        let entry = if self.recorder.is_enabled() { self.record_frame(now, frame) } else { 0 };
        self.transmissions.get(transmission).record_number = entry;
        self.event_queue.push(Event::new(end + furthest, EventKind::FrameEnd(transmission)));
        self.frames_sent += 1;
        self.count_frame(frame);
        end
    }

    /// Lets the stations around know of a frame; returns the propagation delay to the most distant
    /// one that can decode it.
    fn propagate(&mut self, number: FrameNumber, frame: &LoggedFrame) -> u64 {
        let around = self.positions.surroundings(Instant::from_nanos(frame.start), frame.from);
        let (mut count, mut furthest) = (0, 0.0);
        for &station in around.near {
            let square = around.distance_squared(station);
            let is_decodable = square <= self.receive_squared;
            // Each is written and then counted or not.
            if let Some(place) = self.decoders.get_mut(count) {
                *place = station;
            }
            count += usize::from(is_decodable);
            furthest = if is_decodable && square > furthest { square } else { furthest };
        }
        let mut attentive = core::mem::take(&mut self.attentive);
        self.inboxes.add_to_all(around.audible, number, &mut attentive);
        // Those that report it; a broadcast is reported by all.
        if frame.to.is_none() || frame.kind == FrameKind::Data && self.has_promiscuous {
            let watchers = &mut self.transmissions.get(frame.transmission).watchers;
            let access = &self.access_states;
            watchers.extend(
                self.decoders[..count]
                    .iter()
                    .filter(|to| frame.to.is_none() || access[**to].has(PROMISCUOUS)),
            );
        }
        for station in attentive.drain(..) {
            self.follow(station, number, frame);
        }
        self.attentive = attentive;
        propagation_delay_ns(furthest, self.nanos_per_metre)
    }

    /// Begins a frame at a station that is attentive, or whose inbox is full.
    fn follow(&mut self, station: StationId, number: FrameNumber, frame: &LoggedFrame) {
        if !self.inboxes.is_attentive(station) {
            self.make_room(station);
            self.inboxes.add(station, number);
            return;
        }
        if let Some(new) = self.arrival_at(station, number, frame) {
            self.begin_reception(station, new, frame);
        }
    }

    /// The same as [`propagate`](Self::propagate) with shadowing: all stations are attentive, as
    /// power depends on the order in which it is asked for.
    fn propagate_shadowed(&mut self, number: FrameNumber, frame: &LoggedFrame) -> u64 {
        let mut in_range = core::mem::take(&mut self.in_range);
        in_range.clear();
        let at = Instant::from_nanos(frame.start);
        self.positions.stations_in_range(at, frame.from, &mut in_range);
        let own_moved = self.positions.distance_moved(frame.from, at);
        let mut furthest = 0;
        for receiver in &in_range {
            let (to, square) = (receiver.station, receiver.distance_squared);
            let moved = own_moved + self.positions.distance_moved(to, at);
            let power = self.propagation.power_after_moving(frame.from, to, square, moved);
            if power < self.propagation.sense_power() {
                continue;
            }
            let delay = propagation_delay_ns(square, self.nanos_per_metre);
            let is_decodable = power >= self.propagation.receive_power();
            furthest = furthest.max(if is_decodable { delay } else { 0 });
            let (at, until) = (frame.start + delay, frame.end + delay);
            let new = Arrival { at, until, signal: power as f32, frame: number, is_decodable };
            self.begin_reception(to, new, frame);
        }
        self.in_range = in_range;
        furthest
    }

    /// Receives a frame at a station, which was sent at `sent`; returns the state of the frame
    /// there.
    #[inline]
    pub(super) fn receive(
        &mut self,
        station: StationId,
        new: Arrival,
        sent: u64,
    ) -> ReceptionState {
        let access = &mut self.access_states[station];
        if !self.interference.is_enabled()
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
        let state = self.on_arrival(station, new, sent);
        if was_bad {
            self.recheck_eifs(station);
        }
        state
    }

    /// Converts a station's signal strength to watts.
    fn power_of_signal(&self, signal: f32) -> f64 {
        let signal = f64::from(signal);
        if self.has_shadowing { signal } else { self.propagation.power(signal) }
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
            let frame = access.rx_frame.take();
            let sensed = self.config.eifs_when_only_sensed && access.rx_end > end;
            access.set_to(RX_FAILED, sensed);
            if let Some(frame) = frame {
                self.set_reception(frame, station, ReceptionState::Transmitting);
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
    fn on_arrival(&mut self, station: StationId, mut new: Arrival, sent: u64) -> ReceptionState {
        if self.access_states[station].has(DISABLED) {
            self.follow_while_disabled(station, new, sent);
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
            self.interference.add(sent, station, (new.at, new.until), power, new.frame);
            // A frame that outlasts a stronger one no longer occupies the receiver, but still
            // interferes.
            drowned = new.is_decodable && !self.exceeds_sinr(station, new.at, power, new.frame);
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
    fn follow_while_disabled(&mut self, station: StationId, new: Arrival, sent: u64) {
        let power = self.power_of_signal(new.signal);
        if self.interference.is_enabled() {
            self.interference.add(sent, station, (new.at, new.until), power, new.frame);
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
    fn exceeds_sinr(&self, station: StationId, at: u64, power: f64, frame: FrameNumber) -> bool {
        let others = self.interference.power_excluding(station, at, frame);
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
            Suspension::Ended => self.update_attention(station),
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
        let can_turn = access.rx_frame.is_none() || new.at < access.rx_start + self.timing.preamble;
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
                let old_wins = match access.rx_frame {
                    None => old_power >= ratio * new_power,
                    Some(frame) => self.exceeds_sinr(station, at, old_power, frame),
                };
                (old_wins, can_turn && self.exceeds_sinr(station, at, new_power, new.frame))
            }
        };
        let sensed = self.config.eifs_when_only_sensed;
        if old_wins {
            self.defer_for_weak_frame(station, new.at, new.until);
            return ReceptionState::Collided;
        }
        if let Some(frame) = access.rx_frame {
            self.set_reception(frame, station, ReceptionState::Collided);
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
            access.rx_frame.is_some() || access.has(RX_FAILED) || new.is_decodable || sensed;
        let access = &mut self.access_states[station];
        access.rx_frame = None;
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
    access.rx_frame = good.then_some(new.frame);
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
