//! Time division multiple access: one node transmits at a time, in turn.

use driftway_base::{Duration, Instant, Probability, RandomStream, Rate};

use crate::dcf::{Counters, FrameKind, FrameRecord, ReceptionOutcome};
use crate::dcf::{Event, EventKind, EventQueue, FrameRecorder};
use crate::{MacReport, NodeInRange, OutgoingPacket, Positions, Propagation};

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
    pub frame_error: Probability,
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
        frame_error: Probability::NEVER,
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
    positions: Positions,
    propagation: Propagation,
    /// Duration of a slot and of a round (ns).
    slot: u64,
    round: u64,
    nodes: Vec<TdmaNode>,
    event_queue: EventQueue,
    /// Nodes in range of the frame on the air, and those that can decode it with their propagation
    /// delays (ns).
    in_range: Vec<NodeInRange>,
    receivers: Vec<(u32, u64)>,
    transmission: Transmission,
    recorder: FrameRecorder,
    now: u64,
}

#[derive(Clone, Debug)]
struct TdmaNode {
    packet: Option<OutgoingPacket>,
    /// Bytes not yet transmitted.
    bytes_left: u32,
    sequence: u16,
    is_promiscuous: bool,
    error_stream: RandomStream,
    counters: Counters,
}

/// The frame on the air.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    end: u64,
    record_number: u64,
}

impl Tdma {
    /// Creates a MAC for all nodes of `positions`.
    pub fn new(
        config: TdmaConfig,
        positions: Positions,
        propagation: Propagation,
        seed: u64,
    ) -> Self {
        let nodes = positions.nodes();
        let reach = propagation.reach();
        let bytes = config.slot_bytes.max(1) + config.header_bytes;
        let airtime = config.preamble + config.rate.transmission_time(bytes);
        // A frame has reached all nodes before the next slot.
        let slot = airtime.as_nanos() + propagation.delay(reach * reach).as_nanos() + 1;
        let slots = nodes as u64 + u64::from(config.announced);
        let node = |node| TdmaNode {
            packet: None,
            bytes_left: 0,
            sequence: 0,
            is_promiscuous: false,
            error_stream: RandomStream::new(seed, "frame-error", node),
            counters: Counters::default(),
        };
        Self {
            slot,
            round: slot * slots,
            nodes: (0..nodes as u64).map(node).collect(),
            event_queue: EventQueue::with_capacity(nodes + 1),
            in_range: Vec::with_capacity(nodes),
            receivers: Vec::with_capacity(nodes),
            transmission: Transmission { end: 0, record_number: 0 },
            recorder: FrameRecorder::default(),
            now: 0,
            config,
            positions,
            propagation,
        }
    }

    /// Returns whether this node can accept a packet.
    pub fn can_accept(&self, node: u32) -> bool {
        self.nodes[node as usize].packet.is_none()
    }

    /// Hands a packet to a node; returns `false`, and does not accept it, while the node has one.
    pub fn send(&mut self, now: Instant, node: u32, packet: OutgoingPacket) -> bool {
        if !self.can_accept(node) {
            return false;
        }
        self.advance(now.as_nanos());
        let state = &mut self.nodes[node as usize];
        state.bytes_left = packet.bytes;
        state.packet = Some(packet);
        state.sequence = (state.sequence + 1) & 4095;
        self.schedule_next_slot(now.as_nanos(), node);
        true
    }

    /// Schedules the node's next slot.
    fn schedule_next_slot(&mut self, now: u64, node: u32) {
        let announcement = u64::from(self.config.announced);
        let offset = (u64::from(node) + announcement) * self.slot;
        // The round, or without announcements the slot, begins at `now` or later.
        let passed = if self.config.announced { now } else { now.saturating_sub(offset) };
        let at = passed.div_ceil(self.round) * self.round + offset;
        self.event_queue.push(Event::new(at, EventKind::StationTimer, node));
    }

    /// Returns the time of the next event.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.event_queue.peek().map(|event| Instant::from_nanos(event.at()))
    }

    /// As [`crate::Dcf::run`].
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        let had = reports.len();
        while let Some(event) =
            self.event_queue.peek().filter(|event| event.at() <= until.as_nanos())
        {
            self.event_queue.pop();
            self.advance(event.at());
            match event.kind() {
                EventKind::StationTimer => self.start_transmission(event.at(), event.subject()),
                EventKind::FrameEnd | EventKind::ResponseDue => {
                    self.end_transmission(event.at(), event.subject(), reports)
                }
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

    fn start_transmission(&mut self, now: u64, from: u32) {
        let node = &mut self.nodes[from as usize];
        let Some(packet) = node.packet else { return };
        let piece = node.bytes_left.min(self.config.slot_bytes.max(1));
        node.bytes_left -= piece;
        let bytes = piece + self.config.header_bytes;
        let airtime = self.config.preamble + self.config.rate.transmission_time(bytes);
        node.counters.airtime = node.counters.airtime + airtime;
        if packet.to.is_some() {
            node.counters.data += 1;
        } else {
            node.counters.broadcasts += 1;
        }
        let sequence = node.sequence;
        let at = Instant::from_nanos(now);
        self.in_range.clear();
        self.positions.nodes_in_range(at, from, &mut self.in_range);
        self.receivers.clear();
        let mut furthest = 0;
        let moved = self.positions.distance_moved(from, at);
        for receiver in &self.in_range {
            let square = receiver.distance_squared;
            let moved = moved + self.positions.distance_moved(receiver.node, at);
            let power = self.propagation.power_after_moving(from, receiver.node, square, moved);
            if power >= self.propagation.receive_power() {
                let delay = self.propagation.delay(square).as_nanos();
                self.receivers.push((receiver.node, delay));
                furthest = delay.max(furthest);
            }
        }
        self.transmission.end = now + airtime.as_nanos();
        self.transmission.record_number = 0;
        if self.recorder.is_enabled() {
            self.transmission.record_number = self.recorder.record(FrameRecord {
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
                outcome: ReceptionOutcome::Pending,
            });
        }
        self.event_queue.push(Event::new(
            self.transmission.end + furthest,
            EventKind::FrameEnd,
            from,
        ));
    }

    fn end_transmission(&mut self, now: u64, from: u32, reports: &mut Vec<MacReport>) {
        let node = &self.nodes[from as usize];
        let Some(packet) = node.packet else { return };
        let whole = node.bytes_left == 0;
        let mut outcome = if packet.to.is_some() {
            ReceptionOutcome::OutOfRange
        } else {
            ReceptionOutcome::Broadcast(0)
        };
        for &(node, delay) in &self.receivers {
            let state = &mut self.nodes[node as usize];
            let mine = packet.to.is_none_or(|to| to == node);
            let lossy = self.config.frame_error != Probability::NEVER;
            let damaged = lossy && state.error_stream.bernoulli(self.config.frame_error);
            state.counters.errors += u64::from(damaged && mine);
            match &mut outcome {
                ReceptionOutcome::Broadcast(count) => *count += u32::from(!damaged),
                outcome if mine => {
                    *outcome = if damaged {
                        ReceptionOutcome::Damaged
                    } else {
                        ReceptionOutcome::Received
                    };
                }
                _ => {}
            }
            if damaged || !whole {
                continue;
            }
            let (id, at) = (packet.id, Instant::from_nanos(self.transmission.end + delay));
            match packet.to {
                Some(to) if to != node => {
                    if state.is_promiscuous {
                        reports.push(MacReport::Overheard { node, from, to, id, at });
                    }
                }
                to => {
                    let broadcast = to.is_none();
                    reports.push(MacReport::Received { node, from, id, broadcast, at });
                }
            }
        }
        if self.transmission.record_number != 0 {
            self.recorder.set_reception_outcome(self.transmission.record_number, outcome);
        }
        if !whole {
            self.schedule_next_slot(now, from);
            return;
        }
        self.nodes[from as usize].packet = None;
        let at = Instant::from_nanos(self.transmission.end);
        reports.push(MacReport::Sent { node: from, id: packet.id, to: packet.to, at });
    }

    /// Enables or disables promiscuous reception of a node.
    pub fn set_promiscuous(&mut self, node: u32, on: bool) {
        self.nodes[node as usize].is_promiscuous = on;
    }

    /// Returns the counters of a node.
    pub fn counters(&self, node: u32) -> &Counters {
        &self.nodes[node as usize].counters
    }

    /// Returns the sum of all nodes' counters.
    pub fn total_counters(&self) -> Counters {
        self.nodes.iter().fold(Counters::default(), |mut sum, node| {
            sum += node.counters;
            sum
        })
    }

    /// Returns the number of events handled.
    pub const fn events_handled(&self) -> u64 {
        self.event_queue.handled()
    }

    /// Returns the node positions.
    pub fn node_positions(&mut self) -> &mut Positions {
        &mut self.positions
    }

    /// Returns the power (W) that `to` would receive from `from` at the current positions.
    pub fn received_power(&mut self, now: Instant, from: u32, to: u32) -> f64 {
        let (a, b) = (self.positions.position(from, now), self.positions.position(to, now));
        let (dx, dy) = (a.0 - b.0, a.1 - b.1);
        let moved =
            self.positions.distance_moved(from, now) + self.positions.distance_moved(to, now);
        self.propagation.power_after_moving(from, to, dx * dx + dy * dy, moved)
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
    pub fn set_recording(&mut self, on: bool) {
        self.recorder.set_enabled(on);
    }

    /// As [`crate::Dcf::take_recorded`].
    pub fn take_recorded(&mut self, out: &mut Vec<FrameRecord>) {
        self.recorder.drain_into(out);
    }
}
