//! UDP datagrams (RFC 768).

use crate::Payload;

/// A UDP header and the name of what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UdpDatagram {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub destination_port: u16,
    /// What it carries.
    pub payload: Payload,
}
