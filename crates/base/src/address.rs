//! Who talks to whom.

pub use core::net::Ipv4Addr;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The host.
    pub address: Ipv4Addr,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// `port` at `address`.
    pub const fn new(address: Ipv4Addr, port: u16) -> Self {
        Self { address, port }
    }
}

/// A flow as a packet on the air names it: the direction matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Where its packets come from.
    pub source: Endpoint,
    /// Where they go.
    pub destination: Endpoint,
}

/// The congestion bits of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// The sender does not take part.
    #[default]
    NotEct,
    /// Takes part, codepoint 01.
    Ect1,
    /// Takes part, codepoint 10.
    Ect0,
    /// A router met congestion.
    Ce,
}

impl Ecn {
    /// The two bits in the IP header.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
    /// From the two low bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
    /// May a router mark instead of drop?
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}
