//! Changes of the local link, for aids of a mobile host.

use driftway_base::{Duration, Signal, SignalKind};

/// A change of the link by which the local host is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The host is disconnected.
    Down,
    /// The host is connected again.
    Up,
    /// The host is expected to be disconnected after this time.
    Fading(Duration),
}

impl LinkChange {
    /// The change that a signal reports, if any. Drivers that know routes instead of links, such as the shim,
    /// report these: a route that has failed stands for a link that is down.
    pub fn of(signal: &Signal) -> Option<Self> {
        match signal.kind {
            SignalKind::LinkDown | SignalKind::RouteFailed => Some(Self::Down),
            SignalKind::LinkUp | SignalKind::RouteRestored => Some(Self::Up),
            SignalKind::LinkFading { expected_lifetime } => Some(Self::Fading(expected_lifetime)),
            _ => None,
        }
    }
}
