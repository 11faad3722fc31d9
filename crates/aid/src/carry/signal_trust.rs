//! How far a message is believed that says the path is gone.
//!
//! It is a hint (RFC 5927 §4): whoever has seen a segment can forge one. A router that had no way for a
//! segment has not delivered it: where the peer acknowledges that segment although nothing was sent
//! again, the message was untrue. What says the same after that is believed only if the peer is silent
//! for a timeout; and once that has confirmed one, the next is believed at once.

use driftway_base::{Duration, Instant, Seq};

/// What is known of the truth of such messages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignalTrust {
    /// The last one was untrue.
    is_distrusted: bool,
    /// The one that holds TCP: what has not arrived if it is true, and until when an acknowledgment
    /// cannot be of anything that was sent since.
    accepted: Option<(Seq, Instant)>,
    /// One that is not believed yet: from when on an arrival says that it is untrue, and when silence
    /// says that it is true.
    unconfirmed: Option<(Instant, Instant)>,
}

impl SignalTrust {
    /// The path is said to be gone. `false`: that is to be seen, within `timeout`.
    pub fn on_path_lost(&mut self, now: Instant, srtt: Duration, timeout: Duration) -> bool {
        if self.is_distrusted {
            self.unconfirmed.get_or_insert((now + srtt, now + timeout.max(srtt)));
        }
        !self.is_distrusted
    }

    /// It is believed. If it is true, `lost` has not arrived; what is acknowledged before `until` was
    /// sent before it came.
    pub fn on_accepted(&mut self, lost: Option<Seq>, until: Instant) {
        self.accepted = lost.map(|lost| (lost, until));
    }

    /// The peer acknowledges everything before `ack`.
    pub fn on_acknowledgment(&mut self, now: Instant, ack: Seq) {
        self.unconfirmed = self.unconfirmed.filter(|(from, _)| now < *from);
        if self.accepted.is_some_and(|(lost, until)| now < until && ack.after(lost)) {
            (self.is_distrusted, self.accepted) = (true, None);
        }
    }

    /// There is a path again.
    pub fn on_path_restored(&mut self) {
        (self.accepted, self.unconfirmed) = (None, None);
    }

    /// When silence is long enough.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.unconfirmed.map(|(_, at)| at)
    }

    /// Is it, so that what was doubted is true? Where nothing is outstanding, it says nothing.
    pub fn is_confirmed(&mut self, now: Instant, is_outstanding: bool) -> bool {
        let silent = self.unconfirmed.take_if(|(_, at)| now >= *at).is_some();
        let confirmed = silent && is_outstanding;
        self.is_distrusted &= !confirmed;
        confirmed
    }
}
