//! The Route Error option of a DSR header (RFC 4728 §6.4, §7.3).

use driftway_base::Ipv4Addr;

use super::option_head::{ERROR, write_option_head};
use crate::cursor::{Reader, Writer};
use crate::{DecodeError, EncodeError};

// Error types (RFC 4728 §6.4, §7.3).
const NODE_UNREACHABLE: u8 = 1;
const UNKNOWN_FLOW: u8 = 129;
const DEFAULT_FLOW_UNKNOWN: u8 = 130;

/// Route Error option (RFC 4728 §6.4, §7.3) of type "node unreachable", or about flow state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrError {
    /// Error type and type-specific information.
    pub kind: DsrErrorKind,
    /// Salvage count of the packet that caused the error, 4 bits.
    pub salvage: u8,
    /// Error source address: the node that detected the error.
    pub source: Ipv4Addr,
    /// Error destination address: the node to be notified.
    pub destination: Ipv4Addr,
}

/// Type of a Route Error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsrErrorKind {
    /// The error source cannot reach this neighbour.
    NodeUnreachable(Ipv4Addr),
    /// The error source does not know the flow (RFC 4728 §7.3.1).
    UnknownFlow {
        /// Destination of the flow's packet.
        destination: Ipv4Addr,
        /// Flow ID.
        id: u16,
    },
    /// The error source does not know a default flow between the packet's endpoints (RFC 4728 §7.3.2).
    DefaultFlowUnknown {
        /// Destination of the packet.
        destination: Ipv4Addr,
    },
}

impl DsrError {
    /// Length (bytes).
    pub const fn size(&self) -> u32 {
        12 + match self.kind {
            DsrErrorKind::NodeUnreachable(_) | DsrErrorKind::DefaultFlowUnknown { .. } => 4,
            DsrErrorKind::UnknownFlow { .. } => 6,
        }
    }

    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let kind = match self.kind {
            DsrErrorKind::NodeUnreachable(_) => NODE_UNREACHABLE,
            DsrErrorKind::UnknownFlow { .. } => UNKNOWN_FLOW,
            DsrErrorKind::DefaultFlowUnknown { .. } => DEFAULT_FLOW_UNKNOWN,
        };
        write_option_head(ERROR, self.size() - 2, to)?;
        to.u8(kind)?;
        to.u8(self.salvage.min(15))?;
        to.u32(self.source.to_bits())?;
        to.u32(self.destination.to_bits())?;
        match self.kind {
            DsrErrorKind::NodeUnreachable(node) => to.u32(node.to_bits()),
            DsrErrorKind::DefaultFlowUnknown { destination } => to.u32(destination.to_bits()),
            DsrErrorKind::UnknownFlow { destination, id } => {
                to.u32(destination.to_bits())?;
                to.u16(id)
            }
        }
    }

    /// Decodes a Route Error; `None` if its type is not supported.
    pub(crate) fn read(mut from: Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let (kind, salvage) = (from.u8()?, from.u8()? & 15);
        let (source, destination) = (from.address()?, from.address()?);
        let kind = match kind {
            NODE_UNREACHABLE => DsrErrorKind::NodeUnreachable(from.address()?),
            UNKNOWN_FLOW => {
                DsrErrorKind::UnknownFlow { destination: from.address()?, id: from.u16()? }
            }
            DEFAULT_FLOW_UNKNOWN => {
                DsrErrorKind::DefaultFlowUnknown { destination: from.address()? }
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, salvage, source, destination }))
    }
}
