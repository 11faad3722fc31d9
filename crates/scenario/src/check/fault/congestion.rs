//! Bursts of cross traffic.

use super::hop;
use super::schedule::{require_end_before_next, require_start};
use crate::problem::CheckResult;
use crate::{Congestion, Network};

pub(super) fn check(key: &str, congestion: &Congestion, network: &Network) -> CheckResult {
    hop::check(key, congestion.hop, network)?;
    hop::require_shared_rate(key, congestion.hop, network)?;
    require_start(key, congestion.every, congestion.first, false, "")?;
    require_end_before_next(key, congestion.every, congestion.lasts)
}
