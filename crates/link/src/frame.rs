//! What a link moves, and what it says about it.

/// A frame as a link sees it: a handle, its size, and whether a mark could be set on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The caller's handle; the link only gives it back.
    pub id: u32,
    /// Size on the link, headers included, in bytes.
    pub bytes: u32,
    /// The packet carries an ECN-capable codepoint, so it can be marked instead of dropped.
    pub ecn_capable: bool,
}

/// What a queue must know of what waits in it.
pub trait QueueEntry: Copy {
    /// The caller's handle.
    fn id(&self) -> u32;
    /// It can be marked instead of dropped.
    fn ecn_capable(&self) -> bool;
}

impl QueueEntry for Frame {
    fn id(&self) -> u32 {
        self.id
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }
}

/// An end of a link. In frames and events: the end that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that goes first when two things happen in one instant.
    A,
    /// The other end.
    B,
}

impl Side {
    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Where an arriving frame goes in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// Behind all that wait.
    Tail,
    /// Before all that wait: it is the next to be sent.
    Front,
}

/// Why a frame did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full.
    QueueOverflow,
    /// RED dropped it early.
    RedDrop,
    /// Damaged on the way.
    BitError,
    /// On the link, or in a queue that is emptied, when the link was cut.
    Partition,
}

/// What became of an offered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// The link has it.
    Accepted {
        /// Set the frame's Congestion Experienced codepoint.
        mark: bool,
        /// The frame (by its handle) that lost its place to this one: the last in a full queue,
        /// when this one goes to the front. It is dropped ([`DropReason::QueueOverflow`]), and no
        /// event will tell of it.
        evicted: Option<u32>,
    },
    /// It is dropped; no event will tell of it.
    Dropped {
        /// [`DropReason::QueueOverflow`] or [`DropReason::RedDrop`].
        reason: DropReason,
    },
    /// The link is cut and does not take it: the caller has it still, and answers with an ICMP
    /// message or not. Only a link says this, never a queue by itself.
    Refused,
}

/// What happened to a frame that the link had accepted. Each accepted frame that was not pushed
/// out has exactly one event in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is at the other end.
    Arrived {
        /// The side that sent it.
        from: Side,
        /// Its handle.
        id: u32,
    },
    /// It is gone.
    Lost {
        /// The side that sent it.
        from: Side,
        /// Its handle.
        id: u32,
        /// [`DropReason::BitError`] or [`DropReason::Partition`].
        reason: DropReason,
    },
}

/// A frame that a link has accepted and not yet said anything about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingFrame {
    /// The side that sends it.
    pub from: Side,
    /// The frame.
    pub frame: Frame,
    /// How far it is.
    pub stage: FrameStage,
}

/// How far a frame is on its way over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStage {
    /// In the queue.
    Queued,
    /// Being serialised.
    InService,
    /// Sent, not yet there.
    InFlight,
}
