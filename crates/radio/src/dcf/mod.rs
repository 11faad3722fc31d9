//! IEEE 802.11's distributed coordination function, and the medium that its stations share.
//!
//! All stations are in one object with one agenda, and a frame costs two events: at its first
//! instant everyone in reach is told from when to when it will be heard; when the furthest station
//! that can decode it has heard its end, those that can decode it are visited. Answers are the
//! first instants of further frames.
//!
//! # What is not modelled
//! - Power is summed only with [`Capture::Sinr`], and then only where frames are received, not where
//!   the medium is sensed. Otherwise frames that overlap are compared in pairs, and a receiver
//!   remembers one signal.
//! - Sensing takes no time. A station whose slot begins before another's frame arrives sends, one
//!   whose slot begins later does not; real ones need up to 15 µs to notice (§15.4.8.4).
//! - Of three stations that begin to send within the 2 µs that a wave needs, the third may collide
//!   where it could just have noticed one of the others.
//! - A station that owes an answer hears nothing else until it has sent it. Only frames shorter than
//!   a SIFS could come in between.
//! - Where a station can decode a frame over a way for which a wave needs longer than a SIFS (3 km
//!   for 10 µs), those that are nearer answer late by the difference.
//! - No fragments, no point coordination, no beacons, no sleep, no choice among rates.

mod event_queue;
mod config;
mod counters;
mod transmit_state;
mod exchange;
mod transmission;
mod interference;
mod medium;
mod record;
mod station;

use driftway_base::Instant;

use crate::{Positions, NodeInRange, OutgoingPacket, Propagation, MacReport};
pub(crate) use event_queue::{EventQueue, Event, EventKind};
use config::Timing;
pub use config::{CaptureModel, DcfConfig, ResponseTimeout};
pub use counters::Counters;
use transmit_state::TransmitState;
pub use transmission::FrameKind;
use transmission::{Transmissions, FrameReceiver};
use interference::Interference;
use medium::propagation_delay_ns;
pub(crate) use record::Recorder;
pub use record::{FrameRecord, ReceptionOutcome};
use station::{PROMISCUOUS, Station};

/// The stations of a network, and the air between them.
///
/// *Look:* [`is_free`](Self::is_free), [`next_timeout`](Self::next_timeout),
/// [`counters`](Self::counters). *Commands:* [`send`](Self::send), [`listen`](Self::listen),
/// [`record`](Self::record). *Events:* [`run`](Self::run). Time never goes back: after `run` has
/// said at which instant it is, the next `send` or `run` is for that instant or a later one.
#[derive(Clone, Debug)]
pub struct Dcf {
    config: DcfConfig,
    timing: Timing,
    positions: Positions,
    propagation: Propagation,
    /// Power depends on the pair; a signal's measure is then power, otherwise distance².
    has_shadowing: bool,
    /// Up to this distance² a frame can be decoded.
    receive_squared: f64,
    nanos_per_metre: f64,
    /// Longer than any frame that can be decoded travels (ns).
    max_propagation_delay: u64,
    /// Frames have errors.
    has_frame_errors: bool,
    stations: Vec<Station>,
    transmit_states: Vec<TransmitState>,
    transmissions: Transmissions,
    interference: Interference,
    event_queue: EventQueue,
    in_range: Vec<NodeInRange>,
    /// How long the frame that is being put on the air travels to each of them (ns).
    delays: Vec<u64>,
    /// Who can decode the frame that is being put on the air.
    new_receivers: Box<[FrameReceiver]>,
    recorder: Recorder,
    /// Frames put on the air so far.
    frames_sent: u64,
    now: u64,
}

impl Dcf {
    /// As many stations as the field has nodes.
    pub fn new(config: DcfConfig, field: Positions, propagation: Propagation, seed: u64) -> Self {
        let nodes = field.nodes() as u32;
        let shadowed = propagation.has_shadowing();
        let range = propagation.receive_range();
        let nanos_per_metre = 1e9 / propagation.light_speed();
        let summed = config.capture == CaptureModel::Sinr;
        let furthest = if shadowed { propagation.reach() } else { range };
        Self {
            timing: Timing::new(&config),
            has_shadowing: shadowed,
            receive_squared: range * range,
            nanos_per_metre,
            max_propagation_delay: propagation_delay_ns(furthest * furthest, nanos_per_metre) + 1,
            has_frame_errors: config.frame_error != driftway_base::Probability::NEVER,
            stations: vec![Station::NEW; nodes as usize],
            transmit_states: (0..nodes).map(|node| TransmitState::new(&config, seed, node)).collect(),
            transmissions: Transmissions::new(nodes as usize),
            interference: Interference::new(if summed { nodes as usize } else { 0 }),
            event_queue: EventQueue::with_capacity(2 * nodes as usize + 16),
            in_range: Vec::with_capacity(nodes as usize),
            delays: Vec::with_capacity(nodes as usize),
            new_receivers: vec![FrameReceiver::EMPTY; nodes as usize].into_boxed_slice(),
            recorder: Recorder::default(),
            frames_sent: 0,
            now: 0,
            config,
            positions: field,
            propagation,
        }
    }

    /// Can this node take a packet?
    pub fn can_accept(&self, node: u32) -> bool {
        self.transmit_states[node as usize].packet.is_none()
    }

    /// Gives a node a packet to send. The node reports `Sent` or `Failed` once for each that it
    /// takes; it takes none (and says `false`) while it has one.
    pub fn send(&mut self, now: Instant, node: u32, packet: OutgoingPacket) -> bool {
        if !self.can_accept(node) {
            return false;
        }
        self.advance(now.as_nanos());
        self.accept_packet(now.as_nanos(), node, packet);
        true
    }

    /// When something happens; it may turn out to be nothing.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.event_queue.peek().map(|event| Instant::from_nanos(event.at()))
    }

    /// Lets happen what happens up to and including `until`, or up to the first event that has
    /// something to report, which is added to `reports`. Gives the instant at which it is then.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        let had = reports.len();
        while let Some(event) = self.event_queue.pop_until(until.as_nanos()) {
            self.advance(event.at());
            match event.kind() {
                EventKind::FrameEnd => self.on_frame_end(event.subject(), reports),
                EventKind::ResponseDue => self.on_response_due(event.at(), event.subject()),
                EventKind::StationTimer => self.on_timer(event.at(), event.subject(), reports),
            }
            if reports.len() > had {
                return Instant::from_nanos(self.now);
            }
        }
        self.advance(until.as_nanos().max(self.now));
        until
    }

    fn advance(&mut self, now: u64) {
        debug_assert!(now >= self.now, "time went back from {} to {now} ns", self.now);
        self.now = now;
    }

    /// Whether a node hears packets that are for others, too.
    pub fn set_promiscuous(&mut self, node: u32, on: bool) {
        self.stations[node as usize].set_to(PROMISCUOUS, on);
    }

    /// What a node has counted.
    pub fn counters(&self, node: u32) -> &Counters {
        &self.transmit_states[node as usize].counters
    }

    /// What all have counted.
    pub fn total_counters(&self) -> Counters {
        self.transmit_states.iter().fold(Counters::default(), |mut sum, desk| {
            sum += desk.counters;
            sum
        })
    }

    /// How many frames were put on the air, of all kinds.
    pub const fn frames_sent(&self) -> u64 {
        self.frames_sent
    }

    /// How many events it has handled.
    pub const fn events_handled(&self) -> u64 {
        self.event_queue.handled()
    }

    /// Where the nodes are.
    pub fn positions(&mut self) -> &mut Positions {
        &mut self.positions
    }

    /// The power with which one node hears another, where they are now (W).
    pub fn received_power(&mut self, now: Instant, from: u32, to: u32) -> f64 {
        let (a, b) = (self.positions.position(from, now), self.positions.position(to, now));
        let (dx, dy) = (a.0 - b.0, a.1 - b.1);
        let moved = self.positions.distance_moved(from, now) + self.positions.distance_moved(to, now);
        self.propagation.power_after_moving(from, to, dx * dx + dy * dy, moved)
    }

    /// Who can decode and sense whom.
    pub const fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// How the stations are set.
    pub const fn config(&self) -> &DcfConfig {
        &self.config
    }

    /// Whether frames are kept for [`take_recorded`](Self::take_recorded).
    pub fn set_recording(&mut self, on: bool) {
        self.recorder.set_enabled(on);
    }

    /// Moves the frames that were kept, and are over, to `out`, in order of their first instants.
    pub fn take_recorded(&mut self, out: &mut Vec<FrameRecord>) {
        self.recorder.drain_into(out);
    }
}
