//! Frames and link events.

use driftway_base::{DropReason, PacketId};

/// A frame: a handle, its size, and its ECN capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Handle of the caller, passed back unchanged.
    pub id: PacketId,
    /// Size on the link in bytes, including headers.
    pub bytes: u32,
    /// True if the packet has an ECN-capable codepoint, so that it can be marked instead of
    /// dropped.
    pub ecn_capable: bool,
    /// Hash of the packet's flow, for queues that are fair to flows; equal for all packets of one.
    pub flow: u32,
}

/// Properties of a queued item.
pub trait QueueEntry: Copy {
    /// Returns the handle of the caller.
    fn id(&self) -> PacketId;
    /// Returns its size in bytes.
    fn bytes(&self) -> u32;
    /// Returns true if it can be marked instead of dropped.
    fn ecn_capable(&self) -> bool;
    /// Returns a hash of its flow, if the queue is to be fair to flows.
    fn flow(&self) -> u32 {
        0
    }
}

impl QueueEntry for Frame {
    fn id(&self) -> PacketId {
        self.id
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }

    fn flow(&self) -> u32 {
        self.flow
    }
}

/// An end of a link; in frames and events, the sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that is processed first at equal times.
    A,
    /// The other end.
    B,
}

impl Side {
    /// Returns the other end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Position at which a frame enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// The tail, behind all queued frames.
    Tail,
    /// The head, before all queued frames: it is sent next.
    Front,
}

/// Result of enqueueing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// Accepted.
    Accepted {
        /// True if the frame's Congestion Experienced codepoint is to be set.
        mark: bool,
        /// Handle of the last frame in a full queue, evicted by this one when it enters at the
        /// front. It is dropped ([`DropReason::QueueOverflow`]) without an event.
        evicted: Option<PacketId>,
    },
    /// Dropped, without an event.
    Dropped {
        /// [`DropReason::QueueOverflow`], [`DropReason::Red`] or [`DropReason::Pie`].
        reason: DropReason,
    },
    /// Refused because the link is cut: the caller keeps the frame, and may answer with an ICMP
    /// message. Returned by links only, never by a queue alone.
    Refused,
}

/// A frame that leaves its queue for the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued<F> {
    /// The frame.
    pub frame: F,
    /// True if the frame's Congestion Experienced codepoint is to be set.
    pub mark: bool,
}

/// Event of an accepted frame. Each accepted frame that was not evicted ends with exactly one
/// [`Arrived`](Self::Arrived) or [`Lost`](Self::Lost).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// Marked as it left the queue: the frame's Congestion Experienced codepoint is to be set.
    Marked {
        /// Sending end.
        from: Side,
        /// Handle of the frame.
        id: PacketId,
    },
    /// Its transmission begins. Reported on request
    /// ([`PathLink::report_transmissions`](crate::PathLink::report_transmissions)).
    Sent {
        /// Sending end.
        from: Side,
        /// Handle of the frame.
        id: PacketId,
    },
    /// Delivered at the other end.
    Arrived {
        /// Sending end.
        from: Side,
        /// Handle of the frame.
        id: PacketId,
    },
    /// Lost.
    Lost {
        /// Sending end.
        from: Side,
        /// Handle of the frame.
        id: PacketId,
        /// [`DropReason::BitError`], [`DropReason::Codel`], [`DropReason::Partition`], or
        /// [`DropReason::QueueOverflow`] where the queue makes room by a frame that it had accepted.
        reason: DropReason,
    },
}

/// A frame that a link has accepted and for which no event has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingFrame {
    /// Sending end.
    pub from: Side,
    /// The frame.
    pub frame: Frame,
    /// Stage of its transmission.
    pub stage: FrameStage,
}

/// Stages of a frame's transmission over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStage {
    /// Queued.
    Queued,
    /// The frame is in transmission.
    InService,
    /// Propagating.
    InFlight,
}
