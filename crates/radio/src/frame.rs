//! Packets handed to a MAC and what the MAC reports about them.

use driftway_base::{Instant, PacketId, StationId};

/// A packet for a station's MAC to transmit (an MSDU in the terms of 802.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingPacket {
    /// Handle of the owner, passed back unchanged.
    pub id: PacketId,
    /// Receiver; `None`: broadcast.
    pub to: Option<StationId>,
    /// Size without the link layer's overhead (bytes).
    pub bytes: u32,
    /// True for a message of routing or ARP; its frames are counted.
    pub is_control: bool,
}

/// A report of the MAC, with the instant to which it applies. That instant may lie up to a
/// microsecond before the report: the end of a frame is processed once, when it has reached the
/// most distant receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacReport {
    /// A station received a unicast packet addressed to it, or a broadcast. The sender still owns
    /// the packet: the handle can be used for a copy until the sender's own `Sent` or `Failed`.
    Received {
        /// Receiving station.
        station: StationId,
        /// Transmitter of this hop.
        from: StationId,
        /// Handle of the sender.
        id: PacketId,
        /// True for a broadcast.
        broadcast: bool,
        /// Arrival of its last bit.
        at: Instant,
    },
    /// A station in promiscuous mode received a packet addressed to another station.
    Overheard {
        /// Overhearing station.
        station: StationId,
        /// Transmitter of this hop.
        from: StationId,
        /// Addressed station.
        to: StationId,
        /// Handle of the sender.
        id: PacketId,
        /// Arrival of its last bit.
        at: Instant,
    },
    /// A packet was acknowledged, or a broadcast was transmitted or given up because the station
    /// was disabled. An enabled station accepts the next packet.
    Sent {
        /// Transmitting station.
        station: StationId,
        /// Handle of the packet.
        id: PacketId,
        /// Receiver; `None`: broadcast.
        to: Option<StationId>,
        /// End of the exchange.
        at: Instant,
    },
    /// A packet was discarded after its last retry, or because the station was disabled. An enabled
    /// station accepts the next packet.
    Failed {
        /// Transmitting station.
        station: StationId,
        /// Handle of the packet.
        id: PacketId,
        /// Receiver.
        to: StationId,
        /// Missing response; of a station that was disabled, the first response that a packet waits
        /// for.
        reason: FailReason,
        /// End of the last attempt, or the instant at which the station was disabled.
        at: Instant,
    },
}

/// Reason for which a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailReason {
    /// No CTS was received within the short retry limit.
    NoCts,
    /// No ACK was received within the retry limit of the frame: the long one if it was sent after
    /// RTS and CTS, else the short one.
    NoAck,
}
