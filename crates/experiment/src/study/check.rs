//! Checks of a study's names, axes and measures: all errors are found and located before anything
//! runs.

use driftway_base::Duration;
use driftway_scenario::{Aid, Application, Error, Scenario, Time, TomlFile, Unit};
use driftway_sim::network_metrics;
use driftway_sim::results::FLOW_METRICS;
use serde::Deserialize;
use serde::de::value::StrDeserializer;

pub use super::axis::{axis_position, coordinate_text};
use super::format::{Arm, Figure, FlowSelector, Kernel, Measure, Study, TraceAxis, TraceView};
use crate::words::{available, list, suggested_metrics};

/// Path to a value of the file, for a message.
macro_rules! keys {
    ($($part:expr),+) => { [$($part.to_string()),+] };
}
pub(super) use keys;

/// More runs per point are assumed to be a mistake.
const MAX_RUNS: u64 = 10_000;

/// Checks that names are unique, and known where they are used.
///
/// # Errors
///
/// The first error.
pub fn check_names(file: &TomlFile, study: &Study) -> Result<(), Error> {
    if study.is_paper() && study.authors.is_empty() {
        return Err(file.error(&["authors"], "a paper needs at least one author in `authors`"));
    }
    // One run has no interval, so that no statement can be judged.
    let fewest = if study.statements.is_empty() { 1 } else { 2 };
    for (keys, runs) in [(&["runs"][..], study.runs), (&["quick", "runs"], study.quick.runs)] {
        if !(fewest..=MAX_RUNS).contains(&runs) {
            let message =
                format!("{runs} runs out of range {fewest}–{MAX_RUNS}\none run has no interval");
            return Err(file.error(keys, &message));
        }
    }
    for (number, figure) in study.figures.iter().enumerate() {
        if let Some(runs) = figure.runs.filter(|runs| !(fewest..=study.runs).contains(runs)) {
            let message = format!(
                "{runs} runs out of range {fewest}–{}\na figure has at most the runs of its study",
                study.runs
            );
            return Err(file.error(&keys!["figure", number, "runs"], &message));
        }
        for (at, name) in figure.readings.iter().enumerate() {
            let names: Vec<&str> = study.readings.iter().map(|of| of.name.as_str()).collect();
            find_name(file, &keys!["figure", number, "readings", at], "reading", name, &names)?;
        }
        if let Some(like) = &figure.like {
            let earlier = &figure_names(study)[..number];
            let keys = keys!["figure", number, "like"];
            find_name(file, &keys, "earlier figure", like, earlier)?;
        }
    }
    if study.step.is_some_and(|Time(step)| step.is_zero()) {
        return Err(file.error(&["step"], "the step must be above 0 s\nas in \"1 s\""));
    }
    for (number, figure) in study.figures.iter().enumerate() {
        if figure.scenario.is_empty() {
            let message = format!("figure {} names no scenario", figure.id);
            let help = "add `scenario = \"….toml\"` to it, or to the study";
            let error = file.error(&keys!["figure", number], &format!("{message}\n{help}"));
            return Err(error);
        }
    }
    if study.first_seed.checked_add(MAX_RUNS).is_none() {
        return Err(file.error(&["first_seed"], "this is too large: further seeds would overflow"));
    }
    check_unique(file, study)?;
    for arm in &study.arms {
        let place = |key: &str| [&arm.place[..], &keys![key]].concat();
        find_name(file, &place("group"), "group", &arm.group, &group_names(study))?;
        if let Some(other) = &arm.against {
            find_arm(file, &place("against"), study, other)?;
        }
    }
    if let Some(figure) = &study.deciding {
        find_name(file, &["deciding"], "figure", figure, &figure_names(study))?;
    }
    check_readings(file, study)?;
    for (number, figure) in study.quick.figures.iter().enumerate() {
        let keys = keys!["quick", "figures", number];
        find_name(file, &keys, "figure", figure, &figure_names(study))?;
    }
    study.kernel.as_ref().map_or(Ok(()), |kernel| check_kernel(file, study, kernel))
}

/// Checks that no two groups, arms, figures or readings have the same name.
fn check_unique(file: &TomlFile, study: &Study) -> Result<(), Error> {
    let arms: Vec<(Vec<String>, &str)> = study
        .arms
        .iter()
        .map(|arm| ([&arm.place[..], &keys!["name"]].concat(), arm.name.as_str()))
        .collect();
    let groups = if study.has_groups() { group_names(study) } else { Vec::new() };
    let readings = study.readings.iter().map(|of| of.name.as_str()).collect();
    for all in [
        in_order("group", "name", groups),
        arms,
        in_order("figure", "id", figure_names(study)),
        in_order("reading", "name", readings),
    ] {
        for (number, (place, name)) in all.iter().enumerate() {
            let wrong = if name.trim().is_empty() {
                "this name is empty"
            } else if all[..number].iter().any(|(_, other)| other == name) {
                "duplicate name\nchoose another"
            } else {
                continue;
            };
            return Err(file.error(place, wrong));
        }
    }
    Ok(())
}

/// Names with their places in a table that has them in order.
fn in_order<'a>(table: &str, key: &str, names: Vec<&'a str>) -> Vec<(Vec<String>, &'a str)> {
    let names = names.into_iter().enumerate();
    names.map(|(number, name)| (keys![table, number, key].to_vec(), name)).collect()
}

/// Checks the names of readings, and those that they give to arms.
fn check_readings(file: &TomlFile, study: &Study) -> Result<(), Error> {
    for (number, reading) in study.readings.iter().enumerate() {
        let taken = study
            .arms
            .iter()
            .find(|arm| arm_names(study).contains(&reading.name_of(&arm.name).as_str()));
        if let Some(arm) = taken {
            let message = format!(
                "the arm `{}` has the name of `{}` in this reading\nchoose another name",
                reading.name_of(&arm.name),
                arm.name
            );
            return Err(file.error(&keys!["reading", number, "name"], &message));
        }
        if let Some(like) = &reading.like {
            let names: Vec<&str> =
                study.readings[..number].iter().map(|of| of.name.as_str()).collect();
            let keys = keys!["reading", number, "like"];
            find_name(file, &keys, "earlier reading", like, &names)?;
        }
        for (at, figure) in reading.figures.iter().enumerate() {
            let keys = keys!["reading", number, "figures", at];
            find_name(file, &keys, "figure", figure, &figure_names(study))?;
        }
    }
    Ok(())
}

/// Checks the names in `[kernel]`.
fn check_kernel(file: &TomlFile, study: &Study, kernel: &Kernel) -> Result<(), Error> {
    for (keys, runs) in
        [(&["kernel", "runs"][..], kernel.runs), (&["kernel", "quick", "runs"], kernel.quick.runs)]
    {
        if !(2..=MAX_RUNS).contains(&runs) {
            let message = format!("{runs} runs out of range 2–{MAX_RUNS}\none run has no interval");
            return Err(file.error(keys, &message));
        }
    }
    for (key, arms) in [("arms", &kernel.arms), ("twins", &kernel.twins)] {
        for (number, arm) in arms.iter().enumerate() {
            find_arm(file, &keys!["kernel", key, number], study, arm)?;
        }
    }
    if kernel.twins.is_empty() {
        let message = "an arm is needed whose scenario the kernel uses";
        return Err(file.error(&["kernel", "twins"], message));
    }
    for (number, figure) in kernel.figures.iter().enumerate() {
        let keys = keys!["kernel", "figures", number];
        let at = find_name(file, &keys, "figure", figure, &figure_names(study))?;
        if study.figures[at].y.iter().all(|measure| !is_kernel_metric(&measure.name())) {
            let message = format!(
                "figure {figure} measures neither `{COMPLETION_METRIC}` nor `{THROUGHPUT_METRIC}`"
            );
            return Err(file.error(&keys, &message));
        }
    }
    for (number, aid) in kernel.aid.0.iter().enumerate() {
        aid_named(aid).map_err(|why| file.error(&keys!["kernel", "aid", number], &why))?;
    }
    Ok(())
}

/// Names of the groups.
pub fn group_names(study: &Study) -> Vec<&str> {
    study.groups.iter().map(|group| group.name.as_str()).collect()
}

/// Names of the arms.
pub fn arm_names(study: &Study) -> Vec<&str> {
    study.arms.iter().map(|arm| arm.name.as_str()).collect()
}

/// Names of the figures.
pub fn figure_names(study: &Study) -> Vec<&str> {
    study.figures.iter().map(|figure| figure.id.as_str()).collect()
}

/// Index of `name` in `names`.
///
/// # Errors
///
/// It is unknown; the hint has the closest name.
pub fn find_name<K: AsRef<str>>(
    file: &TomlFile,
    keys: &[K],
    what: &str,
    name: &str,
    names: &[&str],
) -> Result<usize, Error> {
    names.iter().position(|known| *known == name).ok_or_else(|| {
        let message = format!("there is no {what} `{name}`\n{}", available(name, names));
        file.error(keys, &message)
    })
}

/// Index of the arm `name`, or of the one from which a reading derives it.
///
/// # Errors
///
/// It is unknown.
fn find_arm(file: &TomlFile, keys: &[String], study: &Study, name: &str) -> Result<usize, Error> {
    match study.arm_and_reading(name) {
        Some((arm, _)) => Ok(arm),
        None => find_name(file, keys, "arm", name, &arm_names(study)),
    }
}

/// A figure's arms, in the study's order.
///
/// # Errors
///
/// An unknown name.
pub fn figure_arms(file: &TomlFile, study: &Study, number: usize) -> Result<Vec<Arm>, Error> {
    let figure = &study.figures[number];
    let all = figure.arms.is_empty() && figure.groups.is_empty();
    let mut wanted = vec![all; study.arms.len()];
    for (at, name) in figure.arms.iter().enumerate() {
        wanted[find_arm(file, &keys!["figure", number, "arms", at], study, name)?] = true;
    }
    for (at, name) in figure.groups.iter().enumerate() {
        let keys = keys!["figure", number, "groups", at];
        find_name(file, &keys, "group", name, &group_names(study))?;
        for (arm, wanted) in study.arms.iter().zip(&mut wanted) {
            *wanted |= arm.group == *name;
        }
    }
    let arms = study.arms.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    Ok(arms.map(|(arm, _)| arm.clone()).collect())
}

/// Checks a figure's measures and the paper's numbers.
///
/// # Errors
///
/// An unknown metric or arm, or a point outside the axis.
pub fn check_measures(
    file: &TomlFile,
    figure: &Figure,
    number: usize,
    arms: &[&str],
    x: Unit,
) -> Result<(), Error> {
    if figure.y.is_empty() {
        return Err(
            file.error(&keys!["figure", number, "y"], "a figure needs at least one measure")
        );
    }
    let known = FLOW_METRICS.iter().map(|(name, _)| (*name).to_owned()).chain(network_metrics());
    let known: Vec<String> = known.collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for (at, measure) in figure.y.iter().enumerate() {
        let keys = place(file, number, &keys!["y", at, "metric"]);
        require_metric(file, &keys, &measure.metric, &known)?;
        if let Some(over) = &measure.over {
            let keys = place(file, number, &keys!["y", at, "over"]);
            require_metric(file, &keys, &over.metric, &known)?;
        }
        let same = |other: &Measure| {
            other.metric == measure.metric && other.of == measure.of && other.over == measure.over
        };
        if figure.y[..at].iter().any(same) {
            return Err(file.error(&keys, "duplicate metric"));
        }
    }
    for (at, curve) in figure.paper.iter().enumerate() {
        let keys = |key: &str| keys!["figure", number, "paper", at, key];
        find_name(file, &keys("arm"), "arm in this figure", &curve.arm, arms)?;
        find_measure(file, figure, &keys("metric"), curve.metric.as_deref())?;
        for (point, (x_of, _)) in curve.points.iter().enumerate() {
            if figure.x.is_some() && axis_position(x_of).is_none_or(|(_, unit)| unit != x) {
                let keys = keys!["figure", number, "paper", at, "points", point];
                let message = format!("`{}` is not a position on this axis", coordinate_text(x_of));
                return Err(file.error(&keys, &message));
            }
        }
    }
    for (at, line) in figure.line.iter().enumerate() {
        let keys = keys!["figure", number, "line", at, "metric"];
        find_measure(file, figure, &keys, line.metric.as_deref())?;
    }
    Ok(())
}

/// Path to a value of a figure: its own, or the study's, which figures without one have.
pub(super) fn place(file: &TomlFile, figure: usize, keys: &[String]) -> Vec<String> {
    let own = [&keys!["figure", figure], keys].concat();
    let is_studys = !file.contains(&own[..3]) && file.contains(&keys[..1]);
    if is_studys { keys.to_vec() } else { own }
}

fn require_metric(
    file: &TomlFile,
    keys: &[String],
    metric: &str,
    known: &[&str],
) -> Result<(), Error> {
    if known.contains(&metric) {
        return Ok(());
    }
    let help = suggested_metrics(metric, known);
    Err(file.error(keys, &format!("there is no metric `{metric}`\n{help}")))
}

/// Index of one of the figure's measures; the first if none is named.
///
/// # Errors
///
/// The figure has no such measure.
pub fn find_measure<K: AsRef<str>>(
    file: &TomlFile,
    figure: &Figure,
    keys: &[K],
    metric: Option<&str>,
) -> Result<usize, Error> {
    let Some(metric) = metric else { return Ok(0) };
    let metrics: Vec<_> = figure.y.iter().map(Measure::name).collect();
    let metrics: Vec<&str> = metrics.iter().map(AsRef::as_ref).collect();
    find_name(file, keys, "metric in this figure", metric, &metrics)
}

/// Checks the trace of a figure.
///
/// # Errors
///
/// The figure also has an axis, or the window is invalid.
pub fn check_trace(
    file: &TomlFile,
    figure: &Figure,
    trace: &TraceView,
    number: usize,
) -> Result<(), Error> {
    if figure.x.is_some() {
        let message = "a trace has one point\nremove `x`, and select the point with `set`";
        return Err(file.error(&keys!["figure", number, "x"], message));
    }
    if trace.draw.is_empty() {
        let message = "no plots\nuse \"sequence\", \"cwnd\", \"rto\"";
        return Err(file.error(&keys!["figure", number, "trace", "draw"], message));
    }
    let (unit, right) = match trace.against {
        TraceAxis::Time => (Unit::Second, "a time such as \"16 s\""),
        TraceAxis::Transmission => (Unit::One, "the number of a transmission, from 1"),
    };
    for (key, end) in [("from", &trace.from), ("to", &trace.to)] {
        if let Some(end) = end
            && axis_position(end).is_none_or(|(_, of)| of != unit)
        {
            let message = format!("`{}` is invalid here\nexpected {right}", coordinate_text(end));
            return Err(file.error(&keys!["figure", number, "trace", key], &message));
        }
    }
    Ok(())
}

/// Checks that the scenario has the flows that a figure measures, and that its metrics exist for
/// them.
pub fn check_flows(figure: &Figure, scenario: &Scenario) -> Result<(), (usize, String)> {
    for (number, measure) in figure.y.iter().enumerate() {
        let Measure { metric, of, over, .. } = measure;
        check_measured(metric, of, scenario).map_err(|what| (number, what))?;
        if let Some(over) = over {
            let of = over.of.as_ref().unwrap_or(of);
            check_measured(&over.metric, of, scenario).map_err(|what| (number, what))?;
        }
    }
    let flow = figure.trace.as_ref().map_or(0, |trace| trace.flow);
    if flow >= scenario.flows.len() {
        return Err((0, format!("there is no flow {flow} to trace")));
    }
    Ok(())
}

/// Checks that a metric exists for these flows of the scenario.
fn check_measured(metric: &str, of: &FlowSelector, scenario: &Scenario) -> Result<(), String> {
    if network_metrics().any(|name| name == metric) {
        return Ok(());
    }
    let flows = of.flows(scenario);
    if flows.is_empty() {
        let count = scenario.flows.len();
        return Err(match of {
            FlowSelector::Flow(flow) => {
                format!("there is no flow {flow}: the scenario has {count}, numbered from 0")
            }
            FlowSelector::Others => "the scenario has no flow but the first".to_owned(),
            FlowSelector::Chosen(chosen) => format!("the scenario has no flow {chosen}"),
            _ => "the scenario has no flow".to_owned(),
        });
    }
    let is_transfer =
        |flow: &usize| matches!(scenario.flows[*flow].application, Application::Transfer(_));
    if metric == COMPLETION_METRIC && !flows.iter().all(is_transfer) {
        let flows: Vec<String> = flows.iter().map(usize::to_string).collect();
        return Err(format!("flow {} is not a transfer and never completes", list(&flows)));
    }
    Ok(())
}

/// The metric that a run may not have, if a transfer does not complete.
pub const COMPLETION_METRIC: &str = "completion_s";

/// The metric of a flow's throughput.
pub const THROUGHPUT_METRIC: &str = "throughput_bps";

/// Returns true for the metrics that a run with a kernel has.
pub fn is_kernel_metric(metric: &str) -> bool {
    [COMPLETION_METRIC, THROUGHPUT_METRIC].contains(&metric)
}

/// Returns the aid of this name with its default options.
///
/// # Errors
///
/// There is none, or the name is `"none"`.
pub fn aid_named(name: &str) -> Result<Aid, String> {
    let named = StrDeserializer::<serde::de::value::Error>::new(name);
    let aid = Aid::deserialize(named).map_err(|error| error.to_string())?;
    match aid.build(Duration::ZERO) {
        Some(_) => Ok(aid),
        None => Err("a shim without an aid does nothing".to_owned()),
    }
}
