//! Validation of links and their queues.

use driftway_base::Duration;
use driftway_link::{CodelConfig, Duplex, RedConfig};

use crate::problem::{CheckResult, require, require_positive, require_range};
use crate::trace::TraceFile;
use crate::{
    BurstLosses, Delay, DelaySteps, Discipline, Link, LinkDelay, LinkOverride, LinkRate,
    PeriodicLosses, Queue, Reverse, Time, UniformDelay,
};

pub(super) fn check_link(key: &str, link: &Link) -> CheckResult {
    if let Some(delay) = &link.delay {
        check_link_delay(&format!("{key}.delay"), delay)?;
    }
    reject_adhoc_keys(key, &link.queue)?;
    check_errors(key, link.bit_error_rate, link.packet_error_rate)?;
    check_burst(key, link.burst)?;
    check_loss(key, link.loss)?;
    check_queue(&format!("{key}.queue"), &link.queue)?;
    check_reverse(key, link.reverse.as_ref())?;
    check_together(key, link)
}

/// Checks the keys of an override; [`check_together`] checks what they make of the link.
pub(super) fn check_override(key: &str, change: &LinkOverride) -> CheckResult {
    if let Some(delay) = &change.delay {
        check_link_delay(&format!("{key}.delay"), delay)?;
    }
    check_errors(key, change.bit_error_rate, change.packet_error_rate)?;
    check_burst(key, change.burst)?;
    check_loss(key, change.loss)?;
    if let Some(found) = &change.queue {
        reject_adhoc_keys(key, found)?;
        check_queue(&format!("{key}.queue"), found)?;
    }
    check_reverse(key, change.reverse.as_ref())?;
    refuse_both_forms(key, change.rate.as_ref(), change.trace.as_ref())
}

fn check_reverse(key: &str, back: Option<&Reverse>) -> CheckResult {
    let Some(back) = back else { return Ok(()) };
    check_override(&format!("{key}.reverse"), &back.as_override())
}

/// Checks the keys of a link that depend on each other.
pub(super) fn check_together(key: &str, link: &Link) -> CheckResult {
    for (table, link) in
        [(key.to_owned(), link.clone()), (format!("{key}.reverse"), link.reversed())]
    {
        let has = |column: fn(&TraceFile) -> bool| link.trace.as_ref().is_some_and(column);
        let missing = |name| format!("the key `{name}` is missing\nadd `{name} = …` to this table");
        require(link.rate.is_some() || has(TraceFile::has_rates), key, || missing("rate"))?;
        require(link.delay.is_some() || has(TraceFile::has_delays), key, || missing("delay"))?;
        refuse_both_forms(&table, link.rate.as_ref(), link.trace.as_ref())?;
        let by_opportunities = matches!(link.rate, Some(LinkRate::Trace(_)));
        require(
            !by_opportunities || link.duplex.0 == Duplex::Full,
            format!("{table}.rate"),
            || {
                format!(
                    "`rate` is a trace of one direction, but duplex = \"{}\"\nuse duplex = \"full\"",
                    link.duplex.name()
                )
            },
        )?;
    }
    let shared = link.reverse.is_some() && link.duplex.0 == Duplex::Shared;
    require(!shared, format!("{key}.reverse"), || {
        "both directions share one rate (duplex = \"shared\"), so that they cannot differ\n\
         remove `reverse`, or use duplex = \"full\""
            .into()
    })
}

/// Delivery opportunities and rates of rows cannot both hold.
fn refuse_both_forms(key: &str, rate: Option<&LinkRate>, trace: Option<&TraceFile>) -> CheckResult {
    let both = matches!(rate, Some(LinkRate::Trace(_)))
        && trace.is_some_and(|trace| trace.content.is_none() || trace.has_rates());
    require(!both, format!("{key}.trace"), || {
        "the rate is measured twice: by `rate = { trace = … }` and by the column rate_bps of `trace`\n\
         remove one of them"
            .into()
    })
}

fn check_link_delay(key: &str, delay: &LinkDelay) -> CheckResult {
    if let LinkDelay::Steps(DelaySteps { steps, .. }) = delay {
        require(!steps.is_empty(), format!("{key}.steps"), || {
            "no step\nadd delays, such as steps = [\"20 ms\", \"35 ms\"]".into()
        })?;
    }
    check_delay(key, delay.distribution())
}

fn check_burst(key: &str, burst: Option<BurstLosses>) -> CheckResult {
    let Some(BurstLosses { rate, mean_length }) = burst else { return Ok(()) };
    // The next burst begins at once with more.
    let most = mean_length / (1.0 + mean_length);
    require(rate >= 0.0 && rate <= most, format!("{key}.burst.rate"), || {
        format!(
            "a rate of {rate} with bursts of {mean_length} packets\nthe rate is from 0 to \
             mean_length / (1 + mean_length), {most:.3} here"
        )
    })
}

fn check_loss(key: &str, loss: Option<PeriodicLosses>) -> CheckResult {
    require(loss.is_none_or(|loss| loss.every != 1), format!("{key}.loss.every"), || {
        "every packet is lost\nthe period is at least 2 packets; 0 is no loss".into()
    })
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
    let Delay::Uniform(UniformDelay { uniform: (low, high) }) = delay else { return Ok(()) };
    require(low <= high, key, || {
        format!("{low} is longer than {high}\nthe shorter one comes first")
    })
}

fn check_errors(key: &str, bit: Option<f64>, packet: Option<f64>) -> CheckResult {
    require(bit.is_none() || packet.is_none(), format!("{key}.packet_error_rate"), || {
        "both bit_error_rate and packet_error_rate\na link has one or the other".into()
    })
}

pub(super) fn check_queue(key: &str, queue: &Queue) -> CheckResult {
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
    if queue.discipline == Discipline::Pie {
        for (name, time) in [("target", queue.target), ("interval", queue.interval)] {
            time.map_or(Ok(()), |time| require_positive(format!("{key}.{name}"), time))?;
        }
    }
    Ok(())
}

fn reject_keys_of_other_disciplines(key: &str, queue: &Queue) -> CheckResult {
    use Discipline::{Codel, DropTail, FqCodel, Pie, Red};
    let own = queue.discipline;
    let early = match own {
        DropTail => "with drop-tail use `ecn_threshold`",
        Red | Codel | FqCodel | Pie => "with RED, CoDel and PIE use ecn = true",
    };
    for (name, written, owners, of) in [
        ("ecn_threshold", queue.ecn_threshold.is_some(), &[DropTail][..], "drop-tail"),
        ("min_threshold", queue.min_threshold.is_some(), &[Red], "RED"),
        ("max_threshold", queue.max_threshold.is_some(), &[Red], "RED"),
        ("max_probability", queue.max_probability.is_some(), &[Red], "RED"),
        ("weight", queue.weight.is_some(), &[Red], "RED"),
        ("target", queue.target.is_some(), &[Codel, FqCodel, Pie], "CoDel or PIE"),
        ("interval", queue.interval.is_some(), &[Codel, FqCodel, Pie], "CoDel or PIE"),
        ("ecn", queue.ecn.is_some(), &[Red, Codel, FqCodel, Pie], "RED, CoDel or PIE"),
    ] {
        require(!written || owners.contains(&own), format!("{key}.{name}"), || {
            let help = match of {
                "drop-tail" | "RED, CoDel or PIE" => early.to_owned(),
                "CoDel or PIE" => "add discipline = \"codel\" or \"pie\"".to_owned(),
                of => format!("add discipline = \"{}\"", of.to_ascii_lowercase()),
            };
            format!("`{name}` without {of}\n{help}")
        })?;
    }
    Ok(())
}

fn check_red(key: &str, queue: &Queue, red: RedConfig) -> CheckResult {
    let (min, max) = (red.min_threshold, red.max_threshold);
    require(min < max && max <= f64::from(queue.packets), format!("{key}.max_threshold"), || {
        format!(
            "max_threshold {max} with min_threshold {min} and {} packets\n\
             required: min_threshold < max_threshold ≤ packets",
            queue.packets
        )
    })
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
