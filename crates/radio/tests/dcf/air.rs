//! Test fixture: stations at given positions, a list of packets to send, and a record of all
//! frames.

use driftway_base::{Instant, PacketId, StationId};
use driftway_radio::dcf::{Counters, FrameKind, FrameRecord, ReceptionOutcome};
use driftway_radio::{
    Dcf, DcfConfig, FailReason, MacReport, Mobility, OutgoingPacket, Positions, Propagation,
    RadioConfig, Threshold,
};

pub const RTS: FrameKind = FrameKind::Rts;
pub const CTS: FrameKind = FrameKind::Cts;
pub const DATA: FrameKind = FrameKind::Data;
pub const ACK: FrameKind = FrameKind::Ack;

/// The standard with RTS before every packet, as in the literature.
pub const WITH_RTS: DcfConfig = DcfConfig { rts_threshold: 0, ..DcfConfig::STANDARD };

/// A medium under test.
pub struct Medium {
    pub dcf: Dcf,
    pub reports: Vec<MacReport>,
    waiting: Vec<(Instant, StationId, OutgoingPacket)>,
    switches: Vec<(Instant, StationId, bool)>,
    next: u32,
}

pub fn medium(config: DcfConfig, places: &[(f64, f64)]) -> Medium {
    seeded(config, places, 1)
}

/// A medium with these receive and sense ranges (m) in place of 250 and 550.
pub fn with_ranges(config: DcfConfig, places: &[(f64, f64)], receive: f64, sense: f64) -> Medium {
    let (receive, sense) = (Threshold::Distance(receive), Threshold::Distance(sense));
    build(config, RadioConfig { receive, sense, ..RadioConfig::STANDARD }, places, 1)
}

pub fn seeded(config: DcfConfig, places: &[(f64, f64)], seed: u64) -> Medium {
    build(config, RadioConfig::STANDARD, places, seed)
}

fn build(config: DcfConfig, radio: RadioConfig, places: &[(f64, f64)], seed: u64) -> Medium {
    let propagation = Propagation::new(&radio, places.len() as u32, seed).unwrap();
    let positions = Positions::new(Mobility::fixed(places), propagation.reach());
    let mut dcf = Dcf::new(config, positions, propagation, seed);
    dcf.set_recording(true);
    Medium { dcf, reports: Vec::new(), waiting: Vec::new(), switches: Vec::new(), next: 0 }
}

/// `n` stations in a row, 200 m apart.
pub fn row(n: u32) -> Vec<(f64, f64)> {
    (0..n).map(|number| (200.0 * f64::from(number), 0.0)).collect()
}

impl Medium {
    /// Queues a packet for this time, or for the first time after it at which the station accepts
    /// one. Returns its handle.
    pub fn send(&mut self, micros: u64, from: u32, to: impl Into<Option<u32>>, bytes: u32) -> u32 {
        self.next += 1;
        let to = to.into().map(StationId::new);
        let packet = OutgoingPacket { id: PacketId::new(self.next), to, bytes, is_control: false };
        self.waiting.push((Instant::from_micros(micros), StationId::new(from), packet));
        self.waiting.sort_by_key(|(at, from, packet)| (*at, *from, packet.id));
        self.next
    }

    /// Returns the counters of a station.
    pub fn counters(&self, station: u32) -> &Counters {
        self.dcf.counters(StationId::new(station))
    }

    /// Disables or enables a station at this time.
    pub fn switch(&mut self, nanos: u64, station: u32, enabled: bool) {
        self.switches.push((Instant::from_nanos(nanos), StationId::new(station), enabled));
        self.switches.sort_by_key(|(at, ..)| *at);
    }

    /// Runs, and returns all frames transmitted since the last call.
    pub fn run(&mut self, millis: u64) -> Vec<FrameRecord> {
        let end = Instant::from_millis(millis);
        let mut now = Instant::ZERO;
        loop {
            let due = self.switches.partition_point(|(at, ..)| *at <= now);
            for (_, station, enabled) in self.switches.drain(..due) {
                self.dcf.set_enabled(now, station, enabled);
            }
            // Packets that are due are handed to stations that accept them, from one queue per
            // station.
            let mut place = 0;
            while place < self.waiting.len() {
                let (at, station, packet) = self.waiting[place];
                if at <= now && self.dcf.can_accept(station) {
                    assert!(self.dcf.send(now, station, packet));
                    assert!(!self.dcf.send(now, station, packet), "one packet at a time");
                    self.waiting.remove(place);
                } else {
                    place += 1;
                }
            }
            let due = self.waiting.iter().map(|(at, ..)| *at).filter(|at| *at > now);
            let next_switch = self.switches.first().map(|(at, ..)| *at);
            let until = due.chain(next_switch).min().unwrap_or(end).min(end);
            now = self.dcf.run(until, &mut self.reports);
            if now >= end {
                break;
            }
        }
        let mut frames = Vec::new();
        self.dcf.take_recorded(&mut frames);
        frames
    }

    pub fn received(&self) -> Vec<(u32, u32)> {
        let received = |report: &MacReport| match report {
            MacReport::Received { station, id, .. } => Some((station.number(), id.number())),
            _ => None,
        };
        self.reports.iter().filter_map(received).collect()
    }

    pub fn sent(&self) -> Vec<u32> {
        let sent = |report: &MacReport| match report {
            MacReport::Sent { id, .. } => Some(id.number()),
            _ => None,
        };
        self.reports.iter().filter_map(sent).collect()
    }

    pub fn failed(&self) -> Vec<(u32, FailReason, Instant)> {
        let failed = |report: &MacReport| match report {
            MacReport::Failed { id, reason, at, .. } => Some((id.number(), *reason, *at)),
            _ => None,
        };
        self.reports.iter().filter_map(failed).collect()
    }
}

/// Type, sender and outcome of each frame.
pub fn summary(frames: &[FrameRecord]) -> Vec<(FrameKind, u32, ReceptionOutcome)> {
    frames.iter().map(|frame| (frame.kind, frame.from.number(), frame.outcome)).collect()
}
