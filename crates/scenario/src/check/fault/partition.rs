//! Partitions of a hop.

use super::hop;
use super::schedule::{
    check_count, check_jitter, check_lasts, check_lead, require_end_before_next, require_start,
};
use crate::problem::{CheckResult, require};
use crate::{Network, Partition, PartitionHop, PartitionSignal, Time};

pub(super) fn check(
    key: &str,
    partition: &Partition,
    network: &Network,
    duration: Time,
) -> CheckResult {
    let is_rfn_in_mixed =
        matches!(network, Network::Mixed(_)) && partition.signal == PartitionSignal::Rfn;
    require(!is_rfn_in_mixed, format!("{key}.signal"), || {
        "signal = \"rfn\" in a mixed network\n\
         use \"icmp-unreachable\", \"link\" or \"none\", or a network of kind \"path\""
            .into()
    })?;
    match partition.hop {
        PartitionHop::Number(number) => hop::check(key, number, network)?,
        PartitionHop::Random => hop::check(key, 1, network)?,
    }
    let longest = check_lasts(key, partition.lasts)?;
    check_count(key, partition.count)?;
    let by_count = partition.hop == PartitionHop::Random && partition.count.is_some();
    require_start(key, partition.every, partition.first, by_count, "hop = \"random\" and `count`")?;
    if let (None, Some(count)) = (partition.schedule(), partition.count) {
        require(longest.0.times(count.into()) <= duration.0, format!("{key}.count"), || {
            format!(
                "{count} partitions of {longest} do not fit into {duration}\nreduce their number or duration"
            )
        })?;
        require(partition.jitter == Time::default(), format!("{key}.jitter"), || {
            "these partitions start at random times\n\
             remove `jitter`, or add every = \"300 s\" or first = \"60 s\""
                .into()
        })?;
    }
    require_end_before_next(key, partition.every, longest)?;
    check_jitter(key, partition.every, partition.jitter, longest)?;
    let warns = partition.signal == PartitionSignal::Link;
    check_lead(key, partition.lead, warns, "the hosts at the ends of the hop", "a partition")
}
