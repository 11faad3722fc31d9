//! Trust in signals that report a lost path.
//!
//! Such a signal is a hint (RFC 5927 §4) that anyone who has seen a segment can forge. A router that had no
//! route for a segment did not deliver it: if the peer acknowledges that segment without a retransmission,
//! the signal was false. After a false signal, the next one is accepted only if the peer is silent for a
//! timeout; once silence has confirmed one, signals are accepted at once again.

use driftway_base::{Duration, Instant, Seq};

/// State of the trust in such signals.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SignalTrust {
    /// The last signal was false.
    is_distrusted: bool,
    /// The accepted signal: the sequence number that has not arrived if it is true, and the time before which
    /// an acknowledgment cannot be for data sent since.
    accepted: Option<(Seq, Instant)>,
    /// An unconfirmed signal: the time from which an arrival refutes it, and the time at which silence
    /// confirms it.
    unconfirmed: Option<(Instant, Instant)>,
}

impl SignalTrust {
    /// A signal reports a lost path. Returns false if it is to be confirmed within `timeout` first.
    pub fn on_path_lost(&mut self, now: Instant, srtt: Duration, timeout: Duration) -> bool {
        if self.is_distrusted {
            self.unconfirmed.get_or_insert((now + srtt, now + timeout.max(srtt)));
        }
        !self.is_distrusted
    }

    /// The signal is accepted. If it is true, `lost` has not arrived; acknowledgments received before `until`
    /// are for data sent before the signal.
    pub fn on_accepted(&mut self, lost: Option<Seq>, until: Instant) {
        self.accepted = lost.map(|lost| (lost, until));
    }

    /// The peer acknowledges data up to `ack`.
    pub fn on_acknowledgment(&mut self, now: Instant, ack: Seq) {
        self.unconfirmed = self.unconfirmed.filter(|(from, _)| now < *from);
        if self.accepted.is_some_and(|(lost, until)| now < until && ack.after(lost)) {
            (self.is_distrusted, self.accepted) = (true, None);
        }
    }

    /// The path is restored.
    pub fn on_path_restored(&mut self) {
        (self.accepted, self.unconfirmed) = (None, None);
    }

    /// Time at which silence confirms the signal.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.unconfirmed.map(|(_, at)| at)
    }

    /// Returns true if silence confirms the signal. Silence does not count if no data is outstanding.
    pub fn is_confirmed(&mut self, now: Instant, is_outstanding: bool) -> bool {
        let silent = self.unconfirmed.take_if(|(_, at)| now >= *at).is_some();
        let confirmed = silent && is_outstanding;
        self.is_distrusted &= !confirmed;
        confirmed
    }
}
