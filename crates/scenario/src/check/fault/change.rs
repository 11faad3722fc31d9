//! Changes of the rate or the delay of a hop.

use super::hop;
use crate::check::link;
use crate::problem::{CheckResult, require};
use crate::trace::TraceFile;
use crate::{Fault, HopChange, LinkRate, Network, PartitionHop};

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
    let link = match network {
        Network::Path(path) => Some(path.hop_link(change.hop)),
        Network::Adhoc(_) => None,
        Network::Mixed(mixed) => mixed.hop_link(change.hop).cloned(),
    };
    if let Some(link) = link {
        for link in [link.reversed(), link] {
            let rated = matches!(link.rate, Some(LinkRate::Fixed(_)));
            let measured = link.trace.as_ref().is_some_and(TraceFile::has_rates);
            require(change.rate.is_empty() || (rated && !measured), format!("{key}.rate"), || {
                format!(
                    "the rate of hop {} is measured\nuse a hop whose `rate` is a number, or remove \
                     `rate` here",
                    change.hop
                )
            })?;
            let measured = link.trace.as_ref().is_some_and(TraceFile::has_delays);
            require(change.delay.is_empty() || !measured, format!("{key}.delay"), || {
                format!("the delay of hop {} is measured\nremove `delay` here", change.hop)
            })?;
        }
    }
    change
        .delay
        .iter()
        .enumerate()
        .try_for_each(|(i, delay)| link::check_delay(&format!("{key}.delay.{i}"), *delay))
}
