//! AODV's messages (RFC 3561 §5), which travel in UDP datagrams of port 654.

use base::Ipv4Addr;

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
}

/// RFC 3561 §5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvReply {
    /// R: for multicast.
    pub repair: bool,
    /// A: an RREP-ACK is wanted.
    pub ack_required: bool,
    /// For multicast, 5 bits.
    pub prefix: u8,
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

impl AodvMessage {
    /// Its length in a UDP datagram (bytes).
    pub const fn size(&self) -> u32 {
        match self {
            Self::Request(_) => 24,
            Self::Reply(_) => 20,
            Self::Error(error) => 4 + 8 * error.len as u32,
            Self::ReplyAck => 2,
        }
    }
}
