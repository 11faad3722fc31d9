//! Validation of network faults.

use super::{Checked, hop, link, must, positive, probability, within};
use crate::{CutHop, CutSignal, Duplex, Fault, InterferenceHop, Path, ReorderBy, Size, Time};

/// IP and UDP headers: the smallest packet of cross traffic.
const SMALLEST: u64 = 28;

pub(super) fn check(key: &str, fault: &Fault, path: &Path, duration: Time) -> Checked {
    let in_range = |found| hop(format!("{key}.hop"), found, path);
    match fault {
        Fault::Partition(cut) => {
            if let CutHop::Number(number) = cut.hop {
                in_range(number)?;
            }
            positive(format!("{key}.lasts"), cut.lasts)?;
            if let Some(count) = cut.count {
                must(count > 0, format!("{key}.count"), || "this fault never occurs".into())?;
            }
            let by_count = cut.hop == CutHop::Random && cut.count.is_some();
            begins(key, cut.every, cut.first, by_count, "hop = \"random\" and `count`")?;
            if let (None, Some(count)) = (cut.schedule(), cut.count) {
                must(
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
            ends_before_next(key, cut.every, cut.lasts)?;
            if let Some(lead) = cut.lead {
                positive(format!("{key}.lead"), lead)?;
                must(cut.signal == CutSignal::Link, format!("{key}.lead"), || {
                    "only the hosts at the ends of the hop can be warned of a partition\nadd signal = \"link\""
                        .into()
                })?;
            }
            probability(format!("{key}.signal_loss"), cut.signal_loss)
        }
        Fault::Congestion(flood) => {
            in_range(flood.hop)?;
            shares_its_rate(key, flood.hop, path)?;
            positive(format!("{key}.lasts"), flood.lasts)?;
            begins(key, flood.every, flood.first, false, "")?;
            ends_before_next(key, flood.every, flood.lasts)?;
            size(key, flood.size)
        }
        Fault::Reordering(fault) => {
            in_range(fault.hop)?;
            shares_its_rate(key, fault.hop, path)?;
            begins(key, fault.every, fault.first, false, "")?;
            if let Some(at_most) = fault.at_most {
                positive(format!("{key}.at_most"), at_most)?;
                must(fault.how == ReorderBy::Reverse, format!("{key}.at_most"), || {
                    "`at_most` applies only to packets that are held back\n\
                     add how = \"reverse\""
                        .into()
                })?;
            }
            must(fault.packets > 0, format!("{key}.packets"), || "no packet is reordered".into())
        }
        Fault::Interference(fault) => {
            match fault.hop {
                InterferenceHop::Number(number) => {
                    in_range(number)?;
                    shares_its_rate(key, number, path)?;
                }
                InterferenceHop::Intermediate => {
                    must(path.hops > 1, format!("{key}.hop"), || {
                        "a path of one hop has no intermediate node\nuse hop = 1".into()
                    })?;
                    (1..=path.hops).try_for_each(|hop| shares_its_rate(key, hop, path))?;
                }
            }
            positive(format!("{key}.every"), fault.every)?;
            size(key, fault.size)
        }
        Fault::Change(change) => {
            in_range(change.hop)?;
            must(change.after.is_some() != change.at.is_some(), format!("{key}.at"), || {
                "this change needs exactly one time\n\
                 write either after = \"partition\" or at = \"100 s\""
                    .into()
            })?;
            let cuts = |fault: &Fault| match fault {
                Fault::Partition(cut) => match cut.hop {
                    CutHop::Number(number) => number == change.hop,
                    CutHop::Random => true,
                },
                _ => false,
            };
            let cut = change.after.is_none() || path.faults.iter().any(cuts);
            must(cut, format!("{key}.after"), || {
                format!("there is no partition of hop {}\nadd one, or use `at`", change.hop)
            })?;
            must(!change.rate.is_empty() || !change.delay.is_empty(), key, || {
                "this change has neither rates nor delays\nadd rate = [\"16 kbit/s\"] or delay = [\"50 ms\"]"
                    .into()
            })?;
            let delays = change.delay.iter().enumerate();
            delays.into_iter().try_for_each(|(i, d)| link::delay(&format!("{key}.delay.{i}"), *d))
        }
    }
}

/// Cross traffic and reordering have an effect only where packets queue for the link.
fn shares_its_rate(key: &str, hop: u32, path: &Path) -> Checked {
    must(path.link_of(hop).duplex != Duplex::PerPacket, format!("{key}.hop"), || {
        format!(
            "packets on hop {hop} do not queue for the link (duplex = \"per-packet\"), so this fault \
             would have no effect\nuse a hop with duplex = \"full\" or \"shared\", or remove the fault"
        )
    })
}

/// Requires a start time. `other` describes a third way to specify one, and `otherwise` is true if
/// it was used.
fn begins(
    key: &str,
    every: Option<Time>,
    first: Option<Time>,
    otherwise: bool,
    other: &str,
) -> Checked {
    if let Some(every) = every {
        positive(format!("{key}.every"), every)?;
    }
    must(every.is_some() || first.is_some() || otherwise, key, || {
        let other = if other.is_empty() { String::new() } else { format!(", or {other}") };
        format!(
            "this fault has no schedule\nadd every = \"300 s\", first = \"60 s\", or both{other}"
        )
    })
}

fn ends_before_next(key: &str, every: Option<Time>, lasts: Time) -> Checked {
    match every {
        Some(every) => must(lasts < every, format!("{key}.lasts"), || {
            format!(
                "a duration of {lasts} with a period of {every}\n`lasts` must be shorter than `every`"
            )
        }),
        None => Ok(()),
    }
}

fn size(key: &str, Size(found): Size) -> Checked {
    within(format!("{key}.size"), "the packet size in bytes", found, SMALLEST, 65_535)
}
