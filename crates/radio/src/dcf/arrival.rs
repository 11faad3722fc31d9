//! Arrivals of a frame at the stations in range.
//!
//! Most stations are idle, count no slots and are otherwise unaffected: a frame only occupies their receiver. That
//! happens here in loops without calls, each a function of its own, so that what they need stays in registers. The
//! other stations are listed.

use driftway_base::StationId;
use typed_index_collections::TiSlice;

use super::access_state::{AccessState, RX_FAILED};
use super::config::Timing;
use super::transmission::{FrameReceiver, ReceptionState, TransmissionId};
use crate::positions::CandidatesPart;

/// Arrival of a frame at a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub at: u64,
    pub until: u64,
    /// Signal strength, as a squared distance or a power.
    pub signal: f32,
    pub transmission: TransmissionId,
    /// True if it can be decoded.
    pub is_decodable: bool,
}

/// A station for which the arrival of a frame is more than an occupied receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct AffectedStation {
    pub station: StationId,
    /// Its place among the receivers of the frame; `None` if it cannot decode it.
    pub receiver: Option<u32>,
    /// Propagation delay (ns).
    pub delay: u64,
    /// Signal strength, as a squared distance or a power.
    pub signal: f32,
}

/// A frame that arrives at stations in any order; but those that can decode it come in order of their numbers.
pub(super) struct Arrivals<'a> {
    /// Start and end of the frame at its sender (ns).
    pub now: u64,
    pub end: u64,
    pub transmission: TransmissionId,
    /// A copy, because the compiler cannot know that writing a station leaves it unchanged.
    pub timing: Timing,
    pub eifs_when_only_sensed: bool,
    /// Ratio of squared distances below which an earlier frame does not capture the receiver from a later one; 0 if
    /// that is not known.
    pub uncaptured_squares: f64,
    /// True if every station is affected.
    pub affects_all: bool,
    pub access_states: &'a mut TiSlice<StationId, AccessState>,
    /// The stations that can decode it.
    pub receivers: &'a mut Vec<FrameReceiver>,
    pub affected: &'a mut Vec<AffectedStation>,
}

impl Arrivals<'_> {
    /// Adds the arrivals at stations up to a squared distance (m²), some of which can decode the frame.
    #[inline(never)]
    pub fn decode(&mut self, part: CandidatesPart<'_>, delays: &[u64], limits: (f64, f64)) {
        let (reach_squared, receive_squared) = limits;
        for ((station, square), &delay) in part.zip(delays) {
            if square <= reach_squared {
                self.add(station, delay, square, square <= receive_squared);
            }
        }
    }

    /// Adds the arrivals at stations that only sense the frame.
    #[inline(never)]
    pub fn sense(&mut self, part: CandidatesPart<'_>, delays: &[u64]) {
        for ((station, square), &delay) in part.zip(delays) {
            self.add(station, delay, square, false);
        }
    }

    /// Adds the arrivals at stations up to a squared distance (m²), which only sense the frame.
    #[inline(never)]
    pub fn sense_within(&mut self, part: CandidatesPart<'_>, delays: &[u64], reach_squared: f64) {
        for ((station, square), &delay) in part.zip(delays) {
            if square <= reach_squared {
                self.add(station, delay, square, false);
            }
        }
    }

    /// Adds the arrival at a station after a propagation delay (ns).
    #[inline(always)]
    pub fn add(&mut self, station: StationId, delay: u64, strength: f64, is_decodable: bool) {
        let new = Arrival {
            at: self.now + delay,
            until: self.end + delay,
            signal: strength as f32,
            transmission: self.transmission,
            is_decodable,
        };
        let access = &mut self.access_states[station];
        let is_unaffected =
            access.is_unaffected_by_arrival(new.at, &self.timing) && !self.affects_all;
        let mut state = ReceptionState::Collided;
        if is_unaffected && access.rx_end <= new.at {
            let nav_of_bad = self.timing.nav_after_rx_failure;
            state = occupy_receiver(access, new, nav_of_bad, self.eifs_when_only_sensed);
        } else if is_unaffected && only_lengthens(access, new, self.uncaptured_squares) {
            lengthen_noise(access, new, self.eifs_when_only_sensed);
        } else if access.rx_end <= new.at
            && !self.affects_all
            && access.only_suspends_backoff(new.at, &self.timing)
        {
            let nav_of_bad = self.timing.nav_after_rx_failure;
            state = occupy_receiver(access, new, nav_of_bad, self.eifs_when_only_sensed);
        } else {
            let receiver = is_decodable.then_some(self.receivers.len() as u32);
            self.affected.push(AffectedStation { station, receiver, delay, signal: new.signal });
        }
        if is_decodable {
            self.receivers.push(FrameReceiver { station, delay: delay as u32, state });
        }
    }
}

/// Returns whether the receiver is occupied by earlier frames that cannot be decoded and do not capture it: the
/// commonest overlap by far.
#[inline(always)]
fn only_lengthens(access: &AccessState, new: Arrival, uncaptured_squares: f64) -> bool {
    access.rx_transmission.is_none()
        && access.rx_start <= new.at
        && f64::from(new.signal) < f64::from(access.rx_signal) * uncaptured_squares
}

/// Lengthens the time for which the receiver is occupied by frames that cannot be decoded.
#[inline(always)]
fn lengthen_noise(access: &mut AccessState, new: Arrival, eifs_when_only_sensed: bool) {
    if new.until > access.rx_end {
        (access.rx_end, access.rx_signal) = (new.until, new.signal);
    }
    let announced = access.has(RX_FAILED) | new.is_decodable | eifs_when_only_sensed;
    access.set_to(RX_FAILED, announced & (access.rx_end > access.tx_end));
}

/// Occupies an idle receiver with a frame. An earlier reception failure leaves its NAV.
#[inline(always)]
pub(super) fn occupy_receiver(
    access: &mut AccessState,
    new: Arrival,
    nav_of_bad: u64,
    eifs_when_only_sensed: bool,
) -> ReceptionState {
    if access.has(RX_FAILED) {
        access.nav = access.nav.max(access.rx_end + nav_of_bad);
    }
    (access.rx_start, access.rx_end) = (new.at, new.until);
    access.rx_signal = new.signal;
    let flags = access.flags & !RX_FAILED;
    if new.is_decodable && access.tx_end <= new.at {
        access.rx_transmission = Some(new.transmission);
        access.flags = flags;
        return ReceptionState::Decodable;
    }
    access.rx_transmission = None;
    let fails = eifs_when_only_sensed & (new.until > access.tx_end);
    access.flags = flags | (u8::from(fails) * RX_FAILED);
    ReceptionState::Transmitting
}
