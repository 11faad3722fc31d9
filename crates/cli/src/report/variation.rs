//! Varying keys in a set of results: one number is the axis, the others distinguish the arms.

use std::collections::BTreeMap;

use driftway_scenario::{Unit, quantity};

use super::arm_names::{distinguish, is_implied, label, naming_keys};
use super::partition::{
    Keys, comparable, determines, distinct_count, key_value, partition, refinement,
};
use crate::text::{Scale, chosen_value, value_in};
use driftway_experiment::labels::{counted_unit, key_label};

/// Axis and arms of a set of scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// The numeric key that varies, if any.
    pub axis: Option<Axis>,
    /// Groups of scenarios by the values of the other keys.
    pub arms: Vec<Arm>,
    /// Names of varying keys that neither the axis nor the arms' names have.
    pub unnamed: Vec<String>,
    /// Values of the varying keys that no other key implies, for [`Claims`](super::claims::Claims).
    pub values: BTreeMap<String, Vec<String>>,
}

/// The varying numeric key.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Key of the scenario.
    pub key: String,
    /// Base unit of its values.
    pub unit: Unit,
}

/// Scenarios that differ only in the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Name of the arm; empty if there is only one.
    pub label: String,
    /// Name by which a paper would refer to the arm: its aid if aids differ, otherwise the first part
    /// of its label.
    pub paper_name: String,
    /// The axis' value in base units (0 without an axis) and the scenario's index in the set, sorted
    /// by value.
    pub points: Vec<(f64, usize)>,
}

impl Axis {
    /// Name of the key: `pause`.
    pub fn name(&self) -> String {
        key_label(&self.key)
    }

    /// Unit of numbers in this scale: `s`, `packets`; empty for ratios, and if the name has the unit.
    pub fn unit(&self, scale: Scale) -> &'static str {
        if scale.unit.is_empty() { counted_unit(&self.key, self.unit) } else { scale.unit }
    }

    /// Name and value at `x`: `pause 10 s`.
    pub fn label_at(&self, x: f64) -> String {
        let counted = counted_unit(&self.key, self.unit);
        let number = if self.unit == Unit::One { chosen_value(x) } else { value_in(self.unit, x) };
        let text = format!("{} {number} {counted}", self.name());
        text.trim_end().to_owned()
    }
}

/// Determines the axis and the arms of a set of scenarios.
pub fn find_variation(set: &[Keys]) -> Variation {
    let set = &comparable(set);
    let varying: Vec<&String> =
        all_keys(set).into_iter().filter(|key| distinct_count(&partition(set, key)) > 1).collect();
    let mut named = naming_keys(set, &varying);
    let axis = axis(set, &varying, &named);
    let values = axis.as_ref().map(|(_, values)| values.clone());
    distinguish(set, &varying, values.as_deref(), &mut named);

    let mut arms: Vec<Arm> = Vec::new();
    for index in 0..set.len() {
        let (label, paper_name) = label(set, index, &named);
        let point = (values.as_ref().map_or(0.0, |values| values[index]), index);
        match arms.iter_mut().find(|arm| arm.label == label) {
            Some(arm) => arm.points.push(point),
            None => arms.push(Arm { label, paper_name, points: vec![point] }),
        }
    }
    for arm in &mut arms {
        arm.points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }
    arms.sort_by(|a, b| a.label.cmp(&b.label));

    let axis = axis.map(|(axis, _)| axis);
    let is_said =
        |key: &String| named.contains(&key) || axis.as_ref().is_some_and(|axis| axis.key == *key);
    let own: Vec<&String> = varying
        .iter()
        .copied()
        .filter(|key| is_said(key) || !is_implied(set, &varying, key))
        .collect();
    let mut unnamed: Vec<String> =
        own.iter().filter(|key| !is_said(key)).map(|key| key_label(key)).collect();
    let said: Vec<String> =
        own.iter().filter(|key| is_said(key)).map(|key| key_label(key)).collect();
    unnamed.sort();
    unnamed.dedup();
    unnamed.retain(|name| !said.contains(name));
    let values_of = |key: &String| {
        let mut values: Vec<String> =
            set.iter().map(|keys| key_value(keys, key).to_owned()).collect();
        values.sort();
        values.dedup();
        (key.clone(), values)
    };
    Variation { axis, arms, unnamed, values: own.into_iter().map(values_of).collect() }
}

fn all_keys(set: &[Keys]) -> Vec<&String> {
    let mut keys: Vec<&String> = set.iter().flat_map(Keys::keys).collect();
    keys.sort();
    keys.dedup();
    keys
}

/// The axis and its value in each scenario: of the numeric keys that the arms' names don't determine,
/// the one with the most values.
fn axis(set: &[Keys], varying: &[&String], naming: &[&String]) -> Option<(Axis, Vec<f64>)> {
    let names: Vec<_> = naming.iter().map(|key| partition(set, key)).collect();
    let names = refinement(&names);
    let is_free = |key: &String| naming.is_empty() || !determines(&names, &partition(set, key));
    let mut candidates: Vec<(&String, (Unit, Vec<f64>))> = varying
        .iter()
        .filter(|key| is_free(key))
        .filter_map(|key| Some((*key, axis_values(set, key)?)))
        .collect();
    // Addresses, durations and positions usually vary together with another key: they come last.
    let last = |key: &str| {
        let lasts = key == "duration" || key.ends_with(".from") || key.ends_with(".to");
        lasts || key.contains(".positions.") || key.ends_with(".speed.0")
    };
    candidates.sort_by_key(|(key, (_, values))| {
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        (std::cmp::Reverse(distinct_count(&bits)), last(key), *key)
    });
    let (key, (unit, values)) = candidates.into_iter().next()?;
    Some((Axis { key: key.clone(), unit }, values))
}

/// Values of a key in all scenarios, in base units; `None` if one lacks it or units differ.
fn axis_values(set: &[Keys], key: &str) -> Option<(Unit, Vec<f64>)> {
    let read: Vec<(f64, Unit)> =
        set.iter().map(|keys| quantity(keys.get(key)?)).collect::<Option<_>>()?;
    let unit = read.iter().find(|(value, _)| *value != 0.0)?.1;
    // Zero is the same in any unit.
    let same = read.iter().all(|(value, other)| *other == unit || *value == 0.0);
    same.then(|| (unit, read.into_iter().map(|(value, _)| value).collect()))
}

#[cfg(test)]
mod test {
    use super::*;

    fn keys(pairs: &[(&str, &str)]) -> Keys {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn labels(sweep: &Variation) -> Vec<&str> {
        sweep.arms.iter().map(|arm| arm.label.as_str()).collect()
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
        let sweep = find_variation(&set);
        let axis = sweep.axis.as_ref().unwrap();
        assert_eq!((axis.key.as_str(), axis.unit), ("network.ber", Unit::One));
        assert_eq!(labels(&sweep), ["ATCP", "no aid"]);
        assert_eq!(sweep.arms[0].points, [(1e-6, 1), (1e-5, 3), (1e-4, 5)]);
        assert!(sweep.unnamed.is_empty(), "{:?}", sweep.unnamed);
    }

    /// AODV and DSR with their own constants, against the pause time.
    fn protocols() -> Vec<Keys> {
        let mut set = Vec::new();
        for pause in ["0 s", "30 s"] {
            let pause = ("network.mobility.pause", pause);
            let aodv = [("network.routing.protocol", "aodv"), ("network.routing.udp", "true")];
            let dsr = [("network.routing.protocol", "dsr"), ("network.routing.scan", "none")];
            set.extend([aodv, dsr].map(|of| keys(&[&of[..], &[pause]].concat())));
        }
        set
    }

    #[test]
    fn arms_are_named_by_their_protocol_and_not_by_its_constants() {
        let mut set = protocols();
        let found = find_variation(&set);
        assert_eq!(labels(&found), ["AODV", "DSR"]);
        assert_eq!(found.axis.as_ref().unwrap().label_at(30.0), "pause 30 s");
        assert!(found.unnamed.is_empty(), "{:?}", found.unnamed);
        // A key that varies with the protocol but is not one of its constants is reported, but is
        // not the axis.
        for keys in &mut set {
            let aodv = key_value(keys, "network.routing.protocol") == "aodv";
            keys.insert("flow.0.tcp.window".into(), if aodv { "32" } else { "8" }.into());
            keys.insert("flow.0.tcp.recovery".into(), if aodv { "sack" } else { "reno" }.into());
        }
        let found = find_variation(&set);
        assert_eq!(labels(&found), ["AODV, SACK", "DSR, Reno"]);
        assert_eq!(found.axis.unwrap().key, "network.mobility.pause");
        assert_eq!(found.unnamed, ["window"]);
    }

    #[test]
    fn a_constant_is_in_the_name_of_the_arms_that_have_it() {
        let mut set = protocols();
        let mut more = set.clone();
        more.retain(|keys| key_value(keys, "network.routing.protocol") == "dsr");
        for keys in &mut more {
            keys.insert("network.routing.scan".into(), "always".into());
        }
        set.extend(more);
        assert_eq!(labels(&find_variation(&set)), ["AODV", "DSR, no scan", "DSR, scan always"]);
    }

    #[test]
    fn tcps_are_named_by_recovery_and_growth_or_by_their_preset() {
        let named = |tcps: &[[(&str, &str); 2]]| {
            let with = |of: &[(&str, &str); 2]| {
                keys(
                    &of.map(|(key, value)| (format!("flow.0.tcp.{key}"), value.to_owned()))
                        .each_ref()
                        .map(|(key, value)| (key.as_str(), value.as_str())),
                )
            };
            let set: Vec<Keys> = tcps.iter().map(with).collect();
            labels(&find_variation(&set)).join("; ")
        };
        let tcp = |recovery, growth| [("recovery", recovery), ("growth", growth)];
        assert_eq!(named(&[tcp("reno", "reno"), tcp("newreno", "reno")]), "NewReno; Reno");
        assert_eq!(named(&[tcp("sack", "reno"), tcp("sack", "cubic")]), "CUBIC; Reno");
        assert_eq!(named(&[tcp("reno", "reno"), tcp("sack", "cubic")]), "Reno; SACK, CUBIC");
        let preset = [("recovery", "rack-tlp"), ("preset", "linux")];
        assert_eq!(named(&[tcp("reno", "reno"), preset]), "Linux; Reno");
    }

    #[test]
    fn a_key_that_varies_with_the_axis_makes_no_arms() {
        let set = [("10 ms", "1"), ("1 s", "2"), ("0.2 s", "3")]
            .map(|(delay, hops)| keys(&[("network.delay", delay), ("network.zeal", hops)]));
        let sweep = find_variation(&set);
        assert_eq!(sweep.axis.unwrap().key, "network.delay");
        assert_eq!(sweep.arms.len(), 1);
        assert_eq!(sweep.arms[0].points, [(0.01, 0), (0.2, 2), (1.0, 1)]);
        assert_eq!(sweep.arms[0].label, "");
        assert_eq!(sweep.unnamed, ["zeal"]);
    }

    #[test]
    fn without_a_numeric_key_there_is_no_axis() {
        let set = ["none", "atcp"].map(|aid| keys(&[("flow.0.aid", aid)]));
        let sweep = find_variation(&set);
        assert_eq!(sweep.axis, None);
        assert_eq!(labels(&sweep), ["ATCP", "no aid"]);
    }

    #[test]
    fn a_single_scenario_is_one_arm_without_a_name() {
        let sweep = find_variation(&[keys(&[("flow.0.aid", "none")])]);
        let arm = Arm { label: String::new(), paper_name: String::new(), points: vec![(0.0, 0)] };
        assert_eq!(sweep.arms, [arm]);
    }

    #[test]
    fn many_equal_flows_have_one_name_and_their_number_is_the_axis() {
        let flows = |count: usize, aid| -> Keys {
            (0..count).map(|flow| (format!("flow.{flow}.aid"), str::to_owned(aid))).collect()
        };
        let set = [flows(5, "none"), flows(5, "atcp"), flows(9, "none"), flows(9, "atcp")];
        let sweep = find_variation(&set);
        assert_eq!(sweep.axis.as_ref().unwrap().label_at(5.0), "flows 5");
        assert_eq!(labels(&sweep), ["ATCP", "no aid"]);
        assert!(sweep.unnamed.is_empty(), "{:?}", sweep.unnamed);
    }
}
