//! Packets that overtake others.

use super::hop;
use super::schedule::require_start;
use crate::problem::{CheckResult, require};
use crate::{Network, ReorderMode, Reordering};

pub(super) fn check(key: &str, reordering: &Reordering, network: &Network) -> CheckResult {
    hop::check(key, reordering.hop, network)?;
    hop::require_shared_rate(key, reordering.hop, network)?;
    require_start(key, reordering.every, reordering.first, false, "")?;
    if reordering.at_most.is_some() {
        require(reordering.how == ReorderMode::Reverse, format!("{key}.at_most"), || {
            "`at_most` applies only to packets that are held back\n\
             add how = \"reverse\""
                .into()
        })?;
    }
    require(reordering.packets > 0, format!("{key}.packets"), || "no packet is reordered".into())
}
