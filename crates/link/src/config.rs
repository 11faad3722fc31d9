//! Configuration of links and queues.

use alloc::sync::Arc;

use driftway_base::{Duration, Rate, named};

use crate::burst::BurstConfig;
use crate::codel::CodelConfig;
use crate::fq_codel::FqCodelConfig;
use crate::link_trace::LinkTrace;
use crate::opportunities::Opportunities;
use crate::pie::PieConfig;
use crate::red::RedConfig;

/// Configuration of a link of a path, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Delay,
    /// Error model.
    pub errors: ErrorModel,
    /// Queue at each end.
    pub queue: QueueConfig,
    /// Sharing of the rate between the directions.
    pub duplex: Duplex,
    /// Order of delivery.
    pub order: DeliveryOrder,
}

/// Configuration of a link whose directions may differ.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkDirections {
    /// The direction from side A to side B.
    pub forward: DirectionConfig,
    /// The direction from side B to side A.
    pub backward: DirectionConfig,
    /// Sharing of the rate between the directions. With [`Capacity::Opportunities`] in one of them
    /// it counts as [`Duplex::Full`].
    pub duplex: Duplex,
    /// Order of delivery.
    pub order: DeliveryOrder,
}

/// Configuration of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionConfig {
    /// Capacity.
    pub capacity: Capacity,
    /// Propagation delays.
    pub delay: DelayProcess,
    /// Independent errors.
    pub errors: ErrorModel,
    /// Bursts of losses, in addition to the errors.
    pub burst: Option<BurstConfig>,
    /// Period of lost frames: every N-th frame that is transmitted is lost, in addition to the errors
    /// and bursts; 0: none.
    pub loss_period: u32,
    /// Measured values over time, which take the place of the capacity, the delays and the errors
    /// as far as the trace has them.
    pub trace: Option<LinkTrace>,
    /// Queue of the sending end.
    pub queue: QueueConfig,
}

/// Capacity of a direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// A constant rate.
    Rate(Rate),
    /// Measured delivery opportunities.
    Opportunities(Opportunities),
}

impl From<LinkConfig> for LinkDirections {
    fn from(config: LinkConfig) -> Self {
        let LinkConfig { rate, delay, errors, queue, duplex, order } = config;
        let direction = DirectionConfig {
            capacity: Capacity::Rate(rate),
            delay: DelayProcess::Independent(delay),
            errors,
            burst: None,
            loss_period: 0,
            trace: None,
            queue,
        };
        Self { forward: direction.clone(), backward: direction, duplex, order }
    }
}

/// Propagation delay of a frame after its transmission; drawn for each frame and direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Constant.
    Fixed(Duration),
    /// Uniformly distributed between two bounds, both included (`liu-singh-2001` §V).
    Uniform {
        /// Minimum.
        low: Duration,
        /// Maximum; if below `low`, `low` is used.
        high: Duration,
    },
}

/// Delays of the frames of one direction.
#[derive(Clone, Debug, PartialEq)]
pub enum DelayProcess {
    /// Drawn for each frame on its own.
    Independent(Delay),
    /// Drawn so that the delays of two frames in succession have this correlation, 0 to 1; all keep
    /// their uniform distribution.
    Correlated {
        /// Distribution.
        delay: Delay,
        /// Correlation.
        correlation: f64,
    },
    /// Constant for a time, then the next of these, and after the last the first again: the
    /// handovers of a constellation of satellites.
    Steps {
        /// The delays.
        delays: Arc<[Duration]>,
        /// Time from one step to the next.
        every: Duration,
    },
}

/// Error models. Probabilities are clamped to 0…1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorModel {
    /// No errors.
    None,
    /// Bit error rate: a frame of n bits is lost with probability 1 − (1 − BER)ⁿ.
    BitErrorRate(f64),
    /// Frame error rate, independent of the size.
    FrameErrorRate(f64),
}

/// Configuration of an interface queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueConfig {
    /// Maximum number of queued frames, excluding the frame in transmission.
    pub limit: usize,
    /// Maximum bytes of queued frames; `None`: only their number is limited.
    pub max_bytes: Option<u64>,
    /// Queue discipline.
    pub discipline: Discipline,
    /// Probability that a due ECN mark is not set.
    pub mark_loss: f64,
}

/// Queue disciplines: the treatment of a frame that arrives before the queue is full, or leaves it.
/// A full queue drops what arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// Tail drop.
    DropTail {
        /// Marks an ECN-capable frame if at least this many frames are queued on its arrival.
        ecn_threshold: Option<usize>,
    },
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    Codel(CodelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
    /// Controlled delay in a queue of each flow, served in turn. A full queue drops from the longest flow's head.
    FqCodel(FqCodelConfig),
}

named! {
    /// Sharing of a link's rate between its directions.
    #[derive(Default)]
    pub enum Duplex {
        /// Each direction has the whole rate.
        #[default]
        Full = "full",
        /// One packet at a time in both directions together; when both ends have packets queued, they
        /// alternate.
        Shared = "shared",
        /// Each packet has the whole rate to itself. No packet waits for another, so that queues stay
        /// empty: the network model of chandran-1998 §5.2.
        PerPacket = "per-packet",
    }
}

named! {
    /// Order of delivery in one direction, for frames with different delays.
    #[derive(Default)]
    pub enum DeliveryOrder {
        /// No packet arrives before its predecessor.
        // A corrupted frame does not delay others.
        #[default]
        Fifo = "fifo",
        /// Each packet arrives after its own delay.
        Free = "free",
    }
}
