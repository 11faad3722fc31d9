//! The states of BBR version 3 and their gains (draft-ietf-ccwg-bbr-04 §5.1.1, §5.6.1).

use crate::congestion::path::ModeTable;

/// 4 ln 2: the lowest gain that doubles the rate in each round (§5.3.1.1).
pub(super) const STARTUP_PACING_GAIN: f64 = 2.77;

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Doubles the rate in each round (§5.3.1).
    Startup,
    /// Drains the queue that Startup has made (§5.3.2).
    Drain,
    /// Leaves room for others, and drains what probing has queued (§5.3.3.1).
    ProbeBwDown,
    /// Sends as fast as data is delivered (§5.3.3.2).
    ProbeBwCruise,
    /// Fills the pipe for a round, without a queue (§5.3.3.3).
    ProbeBwRefill,
    /// Sends faster (§5.3.3.4).
    ProbeBwUp,
    /// Keeps half of what the path holds in flight, to measure its round-trip time (§5.3.4).
    ProbeRtt,
}

/// Event that leads from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The bandwidth grows no more, or much is lost.
    PipeFull,
    /// No more is in flight than the path holds.
    QueueDrained,
    /// There is headroom below the bounds as well.
    HeadroomLeft,
    /// It is time to probe for bandwidth.
    ProbeDue,
    /// A round has passed.
    PipeRefilled,
    /// The bandwidth grows no more, or too much was lost.
    ProbeEnded,
    /// The minimum round-trip time is five seconds old.
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
    name: "bbr3",
    transitions: &[
        (M::Startup, E::PipeFull, M::Drain),
        (M::Drain, E::QueueDrained, M::ProbeBwDown),
        (M::ProbeBwDown, E::HeadroomLeft, M::ProbeBwCruise),
        (M::ProbeBwDown, E::ProbeDue, M::ProbeBwRefill),
        (M::ProbeBwCruise, E::ProbeDue, M::ProbeBwRefill),
        (M::ProbeBwRefill, E::PipeRefilled, M::ProbeBwUp),
        (M::ProbeBwUp, E::ProbeEnded, M::ProbeBwDown),
        (M::Startup, E::MinRttExpired, M::ProbeRtt),
        (M::Drain, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeBwDown, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeBwCruise, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeBwRefill, E::MinRttExpired, M::ProbeRtt),
        (M::ProbeBwUp, E::MinRttExpired, M::ProbeRtt),
        // §5.3.4.4: by way of ProbeBW_DOWN, since little is in flight.
        (M::ProbeRtt, E::MinRttMeasured, M::ProbeBwCruise),
        (M::ProbeRtt, E::MinRttMeasuredInStartup, M::Startup),
        (M::Drain, E::PathForgotten, M::Startup),
        (M::ProbeBwDown, E::PathForgotten, M::Startup),
        (M::ProbeBwCruise, E::PathForgotten, M::Startup),
        (M::ProbeBwRefill, E::PathForgotten, M::Startup),
        (M::ProbeBwUp, E::PathForgotten, M::Startup),
        (M::ProbeRtt, E::PathForgotten, M::Startup),
    ],
};

impl Mode {
    /// Pacing rate in bandwidths.
    pub fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            // §5.3.2; the table of §5.6.1 still has 0.5.
            Self::Drain => 0.35,
            Self::ProbeBwDown => 0.9,
            Self::ProbeBwUp => 1.25,
            Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeRtt => 1.0,
        }
    }
    /// Window in bandwidth-delay products.
    pub fn cwnd_gain(self) -> f64 {
        match self {
            Self::ProbeBwUp => 2.25,
            Self::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }
    /// One of the states of ProbeBW (IsInAProbeBWState).
    pub fn probes_bandwidth(self) -> bool {
        use Mode::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }
    /// Accelerates, so that losses are expected (BBRIsProbingBW).
    pub fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_committed_diagram_of_bbr3_is_up_to_date() {
        MODES.check_diagram();
    }
}
