//! Time division multiple access: one station transmits at a time, in turn.

use driftway_base::{Duration, Instant, Probability, RandomStream, Rate, StationId, configuration};
use typed_index_collections::TiVec;

use crate::dcf::{Counters, FrameKind, FrameRecord, ReceptionOutcome};
use crate::dcf::{Event, EventKind, EventQueue, FrameRecorder, TransmissionId};
use crate::mac_methods::mac_methods;
use crate::radio_time::RadioTimes;
use crate::{FailReason, MacReport, OutgoingPacket, Positions, Propagation, StationInRange};

/// Passes the options of TDMA to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! tdma_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Bit rate of all frames.
        data_rate: Rate as BitRate = Rate::from_bps(2_000_000);
        /// Duration of the preamble before each frame.
        preamble: Duration as Time [at_most(Time::from_secs(1))] = Duration::from_micros(192);
        /// Size of the largest packet that fits into one slot; a larger one takes several of its node's
        /// slots.
        slot_bytes: u32 as Size [range("a slot for packets of", 100..=65_535)] = 1500;
        /// Size of the link-layer header of a packet.
        header_bytes: u32 as Size [range("the number of bytes", 0..=1000)] = 36 => 34,
            "There is no standard; here the minimum is implemented.",
            "The header of its 802.11, without LLC and SNAP. Its slots do not include the \
             header's airtime, so that full frames overlap the next slot (mac/mac-tdma.cc); this \
             is not reproduced.";
        /// Each frame of slots begins with a slot in which nodes announce their transmissions, as in
        /// ns-2.35; packets that arrive later wait for the next one.
        announced: bool = false => true,
            "There is no standard; here the minimum is implemented.",
            "A round begins with a slot in which nodes announce their transmissions; packets that \
             arrive later wait for the next round.";
        /// Link-layer delay of an outgoing packet before it enters the interface queue.
        delay_down: Duration as Time [at_most(Time::from_secs(1))] = Duration::ZERO
            => Duration::from_micros(25),
            "There is no standard; here the minimum is implemented.",
            "`LL delay_`: 25 µs before a packet enters the interface queue.";
        /// Link-layer delay of a received packet before it reaches the network layer. It is simulated
        /// together with `network.mac.delay_down` before the packet enters the interface queue, so that
        /// the end-to-end sum is the same.
        delay_up: Duration as Time [at_most(Time::from_secs(1))] = Duration::ZERO
            => Duration::from_micros(25),
            "There is no standard; here the minimum is implemented.",
            "25 µs before a received packet reaches the network layer.";
    } } };
}

tdma_options! { configuration! {
    /// Configuration of the TDMA schedule.
    pub struct TdmaConfig {
        /// Slots for 1500 bytes, with the framing of 802.11.
        STANDARD,
        /// `Mac/Tdma` of ns-2.35: rounds with an announcement slot.
        NS2,
    }
    given {
        /// Frame error probability of each receiver.
        frame_error: Probability = Probability::NEVER,
    }
} }

/// A TDMA MAC for the stations of an air and their channel, with the methods of [`crate::Dcf`].
///
/// There is one global schedule: a round has a slot for each station, in order of number,
/// regardless of position. Hence frames never collide, and a frame is lost only by distance or
/// error, or because a station is disabled. Frames are not acknowledged, so the transmitter learns
/// nothing about reception: every packet ends with `Sent`, and with `Failed` only if its station is
/// disabled. Routing must detect a lost neighbour by its own means.
#[derive(Clone, Debug)]
pub struct Tdma {
    config: TdmaConfig,
    positions: Positions,
    propagation: Propagation,
    /// Duration of a slot and of a round (ns).
    slot: u64,
    round: u64,
    stations: TiVec<StationId, TdmaStation>,
    event_queue: EventQueue,
    /// Nodes in range of the frame on the air, and those that can decode it with their propagation
    /// delays (ns).
    in_range: Vec<StationInRange>,
    receivers: Vec<(StationId, u64)>,
    transmission: Transmission,
    recorder: FrameRecorder,
    /// Times of the radios; `None`: they are not counted.
    radio_times: Option<RadioTimes>,
    now: u64,
}

#[derive(Clone, Debug)]
struct TdmaStation {
    packet: Option<OutgoingPacket>,
    /// Bytes not yet transmitted.
    bytes_left: u32,
    /// Start of the packet's first frame (ns).
    first_frame_at: u64,
    is_enabled: bool,
    /// Time at which the station was last enabled (ns).
    enabled_since: u64,
    sequence: u16,
    is_promiscuous: bool,
    error_stream: RandomStream,
    counters: Counters,
}

/// The number of the frame on the air, of which there is one at a time.
const ONLY: TransmissionId = TransmissionId::new(0);

/// The frame on the air.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    end: u64,
    /// Its sender, until the end has reached all receivers.
    from: Option<StationId>,
    /// Its receiver; `None`: broadcast.
    to: Option<StationId>,
    /// True if its sender was disabled before its end.
    is_cut: bool,
    record_number: u64,
}

impl Tdma {
    /// Creates a MAC for all stations of `positions`.
    pub fn new(
        config: TdmaConfig,
        positions: Positions,
        propagation: Propagation,
        seed: u64,
    ) -> Self {
        let stations = positions.stations();
        let reach = propagation.reach();
        let bytes = config.slot_bytes.max(1) + config.header_bytes;
        let airtime = config.preamble + config.data_rate.transmission_time(bytes);
        // A frame has reached all stations before the next slot.
        let slot = airtime.as_nanos() + propagation.delay(reach * reach).as_nanos() + 1;
        let slots = stations as u64 + u64::from(config.announced);
        let station = |number| TdmaStation {
            packet: None,
            bytes_left: 0,
            first_frame_at: 0,
            is_enabled: true,
            enabled_since: 0,
            sequence: 0,
            is_promiscuous: false,
            error_stream: RandomStream::new(seed, "frame-error", number),
            counters: Counters::default(),
        };
        Self {
            slot,
            round: slot * slots,
            stations: (0..stations as u64).map(station).collect(),
            event_queue: EventQueue::with_capacity(stations + 1),
            in_range: Vec::with_capacity(stations),
            receivers: Vec::with_capacity(stations),
            transmission: Transmission {
                end: 0,
                from: None,
                to: None,
                is_cut: false,
                record_number: 0,
            },
            recorder: FrameRecorder::default(),
            radio_times: None,
            now: 0,
            config,
            positions,
            propagation,
        }
    }

    /// Returns whether this station can accept a packet.
    pub fn can_accept(&self, station: StationId) -> bool {
        let state = &self.stations[station];
        state.packet.is_none() && state.is_enabled
    }

    /// Hands a packet to a station; returns `false`, and does not accept it, while the station has
    /// one or is disabled.
    pub fn send(&mut self, now: Instant, station: StationId, packet: OutgoingPacket) -> bool {
        if !self.can_accept(station) {
            return false;
        }
        self.advance(now.as_nanos());
        let state = &mut self.stations[station];
        state.bytes_left = packet.bytes;
        state.packet = Some(packet);
        state.first_frame_at = u64::MAX;
        state.sequence = (state.sequence + 1) & 4095;
        self.schedule_next_slot(now.as_nanos(), station);
        true
    }

    /// Schedules the station's next slot.
    fn schedule_next_slot(&mut self, now: u64, station: StationId) {
        let announcement = u64::from(self.config.announced);
        let offset = (u64::from(station.number()) + announcement) * self.slot;
        // A slot is used once, also after a frame that was cut.
        let now = now + u64::from(self.transmission.from == Some(station));
        // The round, or without announcements the slot, begins at `now` or later.
        let passed = if self.config.announced { now } else { now.saturating_sub(offset) };
        let at = passed.div_ceil(self.round) * self.round + offset;
        self.event_queue.push(Event::new(at, EventKind::StationTimer(station)));
    }

    /// Runs as [`crate::Dcf::run`] does.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        let had = reports.len();
        while let Some(event) = self.event_queue.pop_until(until.as_nanos()) {
            self.advance(event.at());
            match event.kind() {
                EventKind::StationTimer(station) => self.start_transmission(event.at(), station),
                EventKind::FrameEnd(_) => self.end_transmission(event.at(), reports),
                EventKind::ResponseDue(station) => self.report_aborted(station, reports),
            }
            if reports.len() > had {
                return Instant::from_nanos(self.now);
            }
        }
        self.advance(until.as_nanos().max(self.now));
        until
    }

    fn start_transmission(&mut self, now: u64, from: StationId) {
        let sender = &mut self.stations[from];
        let Some(packet) = sender.packet else { return };
        let first_frame_at = now.min(sender.first_frame_at);
        sender.first_frame_at = first_frame_at;
        let piece = sender.bytes_left.min(self.config.slot_bytes.max(1));
        sender.bytes_left -= piece;
        let bytes = piece + self.config.header_bytes;
        let airtime = self.config.preamble + self.config.data_rate.transmission_time(bytes);
        sender.counters.airtime = sender.counters.airtime + airtime;
        if packet.to.is_some() {
            sender.counters.data += 1;
        } else {
            sender.counters.broadcasts += 1;
        }
        let sequence = sender.sequence;
        let at = Instant::from_nanos(now);
        sender.counters.control_data += u64::from(packet.is_control);
        self.transmission.end = now + airtime.as_nanos();
        let furthest = self.find_receivers(at, from, first_frame_at);
        if let Some(times) = &mut self.radio_times {
            times.on_transmit(from, now, self.transmission.end);
        }
        self.transmission.record_number = 0;
        (self.transmission.from, self.transmission.to) = (Some(from), packet.to);
        self.transmission.is_cut = false;
        if self.recorder.is_enabled() {
            self.transmission.record_number = self.recorder.record(FrameRecord {
                at,
                airtime,
                rate: self.config.data_rate,
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
        let at = self.transmission.end + furthest;
        self.event_queue.push(Event::new(at, EventKind::FrameEnd(ONLY)));
    }

    /// Finds the receivers of a frame; returns the propagation delay to the most distant one (ns).
    /// A packet of several frames is received by stations that were there from the first on.
    fn find_receivers(&mut self, at: Instant, from: StationId, first_frame_at: u64) -> u64 {
        self.in_range.clear();
        self.positions.stations_in_range(at, from, &mut self.in_range);
        self.receivers.clear();
        let mut furthest = 0;
        let moved = self.positions.distance_moved(from, at);
        self.propagation.on_frame(from);
        for receiver in &self.in_range {
            let square = receiver.distance_squared;
            let moved = moved + self.positions.distance_moved(receiver.station, at);
            let power = self.propagation.power_of_frame(from, receiver.station, square, moved);
            if power >= self.propagation.sense_power()
                && let Some(times) = &mut self.radio_times
            {
                let delay = self.propagation.delay(square).as_nanos();
                let until = self.transmission.end + delay;
                times.on_signal(receiver.station, at.as_nanos() + delay, until);
            }
            let hearer = &self.stations[receiver.station];
            let is_there = hearer.is_enabled && hearer.enabled_since <= first_frame_at;
            if power >= self.propagation.receive_power() && is_there {
                let delay = self.propagation.delay(square).as_nanos();
                self.receivers.push((receiver.station, delay));
                furthest = delay.max(furthest);
            }
        }
        furthest
    }

    fn end_transmission(&mut self, now: u64, reports: &mut Vec<MacReport>) {
        let Some(from) = self.transmission.from.take() else { return };
        if self.transmission.is_cut {
            return self.end_cut_transmission();
        }
        let sender = &self.stations[from];
        let Some(packet) = sender.packet else { return };
        let whole = sender.bytes_left == 0;
        let mut outcome = if packet.to.is_some() {
            ReceptionOutcome::OutOfRange
        } else {
            ReceptionOutcome::Broadcast(0)
        };
        for &(station, delay) in &self.receivers {
            let state = &mut self.stations[station];
            let mine = packet.to.is_none_or(|to| to == station);
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
                Some(to) if to != station => {
                    if state.is_promiscuous {
                        reports.push(MacReport::Overheard { station, from, to, id, at });
                    }
                }
                to => {
                    let broadcast = to.is_none();
                    reports.push(MacReport::Received { station, from, id, broadcast, at });
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
        self.stations[from].packet = None;
        let at = Instant::from_nanos(self.transmission.end);
        reports.push(MacReport::Sent { station: from, id: packet.id, to: packet.to, at });
    }

    /// Completes a frame whose sender was disabled: an error at all its receivers.
    fn end_cut_transmission(&mut self) {
        let Transmission { to, record_number, .. } = self.transmission;
        let mut outcome = if to.is_some() {
            ReceptionOutcome::OutOfRange
        } else {
            ReceptionOutcome::Broadcast(0)
        };
        for &(station, _) in &self.receivers {
            if to.is_none_or(|to| to == station) {
                self.stations[station].counters.errors += 1;
            }
            if to == Some(station) {
                outcome = ReceptionOutcome::Damaged;
            }
        }
        if record_number != 0 {
            self.recorder.set_reception_outcome(record_number, outcome);
        }
    }

    /// Disables or enables a station; all are enabled at first. Nothing happens if it already is.
    ///
    /// A disabled station neither transmits nor receives, and [`can_accept`](Self::can_accept)
    /// refuses packets for it; its slots pass unused. Its packet is reported by the next
    /// [`run`](Self::run), which is due at this instant: unicast as `Failed` with
    /// [`FailReason::NoAck`], a broadcast as `Sent`, as by [`crate::Dcf::set_enabled`]. Its frame on
    /// the air is cut and received with an error; airtime and record of the frame remain those
    /// announced. A frame that has not been received completely when its receiver is disabled, or
    /// that begins while it is, is lost there as out of range, and so is the rest of its packet.
    pub fn set_enabled(&mut self, now: Instant, station: StationId, enabled: bool) {
        self.advance(now.as_nanos());
        let state = &mut self.stations[station];
        if state.is_enabled == enabled {
            return;
        }
        state.is_enabled = enabled;
        if let Some(times) = &mut self.radio_times {
            match enabled {
                true => times.on_on(station, self.now),
                false => times.on_off(station, self.now),
            }
        }
        if enabled {
            state.enabled_since = self.now;
            return;
        }
        self.event_queue.forget_station(station);
        if state.packet.is_some() {
            self.event_queue.push(Event::new(self.now, EventKind::ResponseDue(station)));
        }
        if self.transmission.from.is_some() {
            self.transmission.is_cut |= self.transmission.from == Some(station);
            self.receivers.retain(|(receiver, _)| *receiver != station);
        }
    }

    /// Returns whether a station is enabled.
    pub fn is_enabled(&self, station: StationId) -> bool {
        self.stations[station].is_enabled
    }

    /// Reports the packet of a station that was disabled.
    fn report_aborted(&mut self, station: StationId, reports: &mut Vec<MacReport>) {
        let state = &mut self.stations[station];
        let Some(OutgoingPacket { id, to, .. }) = state.packet.take() else { return };
        let at = Instant::from_nanos(self.now);
        reports.push(match to {
            None => MacReport::Sent { station, id, to, at },
            Some(to) => {
                let reason = FailReason::NoAck;
                state.counters.count_failure(reason);
                MacReport::Failed { station, id, to, reason, at }
            }
        });
    }

    /// Enables or disables promiscuous reception of a station.
    pub fn set_promiscuous(&mut self, station: StationId, on: bool) {
        self.stations[station].is_promiscuous = on;
    }

    /// Returns the time from one slot of a station to its next.
    pub const fn round(&self) -> Duration {
        Duration::from_nanos(self.round)
    }
}

mac_methods!(Tdma of TdmaConfig, stations);
