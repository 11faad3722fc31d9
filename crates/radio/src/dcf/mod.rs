//! The IEEE 802.11 distributed coordination function (DCF), and the medium shared by its stations.
//!
//! All stations are in one object with one event queue, and a frame costs two events: at its start
//! the times of its arrival and end are computed for all stations in range; when its end has
//! reached the most distant station that can decode it, reception is completed at each station that
//! can. Responses are further frame starts.
//!
//! # Not modelled
//! - Interference power is summed only with [`CaptureModel::Sinr`], and then only for reception,
//!   not for carrier sensing. Otherwise overlapping frames are compared in pairs, and a receiver
//!   keeps one signal.
//! - Carrier sensing takes no time: a station whose slot begins before another's frame arrives
//!   transmits, one whose slot begins later does not; real stations need up to 15 µs to detect a
//!   frame (§15.4.8.4).
//! - Of three stations that begin to transmit within 2 µs of propagation, the third may collide
//!   where it could just have sensed one of the others.
//! - A station with a pending response receives nothing until it has sent it. Only frames shorter
//!   than a SIFS could arrive in between.
//! - Where a frame is decoded over a distance with a propagation delay above a SIFS (3 km for 10
//!   µs), nearer stations respond late by the difference.
//! - The medium is busy until the announced end of a frame whose sender is disabled, also for
//!   stations that only sense it.
//! - 802.11g with older stations near: no protection by a CTS to self, one physical layer for all.
//! - No fragmentation, PCF, beacons, power saving or rate adaptation.

mod access_state;
mod arrival;
mod config;
mod enabled;
mod event_queue;
mod exchange;
mod interference;
mod medium;
mod phy;
mod propagation_delay;
mod reception;
mod record;
mod transmission;
mod transmit_state;

use driftway_base::{Instant, StationId};
use typed_index_collections::{TiVec, ti_vec};

pub use crate::counters::Counters;
use crate::mac_methods::mac_methods;
use crate::radio_time::RadioTimes;
use crate::{MacReport, OutgoingPacket, Positions, Propagation, StationInRange};
use access_state::{AccessState, DISABLED, PROMISCUOUS};
use arrival::AffectedStation;
use config::Timing;
pub use config::{CaptureModel, DcfConfig, ResponseTimeout};
pub(crate) use event_queue::{Event, EventKind, EventQueue};
use interference::Interference;
pub use phy::Phy;
use propagation_delay::propagation_delay_ns;
pub(crate) use record::FrameRecorder;
pub use record::{FrameRecord, ReceptionOutcome};
pub use transmission::FrameKind;
pub(crate) use transmission::TransmissionId;
use transmission::Transmissions;
use transmit_state::TransmitState;

/// The stations of a network and their shared medium.
///
/// *Look:* [`can_accept`](Self::can_accept), [`next_timeout`](Self::next_timeout),
/// [`counters`](Self::counters). *Commands:* [`send`](Self::send),
/// [`set_promiscuous`](Self::set_promiscuous), [`set_enabled`](Self::set_enabled),
/// [`set_recording`](Self::set_recording). *Events:* [`run`](Self::run). Time never goes back: after `run` has returned an instant, the next `send`
/// or `run` is for that instant or a later one.
#[derive(Clone, Debug)]
pub struct Dcf {
    config: DcfConfig,
    timing: Timing,
    positions: Positions,
    propagation: Propagation,
    /// True if power depends on more than the distance; a signal's strength is then its power,
    /// otherwise the squared distance.
    varies: bool,
    /// Ratio of squared distances below which no frame captures another; 0 if that depends on more.
    capture_squares: f64,
    /// Squared receive range (m²).
    receive_squared: f64,
    nanos_per_metre: f64,
    /// Upper bound of the propagation delay of a frame that can be decoded (ns).
    max_propagation_delay: u64,
    /// True if frames have errors.
    has_frame_errors: bool,
    access_states: TiVec<StationId, AccessState>,
    transmit_states: TiVec<StationId, TransmitState>,
    transmissions: Transmissions,
    interference: Interference,
    event_queue: EventQueue,
    /// Buffer of the stations in range, where power varies.
    in_range: Vec<StationInRange>,
    /// Buffer of propagation delays (ns).
    delays: Vec<u64>,
    /// Buffer of the stations that a frame affects.
    affected: Vec<AffectedStation>,
    recorder: FrameRecorder,
    /// Times of the radios; `None`: they are not counted.
    radio_times: Option<RadioTimes>,
    /// Number of frames transmitted so far.
    frames_sent: u64,
    now: u64,
}

impl Dcf {
    /// Creates the stations, at these positions.
    pub fn new(
        config: DcfConfig,
        mut positions: Positions,
        propagation: Propagation,
        seed: u64,
    ) -> Self {
        let stations = positions.stations();
        let varies = propagation.varies();
        let range = propagation.receive_range();
        if !varies {
            positions.set_receive_range(range);
        }
        let nanos_per_metre = 1e9 / propagation.light_speed();
        let summed = config.capture == CaptureModel::Sinr;
        let furthest = if varies { propagation.reach() } else { range };
        Self {
            timing: Timing::new(&config),
            varies,
            capture_squares: if varies { 0.0 } else { propagation.capture_squares() },
            receive_squared: range * range,
            nanos_per_metre,
            max_propagation_delay: propagation_delay_ns(furthest * furthest, nanos_per_metre) + 1,
            has_frame_errors: config.frame_error != driftway_base::Probability::NEVER,
            access_states: ti_vec![AccessState::NEW; stations],
            transmit_states: (0..stations)
                .map(|station| TransmitState::new(&config, seed, station.into()))
                .collect(),
            transmissions: Transmissions::new(stations),
            interference: Interference::new(if summed { stations } else { 0 }),
            event_queue: EventQueue::with_capacity(2 * stations + 16),
            in_range: Vec::with_capacity(stations),
            delays: Vec::with_capacity(stations),
            affected: Vec::with_capacity(stations),
            recorder: FrameRecorder::default(),
            radio_times: None,
            frames_sent: 0,
            now: 0,
            config,
            positions,
            propagation,
        }
    }

    /// Returns whether this station can accept a packet.
    pub fn can_accept(&self, station: StationId) -> bool {
        self.transmit_states[station].packet.is_none() && !self.access_states[station].has(DISABLED)
    }

    /// Hands a packet to a station, which reports `Sent` or `Failed` once for each packet that it
    /// accepts; returns `false`, and does not accept it, while the station has one or is disabled.
    pub fn send(&mut self, now: Instant, station: StationId, packet: OutgoingPacket) -> bool {
        if !self.can_accept(station) {
            return false;
        }
        self.advance(now.as_nanos());
        self.accept_packet(now.as_nanos(), station, packet);
        true
    }

    /// Runs events up to and including `until`, or up to the first that appends to `reports`.
    /// Returns the instant reached.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        let had = reports.len();
        while let Some(event) = self.event_queue.pop_until(until.as_nanos()) {
            self.advance(event.at());
            match event.kind() {
                EventKind::FrameEnd(transmission) => self.on_frame_end(transmission, reports),
                EventKind::ResponseDue(station) => self.on_response_due(event.at(), station),
                EventKind::StationTimer(station) => self.on_timer(event.at(), station, reports),
            }
            if reports.len() > had {
                return Instant::from_nanos(self.now);
            }
        }
        self.advance(until.as_nanos().max(self.now));
        until
    }

    /// Enables or disables promiscuous reception of a station.
    pub fn set_promiscuous(&mut self, station: StationId, on: bool) {
        self.access_states[station].set_to(PROMISCUOUS, on);
    }

    /// Returns the number of frames transmitted, of all types.
    pub const fn frames_sent(&self) -> u64 {
        self.frames_sent
    }
}

mac_methods!(Dcf of DcfConfig, transmit_states);
