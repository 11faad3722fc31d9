//! Parts of a model of the path, which both versions of BBR use.

mod full_pipe;
mod mode_table;
mod probe_time;
mod round_maximum;
mod rounds;

pub(super) use full_pipe::FullPipe;
pub(super) use mode_table::ModeTable;
pub(super) use probe_time::ProbeTime;
pub(super) use round_maximum::RoundMaximum;
pub(super) use rounds::Rounds;

use super::contract::MAX_WINDOW;

/// Pacing stays this much below the estimated bandwidth, so that queues drain
/// (draft-ietf-ccwg-bbr-04 §5.6.2: PacingMarginPercent).
pub(super) const PACING_MARGIN: f64 = 0.99;

/// A number of bytes as a window.
pub(super) fn bytes(amount: f64) -> u32 {
    // The conversion saturates, and makes zero of what is no number.
    (amount as u32).min(MAX_WINDOW)
}
