//! Validation of network faults.

use super::{
    CheckResult, check_hop, link, require, require_positive, require_probability, require_range,
};
use crate::{
    Duplex, Fault, InterferenceHop, PartitionHop, PartitionSignal, Path, ReorderMode, Size, Time,
};

/// IP and UDP headers: the smallest packet of cross traffic.
const MIN_FOREIGN_PACKET_BYTES: u64 = 28;

pub(super) fn check(key: &str, fault: &Fault, path: &Path, duration: Time) -> CheckResult {
    let in_range = |found| check_hop(format!("{key}.hop"), found, path);
    match fault {
        Fault::Partition(cut) => {
            if let PartitionHop::Number(number) = cut.hop {
                in_range(number)?;
            }
            require_positive(format!("{key}.lasts"), cut.lasts)?;
            if let Some(count) = cut.count {
                require(count > 0, format!("{key}.count"), || "this fault never occurs".into())?;
            }
            let by_count = cut.hop == PartitionHop::Random && cut.count.is_some();
            require_start(key, cut.every, cut.first, by_count, "hop = \"random\" and `count`")?;
            if let (None, Some(count)) = (cut.schedule(), cut.count) {
                require(
                    cut.lasts.0.times(count.into()) <= duration.0,
                    format!("{key}.count"),
                    || {
                        format!(
                            "{count} partitions of {} do not fit into {duration}\nreduce their number or duration",
                            cut.lasts
                        )
                    },
                )?;
            }
            require_end_before_next(key, cut.every, cut.lasts)?;
            if let Some(lead) = cut.lead {
                require_positive(format!("{key}.lead"), lead)?;
                require(cut.signal == PartitionSignal::Link, format!("{key}.lead"), || {
                    "only the hosts at the ends of the hop can be warned of a partition\nadd signal = \"link\""
                        .into()
                })?;
            }
            require_probability(format!("{key}.signal_loss"), cut.signal_loss)
        }
        Fault::Congestion(flood) => {
            in_range(flood.hop)?;
            require_shared_rate(key, flood.hop, path)?;
            require_positive(format!("{key}.lasts"), flood.lasts)?;
            require_start(key, flood.every, flood.first, false, "")?;
            require_end_before_next(key, flood.every, flood.lasts)?;
            check_size(key, flood.size)
        }
        Fault::Reordering(fault) => {
            in_range(fault.hop)?;
            require_shared_rate(key, fault.hop, path)?;
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
                    require_shared_rate(key, number, path)?;
                }
                InterferenceHop::Intermediate => {
                    require(path.hops > 1, format!("{key}.hop"), || {
                        "a path of one hop has no intermediate node\nuse hop = 1".into()
                    })?;
                    (1..=path.hops).try_for_each(|hop| require_shared_rate(key, hop, path))?;
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
            let cut = change.after.is_none() || path.faults.iter().any(cuts);
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
    }
}

/// Cross traffic and reordering have an effect only where packets queue for the link.
fn require_shared_rate(key: &str, hop: u32, path: &Path) -> CheckResult {
    require(path.hop_link(hop).duplex != Duplex::PerPacket, format!("{key}.hop"), || {
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
