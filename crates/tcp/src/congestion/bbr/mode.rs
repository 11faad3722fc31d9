//! The modes of BBR (version 1) and their gains.

use crate::congestion::path::ModeTable;

/// 2/ln 2: the lowest gain that doubles the rate in each round (Cardwell et al. 2016), in Linux'
/// fixed-point arithmetic.
pub(super) const HIGH_GAIN: f64 = 739.0 / 256.0;
/// Its inverse drains in a round what it has queued.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// Window in bandwidth-delay products while the rate is known.
const CWND_GAIN: f64 = 2.0;

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Doubles the rate in each round.
    Startup,
    /// Drains the queue that Startup has made.
    Drain,
    /// Keeps to the bandwidth and probes for more.
    ProbeBw,
    /// Keeps four segments in flight to measure the round-trip time of the path alone.
    ProbeRtt,
}

/// Event that leads from one mode to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The bandwidth grows no more.
    PipeFull,
    /// No more is in flight than the path holds.
    QueueDrained,
    /// The minimum round-trip time is ten seconds old.
    MinRttExpired,
    /// It is measured; the pipe was full before.
    MinRttMeasured,
    /// It is measured; the pipe was not full yet.
    MinRttMeasuredInStartup,
    /// An aid says that the path is another one.
    PathForgotten,
}

use Event as E;
use Mode as M;

/// The transitions.
pub(crate) const MODES: ModeTable<Mode, Event> = ModeTable {
    name: "bbr",
    transitions: &[
        (M::Startup, E::PipeFull, M::Drain),
        (M::Drain, E::QueueDrained, M::ProbeBw),
        (M::Startup, E::MinRttExpired, M::ProbeRtt),
        (M::Drain, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeBw, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeRtt, E::MinRttMeasured, M::ProbeBw),
        (M::ProbeRtt, E::MinRttMeasuredInStartup, M::Startup),
        (M::Drain, E::PathForgotten, M::Startup),
        (M::ProbeBw, E::PathForgotten, M::Startup),
        (M::ProbeRtt, E::PathForgotten, M::Startup),
    ],
};

impl Mode {
    /// Pacing rate in bandwidths; `of_cycle` in ProbeBw.
    pub fn pacing_gain(self, of_cycle: f64) -> f64 {
        match self {
            Self::Startup => HIGH_GAIN,
            Self::Drain => DRAIN_GAIN,
            Self::ProbeBw => of_cycle,
            Self::ProbeRtt => 1.0,
        }
    }
    /// Window in bandwidth-delay products.
    pub fn cwnd_gain(self) -> f64 {
        match self {
            Self::Startup | Self::Drain => HIGH_GAIN,
            Self::ProbeBw => CWND_GAIN,
            Self::ProbeRtt => 1.0,
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_committed_diagram_of_bbr_is_up_to_date() {
        MODES.check_diagram();
    }
}
