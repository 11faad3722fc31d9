//! Connection list of a route error: the packets lost on a failed link, by connection (yu-2004 §4.2).
//!
//! The paper defines the fields without a format. Here the list is a DSR option of a type that nodes
//! ignore if they do not support it (RFC 4728 §6), and the body of an AODV message. It contains one or
//! more entries:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!                                 +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!                                 |  Option Type  |  Opt Data Len |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |A|M|T|E| Relays|     Count     |          Source Port          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Source Address                         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Destination Address                      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Destination Port        |  Relay 1 … Relay n, 4 bytes each
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! A = 0, lost or salvaged data: Count runs of adjacent segments of equal length
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                     First Sequence Number                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Length of a Segment     |   Segments    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! A = 1, lost acknowledgments: the highest of Count
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Sequence Number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                     Acknowledgment Number                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            Window             |  if T: TSval, TSecr, 4 bytes each
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Addresses, ports, A ("packet type"), sequence numbers and M for acknowledgments (`ack_sent`) are from
//! yu-2004. Additions are: M for data, set if the packets were salvaged; the lengths of segments, which
//! determine the lost sequence numbers; the fields of a valid acknowledgment (sequence number, unscaled
//! window, timestamps for RFC 7323, E for the ECN-Echo of RFC 3168); the restriction to the highest
//! acknowledgment, which is the one that a node sends again; and the relays of the extension in §4.3.1,
//! the nodes that salvaged the packets before, the latest one first.

use driftway_base::{Endpoint, FlowKey, Seq};

use crate::cursor::{Reader, Writer};
use crate::{AddressList, DecodeError, DsrHeader, DsrOption, EncodeError, Timestamps};

/// DSR option type of a connection list: unassigned by RFC 4728, and of the class that nodes which do not
/// support it ignore.
pub const CONN_LIST_OPTION: u8 = 30;
/// DSR option type of the list of nodes that have salvaged a packet (yu-2004 §4.3.1, the extension):
/// addresses, the last but one salvager first; the source route begins at the last salvager.
pub const SALVAGERS_OPTION: u8 = 29;

/// Maximum length of a list (bytes): the space for extra options in a DSR header, less the option's type and
/// length.
pub const CONN_LIST_MAX: usize = 68;

/// Maximum number of relays of an entry.
pub const RELAYS_MAX: usize = 8;

/// Length of an entry without relays, runs and acknowledgment fields.
const ENTRY_FIXED_LEN: usize = 14;
const RUN_LEN: usize = 7;
const ACK_LEN: usize = 10;
const TIMESTAMPS_LEN: usize = 8;

/// Maximum number of runs of an entry.
const RUNS_MAX: usize = (CONN_LIST_MAX - ENTRY_FIXED_LEN) / RUN_LEN;

const IS_ACK: u8 = 0x80;
const SALVAGED_OR_SENT: u8 = 0x40;
const HAS_TIMESTAMPS: u8 = 0x20;
const HAS_ECE: u8 = 0x10;
const RELAY_COUNT: u8 = 0x0f;

const MALFORMED: DecodeError = DecodeError::DsrOption { kind: CONN_LIST_OPTION };

/// An entry of a connection list: packets of one flow that were lost on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnInfo {
    /// The flow, in the direction of the packets.
    pub flow: FlowKey,
    /// Nodes that relay the notification towards the packets' source, the next one first.
    pub relays: AddressList,
    /// The lost packets.
    pub packets: ConnPackets,
}

/// Lost packets of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnPackets {
    /// Data segments.
    Data {
        /// The segments were salvaged; otherwise they are lost.
        salvaged: bool,
        /// The segments.
        runs: SegmentRuns,
    },
    /// Lost acknowledgments without data.
    Acks {
        /// One of them has been sent again (`ack_sent` of yu-2004).
        ack_sent: bool,
        /// Number of lost acknowledgments; 255 also stands for more.
        count: u8,
        /// The highest acknowledgment.
        highest: LostAck,
    },
}

/// A run of adjacent segments of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SegmentRun {
    /// First sequence number of the first segment.
    pub start: Seq,
    /// Sequence numbers per segment.
    pub len: u16,
    /// Number of segments.
    pub count: u8,
}

/// Runs of segments, in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SegmentRuns {
    list: [SegmentRun; RUNS_MAX],
    len: u8,
}

/// The fields of an acknowledgment that are needed to send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostAck {
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgment number.
    pub ack: Seq,
    /// Window field of the header, unscaled.
    pub window: u16,
    /// Timestamps; a connection that negotiated them drops segments without (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// ECE flag (RFC 3168).
    pub ece: bool,
}

impl SegmentRuns {
    /// Adds a segment. Returns false if there is no space left, or if the segment is empty.
    pub fn push(&mut self, start: Seq, len: u16) -> bool {
        if len == 0 {
            return false;
        }
        let used = usize::from(self.len);
        if let Some(last) = used.checked_sub(1).and_then(|last| self.list.get_mut(last))
            && last.len == len
            && last.end() == start
            && last.count < u8::MAX
        {
            last.count += 1;
            return true;
        }
        self.push_run(SegmentRun { start, len, count: 1 })
    }

    fn push_run(&mut self, run: SegmentRun) -> bool {
        let Some(free) = self.list.get_mut(usize::from(self.len)) else { return false };
        *free = run;
        self.len += 1;
        true
    }

    /// The runs.
    pub fn as_slice(&self) -> &[SegmentRun] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The segments, as first sequence number and length.
    pub fn segments(&self) -> impl Iterator<Item = (Seq, u16)> {
        self.as_slice().iter().flat_map(|run| {
            (0..u32::from(run.count)).map(|n| (run.start + n * u32::from(run.len), run.len))
        })
    }
}

impl SegmentRun {
    /// One past the last sequence number.
    pub fn end(&self) -> Seq {
        self.start + u32::from(self.len) * u32::from(self.count)
    }
}

impl ConnInfo {
    /// Merges an entry of the same connection into this one. Returns false if they describe different
    /// packets, or if there is no space left.
    pub fn merge(&mut self, other: &Self) -> bool {
        if (self.flow, self.relays) != (other.flow, other.relays) {
            return false;
        }
        match (&mut self.packets, &other.packets) {
            (
                ConnPackets::Data { salvaged, runs },
                ConnPackets::Data { salvaged: theirs, runs: more },
            ) if salvaged == theirs => {
                let mut joined = *runs;
                let fits = more.segments().all(|(start, len)| joined.push(start, len));
                if fits {
                    *runs = joined;
                }
                fits
            }
            (
                ConnPackets::Acks { ack_sent: false, count, highest },
                ConnPackets::Acks { ack_sent: false, count: more, highest: other },
            ) => {
                *count = count.saturating_add(*more);
                if other.ack.at_or_after(highest.ack) {
                    *highest = *other;
                }
                true
            }
            _ => false,
        }
    }

    /// Records that an acknowledgment has been sent again.
    pub const fn mark_ack_sent(&mut self) {
        if let ConnPackets::Acks { ack_sent, .. } = &mut self.packets {
            *ack_sent = true;
        }
    }

    /// Length (bytes).
    fn size(&self) -> usize {
        ENTRY_FIXED_LEN
            + 4 * self.relays.len()
            + match &self.packets {
                ConnPackets::Data { runs, .. } => RUN_LEN * runs.as_slice().len(),
                ConnPackets::Acks { highest, .. } => {
                    ACK_LEN + if highest.timestamps.is_some() { TIMESTAMPS_LEN } else { 0 }
                }
            }
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut flags = self.relays.len() as u8 & RELAY_COUNT;
        let count = match &self.packets {
            ConnPackets::Data { salvaged, runs } => {
                flags |= if *salvaged { SALVAGED_OR_SENT } else { 0 };
                runs.len
            }
            ConnPackets::Acks { ack_sent, count, highest } => {
                flags |= IS_ACK | if *ack_sent { SALVAGED_OR_SENT } else { 0 };
                flags |= if highest.timestamps.is_some() { HAS_TIMESTAMPS } else { 0 };
                flags |= if highest.ece { HAS_ECE } else { 0 };
                *count
            }
        };
        to.bytes(&[flags, count])?;
        to.u16(self.flow.source.port)?;
        to.u32(self.flow.source.address.to_bits())?;
        to.u32(self.flow.destination.address.to_bits())?;
        to.u16(self.flow.destination.port)?;
        for relay in self.relays.as_slice() {
            to.u32(relay.to_bits())?;
        }
        match &self.packets {
            ConnPackets::Data { runs, .. } => {
                for run in runs.as_slice() {
                    to.u32(run.start.0)?;
                    to.u16(run.len)?;
                    to.u8(run.count)?;
                }
            }
            ConnPackets::Acks { highest, .. } => {
                to.u32(highest.seq.0)?;
                to.u32(highest.ack.0)?;
                to.u16(highest.window)?;
                if let Some(Timestamps { value, echo }) = highest.timestamps {
                    to.u32(value)?;
                    to.u32(echo)?;
                }
            }
        }
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [flags, count] = from.read_array()?;
        let source_port = from.u16()?;
        let (source, destination) = (from.address()?, from.address()?);
        let flow = FlowKey {
            source: Endpoint::new(source, source_port),
            destination: Endpoint::new(destination, from.u16()?),
        };
        let mut relays = AddressList::EMPTY;
        if usize::from(flags & RELAY_COUNT) > RELAYS_MAX {
            return Err(MALFORMED);
        }
        for _ in 0..flags & RELAY_COUNT {
            relays.push(from.address()?);
        }
        let marked = flags & SALVAGED_OR_SENT != 0;
        let packets = if flags & IS_ACK == 0 {
            let mut runs = SegmentRuns::default();
            if flags & (HAS_TIMESTAMPS | HAS_ECE) != 0 || count == 0 {
                return Err(MALFORMED);
            }
            for _ in 0..count {
                let run =
                    SegmentRun { start: Seq(from.u32()?), len: from.u16()?, count: from.u8()? };
                if run.len == 0 || run.count == 0 || !runs.push_run(run) {
                    return Err(MALFORMED);
                }
            }
            ConnPackets::Data { salvaged: marked, runs }
        } else {
            let (seq, ack, window) = (Seq(from.u32()?), Seq(from.u32()?), from.u16()?);
            let timestamps = if flags & HAS_TIMESTAMPS == 0 {
                None
            } else {
                Some(Timestamps { value: from.u32()?, echo: from.u32()? })
            };
            let highest = LostAck { seq, ack, window, timestamps, ece: flags & HAS_ECE != 0 };
            ConnPackets::Acks { ack_sent: marked, count, highest }
        };
        Ok(Self { flow, relays, packets })
    }
}

/// An encoded connection list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConnList {
    bytes: [u8; CONN_LIST_MAX],
    len: u8,
}

impl core::fmt::Debug for ConnList {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

impl Default for ConnList {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl ConnList {
    /// A list without entries.
    pub const EMPTY: Self = Self { bytes: [0; CONN_LIST_MAX], len: 0 };

    /// Adds an entry; returns false if there is no space left.
    pub fn push(&mut self, info: &ConnInfo) -> bool {
        let len = info.size();
        let Some(room) = self.bytes.get_mut(usize::from(self.len)..) else { return false };
        let written = Writer::new(room, len).and_then(|mut to| info.write(&mut to));
        if written.is_ok() {
            self.len += len as u8;
        }
        written.is_ok()
    }

    /// Decodes a list.
    ///
    /// # Errors
    /// If it is empty, longer than [`CONN_LIST_MAX`] bytes, ends within an entry, or contains an entry
    /// without packets.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut list = Self::EMPTY;
        let room = list.bytes.get_mut(..bytes.len()).ok_or(MALFORMED)?;
        room.copy_from_slice(bytes);
        list.len = bytes.len() as u8;
        let mut rest = Reader(bytes);
        if bytes.is_empty() {
            return Err(DecodeError::Truncated);
        }
        while !rest.0.is_empty() {
            ConnInfo::read(&mut rest)?;
        }
        Ok(list)
    }

    /// The entries.
    pub fn entries(&self) -> impl Iterator<Item = ConnInfo> + use<> {
        let (bytes, len) = (self.bytes, usize::from(self.len));
        let mut at = 0;
        core::iter::from_fn(move || {
            let mut rest = Reader(bytes.get(at..len).filter(|rest| !rest.is_empty())?);
            let info = ConnInfo::read(&mut rest).ok()?;
            at = len - rest.0.len();
            Some(info)
        })
    }

    /// Length (bytes).
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the list has no entries.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The encoded list.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl DsrHeader {
    /// The connection list option; `None` if it is absent or malformed.
    pub fn conn_list(&self) -> Option<ConnList> {
        self.extra_options().find_map(|option| match option {
            DsrOption::Other { kind: CONN_LIST_OPTION, data } => ConnList::decode(data).ok(),
            _ => None,
        })
    }

    /// Returns true if there is a connection list option, even a malformed one.
    pub fn has_conn_list(&self) -> bool {
        self.extra_options()
            .any(|option| matches!(option, DsrOption::Other { kind: CONN_LIST_OPTION, .. }))
    }

    /// Replaces the connection list option; an empty list removes it. Returns false if there is no space
    /// left.
    pub fn set_conn_list(&mut self, list: &ConnList) -> bool {
        self.remove_options(CONN_LIST_OPTION);
        list.is_empty()
            || self.add_option(DsrOption::Other { kind: CONN_LIST_OPTION, data: list.as_bytes() })
    }

    /// The nodes that salvaged the packet before the node at which its source route begins, the latest first.
    pub fn salvagers(&self) -> AddressList {
        let mut nodes = AddressList::EMPTY;
        for option in self.extra_options() {
            if let DsrOption::Other { kind: SALVAGERS_OPTION, data } = option {
                let mut from = Reader(data);
                while let Ok(node) = from.address()
                    && nodes.len() < RELAYS_MAX
                {
                    nodes.push(node);
                }
            }
        }
        nodes
    }

    /// Replaces the list of salvagers; returns false if there is no space left.
    pub fn set_salvagers(&mut self, nodes: &AddressList) -> bool {
        self.remove_options(SALVAGERS_OPTION);
        let mut bytes = [0; 4 * RELAYS_MAX];
        let len = 4 * nodes.len().min(RELAYS_MAX);
        for (place, node) in bytes.chunks_exact_mut(4).zip(nodes.as_slice()) {
            place.copy_from_slice(&node.octets());
        }
        let data = bytes.get(..len).unwrap_or_default();
        data.is_empty() || self.add_option(DsrOption::Other { kind: SALVAGERS_OPTION, data })
    }
}

#[cfg(test)]
mod test {
    extern crate std;

    use std::vec::Vec;

    use driftway_base::Ipv4Addr;

    use super::*;
    use crate::{Body, IpHeader, Packet, Payload, TcpFlags, TcpSegment};

    fn packet(seq: u32, len: u32, ack: u32) -> Packet {
        let segment = TcpSegment {
            source_port: 1000,
            destination_port: 80,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags::ACK,
            window: 512,
            payload: Payload::new(0, 0, len),
            ..TcpSegment::default()
        };
        let ip = IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 9));
        Packet { ip, body: Body::Tcp(segment) }
    }

    fn joined(packets: &[Packet]) -> ConnInfo {
        let mut infos = packets.iter().map(|packet| ConnInfo::from_packet(packet, false).unwrap());
        let mut first = infos.next().unwrap();
        assert!(infos.all(|info| first.merge(&info)));
        first
    }

    #[test]
    fn adjacent_segments_form_one_run() {
        let lost =
            [0u32, 1460, 2920, 5840].map(|at| packet((u32::MAX - 1459).wrapping_add(at), 1460, 7));
        let info = joined(&lost);
        let ConnPackets::Data { salvaged: false, runs } = info.packets else { panic!("{info:?}") };
        assert_eq!(runs.as_slice().iter().map(|run| run.count).collect::<Vec<_>>(), [3, 1]);
        let starts: Vec<_> = runs.segments().map(|(start, _)| start.0).collect();
        assert_eq!(starts, [u32::MAX - 1459, 0, 1460, 4380]);
        assert_eq!(info.size(), 14 + 2 * 7);
    }

    #[test]
    fn the_highest_acknowledgment_is_kept_across_the_wrap() {
        let info = joined(&[packet(5, 0, u32::MAX - 10), packet(5, 0, 20), packet(5, 0, u32::MAX)]);
        let ConnPackets::Acks { count: 3, highest, ack_sent: false } = info.packets else {
            panic!("{info:?}")
        };
        assert_eq!(highest.ack, Seq(20));
        let renewed = info.ack_to_resend().unwrap();
        assert_eq!(renewed, packet(5, 0, 20));
        let mut sent = info;
        sent.mark_ack_sent();
        assert_eq!(sent.ack_to_resend(), None);
    }

    #[test]
    fn entries_are_separate_by_kind_and_connection() {
        let mut data = ConnInfo::from_packet(&packet(0, 100, 5), false).unwrap();
        assert!(!data.merge(&ConnInfo::from_packet(&packet(0, 0, 5), false).unwrap()));
        assert!(!data.merge(&ConnInfo::from_packet(&packet(100, 100, 5), true).unwrap()));
        let mut other = packet(100, 100, 5);
        other.ip.source = Ipv4Addr::new(10, 0, 0, 2);
        assert!(!data.merge(&ConnInfo::from_packet(&other, false).unwrap()));
        // A SYN occupies a sequence number; a reset is not reported.
        let Body::Tcp(segment) = &mut other.body else { unreachable!() };
        segment.payload = Payload::EMPTY;
        segment.flags = TcpFlags::SYN;
        assert!(matches!(
            ConnInfo::from_packet(&other, false).unwrap().packets,
            ConnPackets::Data { runs, .. } if runs.as_slice() == [SegmentRun { start: Seq(100), len: 1, count: 1 }]
        ));
        let Body::Tcp(segment) = &mut other.body else { unreachable!() };
        segment.flags = TcpFlags::RST.with(TcpFlags::ACK);
        assert_eq!(ConnInfo::from_packet(&other, false), None);
    }

    #[test]
    fn a_list_round_trips_and_is_bounded() {
        let mut acks = joined(&[packet(5, 0, 20)]);
        let ConnPackets::Acks { highest, .. } = &mut acks.packets else { unreachable!() };
        (highest.timestamps, highest.ece) = (Some(Timestamps { value: 3, echo: 4 }), true);
        acks.relays.push(Ipv4Addr::new(10, 0, 0, 4));
        let data = joined(&[packet(0, 1460, 5), packet(1460, 1460, 5)]);
        let mut list = ConnList::EMPTY;
        assert!(list.push(&acks) && list.push(&data));
        assert_eq!(list.as_bytes().len(), 36 + 21);
        assert!(!list.push(&data), "no space left");
        assert_eq!(list.entries().collect::<Vec<_>>(), [acks, data]);
        assert_eq!(ConnList::decode(list.as_bytes()), Ok(list));
        let mut header = DsrHeader::default();
        assert!(header.set_conn_list(&list));
        assert_eq!((header.conn_list(), header.size()), (Some(list), 4 + 60));
        assert!(header.set_conn_list(&ConnList::EMPTY));
        assert_eq!(header, DsrHeader::default());
        for end in 1..list.as_bytes().len() {
            let cut = ConnList::decode(&list.as_bytes()[..end]);
            assert_eq!(cut.is_ok(), end == 36, "{end}");
        }
    }

    /// Compares with the format in the module documentation.
    #[test]
    fn the_encoding_matches_the_documented_format() {
        let mut list = ConnList::EMPTY;
        assert!(list.push(&joined(&[packet(0x0102_0304, 1460, 5)])));
        let ends = [0x03, 0xe8, 10, 0, 0, 1, 10, 0, 0, 9, 0, 80];
        let run = [1, 2, 3, 4, 0x05, 0xb4, 1];
        assert_eq!(list.as_bytes(), [&[0, 1][..], &ends, &run].concat());
        let mut list = ConnList::EMPTY;
        assert!(list.push(&joined(&[packet(0x0102_0304, 0, 5)])));
        let ack = [1, 2, 3, 4, 0, 0, 0, 5, 2, 0];
        assert_eq!(list.as_bytes(), [&[0x80, 1][..], &ends, &ack].concat());
    }

    #[test]
    fn salvagers_are_listed() {
        let mut header = DsrHeader::default();
        let nodes = AddressList::new(&[3, 4].map(|n| Ipv4Addr::new(10, 0, 0, n))).unwrap();
        assert!(header.set_salvagers(&nodes));
        assert_eq!((header.salvagers(), header.size()), (nodes, 4 + 12));
        assert!(header.set_salvagers(&AddressList::EMPTY));
        assert_eq!(header, DsrHeader::default());
    }
}
