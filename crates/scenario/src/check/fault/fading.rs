//! False warnings of outages.

use super::hop;
use super::radio_down::check_radio;
use super::schedule::{check_count, check_jitter, require_start};
use crate::problem::{CheckResult, require};
use crate::{FalseWarning, Network, Time};

pub(super) fn check(key: &str, warning: &FalseWarning, network: &Network) -> CheckResult {
    require(warning.hop.is_some() != warning.node.is_some(), key, || {
        "this warning needs exactly one link\n\
         write either hop = 1, or node = 0 for that of a radio"
            .into()
    })?;
    if let Some(number) = warning.hop {
        require(!matches!(network, Network::Adhoc(_)), format!("{key}.hop"), || {
            "an ad hoc network has no hops\nuse node = 0".into()
        })?;
        hop::check(key, number, network)?;
    }
    if let Some(node) = warning.node {
        require(!matches!(network, Network::Path(_)), format!("{key}.node"), || {
            "the nodes of a path have no radios\nuse hop = 1".into()
        })?;
        check_radio(key, node, network)?;
    }
    check_count(key, warning.count)?;
    require_start(key, warning.every, warning.first, false, "")?;
    check_jitter(key, warning.every, warning.jitter, Time::default())
}
