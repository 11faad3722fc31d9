//! The window in loss recovery: one segment for each that leaves the network in its first round,
//! and the window from before it at its end.

use crate::congestion::contract::{AckedData, CongestionWindow};
use crate::recovery_phase::RecoveryPhase;

/// State of the window in recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecoveryWindow {
    /// Phase of loss recovery at the last acknowledgment.
    phase: Phase,
    /// As much leaves as arrives (packet conservation).
    pub conserves: bool,
    /// The window to which recovery and ProbeRtt return (bytes).
    prior_cwnd: u32,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    Recovery,
    Loss,
}

/// Treatment of the window after an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecoveryStep {
    /// It is set; a round of packet conservation begins.
    Began,
    /// It is set.
    Conserves,
    /// The model sets it.
    Open,
}

impl RecoveryWindow {
    /// Keeps the window from before recovery or ProbeRtt.
    pub fn save(&mut self, cwnd: u32, probes_rtt: bool) {
        let modulated = self.phase != Phase::Open || probes_rtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(cwnd) } else { cwnd };
    }
    /// Returns to it.
    pub fn restore(&self, window: &mut CongestionWindow) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }
    /// Returns to no more than `cwnd`, which an aid has set.
    pub fn replace(&mut self, cwnd: u32) {
        self.prior_cwnd = cwnd;
    }
    /// Notes a timeout.
    pub fn on_timeout(&mut self) {
        self.phase = Phase::Loss;
    }

    /// Sets the window in recovery.
    pub fn on_ack(&mut self, window: &mut CongestionWindow, acked: &AckedData) -> RecoveryStep {
        let before = self.phase;
        self.phase = match acked.phase {
            RecoveryPhase::Open => Phase::Open,
            RecoveryPhase::Recovery { .. } => Phase::Recovery,
            RecoveryPhase::Loss { .. } => Phase::Loss,
        };
        if acked.lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(acked.lost).max(acked.mss);
        }
        let conserved = acked.in_flight.saturating_add(acked.bytes);
        let begins = self.phase == Phase::Recovery && before != Phase::Recovery;
        if begins {
            self.conserves = true;
            window.cwnd = conserved;
        } else if before != Phase::Open && self.phase == Phase::Open {
            self.restore(window);
            self.conserves = false;
        }
        if !self.conserves {
            return RecoveryStep::Open;
        }
        window.cwnd = window.cwnd.max(conserved);
        if begins { RecoveryStep::Began } else { RecoveryStep::Conserves }
    }
}
