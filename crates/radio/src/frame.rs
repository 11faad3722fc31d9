//! What a node gives to the air, and what it is told.

use driftway_base::Instant;

/// A packet that a node's link layer is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutgoingPacket {
    /// The owner's handle; the air only gives it back.
    pub id: u32,
    /// The node it is for; `None` for all that hear it.
    pub to: Option<u32>,
    /// Size of the packet, without what the link layer adds (bytes).
    pub bytes: u32,
}

/// What the air says, each with the instant at which it is so (up to a microsecond before it is
/// said: a frame's end is looked at once, when the furthest node has heard it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacReport {
    /// A node got a packet that is for it, or for all. The sender has it still: the handle is
    /// good for a copy until the sender is told what became of it.
    Received {
        /// Who got it.
        node: u32,
        /// Who sent it over this hop.
        from: u32,
        /// The sender's handle.
        id: u32,
        /// It is for all that hear it.
        broadcast: bool,
        /// When its last bit was there.
        at: Instant,
    },
    /// A node that listens to everything heard a packet that is for another.
    Overheard {
        /// Who heard it.
        node: u32,
        /// Who sent it over this hop.
        from: u32,
        /// Whom it is for.
        to: u32,
        /// The sender's handle.
        id: u32,
        /// When its last bit was there.
        at: Instant,
    },
    /// A packet is out: acknowledged, or sent to all. The node takes the next.
    Sent {
        /// Who sent it.
        node: u32,
        /// Its handle.
        id: u32,
        /// The neighbour that it was for; `None`: for all.
        to: Option<u32>,
        /// When that was known.
        at: Instant,
    },
    /// A packet was given up. The node takes the next.
    Failed {
        /// Who gave up.
        node: u32,
        /// Its handle.
        id: u32,
        /// Whom it was for.
        to: u32,
        /// Why.
        reason: FailReason,
        /// When.
        at: Instant,
    },
}

/// Why a packet was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailReason {
    /// No CTS came, up to the short retry limit.
    NoCts,
    /// No ACK came, up to the retry limit of the frame: the long one if it was sent after RTS and
    /// CTS, else the short one.
    NoAck,
}
