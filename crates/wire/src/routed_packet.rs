//! A packet between nodes that route for each other.

use crate::{AodvMessage, Body, DsrHeader, Packet};

/// An IP packet, and what routing puts into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutedPacket {
    /// The IP header, and what it carries in the end.
    pub packet: Packet,
    /// The DSR header between the two.
    pub dsr: Option<DsrHeader>,
    /// Bytes that a simulator adds to the packet and that no standard knows (ns-2.35 gives TCP
    /// packets under DSR a second IP header), or leaves out (AODV's UDP header).
    pub size_adjustment: i16,
}

impl RoutedPacket {
    /// A packet to which routing adds nothing.
    pub const fn plain(packet: Packet) -> Self {
        Self { packet, dsr: None, size_adjustment: 0 }
    }

    /// Its total length on the air (bytes): IP header, DSR header, transport header, payload.
    pub fn len(&self) -> u32 {
        let dsr = self.dsr.as_ref().map_or(0, DsrHeader::size);
        self.packet.len().saturating_add(dsr).saturating_add_signed(i32::from(self.size_adjustment))
    }

    /// Never: a packet has at least its header. Here for those who ask.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Is it routing's own: no byte of a host in it?
    pub const fn is_control(&self) -> bool {
        matches!(self.packet.body, Body::Aodv(_) | Body::NoNextHeader)
    }

    /// The AODV message that it is.
    pub const fn aodv(&self) -> Option<&AodvMessage> {
        match &self.packet.body {
            Body::Aodv(message) => Some(message),
            _ => None,
        }
    }
}
