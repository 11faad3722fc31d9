//! Events of a gateway for its driver.

use driftway_base::ConnectionId;

use super::side::Side;

/// An event of a split connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayEvent {
    /// The connection.
    pub connection: ConnectionId,
    /// Its kind.
    pub kind: GatewayEventKind,
}

/// The kind of an event of a split connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayEventKind {
    /// Both legs are established.
    Established,
    /// A leg was reset or refused, and the other leg has been reset.
    Reset(Side),
    /// A leg has given up after its last retransmission, and the other leg has been reset.
    TimedOut(Side),
    /// Data of a leg were not the next ones of their stream: they have not been relayed, and both legs
    /// have been reset. A fault of driftway's TCP.
    Damaged(Side),
}
