//! What was on the air, as a file for Wireshark: pcapng with radiotap, 802.11 and the packets'
//! bytes, and a comment on what was lost.
//!
//! One record a frame on the air, on an interface of the node that sent it: CTS and ACK do not name
//! their sender, so nothing else would tell. What dies inside a node has a record on the interface
//! `lost`, marked as a failed transmission, at the instant at which it died, from the node where,
//! to the next hop if there was one; the comment says why. Records stand in order of time. All interfaces are radiotap's, because
//! readers built on libpcap refuse files that mix kinds of link.
//!
//! Time 0 of a run is the epoch's. A record's time is its preamble's first bit; radiotap's is that
//! of the first bit behind the physical header. Bytes that a simulator adds to a packet, and that
//! belong to no header (`Routed::padding`), stand behind the end that the IP header tells, as zeros;
//! those that it leaves out are there, because the bytes are the standard's.

mod dot11;
mod pcapng;
mod radiotap;
#[cfg(test)]
mod test;

use std::collections::VecDeque;
use std::io::{self, Write};

use driftway_base::{Duration, Instant};
use driftway_radio::dcf::{FrameRecord, FrameKind, ReceptionOutcome};
use driftway_scenario::{Mac, Network, Scenario};
use driftway_wire::{ArpMessage, EncodeError, HardwareAddr, Payload, RoutedPacket};

use dot11::Header;

use pcapng::CaptureWriter;
use radiotap::Radiotap;

/// A capture of one run, written as the run goes.
pub struct Capture {
    blocks: CaptureWriter,
    channel_mhz: u16,
    /// The record under construction.
    record: Vec<u8>,
    /// What was lost after the last frame that was told: frames are told late, each once it is over,
    /// and records stand in order of time.
    pending_drops: VecDeque<PendingDrop>,
}

/// A record that waits for frames of before.
struct PendingDrop {
    at: Instant,
    record: Vec<u8>,
    comment: String,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBody<'a> {
    /// RTS, CTS and ACK: nothing.
    Empty,
    /// A packet.
    Packet(&'a RoutedPacket),
    /// An ARP message.
    Arp(&'a ArpMessage),
}

/// The preamble of 802.11b that is short takes 96 µs with its header; the long one 192.
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);

impl Capture {
    /// Does a scenario put frames of 802.11 on the air?
    pub fn supports(scenario: &Scenario) -> bool {
        matches!(&scenario.network, Network::Adhoc(adhoc) if matches!(adhoc.mac, Mac::Dcf(_)))
    }

    /// Begins a capture of a run of `scenario` with `seed`; `None`: there can be none.
    pub fn new(out: Box<dyn Write + Send>, scenario: &Scenario, seed: u64) -> Option<Self> {
        let Network::Adhoc(adhoc) = &scenario.network else { return None };
        Self::supports(scenario).then(|| Self {
            blocks: CaptureWriter::new(out, &format!("{}, seed {seed}", scenario.name)),
            channel_mhz: (adhoc.radio.frequency.0 / 1_000_000) as u16,
            record: Vec::new(),
            pending_drops: VecDeque::new(),
        })
    }

    /// A frame on the air, not before the one that was told last, and what it carries. `preamble` is
    /// the time of its preamble and physical header.
    pub fn write_frame(&mut self, frame: &FrameRecord, preamble: Duration, carried: FrameBody<'_>) {
        while self.pending_drops.front().is_some_and(|lost| lost.at < frame.at) {
            self.write_pending_drop();
        }
        self.record.clear();
        let radiotap = Radiotap {
            at: frame.at + preamble,
            short_preamble: preamble == SHORT_PREAMBLE,
            fcs: true,
            rate: Some(frame.rate),
            channel_mhz: self.channel_mhz,
            signal_dbm: None,
            failed: false,
        };
        radiotap.write(&mut self.record);
        let start = self.record.len();
        let header = Header {
            kind: frame.kind,
            receiver: frame.to.map_or(HardwareAddr::BROADCAST, HardwareAddr::of_node),
            transmitter: HardwareAddr::of_node(frame.from),
            duration_us: frame.duration_us,
            sequence: frame.sequence,
            retry: frame.retry,
        };
        header.write(&mut self.record);
        let encoded = write_frame_body(carried, &mut self.record);
        dot11::write_fcs(start, &mut self.record);
        let remark = join_comments(outcome_comment(frame), encoded);
        self.blocks.write_packet(Some(frame.from), frame.at, &self.record, remark.as_deref());
    }

    /// A packet died in `node`, not before the one that was told last, on its way to `next_hop` if it had got so far; `why` is what its
    /// comment says after the place.
    pub fn write_drop(
        &mut self,
        at: Instant,
        node: u32,
        next_hop: Option<u32>,
        carried: FrameBody<'_>,
        why: &str,
    ) {
        let mut record = Vec::new();
        let radiotap = Radiotap {
            at,
            short_preamble: false,
            fcs: false,
            rate: None,
            channel_mhz: self.channel_mhz,
            signal_dbm: None,
            failed: true,
        };
        radiotap.write(&mut record);
        let header = Header {
            kind: FrameKind::Data,
            receiver: next_hop.map_or(dot11::UNKNOWN_RECEIVER, HardwareAddr::of_node),
            transmitter: HardwareAddr::of_node(node),
            duration_us: 0,
            sequence: 0,
            retry: false,
        };
        header.write(&mut record);
        let encoded = write_frame_body(carried, &mut record);
        let remark = join_comments(Some(format!("dropped at node {node}: {why}")), encoded);
        self.pending_drops.push_back(PendingDrop { at, record, comment: remark.unwrap_or_default() });
    }

    /// No frame is on the air: nothing has to wait for one.
    pub fn flush_pending(&mut self) {
        while !self.pending_drops.is_empty() {
            self.write_pending_drop();
        }
    }

    fn write_pending_drop(&mut self) {
        if let Some(PendingDrop { at, record, comment: remark }) = self.pending_drops.pop_front() {
            self.blocks.write_packet(None, at, &record, Some(&remark));
        }
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// What the output refused, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush_pending();
        self.blocks.finish()
    }
}

/// Appends LLC, SNAP and what they announce. What no header can say is left out, and told.
fn write_frame_body(carried: FrameBody<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match carried {
        FrameBody::Empty => Ok(()),
        FrameBody::Arp(message) => {
            dot11::write_llc_snap(dot11::ARP, out);
            out.extend(message.encode());
            Ok(())
        }
        FrameBody::Packet(packet) => {
            dot11::write_llc_snap(dot11::IPV4, out);
            let start = out.len();
            let standard = RoutedPacket { size_adjustment: 0, ..*packet };
            out.resize(start + standard.len() as usize, 0);
            let bytes = out.get_mut(start..).unwrap_or_default();
            let encoded = standard.encode(bytes, Payload::fill_pattern);
            if encoded.is_err() {
                out.truncate(start);
            }
            let more = usize::try_from(packet.size_adjustment).unwrap_or(0);
            out.resize(out.len() + more, 0);
            encoded.map(drop)
        }
    }
}

/// What is to be said of a frame that did not do what it was for.
fn outcome_comment(frame: &FrameRecord) -> Option<String> {
    if frame.outcome == ReceptionOutcome::Broadcast(0) {
        return Some("heard by nobody".to_owned());
    }
    let node = frame.to?;
    Some(match frame.outcome {
        ReceptionOutcome::Pending | ReceptionOutcome::Received | ReceptionOutcome::Broadcast(_) => return None,
        ReceptionOutcome::Duplicate => format!("node {node} has it already"),
        ReceptionOutcome::Refused => format!("not answered by node {node}: its medium is taken"),
        ReceptionOutcome::Collided => format!("lost at node {node}: collision"),
        ReceptionOutcome::Damaged => format!("lost at node {node}: bit errors"),
        ReceptionOutcome::Transmitting => format!("lost at node {node}: it was sending itself"),
        ReceptionOutcome::OutOfRange => format!("lost at node {node}: out of range"),
    })
}

fn join_comments(remark: Option<String>, encoded: Result<(), EncodeError>) -> Option<String> {
    let missing = encoded.err().map(|error| format!("its packet has no bytes: {error}"));
    let parts: Vec<String> = remark.into_iter().chain(missing).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
