//! Packets between nodes that route for each other.

use crate::{AodvMessage, Body, DsrHeader, Packet};

/// An IP packet with its routing header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutedPacket {
    /// The IP header and the body.
    pub packet: Packet,
    /// The DSR header between them.
    pub dsr: Option<DsrHeader>,
    /// Correction of the length on the air (bytes) for a simulated format: positive for bytes that no
    /// standard defines (ns-2.35 gives TCP packets under DSR a second IP header), negative for omitted bytes
    /// (AODV's UDP header).
    pub size_adjustment: i16,
}

impl RoutedPacket {
    /// A packet without a routing header.
    pub const fn plain(packet: Packet) -> Self {
        Self { packet, dsr: None, size_adjustment: 0 }
    }

    /// Total length on the air (bytes): IP header, DSR header, transport header, payload.
    pub fn len(&self) -> u32 {
        let dsr = self.dsr.as_ref().map_or(0, DsrHeader::size);
        self.packet.len().saturating_add(dsr).saturating_add_signed(i32::from(self.size_adjustment))
    }

    /// Always false: a packet has at least its header.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Returns true for a routing control packet, which carries no data of a host.
    pub const fn is_control(&self) -> bool {
        matches!(self.packet.body, Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader)
    }

    /// The AODV message, if it is one.
    pub const fn aodv(&self) -> Option<&AodvMessage> {
        match &self.packet.body {
            Body::Aodv(message) => Some(message),
            _ => None,
        }
    }
}
