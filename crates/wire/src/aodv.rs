//! AODV messages (RFC 3561 §5), carried in UDP datagrams to port 654.

use driftway_base::{FailedLink, Ipv4Addr};

use crate::cursor::{Reader, Writer};
use crate::udp::UDP_HEADER_LEN;
use crate::{ConnList, DecodeError, EncodeError};

/// The UDP port of AODV (RFC 3561 §8).
pub const AODV_PORT: u16 = 654;

/// Maximum number of unreachable destinations in one RERR; a node with more sends several RERRs.
pub const AODV_UNREACHABLE_MAX: usize = 16;

/// An AODV message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AodvMessage {
    /// RREQ: route request.
    Request(AodvRequest),
    /// RREP: route reply; in a hello message the destination is the sender itself.
    Reply(AodvReply),
    /// RERR: route error, a list of unreachable destinations.
    Error(AodvError),
    /// RREP-ACK: route reply acknowledgment, which confirms that a link is bidirectional.
    ReplyAck,
    /// Notification of packets lost from connections, sent towards the connections' endpoints (yu-2004 §4.2).
    /// Not part of RFC 3561.
    LossNotification(AodvLossNotification),
}

/// Loss notification: packets lost from connections of one source. The format is driftway's: type and three
/// reserved bytes, both ends of the failed link, the reporting node, then the connection list up to the end
/// of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvLossNotification {
    /// The failed link; if no link failed, its far end is the destination without a route.
    pub link: FailedLink,
    /// The reporting node.
    pub reporter: Ipv4Addr,
    /// The lost packets.
    pub list: ConnList,
}

/// Route request, RREQ (RFC 3561 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvRequest {
    /// J flag: join, reserved for multicast.
    pub join: bool,
    /// R flag: repair, reserved for multicast.
    pub repair: bool,
    /// G flag: an intermediate node that replies also sends a gratuitous RREP to the destination.
    pub gratuitous: bool,
    /// D flag: only the destination may reply.
    pub destination_only: bool,
    /// Hop count from the originator.
    pub hops: u8,
    /// RREQ ID; unique together with the originator.
    pub id: u32,
    /// Destination for which a route is requested.
    pub destination: Ipv4Addr,
    /// Latest known destination sequence number; `None`: unknown (U flag).
    pub destination_seq: Option<u32>,
    /// Originator of the request.
    pub originator: Ipv4Addr,
    /// Originator sequence number.
    pub originator_seq: u32,
    /// Send time by the originator's clock (ns). Not in RFC 3561, but in ns-2.35; encoded as an extension
    /// (§9).
    pub timestamp: Option<u64>,
}

/// Route reply, RREP (RFC 3561 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvReply {
    /// R flag: repair, for multicast.
    pub repair: bool,
    /// A flag: acknowledgment (RREP-ACK) required.
    pub ack_required: bool,
    /// Prefix size, 5 bits.
    pub prefix_size: u8,
    /// Hop count to the destination.
    pub hops: u8,
    /// Destination of the route.
    pub destination: Ipv4Addr,
    /// Destination sequence number.
    pub destination_seq: u32,
    /// Originator of the route request.
    pub originator: Ipv4Addr,
    /// Lifetime of the route (ms).
    pub lifetime_ms: u32,
    /// Timestamp of the request.
    pub timestamp: Option<u64>,
}

/// Route error, RERR (RFC 3561 §5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvError {
    /// N flag: no delete. The sender repairs the route locally; the route must not be deleted.
    pub no_delete: bool,
    list: [(Ipv4Addr, u32); AODV_UNREACHABLE_MAX],
    len: u8,
}

impl AodvError {
    /// A route error without destinations.
    pub const fn new(no_delete: bool) -> Self {
        Self { no_delete, list: [(Ipv4Addr::UNSPECIFIED, 0); AODV_UNREACHABLE_MAX], len: 0 }
    }

    /// Adds an unreachable destination with its sequence number; returns false if there is no space left.
    pub fn push(&mut self, destination: Ipv4Addr, seq: u32) -> bool {
        let Some(slot) = self.list.get_mut(usize::from(self.len)) else { return false };
        *slot = (destination, seq);
        self.len += 1;
        true
    }

    /// The unreachable destinations with their sequence numbers.
    pub fn unreachable(&self) -> &[(Ipv4Addr, u32)] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const REPLY_ACK: u8 = 4;
/// Message type of a loss notification; not assigned by RFC 3561 or its successor drafts.
const LOSS_NOTIFICATION: u8 = 128;

// Flags in the second byte of a message.
const JOIN: u8 = 0x80;
const REPAIR_REQUEST: u8 = 0x40;
const GRATUITOUS: u8 = 0x20;
const DESTINATION_ONLY: u8 = 0x10;
const UNKNOWN_SEQ: u8 = 0x08;
const REPAIR_REPLY: u8 = 0x80;
const ACK_REQUIRED: u8 = 0x40;
const NO_DELETE: u8 = 0x80;

/// Prefix size: the low bits of the third byte of an RREP.
const PREFIX: u8 = 0x1f;

/// RFC 3561 §9: extensions of this type and above must not be ignored.
const MANDATORY_EXTENSION: u8 = 128;
/// Extension type of a timestamp; RFC 3561 defines type 1 only.
const TIMESTAMP: u8 = 3;
const TIMESTAMP_LEN: u8 = 8;

const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

impl AodvMessage {
    /// Writes the UDP datagram with a checksum of zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.u16(AODV_PORT)?;
        to.u16(AODV_PORT)?;
        // At most 140 bytes.
        to.u16((UDP_HEADER_LEN + self.size()) as u16)?;
        to.u16(0)?;
        match self {
            Self::Request(request) => request.write(to),
            Self::Reply(reply) => reply.write(to),
            Self::Error(error) => error.write(to),
            Self::ReplyAck => to.bytes(&[REPLY_ACK, 0]),
            Self::LossNotification(losses) => losses.write(to),
        }
    }

    /// Decodes the payload of a datagram to [`AODV_PORT`]. Skippable extensions are ignored, and so are bytes
    /// after an RERR or RREP-ACK.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        match from.u8()? {
            REQUEST => {
                let request = AodvRequest::read(&mut from)?;
                Ok(Self::Request(AodvRequest { timestamp: read_extensions(from)?, ..request }))
            }
            REPLY => {
                let reply = AodvReply::read(&mut from)?;
                Ok(Self::Reply(AodvReply { timestamp: read_extensions(from)?, ..reply }))
            }
            ERROR => AodvError::read(&mut from).map(Self::Error),
            REPLY_ACK => from.u8().map(|_reserved| Self::ReplyAck),
            LOSS_NOTIFICATION => AodvLossNotification::read(from).map(Self::LossNotification),
            kind => Err(DecodeError::AodvMessage { kind }),
        }
    }

    /// Length in the UDP datagram (bytes).
    pub const fn size(&self) -> u32 {
        match self {
            Self::Request(request) => 24 + timestamp_size(request.timestamp),
            Self::Reply(reply) => 20 + timestamp_size(reply.timestamp),
            Self::Error(error) => 4 + 8 * error.len as u32,
            Self::ReplyAck => 2,
            Self::LossNotification(losses) => 16 + losses.list.len() as u32,
        }
    }
}

const fn timestamp_size(timestamp: Option<u64>) -> u32 {
    if timestamp.is_some() { 2 + TIMESTAMP_LEN as u32 } else { 0 }
}

fn write_timestamp(timestamp: Option<u64>, to: &mut Writer<'_>) -> Result<(), EncodeError> {
    let Some(timestamp) = timestamp else { return Ok(()) };
    to.bytes(&[TIMESTAMP, TIMESTAMP_LEN])?;
    to.bytes(&timestamp.to_be_bytes())
}

/// Decodes extensions (RFC 3561 §9: type, length, data) up to the end of the datagram. Returns the timestamp,
/// if there is one.
fn read_extensions(mut from: Reader<'_>) -> Result<Option<u64>, DecodeError> {
    let mut timestamp = None;
    while !from.0.is_empty() {
        let (kind, len) = (from.u8()?, from.u8()?);
        let mut data = Reader(from.slice(usize::from(len))?);
        if kind == TIMESTAMP && len == TIMESTAMP_LEN {
            timestamp = Some(u64::from_be_bytes(data.read_array()?));
        } else if kind >= MANDATORY_EXTENSION {
            return Err(DecodeError::AodvExtension { kind });
        }
    }
    Ok(timestamp)
}

impl AodvRequest {
    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let flags = flag(self.join, JOIN)
            | flag(self.repair, REPAIR_REQUEST)
            | flag(self.gratuitous, GRATUITOUS)
            | flag(self.destination_only, DESTINATION_ONLY)
            | flag(self.destination_seq.is_none(), UNKNOWN_SEQ);
        to.bytes(&[REQUEST, flags, 0, self.hops])?;
        to.u32(self.id)?;
        to.u32(self.destination.to_bits())?;
        to.u32(self.destination_seq.unwrap_or_default())?;
        to.u32(self.originator.to_bits())?;
        to.u32(self.originator_seq)?;
        write_timestamp(self.timestamp, to)
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [flags, _reserved, hops] = from.read_array()?;
        let (id, destination, destination_seq) = (from.u32()?, from.address()?, from.u32()?);
        Ok(Self {
            join: flags & JOIN != 0,
            repair: flags & REPAIR_REQUEST != 0,
            gratuitous: flags & GRATUITOUS != 0,
            destination_only: flags & DESTINATION_ONLY != 0,
            hops,
            id,
            destination,
            destination_seq: (flags & UNKNOWN_SEQ == 0).then_some(destination_seq),
            originator: from.address()?,
            originator_seq: from.u32()?,
            timestamp: None,
        })
    }
}

impl AodvReply {
    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let flags = flag(self.repair, REPAIR_REPLY) | flag(self.ack_required, ACK_REQUIRED);
        to.bytes(&[REPLY, flags, self.prefix_size & PREFIX, self.hops])?;
        to.u32(self.destination.to_bits())?;
        to.u32(self.destination_seq)?;
        to.u32(self.originator.to_bits())?;
        to.u32(self.lifetime_ms)?;
        write_timestamp(self.timestamp, to)
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [flags, prefix, hops] = from.read_array()?;
        Ok(Self {
            repair: flags & REPAIR_REPLY != 0,
            ack_required: flags & ACK_REQUIRED != 0,
            prefix_size: prefix & PREFIX,
            hops,
            destination: from.address()?,
            destination_seq: from.u32()?,
            originator: from.address()?,
            lifetime_ms: from.u32()?,
            timestamp: None,
        })
    }
}

impl AodvLossNotification {
    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.bytes(&[LOSS_NOTIFICATION, 0, 0, 0])?;
        for address in [self.link.from, self.link.to, self.reporter] {
            to.u32(address.to_bits())?;
        }
        to.bytes(self.list.as_bytes())
    }

    fn read(mut from: Reader<'_>) -> Result<Self, DecodeError> {
        let _reserved: [u8; 3] = from.read_array()?;
        let link = FailedLink { from: from.address()?, to: from.address()? };
        let reporter = from.address()?;
        let list = ConnList::decode(from.0)
            .map_err(|_| DecodeError::AodvMessage { kind: LOSS_NOTIFICATION })?;
        Ok(Self { link, reporter, list })
    }
}

impl AodvError {
    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.bytes(&[ERROR, flag(self.no_delete, NO_DELETE), 0, self.len])?;
        for (destination, seq) in self.unreachable() {
            to.u32(destination.to_bits())?;
            to.u32(*seq)?;
        }
        Ok(())
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [flags, _reserved, count] = from.read_array()?;
        let mut error = Self::new(flags & NO_DELETE != 0);
        // RFC 3561 §5.3: at least one destination.
        if count == 0 || usize::from(count) > AODV_UNREACHABLE_MAX {
            return Err(DecodeError::AodvDestinations { count });
        }
        for _ in 0..count {
            let (destination, seq) = (from.address()?, from.u32()?);
            error.push(destination, seq);
        }
        Ok(error)
    }
}
