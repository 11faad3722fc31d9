//! AODV's messages (RFC 3561 §5), which travel in UDP datagrams of port 654.

use driftway_base::{FailedLink, Ipv4Addr};

use crate::cursor::{Reader, Writer};
use crate::udp::UDP_HEADER_LEN;
use crate::{ConnList, DecodeError, EncodeError};

/// The UDP port of AODV (RFC 3561 §8).
pub const AODV_PORT: u16 = 654;

/// The most destinations that one RERR names here; who has more to tell sends several.
pub const AODV_UNREACHABLE_MAX: usize = 16;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AodvMessage {
    /// RREQ: who knows a way to a destination?
    Request(AodvRequest),
    /// RREP: here is one; as a hello, its destination is the sender itself.
    Reply(AodvReply),
    /// RERR: what can't be reached any more.
    Error(AodvError),
    /// RREP-ACK: the link over which an RREP came carries both ways.
    ReplyAck,
    /// What was lost of connections, on its way to their ends (yu-2004 §4.2). RFC 3561 knows no such
    /// message.
    LossNotification(AodvLossNotification),
}

/// What a node has lost of the connections of one source. Ours: 4 bytes of type and three reserved
/// ones, the ends of the link that failed and who says so, then the list to the datagram's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvLossNotification {
    /// The link; where none failed, its far end is the destination that has no route.
    pub link: FailedLink,
    /// Who says so.
    pub reporter: Ipv4Addr,
    /// What is lost.
    pub list: ConnList,
}

/// RFC 3561 §5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvRequest {
    /// J: for multicast.
    pub join: bool,
    /// R: for multicast.
    pub repair: bool,
    /// G: an intermediate node that answers tells the destination, too.
    pub gratuitous: bool,
    /// D: only the destination may answer.
    pub destination_only: bool,
    /// Hops from the originator.
    pub hops: u8,
    /// With the originator it names the request.
    pub id: u32,
    /// To whom a way is wanted.
    pub destination: Ipv4Addr,
    /// The latest number of the destination that the originator knows (flag U: none).
    pub destination_seq: Option<u32>,
    /// Who asks.
    pub originator: Ipv4Addr,
    /// The originator's own number.
    pub originator_seq: u32,
    /// When it was sent, by the originator's clock (ns). RFC 3561 has no such thing, ns-2.35 has; in
    /// bytes an extension (§9).
    pub timestamp: Option<u64>,
}

/// RFC 3561 §5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvReply {
    /// R: for multicast.
    pub repair: bool,
    /// A: an RREP-ACK is wanted.
    pub ack_required: bool,
    /// For multicast, 5 bits.
    pub prefix_size: u8,
    /// Hops to the destination.
    pub hops: u8,
    /// To whom it is a way.
    pub destination: Ipv4Addr,
    /// The destination's number.
    pub destination_seq: u32,
    /// Who asked.
    pub originator: Ipv4Addr,
    /// How long the way is good (ms).
    pub lifetime_ms: u32,
    /// That of the request.
    pub timestamp: Option<u64>,
}

/// RFC 3561 §5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvError {
    /// N: the sender repairs the way itself; don't delete it.
    pub no_delete: bool,
    list: [(Ipv4Addr, u32); AODV_UNREACHABLE_MAX],
    len: u8,
}

impl AodvError {
    /// One that names nothing yet.
    pub const fn new(no_delete: bool) -> Self {
        Self { no_delete, list: [(Ipv4Addr::UNSPECIFIED, 0); AODV_UNREACHABLE_MAX], len: 0 }
    }

    /// Adds a destination with its number; `false` if there is no room.
    pub fn push(&mut self, destination: Ipv4Addr, seq: u32) -> bool {
        let Some(slot) = self.list.get_mut(usize::from(self.len)) else { return false };
        *slot = (destination, seq);
        self.len += 1;
        true
    }

    /// What can't be reached, with its numbers.
    pub fn unreachable(&self) -> &[(Ipv4Addr, u32)] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const REPLY_ACK: u8 = 4;
/// No type of RFC 3561's, nor of a draft after it.
const LOSS_NOTIFICATION: u8 = 128;

// The second byte of a message.
const JOIN: u8 = 0x80;
const REPAIR_REQUEST: u8 = 0x40;
const GRATUITOUS: u8 = 0x20;
const DESTINATION_ONLY: u8 = 0x10;
const UNKNOWN_SEQ: u8 = 0x08;
const REPAIR_REPLY: u8 = 0x80;
const ACK_REQUIRED: u8 = 0x40;
const NO_DELETE: u8 = 0x80;

/// The low bits of an RREP's third byte.
const PREFIX: u8 = 0x1f;

/// RFC 3561 §9: an extension of this type or above may not be passed over.
const MANDATORY_EXTENSION: u8 = 128;
/// A time stamp; RFC 3561 itself only uses type 1.
const TIMESTAMP: u8 = 3;
const TIMESTAMP_LEN: u8 = 8;

const fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

impl AodvMessage {
    /// Writes the UDP datagram, its checksum left zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.u16(AODV_PORT)?;
        to.u16(AODV_PORT)?;
        // 140 bytes at most.
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

    /// Reads what a datagram to [`AODV_PORT`] carries. Extensions that may be passed over are, and
    /// so is what stands behind an RERR or an RREP-ACK.
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

    /// Its length in a UDP datagram (bytes).
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

/// RFC 3561 §9: type, length, data, until the datagram ends. Answers with the time stamp, if there
/// is one.
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
        let list =
            ConnList::decode(from.0).map_err(|_| DecodeError::AodvMessage { kind: LOSS_NOTIFICATION })?;
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
        // RFC 3561 §5.3: at least one.
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
