//! Names of the arms of a set.

use driftway_scenario::quantity;

use super::partition::{Keys, determines, distinct_count, key_value, partition, refinement};
use driftway_experiment::labels::{counted_unit, key_label, value_label};

/// Suffixes of the keys that make up a scenario's name, in the order of the name.
const NAMING_KEYS: [&str; 10] = [
    "network.kind",
    ".routing.protocol",
    ".mac.kind",
    ".mobility.model",
    ".transport",
    ".tcp.preset",
    ".tcp.recovery",
    ".tcp.growth",
    ".aid",
    ".receiver_aid",
];

fn naming_rank(key: &str) -> Option<usize> {
    NAMING_KEYS.iter().position(|end| key.ends_with(end))
}

/// Keys that name the arms: the varying keys of [`NAMING_KEYS`], without those that the others
/// determine (such as the same key of another flow).
pub fn naming_keys<'a>(set: &[Keys], varying: &[&'a String]) -> Vec<&'a String> {
    let mut candidates: Vec<&String> =
        varying.iter().copied().filter(|key| naming_rank(key).is_some()).collect();
    candidates.sort_by_key(|key| (naming_rank(key), *key));
    let mut naming: Vec<&String> = Vec::new();
    for key in candidates {
        let same_kind = |other: &&&String| {
            let of_network = key.contains(".mac.") || key.contains(".mobility.");
            naming_rank(other) == naming_rank(key)
                || (other.ends_with(".tcp.preset") && !key.ends_with("aid"))
                || (**other == "network.kind" && of_network)
        };
        let of_kind: Vec<_> = naming.iter().filter(same_kind).map(|k| partition(set, k)).collect();
        if of_kind.is_empty() || !determines(&refinement(&of_kind), &partition(set, key)) {
            naming.push(key);
        }
    }
    naming
}

/// Adds the fewest keys that distinguish scenarios with the same axis value and the same values of
/// `named`: keys that all scenarios have before the others, and words before numbers.
pub fn distinguish<'a>(
    set: &[Keys],
    varying: &[&'a String],
    axis: Option<&[f64]>,
    named: &mut Vec<&'a String>,
) {
    let mut by_weight = varying.to_vec();
    by_weight.sort_by_key(|key| {
        let some_lack_it = set.iter().any(|keys| !keys.contains_key(*key));
        let is_number = set.iter().all(|keys| quantity(key_value(keys, key)).is_some());
        (some_lack_it, is_number, !key.contains(".tcp."), key.len(), *key)
    });
    let mut parts: Vec<_> = named.iter().map(|key| partition(set, key)).collect();
    parts.extend(axis.map(|values| {
        let first = |value| values.iter().position(|other| other == value).unwrap_or(0);
        values.iter().map(first).collect()
    }));
    parts.push(vec![0; set.len()]);
    let mut classes = refinement(&parts);
    for key in by_weight {
        let finer = refinement(&[classes.clone(), partition(set, key)]);
        if distinct_count(&finer) > distinct_count(&classes) {
            classes = finer;
            named.push(key);
        }
    }
}

/// Returns true if another key implies the values of a key, as a protocol's name implies its constants, or
/// the first flow the others.
pub fn is_implied(set: &[Keys], varying: &[&String], key: &String) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    let implied_by = |other: &&&String| {
        let same_end = |n: usize| {
            let of_other: Vec<&str> = other.split('.').collect();
            parts[0] == "flow" && of_other[0] == "flow" && of_other.get(n..) == parts.get(n..)
        };
        let table = other.rsplit_once('.').map_or("", |(table, _)| table);
        let within =
            |table: &str| key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
        match NAMING_KEYS.iter().find(|end| other.ends_with(*end)) {
            _ if other == &&key => false,
            _ if same_end(2) => *other < &key,
            Some(&".aid" | &".receiver_aid") => within(other),
            Some(&".transport") => within(&format!("{table}.tcp")),
            Some(&".tcp.growth") => false,
            Some(&".tcp.recovery") => key.ends_with(".limited_transmit"),
            // A preset implies all keys except these.
            Some(&".tcp.preset") => {
                within(table) && !key.ends_with(".mss") && !key.ends_with(".window")
            }
            Some(_) => within(table),
            None if other.ends_with("network.compat") => {
                let of_tcp = key.contains(".tcp.") && naming_rank(key).is_none();
                (of_tcp && !key.ends_with(".mss") && !key.ends_with(".window"))
                    || ["mac", "radio", "routing"]
                        .iter()
                        .any(|part| within(&format!("{table}.{part}")))
            }
            None => {
                (other.ends_with(".tcp.window") && key.ends_with(".window_scale"))
                    || (other.ends_with("network.hops") && key.ends_with(".to"))
            }
        }
    };
    let of_key = partition(set, key);
    let mut implying = varying.iter().filter(implied_by);
    implying.any(|other| determines(&partition(set, other), &of_key))
}

/// Label of a scenario's arm, such as `AODV, Reno, ATCP, queue length 20 packets`, and the part of it
/// by which a paper would refer to the arm.
pub fn label(set: &[Keys], index: usize, named: &[&String]) -> (String, String) {
    let (mut parts, mut subject) = (Vec::new(), None);
    for (at, key) in named.iter().enumerate() {
        let part = match set[index].get(*key) {
            Some(text) => Some(setting_label(key, text)),
            None => missing_value_label(set, index, &named[..at], key),
        };
        if key.ends_with(".aid") && subject.is_none() {
            subject = part.clone();
        }
        parts.extend(part);
    }
    // Reno recovery with Reno growth is Reno.
    parts.dedup();
    let subject = subject.or_else(|| parts.first().cloned()).unwrap_or_default();
    (parts.join(", "), subject)
}

/// Label of a key's value.
fn setting_label(key: &str, text: &str) -> String {
    let name = key_label(key);
    let which = match key.split('.').collect::<Vec<_>>()[..] {
        ["flow", number, ..] if number != "0" => {
            let number = number.parse::<u64>().map_or(0, |number| number + 1);
            format!(" of flow {number}")
        }
        _ => String::new(),
    };
    let text = match text {
        "none" if key.ends_with(".aid") => "no aid".to_owned(),
        "none" => format!("no {name}"),
        "true" => format!("{name} on"),
        "false" => format!("{name} off"),
        _ if key.ends_with(".receiver_aid") => format!("{name} {}", value_label(text)),
        _ if naming_rank(key).is_some() => value_label(text),
        _ => {
            let unit = quantity(text).map_or("", |(_, unit)| counted_unit(key, unit));
            format!("{name} {} {unit}", value_label(text)).trim_end().to_owned()
        }
    };
    text + &which
}

/// Label of a key that a scenario lacks; `None` if the keys in `before` imply that.
fn missing_value_label(
    set: &[Keys],
    index: usize,
    before: &[&String],
    key: &str,
) -> Option<String> {
    if key.ends_with(".tcp.preset") {
        let key = key.replace(".preset", ".recovery");
        return set[index].get(&key).map(|text| setting_label(&key, text));
    }
    let alike =
        |other: &&Keys| before.iter().all(|k| key_value(other, k) == key_value(&set[index], k));
    let differs = set.iter().filter(alike).any(|other| other.contains_key(key));
    differs.then(|| format!("no {}", key_label(key)))
}
