//! The phase of loss recovery.

use driftway_base::Seq;

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No loss is being recovered.
    Open,
    /// Fast recovery, until `point` is acknowledged.
    Recovery {
        /// SND.MAX at its start (RFC 6582: recover; RFC 6675: RecoveryPoint).
        point: Seq,
    },
    /// Recovery after a timeout, until `point` is acknowledged.
    Loss {
        /// SND.MAX at the timeout.
        point: Seq,
    },
}
