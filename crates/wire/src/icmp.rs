//! ICMP messages (RFC 792, RFC 1122 §3.2.2): those that a path of driftway sends.

use base::{Ipv4Addr, Seq};

use crate::Payload;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// Echo request or reply.
    Echo {
        /// A reply?
        reply: bool,
        /// Who asks.
        identifier: u16,
        /// The how-manieth.
        sequence: u16,
        /// What comes back.
        payload: Payload,
    },
    /// Destination unreachable (type 3).
    Unreachable {
        /// What cannot be reached: the code.
        code: UnreachableCode,
        /// The packet that could not be delivered.
        quoted: Quoted,
    },
    /// Source quench (type 4); obsolete by RFC 6633, spoken because liu-singh-2001 §III-A uses it.
    SourceQuench {
        /// The packet that met congestion.
        quoted: Quoted,
    },
    /// Time exceeded (type 11, code 0 in transit or 1 in reassembly).
    TimeExceeded {
        /// In reassembly, not in transit.
        reassembly: bool,
        /// The packet that was given up.
        quoted: Quoted,
    },
}

/// The codes of destination unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableCode {
    /// 0
    Net,
    /// 1
    Host,
    /// 2
    Protocol,
    /// 3
    Port,
    /// 4, with the next hop's MTU (RFC 1191)
    FragmentationNeeded {
        /// MTU of the next hop (bytes); 0 from old routers.
        mtu: u16,
    },
    /// Any other.
    Other(u8),
}

/// What an error message quotes: the IP header (RFC 792: and the first 8 bytes behind it), reduced
/// to what says which packet it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// Its source.
    pub source: Ipv4Addr,
    /// Its destination.
    pub destination: Ipv4Addr,
    /// Its protocol number.
    pub protocol: u8,
    /// Its total length (bytes), as its header says.
    pub total_len: u16,
    /// Its identification.
    pub identification: u16,
    /// Its time to live where it was given up.
    pub ttl: u8,
    /// Its congestion bits and DSCP.
    pub tos: u8,
    /// The first 8 bytes behind its header.
    pub head: [u8; 8],
}

impl Quoted {
    /// Source and destination port, for TCP and UDP.
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.head;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
    /// The sequence number, for TCP.
    pub const fn seq(&self) -> Seq {
        let [.., e, f, g, h] = self.head;
        Seq(u32::from_be_bytes([e, f, g, h]))
    }
}
