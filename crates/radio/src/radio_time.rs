//! Time that radios spend in each of their states, and the energy that they draw in it.

use driftway_base::{Duration, Instant, StationId};
use typed_index_collections::{TiVec, ti_vec};

/// The power that a radio draws in each of its states (W).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioPower {
    /// The time in which it transmits.
    pub transmit: f64,
    /// The time in which it senses a signal, whether or not it can decode it.
    pub receive: f64,
    /// The time in which it is on and does neither.
    pub idle: f64,
    /// The time in which it is off.
    pub off: f64,
}

impl RadioPower {
    /// ns-2.35, mac/wireless-phy.cc: what a node with an energy model draws unless a script sets
    /// `txPower`, `rxPower` and `idlePower`.
    pub const NS2: Self = Self { transmit: 0.660, receive: 0.395, idle: 0.0, off: 0.0 };
    /// The 2 Mbit/s Lucent WaveLAN card that feeney-2001 measured at 4.74 V: 280, 204 and 178 mA.
    pub const WAVELAN: Self = Self { transmit: 1.3272, receive: 0.96696, idle: 0.84372, off: 0.0 };

    /// The energy that a radio draws in these times (J).
    pub fn energy(&self, time: &RadioTime) -> f64 {
        self.transmit * time.transmit.as_secs_f64()
            + self.receive * time.receive.as_secs_f64()
            + self.idle * time.idle.as_secs_f64()
            + self.off * time.off.as_secs_f64()
    }
}

/// The time that a radio has spent in each of its states since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioTime {
    /// It transmitted.
    pub transmit: Duration,
    /// It sensed a signal, and did not transmit.
    pub receive: Duration,
    /// It was on and did neither.
    pub idle: Duration,
    /// It was off.
    pub off: Duration,
}

/// The state of each station's radio over time. Signals that overlap count once. Where two overlap
/// whose senders are at different distances, the start can be late by the difference of their
/// propagation delays.
#[derive(Clone, Debug)]
pub(crate) struct RadioTimes(TiVec<StationId, StationTime>);

/// Times of a station (ns). What has begun is counted to its end at once, and the part after an
/// earlier change is subtracted then.
#[derive(Clone, Copy, Debug, Default)]
struct StationTime {
    transmit: u64,
    receive: u64,
    off: u64,
    /// End of the station's last frame.
    transmits_until: u64,
    /// End of its last frame, or of the signals that it senses.
    busy_until: u64,
    /// The time at which it was switched off; `None`: it is on.
    off_since: Option<u64>,
}

impl RadioTimes {
    pub fn new(stations: usize) -> Self {
        Self(ti_vec![StationTime::default(); stations])
    }

    /// Counts a frame of a station.
    pub fn on_transmit(&mut self, station: StationId, now: u64, end: u64) {
        let time = &mut self.0[station];
        // A transmitter does not receive.
        time.receive -= time.busy_until.min(end).saturating_sub(now);
        time.transmit += end - now;
        time.transmits_until = end;
        time.busy_until = time.busy_until.max(end);
    }

    /// Counts a signal that reaches a station.
    pub fn on_signal(&mut self, station: StationId, at: u64, until: u64) {
        let time = &mut self.0[station];
        if time.off_since.is_none() {
            time.receive += until.saturating_sub(time.busy_until.max(at));
        }
        time.busy_until = time.busy_until.max(until);
    }

    /// Handles that a station is switched off, which cuts its frame.
    pub fn on_off(&mut self, station: StationId, now: u64) {
        let time = &mut self.0[station];
        let [transmit, receive] = time.after(now);
        time.transmit -= transmit;
        time.receive -= receive;
        time.transmits_until = time.transmits_until.min(now);
        if receive == 0 {
            time.busy_until = time.busy_until.min(now);
        }
        time.off_since = Some(now);
    }

    /// Handles that a station is switched on, which senses the rest of what is on the air.
    pub fn on_on(&mut self, station: StationId, now: u64) {
        let time = &mut self.0[station];
        let Some(since) = time.off_since.take() else { return };
        time.off += now - since;
        time.receive += time.busy_until.saturating_sub(now);
    }

    /// The times of a station up to `now`.
    pub fn time(&self, station: StationId, now: Instant) -> RadioTime {
        let (time, now) = (self.0[station], now.as_nanos());
        let [transmit, receive] = if time.off_since.is_some() { [0; 2] } else { time.after(now) };
        let (transmit, receive) = (time.transmit - transmit, time.receive - receive);
        let off = time.off + time.off_since.map_or(0, |since| now - since);
        let idle = now.saturating_sub(transmit + receive + off);
        let [transmit, receive, idle, off] =
            [transmit, receive, idle, off].map(Duration::from_nanos);
        RadioTime { transmit, receive, idle, off }
    }
}

impl StationTime {
    /// The part of transmission and reception that has been counted and lies after `now`.
    fn after(&self, now: u64) -> [u64; 2] {
        let transmits_until = self.transmits_until.max(now);
        [transmits_until - now, self.busy_until.saturating_sub(transmits_until)]
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const STATION: StationId = StationId::new(0);

    /// Milliseconds of transmission, reception, idleness and off at a time.
    fn at(times: &RadioTimes, now: u64) -> [u64; 4] {
        let RadioTime { transmit, receive, idle, off } =
            times.time(STATION, Instant::from_nanos(now));
        [transmit, receive, idle, off].map(Duration::as_nanos)
    }

    #[test]
    fn signals_that_overlap_count_once() {
        let mut times = RadioTimes::new(1);
        times.on_signal(STATION, 10, 30);
        assert_eq!(at(&times, 20), [0, 10, 10, 0]);
        times.on_signal(STATION, 20, 50);
        times.on_signal(STATION, 25, 40);
        assert_eq!(at(&times, 60), [0, 40, 20, 0]);
    }

    #[test]
    fn a_transmitter_does_not_receive() {
        let mut times = RadioTimes::new(1);
        times.on_signal(STATION, 10, 40);
        times.on_transmit(STATION, 20, 30);
        assert_eq!(at(&times, 25), [5, 10, 10, 0]);
        // What is left of the signal after the frame is received; so is a later one.
        assert_eq!(at(&times, 40), [10, 20, 10, 0]);
        times.on_transmit(STATION, 50, 60);
        times.on_signal(STATION, 55, 70);
        assert_eq!(at(&times, 80), [20, 30, 30, 0]);
    }

    #[test]
    fn a_radio_that_is_off_does_neither() {
        let mut times = RadioTimes::new(1);
        times.on_transmit(STATION, 10, 20);
        times.on_off(STATION, 15);
        times.on_signal(STATION, 18, 40);
        assert_eq!(at(&times, 25), [5, 0, 10, 10]);
        times.on_on(STATION, 30);
        assert_eq!(at(&times, 50), [5, 10, 20, 15]);
        times.on_signal(STATION, 50, 70);
        times.on_off(STATION, 60);
        assert_eq!(at(&times, 65), [5, 20, 20, 20]);
        times.on_on(STATION, 65);
        assert_eq!(at(&times, 80), [5, 25, 30, 20]);
    }

    #[test]
    fn energy_is_power_by_time() {
        let millis = Duration::from_millis;
        let time = RadioTime {
            transmit: millis(1000),
            receive: millis(2000),
            idle: millis(3000),
            off: millis(4000),
        };
        let power = RadioPower { transmit: 1.0, receive: 0.5, idle: 0.25, off: 0.125 };
        assert_eq!(power.energy(&time), 1.0 + 1.0 + 0.75 + 0.5);
        assert_eq!(RadioPower::NS2.energy(&time), 0.660 + 2.0 * 0.395);
    }
}
