//! Times and durations of faults.

use crate::check::link;
use crate::problem::{CheckResult, Problem, require, require_positive};
use crate::{Delay, Time};

/// Checks the duration of outages; returns the longest one.
pub(super) fn check_lasts(key: &str, lasts: Delay) -> Result<Time, Problem> {
    let key = format!("{key}.lasts");
    link::check_delay(&key, lasts)?;
    let (shortest, longest) = lasts.bounds();
    require_positive(key, Time(shortest))?;
    Ok(Time(longest))
}

pub(super) fn check_count(key: &str, count: Option<u32>) -> CheckResult {
    require(count != Some(0), format!("{key}.count"), || "this fault never occurs".into())
}

/// Requires that an occurrence as late as possible ends before the next one.
pub(super) fn check_jitter(
    key: &str,
    every: Option<Time>,
    jitter: Time,
    lasts: Time,
) -> CheckResult {
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
pub(super) fn check_lead(
    key: &str,
    lead: Option<Time>,
    warns: bool,
    who: &str,
    what: &str,
) -> CheckResult {
    require(lead.is_none() || warns, format!("{key}.lead"), || {
        format!("only {who} can be warned of {what}\nadd signal = \"link\"")
    })
}

/// Requires a start time. `other` describes a third way to specify one, and `otherwise` is true if
/// it was used.
pub(super) fn require_start(
    key: &str,
    every: Option<Time>,
    first: Option<Time>,
    otherwise: bool,
    other: &str,
) -> CheckResult {
    require(every.is_some() || first.is_some() || otherwise, key, || {
        let other = if other.is_empty() { String::new() } else { format!(", or {other}") };
        format!(
            "this fault has no schedule\nadd every = \"300 s\", first = \"60 s\", or both{other}"
        )
    })
}

pub(super) fn require_end_before_next(key: &str, every: Option<Time>, lasts: Time) -> CheckResult {
    match every {
        Some(every) => require(lasts < every, format!("{key}.lasts"), || {
            format!(
                "a duration of {lasts} with a period of {every}\n`lasts` must be shorter than `every`"
            )
        }),
        None => Ok(()),
    }
}
