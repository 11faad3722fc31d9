//! The document of a comparison.

use super::advice::recommendations;
use super::arms::RECOMMENDED_AID;
use super::causes::explain;
use super::cells::{carry_behind, cells};
use super::document::{CarryBehind, CompareCell, CompareDocument, CompareTiming, SCHEMA};
use super::hypotheses::judge;
use super::networks::NetworkList;
use super::runs::{ArmRuns, CompareSeeds};

/// The document of the runs of each arm over each network of a list.
pub fn document(
    list: &NetworkList,
    seeds: &CompareSeeds,
    results: &[Vec<ArmRuns>],
    (quick, timing): (bool, CompareTiming),
) -> CompareDocument {
    let networks = &list.networks;
    let cells = cells(networks, results);
    let to_plain = |of: &CarryBehind| {
        let is_carry = |cell: &&CompareCell| {
            cell.aid == RECOMMENDED_AID && cell.network == of.network && cell.tcp == of.tcp
        };
        cells.iter().find(is_carry)?.relative
    };
    let mut behind = carry_behind(networks, results);
    explain(&mut behind, &list.causes, to_plain);
    CompareDocument {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        seeds: seeds.shown.clone(),
        choosing_seeds: seeds.choosing.clone(),
        quick,
        note: list.note.clone(),
        cells,
        recommendations: recommendations(networks, results),
        carry_behind: behind,
        hypotheses: match quick {
            true => Vec::new(),
            false => judge(&list.hypotheses, networks, results),
        },
        kernel: None,
        timing,
    }
}
