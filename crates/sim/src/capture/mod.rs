//! A capture of the frames of an ad hoc network for Wireshark: pcapng with radiotap headers, 802.11
//! frames and the packets' bytes, and comments on losses.
//!
//! Each transmitted frame is a record on an interface of the node that sent it, because CTS and ACK
//! frames do not name their sender. A packet dropped inside a node is a record on the interface
//! `lost`, with the radiotap flag of a failed transmission and the time of the drop, from that node to
//! the next hop if it had one; the comment gives the reason. Records are in order of time. All
//! interfaces use radiotap, because readers built on libpcap reject files with several link types.
//!
//! Time 0 of a run is the epoch. A record's time is that of the first bit of the preamble; radiotap's
//! time is that of the first bit after the PHY header. Bytes that a simulation adds to a packet
//! without a header field (`RoutedPacket::size_adjustment`) follow the end given by the IP header, as
//! zeros; bytes that it leaves out are present, because packets are encoded by the standard.

mod dot11;
mod pcapng;
mod radiotap;
#[cfg(test)]
mod test;

use std::collections::VecDeque;
use std::io::{self, Write};

use driftway_base::{Duration, Instant};
use driftway_radio::dcf::{FrameKind, FrameRecord, ReceptionOutcome};
use driftway_scenario::{Mac, Scenario};
use driftway_wire::{ArpMessage, EncodeError, HardwareAddr, Payload, RoutedPacket};

use dot11::Header;

use pcapng::CaptureWriter;
use radiotap::Radiotap;

/// A capture of one run, written during the run.
pub struct Capture {
    blocks: CaptureWriter,
    channel_mhz: u16,
    /// The buffer of the next record.
    record: Vec<u8>,
    /// Drops since the last frame. Frames are recorded when they end, but records are in order of
    /// start time.
    pending_drops: VecDeque<PendingDrop>,
}

/// The record of a drop that may have to wait for earlier frames.
struct PendingDrop {
    at: Instant,
    record: Vec<u8>,
    comment: String,
}

/// The body of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameBody<'a> {
    /// No body: RTS, CTS and ACK.
    Empty,
    /// A packet.
    Packet(&'a RoutedPacket),
    /// An ARP message.
    Arp(&'a ArpMessage),
}

/// The short preamble of 802.11b takes 96 µs with its header; the long one takes 192 µs.
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);

impl Capture {
    /// True if a scenario transmits 802.11 frames.
    pub fn supports(scenario: &Scenario) -> bool {
        scenario.network.radio_network().is_some_and(|air| matches!(air.mac, Mac::Dcf(_)))
    }

    /// Starts a capture of a run of `scenario` with `seed`; `None` if the scenario has no 802.11
    /// frames.
    pub fn new(out: Box<dyn Write + Send>, scenario: &Scenario, seed: u64) -> Option<Self> {
        let air = scenario.network.radio_network()?;
        Self::supports(scenario).then(|| Self {
            blocks: CaptureWriter::new(out, &format!("{}, seed {seed}", scenario.name)),
            channel_mhz: (air.radio.frequency.0 / 1_000_000) as u16,
            record: Vec::new(),
            pending_drops: VecDeque::new(),
        })
    }

    /// Records a transmitted frame and its body. Its start must not be before that of the last one.
    /// `preamble` is the duration of the preamble and PHY header.
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

    /// Records a packet dropped in `node`, on its way to `next_hop` if it had one. Its time must not
    /// be before that of the last record. `why` is the text of the comment after the node.
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
        self.pending_drops.push_back(PendingDrop {
            at,
            record,
            comment: remark.unwrap_or_default(),
        });
    }

    /// Writes all waiting records: no frame is being transmitted that could come before them.
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
    /// The first error of the output, now or before.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush_pending();
        self.blocks.finish()
    }
}

/// Appends the LLC and SNAP headers and the body. A packet that cannot be encoded is left out, and the
/// error is returned.
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

/// The comment on a frame that was not received as intended.
fn outcome_comment(frame: &FrameRecord) -> Option<String> {
    if frame.outcome == ReceptionOutcome::Broadcast(0) {
        return Some("received by no node".to_owned());
    }
    let node = frame.to?;
    Some(match frame.outcome {
        ReceptionOutcome::Pending | ReceptionOutcome::Received | ReceptionOutcome::Broadcast(_) => {
            return None;
        }
        ReceptionOutcome::Duplicate => format!("node {node} has it already"),
        ReceptionOutcome::Refused => format!("not answered by node {node}: its NAV is set"),
        ReceptionOutcome::Collided => format!("lost at node {node}: collision"),
        ReceptionOutcome::Damaged => format!("lost at node {node}: bit errors"),
        ReceptionOutcome::Transmitting => format!("lost at node {node}: it was transmitting"),
        ReceptionOutcome::OutOfRange => format!("lost at node {node}: out of range"),
    })
}

fn join_comments(remark: Option<String>, encoded: Result<(), EncodeError>) -> Option<String> {
    let missing = encoded.err().map(|error| format!("its packet has no bytes: {error}"));
    let parts: Vec<String> = remark.into_iter().chain(missing).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
