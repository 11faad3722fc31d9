//! Transmission of a frame, and its effect on all stations in range.
//!
//! All is computed at the start of the frame. Later changes at a station that the frame reaches (up
//! to 2 µs later over 550 m) are stored with their instants, and the station's own actions are
//! compared with these.

use driftway_base::{Duration, Instant, Rate};

use super::Dcf;
use super::agenda::{Event, Kind};
use super::config::Capture;
use super::flight::{Fate, FrameKind, Heard};
use super::record::{AirFrame, Outcome};
use super::station::{BAD, COMMITTED, DIRECT, NAV_OF_RTS, NONE, Phase, Station, Suspension};
use crate::Hearer;

/// A frame to transmit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
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
    flight: u32,
    /// True if it can be decoded.
    strong: bool,
}

impl Dcf {
    /// Transmits a frame; returns the end of its transmission.
    pub(super) fn put_on_air(&mut self, now: u64, frame: Sending) -> u64 {
        let end = now + frame.airtime;
        self.turn_to_sending(now, end, frame.from);
        let number = self.flights.open();
        let mut hearers = core::mem::take(&mut self.hearers);
        hearers.clear();
        self.field.hearers(Instant::from_nanos(now), frame.from, &mut hearers);
        let furthest = if self.shadowed {
            self.reach::<true>(now, end, frame.from, number, &hearers)
        } else {
            self.reach::<false>(now, end, frame.from, number, &hearers)
        };
        self.hearers = hearers;
        let entry = if self.recorder.is_on() { self.put_down(now, frame) } else { 0 };
        let sequence = self.desks[frame.from as usize].sequence;
        let flight = self.flights.get(number);
        flight.sequence = sequence;
        (flight.kind, flight.from, flight.to) = (frame.kind, frame.from, frame.to);
        (flight.end, flight.duration, flight.entry) = (end, frame.duration, entry);
        self.agenda.push(Event::new(end + furthest, Kind::End, number));
        self.frames += 1;
        self.count(frame);
        end
    }

    /// Propagates a frame to all stations in range; returns the propagation delay to the most
    /// distant one that can decode it. Most stations are idle, count no slots and are otherwise
    /// unaffected: for these the code below has no data-dependent branches.
    fn reach<const SHADOWED: bool>(
        &mut self,
        now: u64,
        end: u64,
        from: u32,
        number: u32,
        hearers: &[Hearer],
    ) -> u64 {
        let mut scratch = core::mem::take(&mut self.scratch);
        let mut delays = core::mem::take(&mut self.delays);
        delays.clear();
        // Computed separately, so that successive square roots do not wait for the stations'
        // processing.
        let nanos_per_metre = self.nanos_per_metre;
        delays.extend(hearers.iter().map(|to| travel(to.distance_squared, nanos_per_metre)));
        let (mut count, mut furthest) = (0, 0);
        let summed = self.interference.is_on();
        let at = Instant::from_nanos(now);
        let moved = if SHADOWED { self.field.moved(from, at) } else { 0.0 };
        for (hearer, &delay) in hearers.iter().zip(&delays) {
            let square = hearer.distance_squared;
            let (signal, strong) = if SHADOWED {
                let moved = moved + self.field.moved(hearer.node, at);
                let power = self.propagation.power_after(from, hearer.node, square, moved);
                if power < self.propagation.sense_power() {
                    continue;
                }
                (power as f32, power >= self.propagation.receive_power())
            } else {
                (square as f32, square <= self.receive_squared)
            };
            let new =
                Arrival { at: now + delay, until: end + delay, signal, flight: number, strong };
            let station = &mut self.stations[hearer.node as usize];
            let fate = if !summed
                && station.rx_end <= new.at
                && station.is_unmoved(new.at, &self.timing)
            {
                occupy(station, new, self.timing.nav_of_bad, self.config.eifs_when_only_sensed)
            } else {
                let was_bad = station.is(BAD);
                let fate = self.arrive(hearer.node, new);
                if was_bad {
                    self.after_eifs(hearer.node);
                }
                fate
            };
            // Each receiver is written and then counted or not.
            if let Some(place) = scratch.get_mut(count) {
                *place = Heard { node: hearer.node, delay: delay as u32, fate };
            }
            count += usize::from(strong);
            furthest = furthest.max(if strong { delay } else { 0 });
        }
        self.flights.get(number).heard.extend_from_slice(&scratch[..count]);
        (self.scratch, self.delays) = (scratch, delays);
        furthest
    }

    /// Converts a station's signal strength to watts.
    fn power(&self, signal: f32) -> f64 {
        let signal = f64::from(signal);
        if self.shadowed { signal } else { self.propagation.power(signal) }
    }

    /// Begins a transmission: the station neither receives nor counts slots.
    fn turn_to_sending(&mut self, now: u64, end: u64, node: u32) {
        let station = &mut self.stations[node as usize];
        debug_assert!(station.tx_end <= now, "a station transmits one frame at a time");
        let was_bad = station.is(BAD);
        if station.counts() {
            self.suspend(node, now);
        }
        let station = &mut self.stations[node as usize];
        if station.rx_end > now {
            let flight = core::mem::replace(&mut station.rx_flight, NONE);
            let sensed = self.config.eifs_when_only_sensed && station.rx_end > end;
            station.set_to(BAD, sensed);
            if flight != NONE {
                self.flights.spoil(flight, node, Fate::Deaf);
            }
        }
        let station = &mut self.stations[node as usize];
        station.tx_end = end;
        station.held = station.held.max(end);
        if was_bad {
            self.after_eifs(node);
        }
    }

    /// Re-arms the timer where the end of an EIFS may have changed the end of the backoff.
    #[inline]
    fn after_eifs(&mut self, node: u32) {
        let station = &self.stations[node as usize];
        if self.timing.eifs_ends && station.phase == Phase::Contend && !station.is(COMMITTED) {
            self.arm_back_off(node);
        }
    }

    /// Processes the arrival of a frame at a station that it may affect; returns the state of the
    /// frame there.
    fn arrive(&mut self, node: u32, mut new: Arrival) -> Fate {
        if self.stations[node as usize].is(NAV_OF_RTS) {
            self.after_rts(node, new.at, new.strong);
        }
        if self.stations[node as usize].counts() {
            self.suspend(node, new.at);
        }
        let mut drowned = false;
        if self.interference.is_on() {
            let power = self.power(new.signal);
            self.interference.add(self.now, node, (new.at, new.until), power, new.flight);
            // A frame that outlasts a stronger one no longer occupies the receiver, but still
            // interferes.
            drowned = new.strong && !self.stands_out(node, new.at, power, new.flight);
        }
        let station = &mut self.stations[node as usize];
        if station.rx_end > new.at {
            return self.overlap(node, new);
        }
        new.strong &= !drowned;
        let fate = occupy(station, new, self.timing.nav_of_bad, self.config.eifs_when_only_sensed);
        if drowned {
            station.set_to(BAD, new.until > station.tx_end);
            return Fate::Collided;
        }
        fate
    }

    /// Returns whether the ratio of this power to all other signals together is at least the
    /// capture ratio.
    fn stands_out(&self, node: u32, at: u64, power: f64, flight: u32) -> bool {
        let others = self.interference.besides(node, at, flight);
        others == 0.0 || power >= self.propagation.capture() * others
    }

    /// Suspends the backoff of a station that counts slots: the medium becomes busy.
    fn suspend(&mut self, node: u32, at: u64) {
        let station = &mut self.stations[node as usize];
        if station.is(COMMITTED) {
            return;
        }
        match station.suspend(at, &self.timing) {
            Suspension::Waits => {}
            Suspension::Draws => {
                station.clear(DIRECT);
                station.slots = self.desks[node as usize].draw(&self.config);
            }
            Suspension::Sends(at) => {
                station.set(COMMITTED);
                let at = at.max(self.now);
                if station.armed != at {
                    self.arm_at(node, at);
                }
            }
        }
    }

    /// Resolves the overlap of two frames at one receiver.
    fn overlap(&mut self, node: u32, new: Arrival) -> Fate {
        let station = self.stations[node as usize];
        let (old_power, new_power) = (self.power(station.rx_signal), self.power(new.signal));
        let ratio = self.propagation.capture();
        let can_turn =
            station.rx_flight == NONE || new.at < station.rx_start + self.timing.preamble;
        let (old_wins, new_wins) = match self.config.capture {
            Capture::First => {
                let old_first = station.rx_start <= new.at;
                (
                    old_first && old_power >= ratio * new_power,
                    !old_first && new_power >= ratio * old_power,
                )
            }
            Capture::Stronger => {
                (old_power >= ratio * new_power, can_turn && new_power >= ratio * old_power)
            }
            Capture::Sinr => {
                let at = new.at.max(station.rx_start);
                let old_wins = match station.rx_flight {
                    NONE => old_power >= ratio * new_power,
                    flight => self.stands_out(node, at, old_power, flight),
                };
                (old_wins, can_turn && self.stands_out(node, at, new_power, new.flight))
            }
        };
        let sensed = self.config.eifs_when_only_sensed;
        if old_wins {
            self.outshout(node, new.at, new.until);
            return Fate::Collided;
        }
        if station.rx_flight != NONE {
            self.flights.spoil(station.rx_flight, node, Fate::Collided);
        }
        if new_wins {
            self.outshout(node, station.rx_start, station.rx_end);
            let station = &mut self.stations[node as usize];
            station.clear(BAD);
            return occupy(station, new, 0, sensed);
        }
        // An EIFS follows if the start of a frame was detected that will not be received
        // (§9.2.3.4).
        let announced = station.rx_flight != NONE || station.is(BAD) || new.strong || sensed;
        let station = &mut self.stations[node as usize];
        station.rx_flight = NONE;
        station.rx_start = station.rx_start.min(new.at);
        match self.config.capture {
            Capture::First if new.until > station.rx_end => station.rx_signal = new.signal,
            Capture::Stronger | Capture::Sinr if new_power > old_power => {
                station.rx_signal = new.signal
            }
            _ => {}
        }
        station.rx_end = station.rx_end.max(new.until);
        station.set_to(BAD, announced && station.rx_end > station.tx_end);
        Fate::Collided
    }

    /// Defers to a frame that is too weak to disturb the one being received, but keeps the medium
    /// busy.
    fn outshout(&mut self, node: u32, at: u64, until: u64) {
        match self.config.capture {
            Capture::First => {
                let reserved = self.microseconds(self.timing.eifs + (until - at));
                let station = &mut self.stations[node as usize];
                station.nav = station.nav.max(at + u64::from(reserved) * 1_000);
            }
            Capture::Stronger | Capture::Sinr => {
                let station = &mut self.stations[node as usize];
                station.held = station.held.max(until);
            }
        }
    }

    fn count(&mut self, frame: Sending) {
        let desk = &mut self.desks[frame.from as usize];
        let counters = &mut desk.counters;
        let retry = match frame.kind {
            FrameKind::Rts => desk.short_retries + desk.long_retries > 0,
            FrameKind::Data => desk.again,
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
    fn put_down(&mut self, now: u64, frame: Sending) -> u64 {
        let desk = &self.desks[frame.from as usize];
        let data = frame.kind == FrameKind::Data;
        self.recorder.keep(AirFrame {
            at: Instant::from_nanos(now),
            airtime: Duration::from_nanos(frame.airtime),
            rate: frame.rate,
            kind: frame.kind,
            from: frame.from,
            to: (frame.to != NONE).then_some(frame.to),
            bytes: frame.bytes,
            duration_us: frame.duration,
            sequence: if data { desk.sequence } else { 0 },
            retry: data && desk.again,
            id: if data { desk.packet.map(|packet| packet.id) } else { None },
            outcome: Outcome::Pending,
        })
    }
}

/// Occupies an idle receiver with a frame. An earlier reception failure leaves its NAV.
#[inline]
fn occupy(
    station: &mut Station,
    new: Arrival,
    nav_of_bad: u64,
    eifs_when_only_sensed: bool,
) -> Fate {
    let reserved = if station.is(BAD) { station.rx_end + nav_of_bad } else { 0 };
    station.nav = station.nav.max(reserved);
    (station.rx_start, station.rx_end) = (new.at, new.until);
    station.rx_signal = new.signal;
    let good = new.strong & (station.tx_end <= new.at);
    let bad = !good & eifs_when_only_sensed & (new.until > station.tx_end);
    station.rx_flight = if good { new.flight } else { NONE };
    station.set_to(BAD, bad);
    if good { Fate::Good } else { Fate::Deaf }
}

/// Returns the propagation delay over a squared distance (m²) in whole nanoseconds.
#[inline]
pub(super) fn travel(distance_squared: f64, nanos_per_metre: f64) -> u64 {
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
            assert_eq!(travel(metres * metres, nanos_per_metre), nanos as u64, "{metres} m");
        }
    }
}
