//! Validation of links and their queues.

use driftway_base::Duration;
use driftway_link::{CodelConfig, RedConfig};

use crate::problem::{CheckResult, require, require_probability, require_range};
use crate::{Delay, Discipline, Link, LinkOverride, Queue, Time};

pub(super) fn check_link(key: &str, link: &Link) -> CheckResult {
    check_delay(&format!("{key}.delay"), link.delay)?;
    reject_adhoc_keys(key, &link.queue)?;
    check_errors(key, link.bit_error_rate, link.packet_error_rate)?;
    check_queue(&format!("{key}.queue"), &link.queue)?;
    require_probability(format!("{key}.mark_loss"), link.mark_loss)
}

pub(super) fn check_override(key: &str, change: &LinkOverride) -> CheckResult {
    if let Some(found) = change.delay {
        check_delay(&format!("{key}.delay"), found)?;
    }
    check_errors(key, change.bit_error_rate, change.packet_error_rate)?;
    if let Some(found) = &change.queue {
        reject_adhoc_keys(key, found)?;
        check_queue(&format!("{key}.queue"), found)?;
    }
    require_probability(format!("{key}.mark_loss"), change.mark_loss.unwrap_or(0.0))
}

fn reject_adhoc_keys(key: &str, queue: &Queue) -> CheckResult {
    for (name, written) in [
        ("priority", queue.priority.is_some()),
        ("count_arriving", queue.count_arriving.is_some()),
        ("sorted", queue.sorted.is_some()),
        ("discards_repeated", queue.discards_repeated.is_some()),
    ] {
        require(!written, format!("{key}.queue.{name}"), || {
            format!(
                "the queue of a link has no key `{name}`\nit exists in networks of kind \"adhoc\""
            )
        })?;
    }
    Ok(())
}

pub(super) fn check_delay(key: &str, delay: Delay) -> CheckResult {
    match delay {
        Delay::Fixed(_) => Ok(()),
        Delay::Uniform { uniform: (low, high) } => require(low <= high, key, || {
            format!("{low} is longer than {high}\nthe shorter one comes first")
        }),
        Delay::MeanSpread { spread, .. } => {
            require((0.0..=1.0).contains(&spread), format!("{key}.spread"), || {
                format!("a spread of {spread}\nspreads are fractions of the mean, from 0 to 1")
            })
        }
    }
}

fn check_errors(key: &str, bit: Option<f64>, packet: Option<f64>) -> CheckResult {
    require_probability(format!("{key}.bit_error_rate"), bit.unwrap_or(0.0))?;
    require_probability(format!("{key}.packet_error_rate"), packet.unwrap_or(0.0))?;
    require(bit.is_none() || packet.is_none(), format!("{key}.packet_error_rate"), || {
        "both bit_error_rate and packet_error_rate\na link has one or the other".into()
    })
}

pub(super) fn check_queue(key: &str, queue: &Queue) -> CheckResult {
    require_range(
        format!("{key}.packets"),
        "the limit of packets",
        queue.packets.into(),
        1,
        1_000_000,
    )?;
    reject_keys_of_other_disciplines(key, queue)?;
    if let Some(threshold) = queue.ecn_threshold {
        let key = format!("{key}.ecn_threshold");
        require_range(key, "the threshold", threshold.into(), 1, queue.packets.into())?;
    }
    if let Some(red) = queue.red(Duration::ZERO) {
        check_red(key, queue, red)?;
    }
    if let Some(codel) = queue.codel() {
        check_codel(key, codel)?;
    }
    Ok(())
}

fn reject_keys_of_other_disciplines(key: &str, queue: &Queue) -> CheckResult {
    use Discipline::{Codel, DropTail, Red};
    let own = queue.discipline;
    let early = match own {
        DropTail => "with drop-tail use `ecn_threshold`",
        Red | Codel => "with RED and CoDel use ecn = true",
    };
    for (name, written, owners, of) in [
        ("ecn_threshold", queue.ecn_threshold.is_some(), &[DropTail][..], "drop-tail"),
        ("min_threshold", queue.min_threshold.is_some(), &[Red], "RED"),
        ("max_threshold", queue.max_threshold.is_some(), &[Red], "RED"),
        ("max_probability", queue.max_probability.is_some(), &[Red], "RED"),
        ("weight", queue.weight.is_some(), &[Red], "RED"),
        ("target", queue.target.is_some(), &[Codel], "CoDel"),
        ("interval", queue.interval.is_some(), &[Codel], "CoDel"),
        ("ecn", queue.ecn.is_some(), &[Red, Codel], "RED or CoDel"),
    ] {
        require(!written || owners.contains(&own), format!("{key}.{name}"), || {
            let help = match of {
                "drop-tail" | "RED or CoDel" => early.to_owned(),
                of => format!("add discipline = \"{}\"", of.to_ascii_lowercase()),
            };
            format!("`{name}` without {of}\n{help}")
        })?;
    }
    Ok(())
}

fn check_red(key: &str, queue: &Queue, red: RedConfig) -> CheckResult {
    let (min, max) = (red.min_threshold, red.max_threshold);
    require(min > 0.0, format!("{key}.min_threshold"), || {
        format!("a threshold of {min} packets\nthresholds are above 0")
    })?;
    require(min < max && max <= f64::from(queue.packets), format!("{key}.max_threshold"), || {
        format!(
            "max_threshold {max} with min_threshold {min} and {} packets\n\
             required: min_threshold < max_threshold ≤ packets",
            queue.packets
        )
    })?;
    for (name, share) in [("max_probability", red.max_probability), ("weight", red.weight)] {
        require(share > 0.0 && share <= 1.0, format!("{key}.{name}"), || {
            format!("`{name}` of {share}\nit is above 0 and at most 1")
        })?;
    }
    Ok(())
}

fn check_codel(key: &str, codel: CodelConfig) -> CheckResult {
    let CodelConfig { target, interval, .. } = codel;
    require(!target.is_zero(), format!("{key}.target"), || {
        "a target of 0\nit is a waiting time that is accepted: above 0".into()
    })?;
    require(target < interval, format!("{key}.interval"), || {
        format!(
            "interval {} with target {}\nrequired: target < interval",
            Time(interval),
            Time(target)
        )
    })
}
