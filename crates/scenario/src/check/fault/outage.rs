//! Outages of a hop or of a node.

use super::radio_down::check_radio;
use super::schedule::check_lead;
use super::{hop, partition, radio_down};
use crate::check::numbers::check_node;
use crate::problem::{CheckResult, require};
use crate::{Network, Outage, PartitionSignal, Time};

pub(super) fn check(key: &str, outage: &Outage, network: &Network, duration: Time) -> CheckResult {
    require(outage.hop.is_some() != outage.node.is_some(), key, || {
        "this outage needs exactly one place\nwrite either hop = 1, or node = 0 for all that a node has"
            .into()
    })?;
    require(outage.signal() != PartitionSignal::Rfn, format!("{key}.signal"), || {
        "signal = \"rfn\" with kind = \"outage\"\n\
         use \"none\", \"icmp-unreachable\" or \"link\", or kind = \"partition\""
            .into()
    })?;
    if let Some(number) = outage.hop {
        require(!matches!(network, Network::Adhoc(_)), format!("{key}.hop"), || {
            "an ad hoc network has no hops\nuse node = 0".into()
        })?;
        hop::check(key, number, network)?;
    }
    if let Some(node) = outage.node {
        check_place(key, node, outage, network)?;
    }
    if outage.file.is_some() {
        return check_file(key, outage);
    }
    require(outage.origin.is_none(), format!("{key}.origin"), || {
        "`origin` without `file`\nit says to which time of a log the start of the run belongs"
            .into()
    })?;
    require(outage.lasts.is_some(), key, || {
        "the key `lasts` is missing\nadd lasts = \"5 s\", or file = \"out.csv\" with start and end of each \
         outage"
            .into()
    })?;
    match (outage.hop, outage.node) {
        (Some(hop), _) => partition::check(key, &outage.of_hop(hop), network, duration),
        (None, Some(node)) if matches!(network, Network::Adhoc(_)) => {
            radio_down::check(key, &outage.of_radio(node), network)
        }
        (None, _) => partition::check(key, &outage.of_hop(1), network, duration),
    }
}

/// Checks an outage whose times are in a file.
fn check_file(key: &str, outage: &Outage) -> CheckResult {
    for (name, written) in [
        ("every", outage.every.is_some()),
        ("first", outage.first.is_some()),
        ("jitter", outage.jitter != Time::default()),
        ("lasts", outage.lasts.is_some()),
        ("count", outage.count.is_some()),
    ] {
        require(!written, format!("{key}.{name}"), || {
            format!("both `file` and `{name}`\nthe file has the times of the outages")
        })?;
    }
    let warns = outage.signal() == PartitionSignal::Link;
    check_lead(key, outage.lead, warns, "the hosts concerned", "an outage")
}

/// Checks the node that has the outage.
fn check_place(key: &str, node: u32, outage: &Outage, network: &Network) -> CheckResult {
    let place = format!("{key}.node");
    match network {
        Network::Path(path) => {
            check_node(place.clone(), node, network)?;
            require(path.parallel.is_empty(), place, || {
                "an outage of a node on a path with parallel routes\n\
                 use hop = 1: faults are of the hops of the chain"
                    .into()
            })
        }
        Network::Adhoc(_) => {
            check_radio(key, node, network)?;
            let is_of_radio =
                matches!(outage.signal(), PartitionSignal::Link | PartitionSignal::None);
            require(is_of_radio, format!("{key}.signal"), || {
                "a radio that is off sends no notification\nuse \"link\" or \"none\"".into()
            })
        }
        Network::Mixed(_) => check_node(place, node, network),
    }
}
