//! A frame goes on the air, and everyone in reach is told what that means for it.
//!
//! All is done at the frame's first instant. What happens later at a station that the frame reaches
//! (up to 2 µs later over 550 m) is put down with the instant at which it happens, and each
//! station's own doings are compared with that.

use base::Instant;

use super::Dcf;
use super::config::Capture;
use super::flight::{Fate, FrameKind, Heard};
use super::record::{AirFrame, Outcome};
use super::station::{BAD, COMMITTED, DIRECT, NAV_OF_RTS, NONE, Station, Suspension};
use crate::Hearer;
use base::{Duration, Rate};

/// A frame to put on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub kind: FrameKind,
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
    pub rate: Rate,
    /// How long it takes (ns).
    pub airtime: u64,
    /// Its duration field (µs).
    pub duration: u32,
}

/// A frame as it comes to a station.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: u64,
    until: u64,
    signal: f32,
    flight: u32,
    /// It is strong enough to be decoded.
    strong: bool,
}

impl Dcf {
    /// Puts a frame on the air; gives its end.
    pub(super) fn put_on_air(&mut self, now: u64, frame: Sending) -> u64 {
        let end = now + frame.airtime;
        self.turn_to_sending(now, end, frame.from);
        let number = self.flights.open();
        let mut heard = core::mem::take(&mut self.flights.get(number).heard);
        let mut hearers = core::mem::take(&mut self.hearers);
        hearers.clear();
        self.field.hearers(Instant::from_nanos(now), frame.from, &mut hearers);
        let mut furthest = 0;
        for hearer in &hearers {
            let Some((signal, strong)) = self.signal(frame.from, hearer) else { continue };
            let delay = self.propagation.delay(hearer.distance_squared).as_nanos();
            let arrival =
                Arrival { at: now + delay, until: end + delay, signal, flight: number, strong };
            let fate = self.arrive(hearer.node, arrival);
            if strong {
                heard.push(Heard { node: hearer.node, delay: delay as u32, fate });
                furthest = delay.max(furthest);
            }
        }
        self.hearers = hearers;
        let entry = if self.recorder.is_on() { self.put_down(now, frame) } else { 0 };
        let flight = self.flights.get(number);
        flight.heard = heard;
        (flight.kind, flight.from, flight.to) = (frame.kind, frame.from, frame.to);
        (flight.end, flight.duration, flight.entry) = (end, frame.duration, entry);
        self.agenda.push(super::agenda::Event::new(
            end + furthest,
            super::agenda::Kind::End,
            number,
        ));
        self.count(frame);
        end
    }

    /// How strong a frame comes to a hearer, in the measure that stations keep, and whether it can
    /// be decoded; `None` if it is not even sensed.
    #[inline]
    fn signal(&self, from: u32, hearer: &Hearer) -> Option<(f32, bool)> {
        let square = hearer.distance_squared;
        if !self.shadowed {
            return Some((square as f32, square <= self.receive_squared));
        }
        let power = self.propagation.power_between(from, hearer.node, square);
        let strong = power >= self.propagation.receive_power();
        (power >= self.propagation.sense_power()).then_some((power as f32, strong))
    }

    /// Power in watts, of the measure that stations keep.
    fn power(&self, signal: f32) -> f64 {
        let signal = f64::from(signal);
        if self.shadowed { signal } else { self.propagation.power(signal) }
    }

    /// A station begins to send: it is deaf, and counts no slots.
    fn turn_to_sending(&mut self, now: u64, end: u64, node: u32) {
        let station = &mut self.stations[node as usize];
        debug_assert!(station.tx_end <= now, "a station sends one frame at a time");
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
    }

    /// What a frame does to a station that it reaches, and what becomes of the frame there.
    #[inline]
    fn arrive(&mut self, node: u32, new: Arrival) -> Fate {
        let station = &mut self.stations[node as usize];
        if station.is(NAV_OF_RTS) {
            self.after_rts(node, new.at, new.strong);
        }
        let station = &mut self.stations[node as usize];
        if station.counts() {
            self.suspend(node, new.at);
        }
        let station = &mut self.stations[node as usize];
        if station.rx_end > new.at {
            return self.overlap(node, new);
        }
        if self.config.eifs_is_nav && station.is(BAD) {
            station.nav = station.nav.max(station.rx_end + self.timing.eifs);
        }
        occupy(station, new, self.config.eifs_when_only_sensed)
    }

    /// The medium becomes busy for a station that counts slots.
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

    /// Two frames at one receiver.
    fn overlap(&mut self, node: u32, new: Arrival) -> Fate {
        let station = self.stations[node as usize];
        let (old_power, new_power) = (self.power(station.rx_signal), self.power(new.signal));
        let ratio = self.propagation.capture();
        let (old_wins, new_wins) = match self.config.capture {
            Capture::First => {
                let old_first = station.rx_start <= new.at;
                (
                    old_first && old_power >= ratio * new_power,
                    !old_first && new_power >= ratio * old_power,
                )
            }
            Capture::Stronger => {
                let can_turn =
                    station.rx_flight == NONE || new.at < station.rx_start + self.timing.preamble;
                (old_power >= ratio * new_power, can_turn && new_power >= ratio * old_power)
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
            return occupy(&mut self.stations[node as usize], new, sensed);
        }
        // An EIFS follows if a frame was announced that will not be understood (§9.2.3.4).
        let announced = station.rx_flight != NONE || station.is(BAD) || new.strong || sensed;
        let station = &mut self.stations[node as usize];
        station.rx_flight = NONE;
        station.rx_start = station.rx_start.min(new.at);
        match self.config.capture {
            Capture::First if new.until > station.rx_end => station.rx_signal = new.signal,
            Capture::Stronger if new_power > old_power => station.rx_signal = new.signal,
            _ => {}
        }
        station.rx_end = station.rx_end.max(new.until);
        station.set_to(BAD, announced && station.rx_end > station.tx_end);
        Fate::Collided
    }

    /// A frame is too weak to matter to the one that occupies the receiver, but the medium is busy
    /// while it lasts.
    fn outshout(&mut self, node: u32, at: u64, until: u64) {
        match self.config.capture {
            Capture::First => {
                let reserved = self.microseconds(self.timing.eifs + (until - at));
                let station = &mut self.stations[node as usize];
                station.nav = station.nav.max(at + u64::from(reserved) * 1_000);
            }
            Capture::Stronger => {
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

/// A frame occupies a receiver that is free.
#[inline]
fn occupy(station: &mut Station, new: Arrival, eifs_when_only_sensed: bool) -> Fate {
    (station.rx_start, station.rx_end) = (new.at, new.until);
    station.rx_signal = new.signal;
    let listens = station.tx_end <= new.at;
    if new.strong && listens {
        station.rx_flight = new.flight;
        station.clear(BAD);
        return Fate::Good;
    }
    station.rx_flight = NONE;
    station.set_to(BAD, eifs_when_only_sensed && new.until > station.tx_end);
    Fate::Deaf
}
