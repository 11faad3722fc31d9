//! What varies in a set of results: one number is the axis, the rest tells the arms apart.

use std::collections::BTreeMap;

use scenario::{Unit, quantity};

/// The scenarios of a set, told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The number that varies; `None`: none does.
    pub axis: Option<Axis>,
    /// What else varies.
    pub arms: Vec<Arm>,
}

/// The number that varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The scenario's key.
    pub key: String,
    /// What it is measured in.
    pub unit: Unit,
}

/// Scenarios that differ in the axis only.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// What it is called; empty where there is one arm only.
    pub label: String,
    /// The axis' value in base units (0 without an axis) and the scenario's index in the set,
    /// by value.
    pub points: Vec<(f64, usize)>,
}

/// One scenario: its keys with their values.
pub type Keys = BTreeMap<String, String>;

impl Axis {
    /// The name of a metric with the axis' unit, for [`crate::text`].
    pub const fn as_metric(&self) -> &'static str {
        match self.unit {
            Unit::One => "",
            Unit::Second => "_s",
            Unit::BitPerSecond => "_bps",
            Unit::Byte => "_bytes",
            Unit::Metre => "_m",
            Unit::MetrePerSecond => "_mps",
            Unit::Hertz => "_hz",
        }
    }
}

/// Tells the scenarios of a set apart.
pub fn sweep(set: &[Keys]) -> Sweep {
    let varying = varying(set);
    let axis = varying
        .iter()
        .filter_map(|key| Some((key, axis_values(set, key)?)))
        // The most values; among equals the key that comes first.
        .max_by(|(a, x), (b, y)| distinct(x.1.iter()).cmp(&distinct(y.1.iter())).then(b.cmp(a)))
        .map(|(key, (unit, values))| (Axis { key: (*key).clone(), unit }, values));
    let values = axis.as_ref().map(|(_, values)| values.clone());
    let telling = telling(set, &varying, values.as_deref());

    let mut arms: Vec<Arm> = Vec::new();
    for (index, keys) in set.iter().enumerate() {
        let label = label(keys, &telling);
        let point = (values.as_ref().map_or(0.0, |values| values[index]), index);
        match arms.iter_mut().find(|arm| arm.label == label) {
            Some(arm) => arm.points.push(point),
            None => arms.push(Arm { label, points: vec![point] }),
        }
    }
    for arm in &mut arms {
        arm.points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
    arms.sort_by(|a, b| a.label.cmp(&b.label));
    Sweep { axis: axis.map(|(axis, _)| axis), arms }
}

fn value<'a>(keys: &'a Keys, key: &str) -> &'a str {
    keys.get(key).map_or("", String::as_str)
}

/// Keys that have more than one value; what a scenario is called, and what a paper reported, does
/// not count.
fn varying(set: &[Keys]) -> Vec<&String> {
    let says = |key: &str| key == "name" || key == "description" || key.starts_with("reference");
    let mut keys: Vec<&String> = set.iter().flat_map(Keys::keys).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| !says(key) && distinct(set.iter().map(|keys| value(keys, key))) > 1);
    keys
}

fn distinct<T: PartialOrd>(values: impl Iterator<Item = T>) -> usize {
    let mut seen: Vec<T> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.len()
}

/// The values of a key that every scenario has, in base units, if they all have the same unit.
fn axis_values(set: &[Keys], key: &str) -> Option<(Unit, Vec<f64>)> {
    let read: Vec<(f64, Unit)> =
        set.iter().map(|keys| quantity(keys.get(key)?)).collect::<Option<_>>()?;
    let unit = read.first()?.1;
    // A zero is a zero in any unit.
    let same = read.iter().all(|(value, other)| *other == unit || *value == 0.0);
    same.then(|| (unit, read.into_iter().map(|(value, _)| value).collect()))
}

/// The fewest keys that tell apart what the axis does not: a key that says nothing beyond those
/// before it (the options of an aid, once the aid is named) is left out.
fn telling<'a>(set: &[Keys], varying: &[&'a String], axis: Option<&[f64]>) -> Vec<&'a String> {
    let mut by_weight = varying.to_vec();
    by_weight.sort_by_key(|key| (weight(key), key.len(), (*key).clone()));
    let mut classes: Vec<usize> = match axis {
        Some(values) => values
            .iter()
            .map(|value| values.iter().position(|other| other == value).unwrap_or(0))
            .collect(),
        None => vec![0; set.len()],
    };
    let mut telling = Vec::new();
    for key in by_weight {
        let of = |index: usize| (classes[index], value(&set[index], key));
        let finer: Vec<usize> = (0..set.len())
            .map(|index| (0..=index).find(|&first| of(first) == of(index)).unwrap_or(index))
            .collect();
        if distinct(finer.iter()) > distinct(classes.iter()) {
            classes = finer;
            telling.push(key);
        }
    }
    telling
}

/// Aids before TCPs before the rest: what a reader asks for first.
fn weight(key: &str) -> u8 {
    if is_aid(key) {
        0
    } else if key.contains(".tcp.") {
        1
    } else {
        2
    }
}

fn is_aid(key: &str) -> bool {
    key.ends_with(".aid")
}

/// The last two names of a key: `delay.mean`.
pub fn short(key: &str) -> String {
    let names: Vec<&str> = key.split('.').collect();
    names[names.len().saturating_sub(2)..].join(".")
}

/// `atcp, growth cubic, queue.packets 20`
fn label(keys: &Keys, telling: &[&String]) -> String {
    let part = |key: &&String| {
        let text = match value(keys, key) {
            "" => "unset",
            text => text,
        };
        if is_aid(key) {
            return if text == "none" { "no aid".to_owned() } else { text.to_owned() };
        }
        let name = short(key);
        format!("{} {text}", name.strip_prefix("tcp.").unwrap_or(&name))
    };
    telling.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod test {
    use super::*;

    fn keys(pairs: &[(&str, &str)]) -> Keys {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn the_number_with_most_values_is_the_axis_and_the_aids_are_the_arms() {
        let mut set = Vec::new();
        for rate in ["1e-6", "1e-5", "1e-4"] {
            set.push(keys(&[("name", rate), ("flow.0.aid", "none"), ("network.ber", rate)]));
            set.push(keys(&[
                ("flow.0.aid", "atcp"),
                ("flow.0.aid.tick", "500 ms"),
                ("network.ber", rate),
            ]));
        }
        let sweep = sweep(&set);
        let axis = sweep.axis.unwrap();
        assert_eq!((axis.key.as_str(), axis.unit), ("network.ber", Unit::One));
        let labels: Vec<_> = sweep.arms.iter().map(|arm| arm.label.as_str()).collect();
        assert_eq!(labels, ["atcp", "no aid"]);
        assert_eq!(sweep.arms[0].points, [(1e-6, 1), (1e-5, 3), (1e-4, 5)]);
    }

    #[test]
    fn a_key_that_goes_with_the_axis_makes_no_arms() {
        let set = [("10 ms", "1"), ("1 s", "2"), ("0.2 s", "3")]
            .map(|(delay, hops)| keys(&[("network.delay", delay), ("network.zeal", hops)]));
        let sweep = sweep(&set);
        assert_eq!(sweep.axis.unwrap().key, "network.delay");
        assert_eq!(sweep.arms.len(), 1);
        assert_eq!(sweep.arms[0].points, [(0.01, 0), (0.2, 2), (1.0, 1)]);
        assert_eq!(sweep.arms[0].label, "");
    }

    #[test]
    fn without_a_number_there_are_arms_alone() {
        let set = ["none", "atcp"].map(|aid| keys(&[("flow.0.aid", aid)]));
        let sweep = sweep(&set);
        assert_eq!(sweep.axis, None);
        assert_eq!(sweep.arms.len(), 2);
    }

    #[test]
    fn one_scenario_is_one_arm_without_a_name() {
        let sweep = sweep(&[keys(&[("flow.0.aid", "none")])]);
        assert_eq!(sweep.arms, [Arm { label: String::new(), points: vec![(0.0, 0)] }]);
    }
}
