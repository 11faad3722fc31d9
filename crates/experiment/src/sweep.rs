//! A study created from a scenario and varied keys: `--vary KEY=a,b,c`.

use std::path::Path;

use driftway_scenario::{Application, Scenario, Transport};
use toml::{Table, Value};

use crate::error::Error;
use crate::study::source::Source;
use crate::{labels, units, words};

/// A key and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// Dotted name, as in a scenario file.
    pub key: String,
    /// Values in the syntax of `--set`.
    pub values: Vec<String>,
}

/// The requested study.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Varied keys.
    pub vary: Vec<Vary>,
    /// Overrides in every run.
    pub set: Vec<(String, String)>,
    /// Metrics, by name; empty: a selection that suits the scenario.
    pub metrics: Vec<String>,
    /// Runs per point.
    pub runs: u64,
    /// Interval of samples.
    pub step: Option<String>,
}

impl std::str::FromStr for Vary {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RIGHT: &str = "expected KEY=VALUE,VALUE…, such as network.link.delay=5ms,50ms";
        let (key, values) = text.split_once('=').ok_or(RIGHT)?;
        let (key, values) = (key.trim().to_owned(), split_values(values));
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err(RIGHT);
        }
        Ok(Self { key, values })
    }
}

/// Splits at commas outside brackets and quotes.
fn split_values(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quote) = (vec![String::new()], 0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (',', None) if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).collect()
}

/// Returns whether all values are positions on one axis.
fn is_axis(vary: &Vary) -> bool {
    let places: Option<Vec<_>> = vary.values.iter().map(|value| units::number(value)).collect();
    places.is_some_and(|places| places.len() > 1 && places.iter().all(|(_, u)| *u == places[0].1))
}

/// Creates the study of a scenario file: the first key with numeric values is the axis, the values
/// of all others are the arms.
///
/// # Errors
///
/// The scenario or a varied key is invalid.
pub fn build_study(file: &Path, sweep: &Sweep) -> Result<Source, Error> {
    for (at, vary) in sweep.vary.iter().enumerate() {
        let twice = |key: &str| sweep.vary[..at].iter().any(|other| other.key == *key);
        if twice(&vary.key) {
            return Err(Error::refused(format!("--vary {}: duplicate key", vary.key)));
        }
        if let Some(value) = vary
            .values
            .iter()
            .enumerate()
            .find_map(|(at, value)| vary.values[..at].contains(value).then_some(value))
        {
            let message = format!("--vary {}: duplicate value {value}", vary.key);
            return Err(Error::refused(message));
        }
    }
    // As at the first point, so that an invalid key is an error of the command line.
    let first = sweep.vary.iter().map(|vary| (vary.key.clone(), vary.values[0].clone()));
    let set: Vec<_> = sweep.set.iter().cloned().chain(first).collect();
    let scenario = Scenario::load(file, &set)?;

    let axis = sweep.vary.iter().position(is_axis);
    let rest = || sweep.vary.iter().enumerate().filter(|(at, _)| Some(*at) != axis);
    let mut study = Table::new();
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let keys: Vec<String> = sweep.vary.iter().map(|vary| labels::key_label(&vary.key)).collect();
    let file_stem = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    study.insert("title".into(), format!("{file_stem}: {}", words::list(&keys)).into());
    study.insert("scenario".into(), name.into());
    study.insert("runs".into(), Value::Integer(sweep.runs.try_into().unwrap_or(i64::MAX)));
    if let Some(step) = &sweep.step {
        study.insert("step".into(), step.clone().into());
    }
    if !sweep.set.is_empty() {
        study.insert("set".into(), settings(&sweep.set).into());
    }
    if let Some(axis) = axis.map(|axis| &sweep.vary[axis]) {
        let mut x = Table::new();
        x.insert("label".into(), labels::key_label(&axis.key).into());
        x.insert("key".into(), axis.key.clone().into());
        let values = axis.values.iter().map(|value| to_toml(value));
        x.insert("values".into(), Value::Array(values.collect()));
        study.insert("x".into(), x.into());
    }
    check_metrics(&sweep.metrics)?;
    let measures = measures(&scenario, &sweep.metrics);
    study.insert("y".into(), Value::Array(measures));
    let mut arms: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (_, vary) in rest() {
        let each = |arm: &Vec<(String, String)>| -> Vec<Vec<(String, String)>> {
            let with = |value: &String| {
                let mut arm = arm.clone();
                arm.push((vary.key.clone(), value.clone()));
                arm
            };
            vary.values.iter().map(with).collect()
        };
        arms = arms.iter().flat_map(each).collect();
    }
    if rest().next().is_some() {
        let arm = |set: &Vec<(String, String)>| {
            let mut arm = Table::new();
            let label: Vec<String> = set.iter().map(|(k, v)| labels::setting_label(k, v)).collect();
            arm.insert("name".into(), label.join(", ").into());
            arm.insert("label".into(), label.join(", ").into());
            arm.insert("set".into(), settings(set).into());
            Value::Table(arm)
        };
        study.insert("arm".into(), Value::Array(arms.iter().map(arm).collect()));
    }
    let text = toml::to_string(&study).map_err(|error| Error::refused(error.to_string()))?;
    let dir = file.parent().unwrap_or(Path::new("")).to_owned();
    Ok(Source::from_text(file_stem, text, dir))
}

/// Checks that the metrics exist.
fn check_metrics(names: &[String]) -> Result<(), Error> {
    let of_flows = driftway_sim::results::FLOW_METRICS.iter().map(|(name, _)| (*name).to_owned());
    let known: Vec<String> = of_flows.chain(driftway_sim::network_metrics()).collect();
    let Some(wrong) = names.iter().find(|name| !known.contains(name)) else { return Ok(()) };
    let message = format!("--metric {wrong}: there is no such metric");
    Err(Error::refused_with(message, words::available(wrong, &known)))
}

fn settings(set: &[(String, String)]) -> Table {
    set.iter().map(|(key, value)| (key.clone(), to_toml(value))).collect()
}

/// Parses a value in the syntax of `--set` as TOML: strings need no quotes.
fn to_toml(value: &str) -> Value {
    value.parse().unwrap_or_else(|_| Value::String(value.to_owned()))
}

/// Default measures: the duration of transfers; for all flows throughput, delay and cost.
fn measures(scenario: &Scenario, asked: &[String]) -> Vec<Value> {
    let tcp = scenario.flows.iter().any(|flow| flow.transport == Transport::Tcp);
    let transfer =
        |flow: &driftway_scenario::Flow| matches!(flow.application, Application::Transfer(_));
    let mut names: Vec<&str> = asked.iter().map(String::as_str).collect();
    if names.is_empty() {
        if tcp && scenario.flows.iter().all(transfer) {
            names.push("completion_s");
        }
        names.extend(["throughput_bps", "goodput_ratio", "delay_s"]);
        if tcp {
            names.extend(["timeouts", "retransmission_ratio"]);
        }
        if scenario.network.radio_networks().next().is_some() {
            names.push("routing.packets_sent");
        }
        names.push("drops");
    }
    let several = scenario.flows.len() > 1;
    let measure = |name: &str| {
        let of_flows =
            driftway_sim::results::FLOW_METRICS.iter().any(|(metric, _)| *metric == name);
        let mean = name.ends_with("_s") || name.ends_with("_ratio");
        let (of, what) = if mean { ("mean", "mean ") } else { ("sum", "total ") };
        let mut measure = Table::new();
        measure.insert("metric".into(), name.into());
        let plain = labels::metric_label(name);
        if of_flows {
            measure.insert("of".into(), of.into());
        }
        let label = if of_flows && several { format!("{what}{plain}") } else { plain };
        measure.insert("label".into(), label.into());
        Value::Table(measure)
    };
    names.into_iter().map(measure).collect()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::study::plan::plan;

    #[test]
    fn values_may_hold_commas() {
        let vary: Vary = "a.b = 1 m, [2, 3],\"x,y\" ".parse().unwrap();
        assert_eq!(vary.key, "a.b");
        assert_eq!(vary.values, ["1 m", "[2, 3]", "\"x,y\""]);
        for wrong in ["a", "=1", "a=", "a=1,,2"] {
            assert!(wrong.parse::<Vary>().is_err(), "{wrong}");
        }
    }

    fn swept(vary: &[&str]) -> Result<crate::study::plan::Plan, Error> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/adhoc-cbr.toml");
        let vary = vary.iter().map(|text| text.parse().unwrap()).collect();
        plan(build_study(Path::new(file), &Sweep { vary, runs: 3, ..Sweep::default() })?)
    }

    #[test]
    fn numbers_are_the_axis_and_words_are_arms() {
        let plan = swept(&[
            "network.routing={ protocol = \"aodv\" },{ protocol = \"dsr\" }",
            "duration=40 s,90 s",
        ])
        .unwrap();
        let labels: Vec<_> = plan.study.arms.iter().map(|arm| arm.label.as_str()).collect();
        assert_eq!(labels, ["AODV", "DSR"]);
        assert_eq!(plan.figures[0].points.len(), 2);
        assert_eq!((plan.jobs.len(), plan.study.runs), (4, 3));
        let label = &plan.figures[0].figure.x.as_ref().unwrap().label;
        assert_eq!(label, "duration");
    }

    #[test]
    fn without_numbers_there_is_no_axis() {
        let plan =
            swept(&["network.routing={ protocol = \"aodv\" },{ protocol = \"dsr\" }"]).unwrap();
        assert_eq!((plan.jobs.len(), plan.figures[0].points.len()), (2, 1));
    }

    #[test]
    fn errors_refer_to_the_command_line() {
        for (vary, message) in [
            (&["duration=40 s,40 s"][..], "--vary duration"),
            (&["duration=40 s", "duration=50 s"], "duplicate key"),
            (&["network.nodse=3,4"], "--set network.nodse"),
        ] {
            let error = swept(vary).unwrap_err();
            assert!(error.is_input() && error.to_string().contains(message), "{error}");
        }
    }
}
