//! Continuous cross traffic.

use super::hop;
use crate::problem::{CheckResult, require};
use crate::{Interference, InterferenceHop, Network};

pub(super) fn check(key: &str, interference: &Interference, network: &Network) -> CheckResult {
    let is_intermediate_in_mixed =
        matches!(network, Network::Mixed(_)) && interference.hop == InterferenceHop::Intermediate;
    require(!is_intermediate_in_mixed, format!("{key}.hop"), || {
        "hop = \"intermediate\" in a mixed network\n\
         use the number of a wire: hop = 1 is the first in the file"
            .into()
    })?;
    match interference.hop {
        InterferenceHop::Number(number) => {
            hop::check(key, number, network)?;
            hop::require_shared_rate(key, number, network)
        }
        InterferenceHop::Intermediate => {
            let hops = hop::hop_count(network);
            require(hops > 1, format!("{key}.hop"), || {
                "a path of one hop has no intermediate node\nuse hop = 1".into()
            })?;
            (1..=hops).try_for_each(|hop| hop::require_shared_rate(key, hop, network))
        }
    }
}
