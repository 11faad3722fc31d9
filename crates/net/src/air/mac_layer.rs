//! The MAC layer of an air: IEEE 802.11 DCF, or TDMA.

use driftway_base::{Duration, Instant, StationId};
use driftway_radio::dcf::{Counters, FrameRecord};
use driftway_radio::{Dcf, FailReason, MacReport, OutgoingPacket, Positions, RadioTime, Tdma};

/// The medium with the MAC layers of all stations.
#[allow(clippy::large_enum_variant, reason = "one value per run")]
pub enum MacLayer {
    Dcf(Dcf),
    Tdma(Tdma),
}

/// Makes the same call whatever the MAC protocol.
macro_rules! for_each_mac {
    ($self:expr, $mac:ident => $call:expr) => {
        match $self {
            MacLayer::Dcf($mac) => $call,
            MacLayer::Tdma($mac) => $call,
        }
    };
}

impl MacLayer {
    pub fn can_accept(&self, station: StationId) -> bool {
        for_each_mac!(self, mac => mac.can_accept(station))
    }

    /// Passes a packet to the MAC layer; `false` if the station already has one there.
    pub fn send(&mut self, now: Instant, station: StationId, packet: OutgoingPacket) -> bool {
        for_each_mac!(self, mac => mac.send(now, station, packet))
    }

    /// Makes a station receive frames that are addressed to others as well.
    pub fn set_promiscuous(&mut self, station: StationId) {
        for_each_mac!(self, mac => mac.set_promiscuous(station, true));
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        for_each_mac!(self, mac => mac.next_timeout())
    }

    /// Runs until there is a report, or until `until`; returns the instant reached.
    pub fn run(&mut self, until: Instant, reports: &mut Vec<MacReport>) -> Instant {
        for_each_mac!(self, mac => mac.run(until, reports))
    }

    /// True if station `to` can decode what station `from` sends at their present positions.
    pub fn in_range(&mut self, now: Instant, from: StationId, to: StationId) -> bool {
        let power = self.receive_power(now, from, to);
        for_each_mac!(self, mac => power >= mac.propagation().receive_power())
    }

    /// The power at which station `to` receives station `from` at their present positions (W).
    pub fn receive_power(&mut self, now: Instant, from: StationId, to: StationId) -> f64 {
        for_each_mac!(self, mac => mac.received_power(now, from, to))
    }

    /// The time that a station with the medium to itself needs for a packet of this size.
    pub fn service_time(&self, bytes: u32) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().service_time(bytes),
            Self::Tdma(tdma) => {
                let slot = tdma.config().slot_bytes.max(1);
                tdma.round().times(u64::from(bytes.div_ceil(slot)))
            }
        }
    }

    /// The number of events handled so far.
    pub fn events_handled(&self) -> u64 {
        for_each_mac!(self, mac => mac.events_handled())
    }

    /// The positions of stations.
    pub fn positions(&mut self) -> &mut Positions {
        for_each_mac!(self, mac => mac.positions())
    }

    /// Starts counting the time that radios spend in each state.
    pub fn count_radio_times(&mut self) {
        for_each_mac!(self, mac => mac.count_radio_times());
    }

    /// The times of a station's radio, if they are counted.
    pub fn radio_time(&self, station: StationId, now: Instant) -> Option<RadioTime> {
        for_each_mac!(self, mac => mac.radio_time(station, now))
    }

    /// The sum of all stations' counters.
    pub fn total_counters(&self) -> Counters {
        for_each_mac!(self, mac => mac.total_counters())
    }

    /// True if the station has a packet that has not been reported as sent or failed.
    pub fn has_packet(&self, station: StationId) -> bool {
        for_each_mac!(self, mac => mac.has_packet(station))
    }

    /// Switches a station on or off.
    pub fn set_enabled(&mut self, now: Instant, station: StationId, enabled: bool) {
        for_each_mac!(self, mac => mac.set_enabled(now, station, enabled));
    }

    /// Starts recording frames, if this MAC protocol can.
    pub fn set_recording(&mut self) {
        match self {
            Self::Dcf(dcf) => dcf.set_recording(true),
            Self::Tdma(_) => {}
        }
    }

    /// True if frames can be recorded.
    pub const fn is_recording(&self) -> bool {
        matches!(self, Self::Dcf(_))
    }

    /// Moves the recorded frames that have ended to `out`.
    pub fn take_recorded(&mut self, out: &mut Vec<FrameRecord>) {
        match self {
            Self::Dcf(dcf) => dcf.take_recorded(out),
            Self::Tdma(_) => {}
        }
    }

    /// The duration of a frame's preamble and physical header.
    pub const fn preamble(&self) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().preamble,
            Self::Tdma(_) => Duration::ZERO,
        }
    }

    /// The number of attempts to send a packet of this size before it fails for this reason; `None`
    /// if the MAC protocol does not repeat frames.
    pub fn attempts(&self, bytes: u32, reason: FailReason) -> Option<u32> {
        match self {
            Self::Dcf(dcf) => Some(dcf.config().retry_limit(bytes, reason).into()),
            Self::Tdma(_) => None,
        }
    }
}
