//! Changes of the local link, for aids of a mobile host.

use driftway_base::{Duration, Instant, Signal, SignalKind};

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

/// The time at which the local link went down, for aids that take a segment that arrives for a sign that the
/// host is connected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DisconnectedSince(Option<Instant>);

impl DisconnectedSince {
    /// A segment that arrives within this time of a disconnection may have been received before it: a foreign
    /// kernel reports the one and passes the other by different ways.
    const IN_TRANSIT: Duration = Duration::from_millis(100);

    /// Records that the link is down, if it was not before.
    pub fn on_down(&mut self, now: Instant) {
        self.0.get_or_insert(now);
    }

    /// Records that the link is up.
    pub fn on_up(&mut self) {
        self.0 = None;
    }

    /// Returns true if a segment that arrives shows that the link is up again.
    pub fn is_disproved_by_arrival(self, now: Instant) -> bool {
        self.0.is_some_and(|since| now >= since + Self::IN_TRANSIT)
    }
}
