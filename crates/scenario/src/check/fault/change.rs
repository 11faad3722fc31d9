//! Changes of the rate or the delay of a hop.

use super::hop;
use crate::check::link;
use crate::problem::{CheckResult, require};
use crate::{Fault, HopChange, Network, PartitionHop};

pub(super) fn check(key: &str, change: &HopChange, network: &Network) -> CheckResult {
    hop::check(key, change.hop, network)?;
    require(change.after.is_some() != change.at.is_some(), format!("{key}.at"), || {
        "this change needs exactly one time\n\
         write either after = \"partition\" or at = \"100 s\""
            .into()
    })?;
    let is_partition_of_hop = |fault: &Fault| match fault {
        Fault::Partition(partition) => match partition.hop {
            PartitionHop::Number(number) => number == change.hop,
            PartitionHop::Random => true,
        },
        _ => false,
    };
    let has_trigger = change.after.is_none() || network.faults().iter().any(is_partition_of_hop);
    require(has_trigger, format!("{key}.after"), || {
        format!("there is no partition of hop {}\nadd one, or use `at`", change.hop)
    })?;
    require(!change.rate.is_empty() || !change.delay.is_empty(), key, || {
        "this change has neither rates nor delays\nadd rate = [\"16 kbit/s\"] or delay = [\"50 ms\"]"
            .into()
    })?;
    change
        .delay
        .iter()
        .enumerate()
        .try_for_each(|(i, delay)| link::check_delay(&format!("{key}.delay.{i}"), *delay))
}
