//! What a link is like.

use driftway_base::{Duration, Rate};

use crate::red::RedConfig;

/// A link of a path; both directions are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// How fast a frame is serialised.
    pub rate: Rate,
    /// How long a serialised frame is on its way.
    pub delay: Delay,
    /// How often one is damaged.
    pub errors: ErrorModel,
    /// The queue on each side.
    pub queue: QueueConfig,
    /// Do the two directions share the rate?
    pub duplex: Duplex,
    /// May a frame overtake its predecessor?
    pub order: DeliveryOrder,
}

/// How long a frame is on its way once it is serialised; drawn for each frame and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always the same.
    Fixed(Duration),
    /// Any span between two, both included, with equal chance (`liu-singh-2001` §V).
    Uniform {
        /// The shortest.
        low: Duration,
        /// The longest; below `low`, it counts as `low`.
        high: Duration,
    },
}

/// How frames are damaged. Probabilities are clamped to 0…1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorModel {
    /// Never.
    None,
    /// Each bit with this probability: a frame of n bits is lost with 1 − (1 − BER)ⁿ.
    BitErrorRate(f64),
    /// Each frame with this probability, whatever its size.
    FrameErrorRate(f64),
}

/// An interface queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueConfig {
    /// How many frames may wait. The one that is being sent does not wait.
    pub limit: usize,
    /// What happens before the queue is full.
    pub discipline: Discipline,
    /// The probability that a mark that was due is not set.
    pub mark_loss: f64,
}

/// What a queue does with an arriving frame before it is full. A full queue drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// Queue it.
    DropTail {
        /// Mark it, if it can be marked and at least this many wait as it arrives.
        ecn_threshold: Option<usize>,
    },
    /// Random early detection.
    Red(RedConfig),
}

/// Do the two directions of a link share its rate?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// Each direction has the whole rate.
    Full,
    /// One frame at a time; when frames wait on both sides, the sides take turns.
    Shared,
    /// Each frame has the whole rate to itself: none waits for another, and the queues stay empty
    /// (the network model of `chandran-1998` §5.2).
    PerPacket,
}

/// May a frame overtake its predecessor in the same direction, when its delay is shorter?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// No: it arrives with its predecessor at the earliest. A damaged frame holds nobody back.
    Fifo,
    /// Yes.
    Free,
}
