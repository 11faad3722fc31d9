//! The body of a frame.

use driftway_wire::{ARP_LEN, ArpMessage, RoutedPacket};

/// The body of a frame: a packet of IP, or a message of ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum FrameBody {
    /// A packet of IP, with the header of its routing protocol.
    Ip(RoutedPacket),
    /// A message of ARP.
    Arp(ArpMessage),
}

impl FrameBody {
    /// Returns the packet, if it is one.
    pub const fn packet(&self) -> Option<&RoutedPacket> {
        match self {
            Self::Ip(packet) => Some(packet),
            Self::Arp(_) => None,
        }
    }

    /// Returns the size (bytes).
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Ip(packet) => packet.len(),
            Self::Arp(_) => ARP_LEN,
        }
    }

    /// Returns true for a message of routing or ARP, which no host sends.
    pub fn is_control(&self) -> bool {
        match self {
            Self::Ip(packet) => packet.is_control(),
            Self::Arp(_) => true,
        }
    }
}
