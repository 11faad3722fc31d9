//! Parsing and editing of packets in place.

use alloc::vec::Vec;
use core::ops::Deref;

use driftway_base::{Ecn, Endpoint, FlowKey, Seq, SeqRange};
use driftway_wire::{
    Checksum, DecodeError, ParsedHeader, SegmentRange, TcpFlags, TcpOption, TcpOptionReader,
    TcpOptions, complete_checksum, edit_header,
};

use crate::counts::{PacketAction, UntouchedReason};

const TCP_HEADER: usize = 20;
const ICMP: u8 = 1;
const TCP: u8 = 6;

/// Offset of the checksum in the IP header, and in the TCP header.
const IP_CHECKSUM: usize = 10;
const TCP_CHECKSUM: usize = 16;

/// The bytes of a packet, and whether any of them were changed.
pub(crate) struct EditableBytes<'a> {
    bytes: &'a mut [u8],
    is_edited: bool,
}

impl<'a> EditableBytes<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, is_edited: false }
    }
    /// The driver's action for this packet.
    pub fn action(&self, action: PacketAction) -> PacketAction {
        match action {
            PacketAction::Pass if self.is_edited => PacketAction::Edited,
            action => action,
        }
    }
    /// Replaces the bytes at `at` of the header that begins at `header`, with the checksum there.
    fn edit(&mut self, header: usize, at: usize, new: &[u8], checksum_at: usize) {
        if let Some(bytes) = self.bytes.get_mut(header..)
            && bytes.get(at..at + new.len()).is_some_and(|old| old != new)
        {
            edit_header(bytes, at, new, checksum_at);
            self.is_edited = true;
        }
    }
}

impl Deref for EditableBytes<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

/// Protocol of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parsed {
    Tcp(Segment),
    Icmp,
}

/// A TCP segment: its fields, and the offsets of those that may be edited.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Both endpoints, in the direction of the packet.
    pub flow: FlowKey,
    pub(crate) ecn: Ecn,
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgment number.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field.
    pub window: u16,
    pub(crate) options: TcpOptions,
    /// An option unknown to the shim is present.
    pub(crate) unknown_option: bool,
    /// Payload length (bytes).
    pub payload_len: u32,
    /// IP total length (bytes), without link padding.
    pub(crate) total_len: usize,
    /// Offset of the TCP header.
    tcp_offset: usize,
    /// Offset of TSval, if the option is present; TSecr follows it.
    timestamps_offset: Option<usize>,
    /// Offset and length of the SACK option.
    sack_offset_and_len: Option<(usize, usize)>,
}

impl Segment {
    /// Sequence numbers that the segment occupies.
    pub fn range(&self) -> SeqRange {
        SegmentRange::new(self.seq, self.flags, self.payload_len).all()
    }
    pub(crate) fn has_flags(&self, flags: TcpFlags) -> bool {
        self.flags.contains(flags)
    }
}

/// Big-endian numbers from a slice.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_be_bytes(*b))
}
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_be_bytes(*b))
}

/// Parses a packet, all of which has to be there.
pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed, UntouchedReason> {
    parse_part(bytes, true)
}

/// Parses the headers of a TCP segment whose payload may be missing; `None` for other packets.
pub fn parse_headers(bytes: &[u8]) -> Option<Segment> {
    match parse_part(bytes, false) {
        Ok(Parsed::Tcp(segment)) => Some(segment),
        Ok(Parsed::Icmp) | Err(_) => None,
    }
}

/// Parses a packet of which at least the headers have to be there.
fn parse_part(bytes: &[u8], is_whole: bool) -> Result<Parsed, UntouchedReason> {
    let ip = ParsedHeader::read(bytes).map_err(|error| match error {
        DecodeError::Version(_) => UntouchedReason::NotIpv4,
        _ => UntouchedReason::Malformed,
    })?;
    let total = usize::from(ip.total_len);
    if total < ip.len || is_whole && bytes.len() < total {
        return Err(UntouchedReason::Malformed);
    }
    if ip.is_fragment() {
        return Err(UntouchedReason::Fragment);
    }
    match ip.protocol {
        ICMP => Ok(Parsed::Icmp),
        TCP => {
            let segment = parse_segment(bytes.get(..total).unwrap_or(bytes), &ip);
            segment.map(Parsed::Tcp).ok_or(UntouchedReason::Malformed)
        }
        _ => Err(UntouchedReason::OtherProtocol),
    }
}

/// Parses the segment of a packet, of which the headers have to be there.
fn parse_segment(packet: &[u8], ip: &ParsedHeader) -> Option<Segment> {
    let (tcp_offset, total_len) = (ip.len, usize::from(ip.total_len));
    let source = Endpoint::new(ip.header.source, u16_at(packet, tcp_offset)?);
    let destination = Endpoint::new(ip.header.destination, u16_at(packet, tcp_offset + 2)?);
    let header = usize::from(packet.get(tcp_offset + 12)? >> 4) * 4;
    if header < TCP_HEADER || packet.len() < tcp_offset + header {
        return None;
    }
    let mut segment = Segment {
        flow: FlowKey { source, destination },
        ecn: ip.header.ecn,
        seq: Seq(u32_at(packet, tcp_offset + 4)?),
        ack: Seq(u32_at(packet, tcp_offset + 8)?),
        flags: TcpFlags(*packet.get(tcp_offset + 13)?),
        window: u16_at(packet, tcp_offset + 14)?,
        options: TcpOptions::default(),
        unknown_option: false,
        payload_len: total_len.checked_sub(tcp_offset + header)? as u32,
        total_len,
        tcp_offset,
        timestamps_offset: None,
        sack_offset_and_len: None,
    };
    let area = tcp_offset + TCP_HEADER;
    for found in TcpOptionReader::new(packet.get(area..tcp_offset + header)?) {
        let found = found.ok()?;
        let at = area + found.offset;
        match segment.options.add_option(&found) {
            TcpOption::Timestamps => segment.timestamps_offset = Some(at + 2),
            TcpOption::Sack => segment.sack_offset_and_len = Some((at, found.size())),
            TcpOption::Unknown => segment.unknown_option = true,
            _ => {}
        }
    }
    Some(segment)
}

impl Segment {
    /// Returns whether both checksums are right.
    pub(crate) fn has_valid_checksums(&self, bytes: &[u8]) -> bool {
        let Some((header, body)) = self.headers_and_body(bytes) else { return false };
        Checksum::of(header).finish() == 0 && self.pseudo_header(body.len()).and(body).finish() == 0
    }

    /// Returns whether the checksum of the segment is left to the network interface, as in a packet
    /// that has not left this machine: then it is the sum of the pseudo-header.
    pub(crate) fn has_partial_checksum(&self, bytes: &[u8]) -> bool {
        let Some((_, body)) = self.headers_and_body(bytes) else { return false };
        u16_at(body, TCP_CHECKSUM) == Some(!self.pseudo_header(body.len()).finish())
    }

    /// The IP header, and the TCP segment.
    fn headers_and_body<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        bytes.get(..self.total_len)?.split_at_checked(self.tcp_offset)
    }

    fn pseudo_header(&self, len: usize) -> Checksum {
        let FlowKey { source, destination } = self.flow;
        let addresses = [source, destination].map(|end| end.address.octets());
        Checksum::pseudo_header(addresses.as_flattened(), TCP, len)
    }

    /// Replaces bytes of the packet at `at`, in the TCP header.
    fn edit(&self, packet: &mut EditableBytes<'_>, at: usize, new: &[u8]) {
        packet.edit(self.tcp_offset, at - self.tcp_offset, new, TCP_CHECKSUM);
    }

    /// Sets the acknowledgment number.
    pub(crate) fn set_ack(&self, packet: &mut EditableBytes<'_>, ack: Seq) {
        self.edit(packet, self.tcp_offset + 8, &ack.0.to_be_bytes());
    }
    /// Sets the window field.
    pub(crate) fn set_window(&self, packet: &mut EditableBytes<'_>, window: u16) {
        self.edit(packet, self.tcp_offset + 14, &window.to_be_bytes());
    }
    /// Sets TSval; does nothing without timestamps.
    pub(crate) fn set_tsval(&self, packet: &mut EditableBytes<'_>, value: u32) {
        if let Some(at) = self.timestamps_offset {
            self.edit(packet, at, &value.to_be_bytes());
        }
    }
    /// Sets TSecr; does nothing without timestamps.
    pub(crate) fn set_tsecr(&self, packet: &mut EditableBytes<'_>, echo: u32) {
        if let Some(at) = self.timestamps_offset {
            self.edit(packet, at + 4, &echo.to_be_bytes());
        }
    }
    /// Sets or clears ECE.
    pub(crate) fn set_ece(&self, packet: &mut EditableBytes<'_>, on: bool) {
        let rest = self.flags.0 & !TcpFlags::ECE.0;
        self.edit(packet, self.tcp_offset + 13, &[rest | if on { TcpFlags::ECE.0 } else { 0 }]);
    }
    /// Replaces the SACK option by NOPs.
    pub(crate) fn strip_sack(&self, packet: &mut EditableBytes<'_>) {
        let Some((at, len)) = self.sack_offset_and_len else { return };
        const NOPS: [u8; 34] = [TcpOption::NOP; 34];
        if let Some(nops) = NOPS.get(..len) {
            self.edit(packet, at, nops);
        }
    }
    /// Sets the ECN codepoint of the IP header to Not-ECT.
    pub(crate) fn set_not_ect(&self, packet: &mut EditableBytes<'_>) {
        if let Some(tos) = packet.get(1).copied() {
            packet.edit(0, 1, &[tos & !0b11], IP_CHECKSUM);
        }
    }
}

impl Segment {
    /// Bytes of TCP options, with padding.
    pub(crate) fn options_len(&self) -> u32 {
        let headers = self.total_len - self.payload_len as usize;
        (headers - self.tcp_offset - TCP_HEADER) as u32
    }

    /// Takes over the fields that may be edited in `piece`, one of the segments of this packet:
    /// acknowledgment number, window, ECE, timestamps.
    pub(crate) fn take_edits(&self, whole: &mut EditableBytes<'_>, piece: &[u8]) {
        let Ok(Parsed::Tcp(piece)) = parse(piece) else { return };
        self.set_ack(whole, piece.ack);
        self.set_window(whole, piece.window);
        self.set_ece(whole, piece.has_flags(TcpFlags::ECE));
        if let Some(stamps) = piece.options.timestamps {
            self.set_tsval(whole, stamps.value);
            self.set_tsecr(whole, stamps.echo);
        }
    }

    /// Writes the segment of `len` bytes from `offset` on, into which the whole packet will be cut,
    /// as a network interface does it: FIN and PSH are in the last one, CWR is in the first one
    /// (RFC 3168 §6.1.2). `None`: `len` is beyond the end.
    pub(crate) fn write_piece(
        &self,
        whole: &[u8],
        offset: u32,
        len: u32,
        into: &mut Vec<u8>,
    ) -> Option<()> {
        let tcp = self.tcp_offset;
        let headers = self.total_len - self.payload_len as usize;
        let start = headers + offset as usize;
        into.clear();
        into.extend_from_slice(whole.get(..headers)?);
        into.extend_from_slice(whole.get(start..start + len as usize)?);
        let total = u16::try_from(into.len()).ok()?;
        into.get_mut(2..4)?.copy_from_slice(&total.to_be_bytes());
        into.get_mut(tcp + 4..tcp + 8)?.copy_from_slice(&(self.seq + offset).0.to_be_bytes());
        let mut flags = self.flags.0;
        if offset > 0 {
            flags &= !TcpFlags::CWR.0;
        }
        if offset + len < self.payload_len {
            flags &= !(TcpFlags::FIN.0 | TcpFlags::PSH.0);
        }
        *into.get_mut(tcp + 13)? = flags;
        complete_checksums(into)
    }

    /// Offset of the TCP header (bytes).
    pub fn tcp_offset(&self) -> usize {
        self.tcp_offset
    }
}

/// Computes both checksums of an IPv4 packet with TCP. `None`: it is none.
pub fn complete_checksums(packet: &mut [u8]) -> Option<()> {
    let segment = parse_headers(packet)?;
    let (header, body) =
        packet.get_mut(..segment.total_len)?.split_at_mut_checked(segment.tcp_offset)?;
    let pseudo_header = segment.pseudo_header(body.len());
    complete_checksum(header, IP_CHECKSUM, Checksum::default())?;
    complete_checksum(body, TCP_CHECKSUM, pseudo_header)
}

/// Destination of a packet sent by the shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDestination {
    /// The network, in place of an acknowledgment of the local TCP ([`Shim::solicit_ack`](crate::Shim::solicit_ack)), so that
    /// it takes exactly the route of the local TCP's own packets.
    Network,
    /// The TCP of this host.
    LocalTcp,
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ipv4Addr;
    use driftway_wire::{Body, IpHeader, Packet, Payload, SackBlocks, TcpSegment, Timestamps};
    use std::vec;

    const NOP: u8 = TcpOption::NOP;

    fn packet() -> Vec<u8> {
        let mut options = TcpOptions {
            timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0x0506_0708 }),
            ..TcpOptions::default()
        };
        options.sack.push(SeqRange::new(Seq(10), Seq(20)));
        let segment = TcpSegment {
            source_port: 1,
            destination_port: 2,
            seq: Seq(u32::MAX),
            ack: Seq(7),
            flags: TcpFlags::ACK.with(TcpFlags::FIN),
            window: 99,
            options,
            payload: Payload::new(1, 0, 33),
            ..TcpSegment::default()
        };
        let ends = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mut ip = IpHeader::new(ends.0, ends.1);
        ip.ecn = Ecn::Ect0;
        let packet = Packet { ip, body: Body::Tcp(segment) };
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
        bytes
    }

    fn tcp(bytes: &[u8]) -> Segment {
        match parse(bytes) {
            Ok(Parsed::Tcp(segment)) => segment,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn fields_are_found() {
        let bytes = packet();
        let segment = tcp(&bytes);
        assert_eq!(segment.range(), SeqRange::new(Seq(u32::MAX), Seq(33)));
        let stamps = Timestamps { value: 0x0102_0304, echo: 0x0506_0708 };
        assert_eq!(segment.options.timestamps, Some(stamps));
        assert_eq!(segment.options.sack.as_slice(), [SeqRange::new(Seq(10), Seq(20))]);
        assert_eq!((segment.window, segment.ack, segment.ecn), (99, Seq(7), Ecn::Ect0));
        assert!(segment.has_valid_checksums(&bytes));
    }

    /// Compares with the independent encoder and decoder of the crate `wire`, which compute checksums
    /// from scratch.
    #[test]
    fn every_edit_leaves_right_checksums_and_the_rest_alone() {
        let mut bytes = packet();
        let segment = tcp(&bytes);
        let mut editable = EditableBytes::new(&mut bytes);
        segment.set_ack(&mut editable, segment.ack);
        assert_eq!(editable.action(PacketAction::Pass), PacketAction::Pass);
        segment.set_ack(&mut editable, Seq(0xdead_beef));
        assert_eq!(editable.action(PacketAction::Pass), PacketAction::Edited);
        assert_eq!(editable.action(PacketAction::Stored), PacketAction::Stored);
        segment.set_window(&mut editable, 0xffff);
        segment.set_tsval(&mut editable, 5);
        segment.set_tsecr(&mut editable, 0);
        segment.set_ece(&mut editable, true);
        segment.set_not_ect(&mut editable);
        let decoded = Packet::decode(&bytes).unwrap();
        let Body::Tcp(edited) = decoded.packet.body else { panic!() };
        let original = packet();
        let Body::Tcp(mut expected) = Packet::decode(&original).unwrap().packet.body else {
            panic!()
        };
        expected.ack = Seq(0xdead_beef);
        expected.window = 0xffff;
        expected.flags = expected.flags.with(TcpFlags::ECE);
        expected.options.timestamps = Some(Timestamps { value: 5, echo: 0 });
        assert_eq!(edited, expected);
        assert_eq!(decoded.packet.ip.ecn, Ecn::NotEct);

        segment.strip_sack(&mut EditableBytes::new(&mut bytes));
        let Body::Tcp(stripped) = Packet::decode(&bytes).unwrap().packet.body else { panic!() };
        expected.options.sack = SackBlocks::EMPTY;
        assert_eq!(stripped, expected);
    }

    #[test]
    fn an_option_at_an_odd_offset_is_edited_too() {
        let mut bytes = packet();
        // NOP NOP TS(10) NOP NOP SACK(10): one NOP moves from before the timestamps to behind them.
        let at = 40;
        assert_eq!(bytes[at..at + 3], [NOP, NOP, 8]);
        bytes.copy_within(at + 2..at + 12, at + 1);
        bytes[at + 11] = NOP;
        let wrong = tcp(&bytes);
        assert!(!wrong.has_valid_checksums(&bytes));
        complete_checksums(&mut bytes).unwrap();
        let segment = tcp(&bytes);
        assert!(segment.has_valid_checksums(&bytes));
        segment.set_tsecr(&mut EditableBytes::new(&mut bytes), 0xa1b2_c3d4);
        assert!(segment.has_valid_checksums(&bytes));
        assert_eq!(tcp(&bytes).options.timestamps.map(|s| s.echo), Some(0xa1b2_c3d4));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut bytes = packet();
        let segment = tcp(&bytes);
        bytes[60] ^= 1;
        assert!(!segment.has_valid_checksums(&bytes));
        segment.set_ack(&mut EditableBytes::new(&mut bytes), Seq(1));
        assert!(!segment.has_valid_checksums(&bytes));
    }

    #[test]
    fn unsupported_packets_are_classified() {
        let bytes = packet();
        assert_eq!(parse(&[]).err(), Some(UntouchedReason::Malformed));
        assert_eq!(parse(&[0x60; 40]).err(), Some(UntouchedReason::NotIpv4));
        let mut fragment = bytes.clone();
        fragment[6] = 0x20;
        assert_eq!(parse(&fragment).err(), Some(UntouchedReason::Fragment));
        let mut udp = bytes.clone();
        udp[9] = 17;
        assert_eq!(parse(&udp).err(), Some(UntouchedReason::OtherProtocol));
        assert_eq!(parse(&bytes[..bytes.len() - 1]).err(), Some(UntouchedReason::Malformed));
        for end in 0..bytes.len() {
            let mut short = bytes[..end].to_vec();
            if end >= 4 {
                short[2..4].copy_from_slice(&(end as u16).to_be_bytes());
            }
            let _ = parse(&short);
        }
    }
}
