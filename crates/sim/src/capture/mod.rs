//! A capture of a run for Wireshark: pcapng with the frames of 802.11 and the packets on wires, and comments
//! on losses.
//!
//! Each packet on a wire is a record on an interface of the wire's sending end, which has no link-layer
//! header, at the time at which its transmission begins. A packet dropped on a wire, or before it, is a
//! record on an interface `lost` of this kind, at the time of the drop.
//!
//! Frames have radiotap headers. Each transmitted frame is a record on an interface of the node that
//! sent it, because CTS and ACK frames do not name their sender. A packet dropped inside a node is a record on the interface
//! `lost`, with the radiotap flag of a failed transmission and the time of the drop, from that node to
//! the next hop if it had one; the comment gives the reason. Records are in order of time. Only the capture
//! of a network with both has both kinds of interfaces, because readers built on libpcap reject files with
//! several link types.
//!
//! Time 0 of a run is the epoch. A record's time is that of the first bit of the preamble; radiotap's
//! time is that of the first bit after the PHY header. Bytes that a simulation adds to a packet
//! without a header field (`RoutedPacket::size_adjustment`) follow the end given by the IP header, as
//! zeros; bytes that it leaves out are present, because packets are encoded by the standard.

mod dot11;
mod interface;
mod pcapng;
mod radiotap;
#[cfg(test)]
mod test;

use std::collections::VecDeque;
use std::io::{self, Write};

use driftway_base::{AirId, Duration, Instant, NodeId};
use driftway_net::FrameBody;
use driftway_radio::dcf::{FrameKind, FrameRecord, ReceptionOutcome};
use driftway_scenario::{Adhoc, Mac, Network, Scenario};
use driftway_wire::{
    EncodeError, EtherType, EthernetFrame, HardwareAddr, Payload, RoutedPacket, edit_header,
    edit_ipv6_header,
};

use crate::log::LONGEST_FRAME;
use dot11::Header;
use interface::CaptureInterface;
pub use interface::WiredHop;
use pcapng::CaptureWriter;
use radiotap::Radiotap;

/// A capture of one run, written during the run.
pub struct Capture {
    blocks: CaptureWriter,
    /// True if there are frames of 802.11.
    has_frames: bool,
    /// True if hosts exchange Ethernet frames.
    is_ethernet: bool,
    /// The airs.
    channels: Vec<Channel>,
    /// The buffer of the next record.
    record: Vec<u8>,
    /// The bytes of the next packet, where they are not those that a simulation generates.
    contents: Option<Vec<u8>>,
    /// Other records since the last frame. Frames are recorded when they end, but records are in order of
    /// start time.
    pending: VecDeque<PendingRecord>,
}

/// An air.
struct Channel {
    mhz: u16,
    /// The part of its interfaces' names that distinguishes them from those of other airs.
    name: Option<String>,
}

/// The bytes of a packet that was not simulated.
#[derive(Clone, Copy)]
struct Contents<'a> {
    ether_type: EtherType,
    bytes: &'a [u8],
}

/// A record that may have to wait for earlier frames.
struct PendingRecord {
    at: Instant,
    interface: CaptureInterface,
    record: Vec<u8>,
    comment: Option<String>,
}

/// A frame that was transmitted over an air, between these nodes.
#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame<'a> {
    /// The air.
    pub air: AirId,
    /// The node that sent it.
    pub from: NodeId,
    /// The node to which it is addressed; `None`: broadcast.
    pub to: Option<NodeId>,
    /// The frame.
    pub frame: &'a FrameRecord,
    /// The duration of the preamble and the PHY header.
    pub preamble: Duration,
}

/// A packet dropped inside a node, as the frame that it would have been.
#[derive(Clone, Copy, Debug)]
pub struct LostFrame {
    /// The time. It must not be before that of the last record.
    pub at: Instant,
    /// The air; `None`: the node has no radio.
    pub air: Option<AirId>,
    /// The node.
    pub from: NodeId,
    /// The next hop, if it had one.
    pub to: Option<NodeId>,
}

/// Offset of the checksum in an IPv4 header.
const IP_CHECKSUM: usize = 10;
/// The short preamble of 802.11b takes 96 µs with its header; the long one takes 192 µs.
const SHORT_PREAMBLE: Duration = Duration::from_micros(96);

impl Capture {
    /// True if a scenario has something to capture: wires, or frames of 802.11.
    pub fn supports(scenario: &Scenario) -> bool {
        let has_wires = match &scenario.network {
            Network::Path(_) => true,
            Network::Adhoc(_) => false,
            Network::Mixed(mixed) => !mixed.wires.is_empty(),
        };
        has_wires || has_frames(scenario)
    }

    /// Starts a capture of a run of `scenario` with `seed`; `None` if the scenario has nothing to capture.
    pub fn new(out: Box<dyn Write + Send>, scenario: &Scenario, seed: u64) -> Option<Self> {
        Self::supports(scenario).then(|| Self {
            blocks: CaptureWriter::new(out, &format!("{}, seed {seed}", scenario.name)),
            has_frames: has_frames(scenario),
            is_ethernet: false,
            channels: channels(scenario),
            record: Vec::new(),
            contents: None,
            pending: VecDeque::new(),
        })
    }

    /// Makes the packets on wires Ethernet frames: contents begin with the header of one.
    #[must_use]
    pub fn with_ethernet(mut self) -> Self {
        self.is_ethernet = true;
        self.blocks.is_ethernet = true;
        self
    }

    /// Sets the bytes of the packet of the next records, from the IP header on, or the frame: those of a packet that
    /// was not simulated. `None`: the packet's description determines them.
    pub fn set_contents(&mut self, bytes: Option<&[u8]>) {
        match (bytes, &mut self.contents) {
            (Some(bytes), Some(contents)) => {
                contents.clear();
                contents.extend_from_slice(bytes);
            }
            (bytes, contents) => *contents = bytes.map(<[u8]>::to_vec),
        }
    }

    /// Records a packet whose transmission over a wire begins.
    pub fn write_wired(&mut self, at: Instant, hop: WiredHop, packet: &RoutedPacket) {
        let mut record = Vec::new();
        let encoded = self.write_wired_bytes(Some(hop), packet, &mut record);
        let comment = join_comments(None, encoded);
        self.add(PendingRecord { at, interface: CaptureInterface::Wire(hop), record, comment });
    }

    /// Records a packet dropped on a wire, or before it. `why` is the reason.
    pub fn write_wired_drop(
        &mut self,
        at: Instant,
        hop: WiredHop,
        packet: &RoutedPacket,
        why: &str,
    ) {
        let WiredHop { wire, node, neighbour } = hop;
        let comment = format!("dropped at node {node}, wire {wire} to node {neighbour}: {why}");
        self.add_unframed_drop(at, packet, comment);
    }

    fn channel_mhz(&self, air: AirId) -> u16 {
        self.channels.get(air.index()).map_or(0, |channel| channel.mhz)
    }

    /// The contents and what they are; `None` if the packet's description determines them.
    fn contents(&self) -> Option<Contents<'_>> {
        let bytes = self.contents.as_deref()?;
        if self.is_ethernet {
            let frame = EthernetFrame::decode(bytes).ok()?;
            return Some(Contents { ether_type: frame.ether_type, bytes: frame.payload });
        }
        let ether_type = if is_ipv6(bytes) { EtherType::IPV6 } else { EtherType::IPV4 };
        Some(Contents { ether_type, bytes })
    }

    /// Appends a packet on a wire, with an Ethernet header if hosts exchange frames.
    fn write_wired_bytes(
        &self,
        hop: Option<WiredHop>,
        packet: &RoutedPacket,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        if self.is_ethernet {
            let node = |of: fn(WiredHop) -> NodeId| {
                hop.map_or(HardwareAddr::default(), |hop| HardwareAddr::of_node(of(hop)))
            };
            let simulated = EthernetFrame {
                destination: node(|hop| hop.neighbour),
                source: node(|hop| hop.node),
                ether_type: EtherType::IPV4,
                payload: &[],
            };
            let real = self.contents.as_deref().and_then(<[u8]>::first_chunk);
            out.extend(real.copied().unwrap_or_else(|| simulated.header()));
        }
        write_packet_bytes(packet, self.contents(), out)
    }

    /// Adds a packet without a frame to the interface of drops.
    fn add_unframed_drop(&mut self, at: Instant, packet: &RoutedPacket, comment: String) {
        let mut record = Vec::new();
        let encoded = self.write_wired_bytes(None, packet, &mut record);
        let comment = join_comments(Some(comment), encoded);
        self.add(PendingRecord { at, interface: CaptureInterface::LostOnWire, record, comment });
    }

    /// Adds a record, which waits for the end of frames that may have begun before it.
    fn add(&mut self, record: PendingRecord) {
        self.pending.push_back(record);
        if !self.has_frames {
            self.flush_pending();
        }
    }

    /// Records a frame and its body; RTS, CTS and ACK have none. Its start must not be before that of the last
    /// one of its air.
    pub fn write_frame(&mut self, captured: &CapturedFrame<'_>, body: Option<&FrameBody>) {
        let CapturedFrame { air, from, to, frame, preamble } = *captured;
        let overlaps = self.channels.len() > 1;
        let waits = if overlaps { LONGEST_FRAME } else { Duration::ZERO };
        while self.pending.front().is_some_and(|other| other.at + waits < frame.at) {
            self.write_next_pending();
        }
        self.record.clear();
        let radiotap = Radiotap {
            at: frame.at + preamble,
            short_preamble: preamble == SHORT_PREAMBLE,
            fcs: true,
            rate: Some(frame.rate),
            channel_mhz: self.channel_mhz(air),
            signal_dbm: None,
            failed: false,
        };
        radiotap.write(&mut self.record);
        let start = self.record.len();
        let header = Header {
            kind: frame.kind,
            receiver: to.map_or(HardwareAddr::BROADCAST, HardwareAddr::of_node),
            transmitter: HardwareAddr::of_node(from),
            duration_us: frame.duration_us,
            sequence: frame.sequence,
            retry: frame.retry,
        };
        header.write(&mut self.record);
        let encoded = {
            let mut record = std::mem::take(&mut self.record);
            let encoded = write_frame_body(body, self.contents(), &mut record);
            self.record = record;
            encoded
        };
        dot11::write_fcs(start, &mut self.record);
        let remark = join_comments(outcome_comment(frame.outcome, to), encoded);
        let name = self.channels.get(air.index()).and_then(|channel| channel.name.clone());
        let interface = CaptureInterface::Node(from, name);
        if overlaps {
            let (at, record) = (frame.at, self.record.clone());
            let place = self.pending.partition_point(|other| other.at <= at);
            let record = PendingRecord { at, interface, record, comment: remark };
            return self.pending.insert(place, record);
        }
        self.blocks.write_packet(interface, frame.at, &self.record, remark.as_deref());
    }

    /// Records a packet dropped inside a node. `why` is the text of the comment after the node.
    pub fn write_drop(&mut self, lost: &LostFrame, body: &FrameBody, why: &str) {
        let LostFrame { at, air, from, to } = *lost;
        let comment = format!("dropped at node {from}: {why}");
        if let (false, FrameBody::Ip(packet)) = (self.has_frames, body) {
            return self.add_unframed_drop(at, packet, comment);
        }
        let mut record = Vec::new();
        let radiotap = Radiotap {
            at,
            short_preamble: false,
            fcs: false,
            rate: None,
            channel_mhz: air.map_or(0, |air| self.channel_mhz(air)),
            signal_dbm: None,
            failed: true,
        };
        radiotap.write(&mut record);
        let header = Header {
            kind: FrameKind::Data,
            receiver: to.map_or(dot11::UNKNOWN_RECEIVER, HardwareAddr::of_node),
            transmitter: HardwareAddr::of_node(from),
            duration_us: 0,
            sequence: 0,
            retry: false,
        };
        header.write(&mut record);
        let encoded = write_frame_body(Some(body), self.contents(), &mut record);
        let comment = join_comments(Some(comment), encoded);
        self.add(PendingRecord { at, interface: CaptureInterface::Lost, record, comment });
    }

    /// Writes all waiting records: no frame is being transmitted that could come before them.
    pub fn flush_pending(&mut self) {
        while !self.pending.is_empty() {
            self.write_next_pending();
        }
    }

    fn write_next_pending(&mut self) {
        if let Some(PendingRecord { at, interface, record, comment }) = self.pending.pop_front() {
            self.blocks.write_packet(interface, at, &record, comment.as_deref());
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
fn write_frame_body(
    body: Option<&FrameBody>,
    contents: Option<Contents<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match body {
        None => Ok(()),
        Some(FrameBody::Arp(message)) => {
            dot11::write_llc_snap(EtherType::ARP, out);
            out.extend(message.encode());
            Ok(())
        }
        Some(FrameBody::Ip(packet)) => {
            let real = contents.filter(|_| packet.dsr.is_none());
            dot11::write_llc_snap(real.map_or(EtherType::IPV4, |real| real.ether_type), out);
            write_packet_bytes(packet, contents, out)
        }
    }
}

/// Appends a packet, with these contents or those that a simulation generates. Behind a routing header
/// contents end as the packet does.
fn write_packet_bytes(
    packet: &RoutedPacket,
    contents: Option<Contents<'_>>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let start = out.len();
    if let (Some(Contents { ether_type, bytes }), None) = (contents, packet.dsr) {
        out.extend_from_slice(bytes);
        let (ip, header) = (packet.packet.ip, out.get_mut(start..).unwrap_or_default());
        // What a network changes; the rest is as it was sent.
        if ether_type == EtherType::IPV6 {
            edit_ipv6_header(header, ip.ttl, ip.ecn);
        } else if ether_type == EtherType::IPV4
            && let Some(tos) = header.get(1).copied()
        {
            edit_header(header, 1, &[tos & 0xfc | ip.ecn.bits()], IP_CHECKSUM);
            edit_header(header, 8, &[ip.ttl], IP_CHECKSUM);
        }
        return Ok(());
    }
    let standard = RoutedPacket { size_adjustment: 0, ..*packet };
    out.resize(start + standard.len() as usize, 0);
    let bytes = out.get_mut(start..).unwrap_or_default();
    let encoded = standard.encode(bytes, |payload, to| {
        let bytes = contents.map(|contents| contents.bytes);
        let from = bytes.and_then(|bytes| bytes.get(bytes.len().checked_sub(to.len())?..));
        match from {
            Some(from) => to.copy_from_slice(from),
            None => Payload::fill_pattern(payload, to),
        }
    });
    if encoded.is_err() {
        out.truncate(start);
    }
    let more = usize::try_from(packet.size_adjustment).unwrap_or(0);
    out.resize(out.len() + more, 0);
    encoded.map(drop)
}

/// True for the bytes of a packet of IPv6.
fn is_ipv6(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| byte >> 4 == 6)
}

/// The airs of a scenario.
fn channels(scenario: &Scenario) -> Vec<Channel> {
    let names: Vec<Option<String>> = match &scenario.network {
        Network::Mixed(mixed) if mixed.airs.len() > 1 => {
            mixed.airs.iter().map(|air| Some(air.name.clone())).collect()
        }
        _ => vec![None],
    };
    let airs = scenario.network.radio_networks();
    let channel = |(air, name): (&Adhoc, Option<String>)| Channel {
        mhz: (air.radio.frequency.0 / 1_000_000) as u16,
        name,
    };
    airs.zip(names).map(channel).collect()
}

/// True if a scenario transmits 802.11 frames.
fn has_frames(scenario: &Scenario) -> bool {
    scenario.network.radio_networks().any(|air| matches!(air.mac, Mac::Dcf(_)))
}

/// The comment on a frame that was not received as intended.
fn outcome_comment(outcome: ReceptionOutcome, to: Option<NodeId>) -> Option<String> {
    if outcome == ReceptionOutcome::Broadcast(0) {
        return Some("received by no node".to_owned());
    }
    let node = to?;
    Some(match outcome {
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
