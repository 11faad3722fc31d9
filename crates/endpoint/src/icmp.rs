//! The meaning of received ICMP messages for connections.

use driftway_base::{Ipv4Addr, SignalDetails, SignalKind, UnreachableScope};
use driftway_wire::{IcmpMessage, Packet, QuotedPacket, UnreachableCode};

/// The protocol number of TCP.
pub(crate) const PROTOCOL_TCP: u8 = 6;

/// The report of an ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IcmpReport<'a> {
    /// A signal for the connection of the quoted packet.
    Signal(SignalKind, &'a QuotedPacket),
    /// A signal for every connection to the destination of the quoted packet.
    RouteRestored(&'a QuotedPacket),
    /// A hard error, which aborts the quoted connection attempt (RFC 9293 §3.9.2.2).
    HardError(&'a QuotedPacket),
    /// An echo request or reply.
    Echo,
    /// Nothing that concerns a connection.
    Nothing,
}

impl<'a> IcmpReport<'a> {
    /// Reads a message.
    pub fn of(message: &'a IcmpMessage) -> Self {
        match message {
            IcmpMessage::Echo { .. } => Self::Echo,
            IcmpMessage::Unreachable { code: UnreachableCode::Net, quoted } => {
                Self::Signal(SignalKind::Unreachable(UnreachableScope::Net), quoted)
            }
            IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted } => {
                Self::Signal(SignalKind::Unreachable(UnreachableScope::Host), quoted)
            }
            IcmpMessage::Unreachable {
                code: UnreachableCode::Protocol | UnreachableCode::Port,
                quoted,
            } => Self::HardError(quoted),
            IcmpMessage::SourceQuench { quoted } => Self::Signal(SignalKind::SourceQuench, quoted),
            IcmpMessage::RouteFailed { quoted, .. } => {
                Self::Signal(SignalKind::RouteFailed, quoted)
            }
            IcmpMessage::RouteRestored { quoted, .. } => Self::RouteRestored(quoted),
            IcmpMessage::Unreachable { .. } | IcmpMessage::TimeExceeded { .. } => Self::Nothing,
        }
    }
}

/// Returns the details of the signal that an ICMP packet carries, but for its connection.
pub(crate) fn signal_details(packet: &Packet, message: &IcmpMessage) -> SignalDetails {
    let failed_link = match message {
        IcmpMessage::RouteFailed { link, .. } | IcmpMessage::RouteRestored { link, .. } => {
            Some(*link)
        }
        _ => None,
    };
    let destination: Option<Ipv4Addr> = message.quoted().map(|quoted| quoted.destination);
    SignalDetails {
        destination,
        failed_link,
        reporter: Some(packet.ip.source),
        ..SignalDetails::default()
    }
}
