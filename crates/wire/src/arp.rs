//! ARP (RFC 826) for IPv4 over 48-bit hardware addresses.

use core::fmt;

use driftway_base::{Ipv4Addr, NodeId};

use crate::DecodeError;
use crate::cursor::Reader;

/// Length of an ARP message (bytes). It has no IP header.
pub const ARP_LEN: u32 = 28;

const HARDWARE_ETHERNET: u16 = 1;
const PROTOCOL_IPV4: u16 = 0x0800;
const HARDWARE_LEN: u8 = 6;
const PROTOCOL_LEN: u8 = 4;
const REQUEST: u16 = 1;
const REPLY: u16 = 2;

/// A 48-bit hardware address (IEEE 802).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct HardwareAddr(pub [u8; 6]);

impl HardwareAddr {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The address of a node of a simulation: locally administered, so that it is no adapter's address.
    pub const fn of_node(node: NodeId) -> Self {
        let [a, b, c, d] = node.number().to_be_bytes();
        Self([0x02, 0, a, b, c, d])
    }

    /// The simulated node with this address; `None` for other addresses.
    pub const fn node(self) -> Option<NodeId> {
        match self.0 {
            [0x02, 0, a, b, c, d] => Some(NodeId::new(u32::from_be_bytes([a, b, c, d]))),
            _ => None,
        }
    }
}

impl fmt::Display for HardwareAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// ARP operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpOperation {
    /// Request for the hardware address of the target protocol address.
    Request,
    /// Reply with the sender's hardware address.
    Reply,
}

/// An ARP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArpMessage {
    /// Operation.
    pub operation: ArpOperation,
    /// Hardware address of the sender.
    pub sender_hardware: HardwareAddr,
    /// Protocol address of the sender.
    pub sender: Ipv4Addr,
    /// Hardware address of the target; ignored in a request.
    pub target_hardware: HardwareAddr,
    /// Protocol address of the target.
    pub target: Ipv4Addr,
}

impl ArpMessage {
    /// Encodes the message.
    pub fn encode(&self) -> [u8; ARP_LEN as usize] {
        let operation = match self.operation {
            ArpOperation::Request => REQUEST,
            ArpOperation::Reply => REPLY,
        };
        let [h0, h1] = HARDWARE_ETHERNET.to_be_bytes();
        let [p0, p1] = PROTOCOL_IPV4.to_be_bytes();
        let [o0, o1] = operation.to_be_bytes();
        let [a0, a1, a2, a3, a4, a5] = self.sender_hardware.0;
        let [b0, b1, b2, b3] = self.sender.octets();
        let [c0, c1, c2, c3, c4, c5] = self.target_hardware.0;
        let [d0, d1, d2, d3] = self.target.octets();
        #[rustfmt::skip]
        let bytes = [
            h0, h1, p0, p1, HARDWARE_LEN, PROTOCOL_LEN, o0, o1,
            a0, a1, a2, a3, a4, a5, b0, b1, b2, b3,
            c0, c1, c2, c3, c4, c5, d0, d1, d2, d3,
        ];
        bytes
    }

    /// Decodes a message. Bytes that follow it are frame padding.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], or [`DecodeError::ArpMessage`] for other address types, or for operations
    /// other than request and reply.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        let (hardware, protocol) = (from.u16()?, from.u16()?);
        let (hardware_len, protocol_len) = (from.u8()?, from.u8()?);
        let kind = from.u16()?;
        let ours = (HARDWARE_ETHERNET, PROTOCOL_IPV4, HARDWARE_LEN, PROTOCOL_LEN);
        let operation = match kind {
            REQUEST => ArpOperation::Request,
            REPLY => ArpOperation::Reply,
            _ => return Err(DecodeError::ArpMessage { operation: kind }),
        };
        if (hardware, protocol, hardware_len, protocol_len) != ours {
            return Err(DecodeError::ArpMessage { operation: kind });
        }
        let (sender_hardware, sender) = (HardwareAddr(from.read_array()?), from.address()?);
        let (target_hardware, target) = (HardwareAddr(from.read_array()?), from.address()?);
        Ok(Self { operation, sender_hardware, sender, target_hardware, target })
    }
}
