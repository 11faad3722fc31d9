//! A study created from a scenario and varied keys: `--vary KEY=a,b,c`.

use std::path::Path;

use driftway_scenario::{Application, Registry, Scenario, Transport};
use toml::{Table, Value};

use crate::error::Error;
use crate::study::format::Study;
use crate::study::plan::plan_with;
use crate::study::source::Source;
use crate::vary::Vary;
use crate::{labels, words};

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

/// Creates the study of a scenario file: the first key with numeric values is the axis, the values
/// of all others are the arms.
///
/// # Errors
///
/// The scenario or a varied key is invalid.
pub fn build_study(file: &Path, sweep: &Sweep) -> Result<Source, Error> {
    build_study_with(file, sweep, &Registry::new())
}

/// Does the same as [`build_study`], with the names of a registry besides the built-in ones.
///
/// # Errors
///
/// The scenario or a varied key is invalid.
pub fn build_study_with(file: &Path, sweep: &Sweep, registry: &Registry) -> Result<Source, Error> {
    let all_keys: Vec<&String> = sweep.vary.iter().flat_map(|vary| &vary.keys).collect();
    if let Some(at) = (0..all_keys.len()).find(|&at| all_keys[..at].contains(&all_keys[at])) {
        return Err(Error::refused(format!("--vary {}: duplicate key", all_keys[at])));
    }
    for vary in &sweep.vary {
        let mut values = vary.values.iter().enumerate();
        if let Some((_, value)) = values.find(|(at, value)| vary.values[..*at].contains(value)) {
            let (keys, value) = (vary.key_text(), value.join(":"));
            return Err(Error::refused(format!("--vary {keys}: duplicate value {value}")));
        }
    }
    // As at the first point, so that an invalid key is an error of the command line.
    let first = sweep.vary.iter().filter_map(|vary| vary.places().next()).flatten();
    let set: Vec<_> = sweep.set.iter().cloned().chain(first).collect();
    let scenario = Scenario::load_with(file, &set, registry)?;

    let axis = sweep.vary.iter().position(Vary::is_axis);
    let rest = || sweep.vary.iter().enumerate().filter(|(at, _)| Some(*at) != axis);
    let mut study = Table::new();
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let keys: Vec<String> = all_keys.iter().map(|key| labels::key_label(key)).collect();
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
        study.insert("x".into(), axis_table(axis).into());
    }
    check_metrics(&sweep.metrics)?;
    let measures = measures(&scenario, &sweep.metrics);
    study.insert("y".into(), Value::Array(measures));
    let mut arms: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (_, vary) in rest() {
        let each = |arm: &Vec<(String, String)>| -> Vec<Vec<(String, String)>> {
            vary.places().map(|place| [arm.clone(), place].concat()).collect()
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

/// The axis of a key, or of several that vary together: its positions are those of the first.
fn axis_table(axis: &Vary) -> Table {
    let mut x = Table::new();
    x.insert("label".into(), labels::key_label(&axis.keys[0]).into());
    if let [key] = &axis.keys[..] {
        x.insert("key".into(), key.clone().into());
        let values = axis.values.iter().flatten().map(|value| to_toml(value));
        x.insert("values".into(), Value::Array(values.collect()));
        return x;
    }
    let point = |set: Vec<(String, String)>| {
        let mut point = Table::new();
        point.insert("at".into(), to_toml(&set[0].1));
        point.insert("set".into(), settings(&set).into());
        Value::Table(point)
    };
    x.insert("points".into(), Value::Array(axis.places().map(point).collect()));
    x
}

/// Checks that the metrics exist.
fn check_metrics(names: &[String]) -> Result<(), Error> {
    let of_flows = driftway_sim::results::FLOW_METRICS.iter().map(|(name, _)| (*name).to_owned());
    let known: Vec<String> = of_flows.chain(driftway_sim::network_metrics()).collect();
    let Some(wrong) = names.iter().find(|name| !known.contains(name)) else { return Ok(()) };
    let message = format!("--metric {wrong}: there is no such metric");
    Err(Error::refused_with(message, words::suggested_metrics(wrong, &known)))
}

/// A study with further overrides in every run: they precede those of the study and its figures.
///
/// # Errors
///
/// The study is invalid, or an arm or an axis sets one of the keys.
pub fn study_with_settings(file: &Path, set: &[(String, String)]) -> Result<Source, Error> {
    study_with_settings_and(file, set, &Registry::new())
}

/// Does the same as [`study_with_settings`], with the names of a registry besides the built-in ones.
///
/// # Errors
///
/// The study is invalid, or an arm or an axis sets one of the keys.
pub fn study_with_settings_and(
    file: &Path,
    set: &[(String, String)],
    registry: &Registry,
) -> Result<Source, Error> {
    let source = Source::from_file(file)?;
    // An error of the study itself is located in its file.
    let study = plan_with(Source::from_file(file)?, registry)?.study;
    for (key, _) in set {
        check_not_varied(&study, key)?;
    }
    let text = source.read_file(source.study_file_name())?;
    let mut table: Table =
        text.parse().map_err(|error: toml::de::Error| Error::refused(error.to_string()))?;
    override_keys(&mut table, set);
    let figures = table.get_mut("figure").and_then(Value::as_array_mut);
    for figure in figures.into_iter().flatten().filter_map(Value::as_table_mut) {
        if figure.contains_key("set") {
            override_keys(figure, set);
        }
    }
    let text = toml::to_string(&table).map_err(|error| Error::refused(error.to_string()))?;
    let dir = file.parent().unwrap_or(Path::new("")).to_owned();
    let stem = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    Ok(Source::from_text(stem, text, dir))
}

fn check_not_varied(study: &Study, key: &str) -> Result<(), Error> {
    let arms = study.arms.iter().flat_map(|arm| arm.set.keys());
    let axes = study.figures.iter().filter_map(|figure| figure.x.as_ref());
    let axes = axes.flat_map(|axis| {
        let points = axis.points.iter().flat_map(|point| point.set.keys());
        axis.keys().chain(points)
    });
    match arms.chain(axes).any(|varied| varied == key) {
        true => Err(Error::refused(format!("--set {key}: the study compares values of this key"))),
        false => Ok(()),
    }
}

/// Sets keys in the `set` of a study or figure, in place of the same keys and those below them.
fn override_keys(table: &mut Table, set: &[(String, String)]) {
    let old = table.remove("set");
    let mut new = old.and_then(|old| old.try_into::<Table>().ok()).unwrap_or_default();
    for (key, value) in set {
        new.retain(|old, _| old != key && !old.starts_with(&format!("{key}.")));
        new.insert(key.clone(), to_toml(value));
    }
    table.insert("set".into(), new.into());
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
        let mean = ["_s", "_ratio", "_hops"].iter().any(|end| name.ends_with(end));
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
    fn keys_that_vary_together_are_one_axis_or_arms() {
        let plan = swept(&["duration,flow.0.start=40 s:1 s,90 s:2 s"]).unwrap();
        let figure = &plan.figures[0];
        let at: Vec<_> = figure.points.iter().map(|point| point.value).collect();
        assert_eq!((at, plan.jobs.len()), (vec![Some(40.0), Some(90.0)], 2));
        let starts: Vec<_> =
            plan.jobs.iter().map(|job| job.scenario.flows[0].start.to_string()).collect();
        assert_eq!(starts, ["1 s", "2 s"]);
        let plan = swept(&[
            "network.routing,duration={ protocol = \"dsr\" }:9 s,{ protocol = \"aodv\" }:8 s",
        ])
        .unwrap();
        let labels: Vec<_> = plan.study.arms.iter().map(|arm| arm.label.as_str()).collect();
        assert_eq!(labels, ["DSR, duration 9 s", "AODV, duration 8 s"]);
    }

    #[test]
    fn errors_refer_to_the_command_line() {
        for (vary, message) in [
            (&["duration=40 s,40 s"][..], "--vary duration"),
            (&["duration=40 s", "duration=50 s"], "duplicate key"),
            (&["duration,duration=40 s:50 s"], "duplicate key"),
            (&["network.nodse=3,4"], "--set network.nodse"),
        ] {
            let error = swept(vary).unwrap_err();
            assert!(error.is_input() && error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn a_study_takes_further_settings() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("study.toml");
        let scenario = "name = 'n'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 2\n\
                        link = { rate = '1 Mbit/s', delay = '1 ms' }\n\
                        [[flow]]\nfrom = 0\nto = 2\napplication = 'ftp'\n";
        std::fs::write(dir.path().join("n.toml"), scenario).unwrap();
        let study = "title = 's'\nscenario = 'n.toml'\nset = { duration = '8 s' }\n\
                     x = { label = 'rate', key = 'network.link.rate', values = ['1 Mbit/s', '2 Mbit/s'] }\n\
                     y = [{ metric = 'throughput_bps', label = 'throughput' }]\n\
                     [[arm]]\nname = 'a'\nlabel = 'a'\nset = { 'flow.0.tcp.window' = 4 }\n\
                     [[figure]]\nid = '1'\ntitle = 'f'\nset = { 'network.link.delay' = '3 ms' }\n\
                     [[figure]]\nid = '2'\ntitle = 'g'\n";
        std::fs::write(&file, study).unwrap();
        let with = |set: &[(&str, &str)]| {
            let set: Vec<_> = set.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            study_with_settings(&file, &set).and_then(plan)
        };
        let plan = with(&[("duration", "5 s"), ("network.link.delay", "7 ms")]).unwrap();
        assert_eq!(plan.jobs.len(), 2, "both figures have the same scenarios now");
        for job in &plan.jobs {
            assert_eq!(job.scenario.duration.to_string(), "5 s");
            let delay = ("network.link.delay".to_owned(), "7 ms".to_owned());
            assert!(job.set.contains(&delay), "{:?}", job.set);
        }
        for (key, value, message) in [
            ("flow.0.tcp.window", "5", "--set flow.0.tcp.window: the study compares"),
            ("network.link.rate", "5 Mbit/s", "--set network.link.rate: the study compares"),
            ("durashun", "5 s", "--set durashun"),
        ] {
            let error = with(&[(key, value)]).unwrap_err();
            assert!(error.is_input() && error.to_string().contains(message), "{error}");
        }
    }
}
