//! Validation of network faults.

mod change;
mod congestion;
mod fading;
mod hop;
mod interference;
mod outage;
mod partition;
mod radio_down;
mod reordering;
mod schedule;

use crate::problem::{CheckResult, require};
use crate::rules::RuledValue;
use crate::{Fault, Network, Time};

pub(super) fn check(key: &str, fault: &Fault, network: &Network, duration: Time) -> CheckResult {
    check_kind(key, fault, network)?;
    fault.check_inside(key)?;
    match fault {
        Fault::Partition(fault) => partition::check(key, fault, network, duration),
        Fault::Congestion(fault) => congestion::check(key, fault, network),
        Fault::Reordering(fault) => reordering::check(key, fault, network),
        Fault::Interference(fault) => interference::check(key, fault, network),
        Fault::Change(fault) => change::check(key, fault, network),
        Fault::RadioDown(fault) => radio_down::check(key, fault, network),
        Fault::Fading(fault) => fading::check(key, fault, network),
        Fault::Outage(fault) => outage::check(key, fault, network, duration),
    }
}

/// Checks that the network can have this fault.
fn check_kind(key: &str, fault: &Fault, network: &Network) -> CheckResult {
    match (network, fault) {
        (Network::Path(_), Fault::RadioDown(_)) => require(false, format!("{key}.kind"), || {
            "a fault of kind \"radio-down\", but the nodes of a path have no radios\n\
             to interrupt a hop, use kind = \"partition\""
                .into()
        }),
        (Network::Adhoc(_), fault) => {
            let is_of_radio =
                matches!(fault, Fault::RadioDown(_) | Fault::Fading(_) | Fault::Outage(_));
            require(is_of_radio, format!("{key}.kind"), || {
                format!(
                    "a fault of kind \"{}\", but an ad hoc network has no hops\n\
                     its faults are of kind \"radio-down\", \"fading\" or \"outage\"",
                    fault.kind()
                )
            })
        }
        _ => Ok(()),
    }
}
