//! Validation of network faults.

use super::link;
use super::numbers::{check_hop, check_node};
use super::problem::{
    CheckResult, Problem, require, require_positive, require_probability, require_range,
};
use crate::{
    Delay, Duplex, FalseWarning, Fault, InterferenceHop, Network, PartitionHop, PartitionSignal,
    RadioDown, RadioSignal, ReorderMode, Size, Time,
};

/// IP and UDP headers: the smallest packet of cross traffic.
const MIN_FOREIGN_PACKET_BYTES: u64 = 28;

pub(super) fn check(key: &str, fault: &Fault, network: &Network, duration: Time) -> CheckResult {
    check_kind(key, fault, network)?;
    let in_range = |found| check_hop_of_fault(format!("{key}.hop"), found, network);
    match fault {
        Fault::Partition(cut) => {
            match cut.hop {
                PartitionHop::Number(number) => in_range(number)?,
                PartitionHop::Random => in_range(1)?,
            }
            let longest = check_lasts(key, cut.lasts)?;
            check_count(key, cut.count)?;
            let by_count = cut.hop == PartitionHop::Random && cut.count.is_some();
            require_start(key, cut.every, cut.first, by_count, "hop = \"random\" and `count`")?;
            if let (None, Some(count)) = (cut.schedule(), cut.count) {
                require(
                    longest.0.times(count.into()) <= duration.0,
                    format!("{key}.count"),
                    || {
                        format!(
                            "{count} partitions of {longest} do not fit into {duration}\nreduce their number or duration"
                        )
                    },
                )?;
                require(cut.jitter == Time::default(), format!("{key}.jitter"), || {
                    "these partitions start at random times\n\
                     remove `jitter`, or add every = \"300 s\" or first = \"60 s\""
                        .into()
                })?;
            }
            require_end_before_next(key, cut.every, longest)?;
            check_jitter(key, cut.every, cut.jitter, longest)?;
            let warns = cut.signal == PartitionSignal::Link;
            check_lead(key, cut.lead, warns, "the hosts at the ends of the hop", "a partition")?;
            require_probability(format!("{key}.signal_loss"), cut.signal_loss)
        }
        Fault::Congestion(flood) => {
            in_range(flood.hop)?;
            require_shared_rate(key, flood.hop, network)?;
            require_positive(format!("{key}.lasts"), flood.lasts)?;
            require_start(key, flood.every, flood.first, false, "")?;
            require_end_before_next(key, flood.every, flood.lasts)?;
            check_size(key, flood.size)
        }
        Fault::Reordering(fault) => {
            in_range(fault.hop)?;
            require_shared_rate(key, fault.hop, network)?;
            require_start(key, fault.every, fault.first, false, "")?;
            if let Some(at_most) = fault.at_most {
                require_positive(format!("{key}.at_most"), at_most)?;
                require(fault.how == ReorderMode::Reverse, format!("{key}.at_most"), || {
                    "`at_most` applies only to packets that are held back\n\
                     add how = \"reverse\""
                        .into()
                })?;
            }
            require(fault.packets > 0, format!("{key}.packets"), || "no packet is reordered".into())
        }
        Fault::Interference(fault) => {
            match fault.hop {
                InterferenceHop::Number(number) => {
                    in_range(number)?;
                    require_shared_rate(key, number, network)?;
                }
                InterferenceHop::Intermediate => {
                    let hops = hop_count(network);
                    require(hops > 1, format!("{key}.hop"), || {
                        "a path of one hop has no intermediate node\nuse hop = 1".into()
                    })?;
                    (1..=hops).try_for_each(|hop| require_shared_rate(key, hop, network))?;
                }
            }
            require_positive(format!("{key}.every"), fault.every)?;
            check_size(key, fault.size)
        }
        Fault::Change(change) => {
            in_range(change.hop)?;
            require(change.after.is_some() != change.at.is_some(), format!("{key}.at"), || {
                "this change needs exactly one time\n\
                 write either after = \"partition\" or at = \"100 s\""
                    .into()
            })?;
            let cuts = |fault: &Fault| match fault {
                Fault::Partition(cut) => match cut.hop {
                    PartitionHop::Number(number) => number == change.hop,
                    PartitionHop::Random => true,
                },
                _ => false,
            };
            let cut = change.after.is_none() || network.faults().iter().any(cuts);
            require(cut, format!("{key}.after"), || {
                format!("there is no partition of hop {}\nadd one, or use `at`", change.hop)
            })?;
            require(!change.rate.is_empty() || !change.delay.is_empty(), key, || {
                "this change has neither rates nor delays\nadd rate = [\"16 kbit/s\"] or delay = [\"50 ms\"]"
                    .into()
            })?;
            let delays = change.delay.iter().enumerate();
            delays
                .into_iter()
                .try_for_each(|(i, d)| link::check_delay(&format!("{key}.delay.{i}"), *d))
        }
        Fault::RadioDown(outage) => check_radio_down(key, outage, network),
        Fault::Fading(warning) => check_false_warning(key, warning, network),
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
            let is_of_radio = matches!(fault, Fault::RadioDown(_) | Fault::Fading(_));
            require(is_of_radio, format!("{key}.kind"), || {
                format!(
                    "a fault of kind \"{}\", but an ad hoc network has no hops\n\
                     its faults are of kind \"radio-down\" or \"fading\"",
                    fault.kind()
                )
            })
        }
        (Network::Mixed(_), Fault::Partition(cut)) => {
            require(cut.signal != PartitionSignal::Rfn, format!("{key}.signal"), || {
                "signal = \"rfn\" in a mixed network\n\
                 use \"icmp-unreachable\", \"link\" or \"none\", or a network of kind \"path\""
                    .into()
            })
        }
        (Network::Mixed(_), Fault::Interference(fault)) => {
            require(fault.hop != InterferenceHop::Intermediate, format!("{key}.hop"), || {
                "hop = \"intermediate\" in a mixed network\n\
                 use the number of a wire: hop = 1 is the first in the file"
                    .into()
            })
        }
        _ => Ok(()),
    }
}

fn check_radio_down(key: &str, outage: &RadioDown, network: &Network) -> CheckResult {
    check_radio_node(key, outage.node, network)?;
    let longest = check_lasts(key, outage.lasts)?;
    check_count(key, outage.count)?;
    require_start(key, outage.every, outage.first, false, "")?;
    require_end_before_next(key, outage.every, longest)?;
    check_jitter(key, outage.every, outage.jitter, longest)?;
    let warns = outage.signal == RadioSignal::Link;
    check_lead(key, outage.lead, warns, "the host at the node", "an outage of its radio")?;
    require_probability(format!("{key}.signal_loss"), outage.signal_loss)
}

fn check_false_warning(key: &str, warning: &FalseWarning, network: &Network) -> CheckResult {
    require(warning.hop.is_some() != warning.node.is_some(), key, || {
        "this warning needs exactly one link\n\
         write either hop = 1, or node = 0 for that of a radio"
            .into()
    })?;
    if let Some(hop) = warning.hop {
        require(!matches!(network, Network::Adhoc(_)), format!("{key}.hop"), || {
            "an ad hoc network has no hops\nuse node = 0".into()
        })?;
        check_hop_of_fault(format!("{key}.hop"), hop, network)?;
    }
    if let Some(node) = warning.node {
        require(!matches!(network, Network::Path(_)), format!("{key}.node"), || {
            "the nodes of a path have no radios\nuse hop = 1".into()
        })?;
        check_radio_node(key, node, network)?;
    }
    check_count(key, warning.count)?;
    require_start(key, warning.every, warning.first, false, "")?;
    check_jitter(key, warning.every, warning.jitter, Time::default())?;
    require_positive(format!("{key}.lead"), warning.lead)
}

/// Checks the node of a fault of a radio.
fn check_radio_node(key: &str, node: u32, network: &Network) -> CheckResult {
    check_node(format!("{key}.node"), node, network)?;
    if let Network::Mixed(mixed) = network {
        require(mixed.has_radio(node), format!("{key}.node"), || {
            format!(
                "node {} has no radio\nthe nodes with a radio are those of network.air.radios",
                network.node_name(node)
            )
        })?;
    }
    Ok(())
}

/// Checks the duration of outages; returns the longest one.
fn check_lasts(key: &str, lasts: Delay) -> Result<Time, Problem> {
    let key = format!("{key}.lasts");
    link::check_delay(&key, lasts)?;
    let (shortest, longest) = lasts.bounds();
    require_positive(key, Time(shortest))?;
    Ok(Time(longest))
}

fn check_count(key: &str, count: Option<u32>) -> CheckResult {
    require(count != Some(0), format!("{key}.count"), || "this fault never occurs".into())
}

/// Requires that an occurrence as late as possible ends before the next one.
fn check_jitter(key: &str, every: Option<Time>, jitter: Time, lasts: Time) -> CheckResult {
    let Some(every) = every.filter(|_| jitter != Time::default()) else { return Ok(()) };
    require(lasts.0 + jitter.0 < every.0, format!("{key}.jitter"), || {
        if lasts == Time::default() {
            return format!(
                "a jitter of {jitter} with a period of {every}\n`jitter` must be shorter than `every`"
            );
        }
        format!(
            "a jitter of {jitter} and a duration of {lasts} with a period of {every}\n\
             `lasts` and `jitter` together must be shorter than `every`"
        )
    })
}

/// Requires that there is a host that can be warned.
fn check_lead(key: &str, lead: Option<Time>, warns: bool, who: &str, what: &str) -> CheckResult {
    let Some(lead) = lead else { return Ok(()) };
    require_positive(format!("{key}.lead"), lead)?;
    require(warns, format!("{key}.lead"), || {
        format!("only {who} can be warned of {what}\nadd signal = \"link\"")
    })
}

/// Number of hops: in a mixed network, of wires.
fn hop_count(network: &Network) -> u32 {
    match network {
        Network::Path(path) => path.hops,
        Network::Adhoc(_) => 0,
        Network::Mixed(mixed) => mixed.wires.len().try_into().unwrap_or(u32::MAX),
    }
}

fn check_hop_of_fault(key: String, found: u32, network: &Network) -> CheckResult {
    let hops = hop_count(network);
    match network {
        Network::Mixed(_) if hops == 0 => require(false, key, || {
            "this network has no wires\nadd a [[network.wire]], or remove the fault".into()
        }),
        Network::Mixed(_) => require((1..=hops).contains(&found), key, || {
            format!("hop {found} out of range 1–{hops}\nhop 1 is the first [[network.wire]]")
        }),
        _ => check_hop(key, found, hops),
    }
}

/// Cross traffic and reordering have an effect only where packets queue for the link.
fn require_shared_rate(key: &str, hop: u32, network: &Network) -> CheckResult {
    let duplex = match network {
        Network::Path(path) => Some(path.hop_link(hop).duplex),
        Network::Adhoc(_) => None,
        Network::Mixed(mixed) => mixed.hop_link(hop).map(|link| link.duplex),
    };
    require(duplex != Some(Duplex::PerPacket), format!("{key}.hop"), || {
        format!(
            "packets on hop {hop} do not queue for the link (duplex = \"per-packet\"), so this fault \
             would have no effect\nuse a hop with duplex = \"full\" or \"shared\", or remove the fault"
        )
    })
}

/// Requires a start time. `other` describes a third way to specify one, and `otherwise` is true if
/// it was used.
fn require_start(
    key: &str,
    every: Option<Time>,
    first: Option<Time>,
    otherwise: bool,
    other: &str,
) -> CheckResult {
    if let Some(every) = every {
        require_positive(format!("{key}.every"), every)?;
    }
    require(every.is_some() || first.is_some() || otherwise, key, || {
        let other = if other.is_empty() { String::new() } else { format!(", or {other}") };
        format!(
            "this fault has no schedule\nadd every = \"300 s\", first = \"60 s\", or both{other}"
        )
    })
}

fn require_end_before_next(key: &str, every: Option<Time>, lasts: Time) -> CheckResult {
    match every {
        Some(every) => require(lasts < every, format!("{key}.lasts"), || {
            format!(
                "a duration of {lasts} with a period of {every}\n`lasts` must be shorter than `every`"
            )
        }),
        None => Ok(()),
    }
}

fn check_size(key: &str, Size(found): Size) -> CheckResult {
    require_range(
        format!("{key}.size"),
        "the packet size in bytes",
        found,
        MIN_FOREIGN_PACKET_BYTES,
        65_535,
    )
}
