//! Control messages of routing protocols whose formats this crate does not know: a kind, and bytes.

use core::fmt;

use crate::cursor::Writer;
use crate::{EncodeError, Payload, UdpDatagram};

/// A kind of control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlKind {
    /// Name in logs, such as `olsr-hello`.
    pub name: &'static str,
    /// UDP port at both ends.
    pub port: u16,
}

/// A control message of a routing protocol, carried in a UDP datagram: a kind, and bytes that only the protocol
/// understands. Decoded, it is a [`UdpDatagram`] with these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ControlMessage {
    kind: &'static ControlKind,
    len: u8,
    bytes: [u8; Self::MAX_BYTES],
}

impl ControlMessage {
    /// Maximum number of bytes; what is longer takes several messages.
    pub const MAX_BYTES: usize = 112;

    /// Creates a message; `None` if there are more than [`MAX_BYTES`](Self::MAX_BYTES).
    pub fn new(kind: &'static ControlKind, bytes: &[u8]) -> Option<Self> {
        let mut message = Self { kind, len: 0, bytes: [0; Self::MAX_BYTES] };
        message.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        message.len = bytes.len() as u8;
        Some(message)
    }

    /// The kind.
    pub const fn kind(&self) -> &'static ControlKind {
        self.kind
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Length (bytes), without the UDP header.
    pub(crate) const fn size(&self) -> u32 {
        self.len as u32
    }

    /// Writes the datagram with a checksum of zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let port = self.kind.port;
        let payload = Payload::new(0, 0, self.size());
        UdpDatagram { source_port: port, destination_port: port, payload }.write(to)?;
        to.slice(self.bytes().len())?.copy_from_slice(self.bytes());
        Ok(())
    }
}

/// The length fits into its field.
const _: () = assert!(ControlMessage::MAX_BYTES <= u8::MAX as usize);

impl fmt::Debug for ControlMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02x?}", self.kind.name, self.bytes())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::{Body, IpHeader, Packet};
    use driftway_base::Ipv4Addr;

    static HELLO: ControlKind = ControlKind { name: "hello", port: 698 };

    #[test]
    fn a_message_is_a_datagram_with_its_bytes() {
        let ip = IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::BROADCAST);
        let message = ControlMessage::new(&HELLO, b"neighbours").unwrap();
        let packet = Packet { ip, body: Body::Control(message) };
        let mut bytes = [0; 64];
        assert_eq!(packet.encode(&mut bytes, |_, _| ()), Ok(20 + 8 + 10));
        let decoded = Packet::decode(&bytes).unwrap();
        let Body::Udp(datagram) = decoded.packet.body else { panic!("{decoded:?}") };
        assert_eq!((datagram.destination_port, decoded.payload), (698, &b"neighbours"[..]));
        assert_eq!(decoded.packet.len(), packet.len());
    }

    #[test]
    fn a_message_has_a_maximum_length() {
        assert!(ControlMessage::new(&HELLO, &[1; ControlMessage::MAX_BYTES]).is_some());
        assert!(ControlMessage::new(&HELLO, &[1; ControlMessage::MAX_BYTES + 1]).is_none());
    }

    /// Packets move by value.
    #[test]
    fn messages_do_not_increase_the_size_of_packets() {
        assert!(size_of::<Body>() <= size_of::<crate::AodvMessage>() + 8);
    }
}
