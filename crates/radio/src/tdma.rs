//! Time division multiple access: one node transmits at a time, in turn.

use driftway_base::{Chance, Duration, Instant, RandomStream, Rate};

use crate::dcf::{Agenda, Event, Kind, Recorder};
use crate::dcf::{AirFrame, Counters, FrameKind, Outcome};
use crate::{Field, Hearer, Outgoing, Propagation, Report};

/// Configuration of the TDMA schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdmaConfig {
    /// Rate of all frames.
    pub rate: Rate,
    /// Duration of the preamble of each frame.
    pub preamble: Duration,
    /// Packet size of a slot (bytes); a larger packet is sent in several slots of its node.
    pub slot_bytes: u32,
    /// Link-layer overhead of a packet (bytes).
    pub header_bytes: u32,
    /// True if a round begins with a slot in which nodes announce their transmissions, so that
    /// later packets wait for the next round. ns-2.35: yes (its radios sleep by it); not needed
    /// here.
    pub announced: bool,
    /// Frame error probability of each receiver.
    pub frame_error: Chance,
    /// As [`crate::DcfConfig::delay_down`].
    pub delay_down: Duration,
    /// As [`crate::DcfConfig::delay_up`].
    pub delay_up: Duration,
}

impl TdmaConfig {
    /// Slots for 1500 bytes, with the framing of 802.11.
    pub const STANDARD: Self = Self {
        rate: Rate::from_bps(2_000_000),
        preamble: Duration::from_micros(192),
        slot_bytes: 1500,
        header_bytes: 36,
        announced: false,
        frame_error: Chance::NEVER,
        delay_down: Duration::ZERO,
        delay_up: Duration::ZERO,
    };
    /// `Mac/Tdma` of ns-2.35: rounds with an announcement slot. Its slots do not account for the
    /// airtime of the header, so that full frames extend into the next slot; this is not
    /// reproduced.
    pub const NS2: Self = Self {
        header_bytes: 34,
        announced: true,
        delay_down: Duration::from_micros(25),
        delay_up: Duration::from_micros(25),
        ..Self::STANDARD
    };
}

impl Default for TdmaConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// A TDMA MAC for the nodes of a network and their channel, with the methods of [`crate::Dcf`].
///
/// There is one global schedule: a round has a slot for each node, in order of node number,
/// regardless of position. Hence frames never collide, and a frame is lost only by distance or
/// error. Frames are not acknowledged, so the transmitter learns nothing about reception: every
/// packet ends with `Sent`, none with `Failed`. Routing must detect a lost neighbour by its own
/// means.
#[derive(Clone, Debug)]
pub struct Tdma {
    config: TdmaConfig,
    field: Field,
    propagation: Propagation,
    /// Duration of a slot and of a round (ns).
    slot: u64,
    round: u64,
    nodes: Vec<Node>,
    agenda: Agenda,
    /// Nodes in range of the frame on the air, and those that can decode it with their propagation
    /// delays (ns).
    hearers: Vec<Hearer>,
    receivers: Vec<(u32, u64)>,
    flight: Flight,
    recorder: Recorder,
    now: u64,
}

#[derive(Clone, Debug)]
struct Node {
    packet: Option<Outgoing>,
    /// Bytes not yet transmitted.
    left: u32,
    sequence: u16,
    listens: bool,
    errors: RandomStream,
    counters: Counters,
}

/// The frame on the air.
#[derive(Clone, Copy, Debug)]
struct Flight {
    end: u64,
    entry: u64,
}

impl Tdma {
    /// Creates a MAC for all nodes of `positions`.
    pub fn new(config: TdmaConfig, field: Field, propagation: Propagation, seed: u64) -> Self {
        let nodes = field.nodes();
        let reach = propagation.reach();
        let bytes = config.slot_bytes.max(1) + config.header_bytes;
        let airtime = config.preamble + config.rate.time_for(bytes);
        // A frame has reached all nodes before the next slot.
        let slot = airtime.as_nanos() + propagation.delay(reach * reach).as_nanos() + 1;
        let slots = nodes as u64 + u64::from(config.announced);
        let node = |node| Node {
            packet: None,
            left: 0,
            sequence: 0,
            listens: false,
            errors: RandomStream::new(seed, "frame-error", node),
            counters: Counters::default(),
        };
        Self {
            slot,
            round: slot * slots,
            nodes: (0..nodes as u64).map(node).collect(),
            agenda: Agenda::with_capacity(nodes + 1),
            hearers: Vec::with_capacity(nodes),
            receivers: Vec::with_capacity(nodes),
            flight: Flight { end: 0, entry: 0 },
            recorder: Recorder::default(),
            now: 0,
            config,
            field,
            propagation,
        }
    }

    /// Returns whether this node can accept a packet.
    pub fn is_free(&self, node: u32) -> bool {
        self.nodes[node as usize].packet.is_none()
    }

    /// Hands a packet to a node; returns `false`, and does not accept it, while the node has one.
    pub fn send(&mut self, now: Instant, node: u32, packet: Outgoing) -> bool {
        if !self.is_free(node) {
            return false;
        }
        self.advance(now.as_nanos());
        let state = &mut self.nodes[node as usize];
        state.left = packet.bytes;
        state.packet = Some(packet);
        state.sequence = (state.sequence + 1) & 4095;
        self.wait_for_turn(now.as_nanos(), node);
        true
    }

    /// Schedules the node's next slot.
    fn wait_for_turn(&mut self, now: u64, node: u32) {
        let announcement = u64::from(self.config.announced);
        let offset = (u64::from(node) + announcement) * self.slot;
        // The round, or without announcements the slot, begins at `now` or later.
        let passed = if self.config.announced { now } else { now.saturating_sub(offset) };
        let at = passed.div_ceil(self.round) * self.round + offset;
        self.agenda.push(Event::new(at, Kind::Timer, node));
    }

    /// Returns the time of the next event.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.agenda.next().map(|event| Instant::from_nanos(event.at()))
    }

    /// As [`crate::Dcf::run`].
    pub fn run(&mut self, until: Instant, reports: &mut Vec<Report>) -> Instant {
        let had = reports.len();
        while let Some(event) = self.agenda.next().filter(|event| event.at() <= until.as_nanos()) {
            self.agenda.pop();
            self.advance(event.at());
            match event.kind() {
                Kind::Timer => self.start(event.at(), event.whose()),
                Kind::End | Kind::Respond => self.end(event.at(), event.whose(), reports),
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

    fn start(&mut self, now: u64, from: u32) {
        let node = &mut self.nodes[from as usize];
        let Some(packet) = node.packet else { return };
        let piece = node.left.min(self.config.slot_bytes.max(1));
        node.left -= piece;
        let bytes = piece + self.config.header_bytes;
        let airtime = self.config.preamble + self.config.rate.time_for(bytes);
        node.counters.airtime = node.counters.airtime + airtime;
        if packet.to.is_some() {
            node.counters.data += 1;
        } else {
            node.counters.broadcasts += 1;
        }
        let sequence = node.sequence;
        let at = Instant::from_nanos(now);
        self.hearers.clear();
        self.field.hearers(at, from, &mut self.hearers);
        self.receivers.clear();
        let mut furthest = 0;
        let moved = self.field.moved(from, at);
        for hearer in &self.hearers {
            let square = hearer.distance_squared;
            let moved = moved + self.field.moved(hearer.node, at);
            let power = self.propagation.power_after(from, hearer.node, square, moved);
            if power >= self.propagation.receive_power() {
                let delay = self.propagation.delay(square).as_nanos();
                self.receivers.push((hearer.node, delay));
                furthest = delay.max(furthest);
            }
        }
        self.flight.end = now + airtime.as_nanos();
        self.flight.entry = 0;
        if self.recorder.is_on() {
            self.flight.entry = self.recorder.keep(AirFrame {
                at,
                airtime,
                rate: self.config.rate,
                kind: FrameKind::Data,
                from,
                to: packet.to,
                bytes,
                duration_us: 0,
                sequence,
                retry: false,
                id: Some(packet.id),
                outcome: Outcome::Pending,
            });
        }
        self.agenda.push(Event::new(self.flight.end + furthest, Kind::End, from));
    }

    fn end(&mut self, now: u64, from: u32, reports: &mut Vec<Report>) {
        let node = &self.nodes[from as usize];
        let Some(packet) = node.packet else { return };
        let whole = node.left == 0;
        let mut outcome = if packet.to.is_some() { Outcome::OutOfRange } else { Outcome::ByAll(0) };
        for &(node, delay) in &self.receivers {
            let state = &mut self.nodes[node as usize];
            let mine = packet.to.is_none_or(|to| to == node);
            let lossy = self.config.frame_error != Chance::NEVER;
            let damaged = lossy && state.errors.hits(self.config.frame_error);
            state.counters.errors += u64::from(damaged && mine);
            match &mut outcome {
                Outcome::ByAll(count) => *count += u32::from(!damaged),
                outcome if mine => {
                    *outcome = if damaged { Outcome::Damaged } else { Outcome::Received };
                }
                _ => {}
            }
            if damaged || !whole {
                continue;
            }
            let (id, at) = (packet.id, Instant::from_nanos(self.flight.end + delay));
            match packet.to {
                Some(to) if to != node => {
                    if state.listens {
                        reports.push(Report::Overheard { node, from, to, id, at });
                    }
                }
                to => {
                    let broadcast = to.is_none();
                    reports.push(Report::Received { node, from, id, broadcast, at });
                }
            }
        }
        if self.flight.entry != 0 {
            self.recorder.settle(self.flight.entry, outcome);
        }
        if !whole {
            self.wait_for_turn(now, from);
            return;
        }
        self.nodes[from as usize].packet = None;
        let at = Instant::from_nanos(self.flight.end);
        reports.push(Report::Sent { node: from, id: packet.id, to: packet.to, at });
    }

    /// Enables or disables promiscuous reception of a node.
    pub fn listen(&mut self, node: u32, on: bool) {
        self.nodes[node as usize].listens = on;
    }

    /// Returns the counters of a node.
    pub fn counters(&self, node: u32) -> &Counters {
        &self.nodes[node as usize].counters
    }

    /// Returns the sum of all nodes' counters.
    pub fn totals(&self) -> Counters {
        self.nodes.iter().fold(Counters::default(), |mut sum, node| {
            sum += node.counters;
            sum
        })
    }

    /// Returns the number of events handled.
    pub const fn events(&self) -> u64 {
        self.agenda.taken()
    }

    /// Returns the node positions.
    pub fn field(&mut self) -> &mut Field {
        &mut self.field
    }

    /// Returns the power (W) that `to` would receive from `from` at the current positions.
    pub fn power_at(&mut self, now: Instant, from: u32, to: u32) -> f64 {
        let (a, b) = (self.field.position(from, now), self.field.position(to, now));
        let (dx, dy) = (a.0 - b.0, a.1 - b.1);
        let moved = self.field.moved(from, now) + self.field.moved(to, now);
        self.propagation.power_after(from, to, dx * dx + dy * dy, moved)
    }

    /// Returns the propagation model.
    pub const fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// Returns the time from one slot of a node to its next.
    pub const fn round(&self) -> Duration {
        Duration::from_nanos(self.round)
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &TdmaConfig {
        &self.config
    }

    /// Enables or disables recording of frames for [`take_recorded`](Self::take_recorded).
    pub fn record(&mut self, on: bool) {
        self.recorder.switch(on);
    }

    /// As [`crate::Dcf::take_recorded`].
    pub fn take_recorded(&mut self, out: &mut Vec<AirFrame>) {
        self.recorder.hand_out(out);
    }
}
