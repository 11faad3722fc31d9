//! Parsing and editing of packets in place.

use alloc::vec::Vec;

use driftway_base::{Ecn, Endpoint, FlowKey, Ipv4Addr, Seq, SeqRange};
use driftway_wire::{TcpFlags, TcpOption, TcpOptionReader, TcpOptions};

use crate::counts::UntouchedReason;

const IPV4_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const ICMP: u8 = 1;
const TCP: u8 = 6;

/// Protocol of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parsed {
    Tcp(Segment),
    Icmp,
}

/// A TCP segment: its fields, and the offsets of those that may be edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// In the direction of the packet.
    pub flow: FlowKey,
    pub ecn: Ecn,
    pub seq: Seq,
    pub ack: Seq,
    pub flags: TcpFlags,
    pub window: u16,
    pub options: TcpOptions,
    /// An option unknown to the shim is present.
    pub unknown_option: bool,
    /// Payload length (bytes).
    pub payload_len: u32,
    /// IP total length (bytes), without link padding.
    pub total_len: usize,
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
        let mut len = self.payload_len;
        for flag in [TcpFlags::SYN, TcpFlags::FIN] {
            len += u32::from(self.flags.contains(flag));
        }
        SeqRange::new(self.seq, self.seq + len)
    }
    pub fn has_flags(&self, flags: TcpFlags) -> bool {
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

/// Parses a packet.
pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed, UntouchedReason> {
    let first = *bytes.first().ok_or(UntouchedReason::Malformed)?;
    if first >> 4 != 4 {
        return Err(UntouchedReason::NotIpv4);
    }
    let header = usize::from(first & 0xf) * 4;
    let total = usize::from(u16_at(bytes, 2).ok_or(UntouchedReason::Malformed)?);
    if header < IPV4_HEADER || total < header || bytes.len() < total {
        return Err(UntouchedReason::Malformed);
    }
    // More fragments, or a fragment offset.
    if u16_at(bytes, 6).ok_or(UntouchedReason::Malformed)? & 0x3fff != 0 {
        return Err(UntouchedReason::Fragment);
    }
    match bytes.get(9) {
        Some(&ICMP) => Ok(Parsed::Icmp),
        Some(&TCP) => {
            let packet = bytes.get(..total).ok_or(UntouchedReason::Malformed)?;
            let segment = parse_segment(packet, header, total);
            segment.map(Parsed::Tcp).ok_or(UntouchedReason::Malformed)
        }
        _ => Err(UntouchedReason::OtherProtocol),
    }
}

/// Parses the headers of a TCP segment whose payload may be missing.
pub(crate) fn parse_headers(bytes: &[u8]) -> Option<Segment> {
    let header = usize::from(*bytes.first()? & 0xf) * 4;
    let total = usize::from(u16_at(bytes, 2)?);
    let is_whole = u16_at(bytes, 6)? & 0x3fff == 0;
    let is_tcp = bytes.first()? >> 4 == 4 && header >= IPV4_HEADER && bytes.get(9) == Some(&TCP);
    if !is_tcp || !is_whole {
        return None;
    }
    parse_segment(bytes.get(..total).unwrap_or(bytes), header, total)
}

/// Parses the segment of a packet of `total` bytes, of which the headers have to be there.
fn parse_segment(packet: &[u8], tcp: usize, total: usize) -> Option<Segment> {
    let address = |at| u32_at(packet, at).map(Ipv4Addr::from_bits);
    let source = Endpoint::new(address(12)?, u16_at(packet, tcp)?);
    let destination = Endpoint::new(address(16)?, u16_at(packet, tcp + 2)?);
    let header = usize::from(packet.get(tcp + 12)? >> 4) * 4;
    if header < TCP_HEADER || packet.len() < tcp + header {
        return None;
    }
    let mut segment = Segment {
        flow: FlowKey { source, destination },
        ecn: Ecn::from_bits(*packet.get(1)?),
        seq: Seq(u32_at(packet, tcp + 4)?),
        ack: Seq(u32_at(packet, tcp + 8)?),
        flags: TcpFlags(*packet.get(tcp + 13)?),
        window: u16_at(packet, tcp + 14)?,
        options: TcpOptions::default(),
        unknown_option: false,
        payload_len: total.checked_sub(tcp + header)? as u32,
        total_len: total,
        tcp_offset: tcp,
        timestamps_offset: None,
        sack_offset_and_len: None,
    };
    let area = tcp + TCP_HEADER;
    for found in TcpOptionReader::new(packet.get(area..tcp + header)?) {
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

/// Ones'-complement sum of `bytes`, zero-padded; wider words give the same folded sum (RFC 1071
/// §2).
fn ones_complement_sum(bytes: &[u8]) -> u64 {
    let (longs, rest) = bytes.as_chunks::<4>();
    let whole: u64 = longs.iter().map(|long| u64::from(u32::from_be_bytes(*long))).sum();
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
    whole + u64::from(u32::from_be_bytes(last))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

impl Segment {
    /// Returns whether both checksums are right.
    pub fn has_valid_checksums(&self, bytes: &[u8]) -> bool {
        let parts =
            bytes.get(..self.total_len).and_then(|all| all.split_at_checked(self.tcp_offset));
        let Some((header, body)) = parts else { return false };
        let addresses = header.get(12..20).map_or(0, ones_complement_sum);
        let pseudo = addresses + u64::from(TCP) + body.len() as u64;
        fold(ones_complement_sum(header)) == 0xffff
            && fold(pseudo + ones_complement_sum(body)) == 0xffff
    }

    /// Returns whether the checksum of the segment is left to the network interface, as in a packet
    /// that has not left this machine: then it is the sum of the pseudo-header.
    pub fn has_partial_checksum(&self, bytes: &[u8]) -> bool {
        let parts =
            bytes.get(..self.total_len).and_then(|all| all.split_at_checked(self.tcp_offset));
        let Some((header, body)) = parts else { return false };
        let addresses = header.get(12..20).map_or(0, ones_complement_sum);
        u16_at(body, 16) == Some(fold(addresses + u64::from(TCP) + body.len() as u64))
    }

    /// Replaces bytes of the TCP header at `at` and updates the checksum incrementally: a wrong
    /// checksum stays wrong.
    fn edit(&self, bytes: &mut [u8], at: usize, new: &[u8]) {
        // Whole 16-bit words around the field: an option may begin at an odd offset.
        let start = self.tcp_offset + ((at - self.tcp_offset) & !1);
        let end = self.tcp_offset + ((at + new.len() - self.tcp_offset + 1) & !1);
        let Some(before) = bytes.get(start..end).map(ones_complement_sum) else { return };
        let Some(field) = bytes.get_mut(at..at + new.len()) else { return };
        field.copy_from_slice(new);
        let after = bytes.get(start..end).map_or(0, ones_complement_sum);
        update_checksum(bytes, self.tcp_offset + 16, before, after);
    }

    /// Sets the acknowledgment number.
    pub fn set_ack(&self, bytes: &mut [u8], ack: Seq) {
        self.edit(bytes, self.tcp_offset + 8, &ack.0.to_be_bytes());
    }
    /// Sets the window field.
    pub fn set_window(&self, bytes: &mut [u8], window: u16) {
        self.edit(bytes, self.tcp_offset + 14, &window.to_be_bytes());
    }
    /// Sets TSval; does nothing without timestamps.
    pub fn set_tsval(&self, bytes: &mut [u8], value: u32) {
        if let Some(at) = self.timestamps_offset {
            self.edit(bytes, at, &value.to_be_bytes());
        }
    }
    /// Sets TSecr; does nothing without timestamps.
    pub fn set_tsecr(&self, bytes: &mut [u8], echo: u32) {
        if let Some(at) = self.timestamps_offset {
            self.edit(bytes, at + 4, &echo.to_be_bytes());
        }
    }
    /// Sets or clears ECE.
    pub fn set_ece(&self, bytes: &mut [u8], on: bool) {
        let rest = self.flags.0 & !TcpFlags::ECE.0;
        self.edit(bytes, self.tcp_offset + 13, &[rest | if on { TcpFlags::ECE.0 } else { 0 }]);
    }
    /// Replaces the SACK option by NOPs.
    pub fn strip_sack(&self, bytes: &mut [u8]) {
        let Some((at, len)) = self.sack_offset_and_len else { return };
        const NOPS: [u8; 34] = [TcpOption::NOP; 34];
        if let Some(nops) = NOPS.get(..len) {
            self.edit(bytes, at, nops);
        }
    }
    /// Sets the ECN codepoint of the IP header to Not-ECT.
    pub fn set_not_ect(&self, bytes: &mut [u8]) {
        let Some(before) = bytes.get(0..2).map(ones_complement_sum) else { return };
        let Some(tos) = bytes.get_mut(1) else { return };
        *tos &= !0b11;
        let after = bytes.get(0..2).map_or(0, ones_complement_sum);
        update_checksum(bytes, 10, before, after);
    }
}

impl Segment {
    /// Bytes of TCP options, with padding.
    pub fn options_len(&self) -> u32 {
        let headers = self.total_len - self.payload_len as usize;
        (headers - self.tcp_offset - TCP_HEADER) as u32
    }

    /// Takes over what was edited in `piece`, one of the segments of this packet, as which it was
    /// parsed before: acknowledgment number, window, ECE, timestamps. Returns whether anything was.
    pub fn take_edits(&self, whole: &mut [u8], before: &Segment, piece: &[u8]) -> bool {
        let Ok(Parsed::Tcp(after)) = parse(piece) else { return false };
        let stamps = |segment: &Self| segment.options.timestamps.map(|s| (s.value, s.echo));
        let ece = |segment: &Self| segment.has_flags(TcpFlags::ECE);
        let state = |s: &Self| (s.ack, s.window, ece(s), stamps(s));
        if state(&after) == state(before) {
            return false;
        }
        self.set_ack(whole, after.ack);
        self.set_window(whole, after.window);
        self.set_ece(whole, ece(&after));
        if let Some((value, echo)) = stamps(&after) {
            self.set_tsval(whole, value);
            self.set_tsecr(whole, echo);
        }
        true
    }

    /// Writes the segment of `len` bytes from `offset` on, into which the whole packet will be cut,
    /// as a network interface does it: FIN and PSH are in the last one, CWR is in the first one
    /// (RFC 3168 §6.1.2). `None`: `len` is beyond the end.
    pub fn write_piece(
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
}

/// Computes both checksums of an IPv4 packet with TCP. `None`: it is none.
pub fn complete_checksums(packet: &mut [u8]) -> Option<()> {
    let tcp = usize::from(packet.first()? & 0xf) * 4;
    let total = usize::from(u16_at(packet, 2)?);
    let packet = packet.get_mut(..total)?;
    if packet.get(9) != Some(&TCP) || tcp < IPV4_HEADER {
        return None;
    }
    packet.get_mut(10..12)?.fill(0);
    let header = !fold(ones_complement_sum(packet.get(..tcp)?));
    packet.get_mut(10..12)?.copy_from_slice(&header.to_be_bytes());
    packet.get_mut(tcp + 16..tcp + 18)?.fill(0);
    let addresses = ones_complement_sum(packet.get(12..20)?);
    let body = packet.get(tcp..)?;
    let sum = addresses + u64::from(TCP) + body.len() as u64 + ones_complement_sum(body);
    packet.get_mut(tcp + 16..tcp + 18)?.copy_from_slice(&(!fold(sum)).to_be_bytes());
    Some(())
}

/// RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
fn update_checksum(bytes: &mut [u8], checksum_at: usize, before: u64, after: u64) {
    let Some(old) = u16_at(bytes, checksum_at) else { return };
    let new = !fold(u64::from(!old) + u64::from(!fold(before)) + u64::from(fold(after)));
    if let Some(field) = bytes.get_mut(checksum_at..).and_then(<[u8]>::first_chunk_mut) {
        *field = new.to_be_bytes();
    }
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

    /// Against the independent encoder and decoder of the crate `wire`, which compute checksums
    /// from scratch.
    #[test]
    fn every_edit_leaves_right_checksums_and_the_rest_alone() {
        let mut bytes = packet();
        let segment = tcp(&bytes);
        segment.set_ack(&mut bytes, Seq(0xdead_beef));
        segment.set_window(&mut bytes, 0xffff);
        segment.set_tsval(&mut bytes, 5);
        segment.set_tsecr(&mut bytes, 0);
        segment.set_ece(&mut bytes, true);
        segment.set_not_ect(&mut bytes);
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

        segment.strip_sack(&mut bytes);
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
        // The right checksum for it, by the same difference.
        let body = &bytes[20..];
        let pseudo = ones_complement_sum(&bytes[12..20]) + 6 + body.len() as u64;
        let off = fold(pseudo + ones_complement_sum(body));
        let field = u16_at(&bytes, 36).unwrap();
        let right = !fold(u64::from(!field) + u64::from(off));
        bytes[36..38].copy_from_slice(&right.to_be_bytes());
        let segment = tcp(&bytes);
        assert!(segment.has_valid_checksums(&bytes));
        segment.set_tsecr(&mut bytes, 0xa1b2_c3d4);
        assert!(segment.has_valid_checksums(&bytes));
        assert_eq!(tcp(&bytes).options.timestamps.map(|s| s.echo), Some(0xa1b2_c3d4));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong() {
        let mut bytes = packet();
        let segment = tcp(&bytes);
        bytes[60] ^= 1;
        assert!(!segment.has_valid_checksums(&bytes));
        segment.set_ack(&mut bytes, Seq(1));
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
