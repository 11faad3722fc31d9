//! The networks of a comparison: scenario files, or those of `studies/compare.toml`, each with a job for every arm.
//!
//! An arm sets the preset and the aid of the first flow of TCP, and nothing else: what a scenario says of that flow's `mss`,
//! `window`, `ecn`, `nagle`, `keep_alive` and `msl`, which no preset has, stays, but for a window that a TCP without window
//! scaling cannot advertise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use driftway_scenario::{Scenario, TomlFile};
use toml::{Table, Value};

use super::arms::arms;
use super::causes::{self, BehindCause};
use super::hypotheses::{self, Hypothesis};
use super::network::ComparedNetwork;
use super::target::{CompareTarget, is_transfer};
use crate::error::Error;
use crate::runner::Job;
use crate::study::plan::{Plan, plan};
use crate::study::source::Source;
use crate::words;

/// A file of `studies` that is built in.
macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../studies/", $name)))),*]
    };
}

/// The networks that `driftway compare` has without a scenario: names of files and their content.
const BUILT_IN: &[(&str, &str)] = built_in![
    "compare.toml",
    "compare-hypotheses.toml",
    "compare-causes.toml",
    "compare-path.toml",
    "compare-drive.toml",
    "compare-drive.up",
    "compare-drive.down",
    "compare-train.toml",
    "compare-train.csv",
    "compare-tunnels.csv",
    "compare-handoff.toml",
    "compare-adhoc.toml",
];

/// The directory of studies.
const STUDIES: &str = "studies";

/// The study with the networks.
const STUDY: &str = "compare.toml";

/// Hypotheses about them.
const HYPOTHESES: &str = "compare-hypotheses.toml";

/// Causes for which `carry` is behind on them.
const CAUSES: &str = "compare-causes.toml";

/// The networks with the number of runs and the first seed of their study.
#[derive(Debug)]
pub struct NetworkList {
    /// The networks.
    pub networks: Vec<ComparedNetwork>,
    /// A description of them.
    pub note: Option<String>,
    /// Hypotheses about them.
    pub hypotheses: Vec<Hypothesis>,
    /// Causes for which `carry` is behind on them.
    pub causes: Vec<BehindCause>,
    /// Runs per arm.
    pub runs: u64,
    /// Runs per arm in a quick comparison.
    pub quick_runs: u64,
    /// The first seed of these runs.
    pub first_seed: u64,
}

/// Runs per arm over the user's own scenarios.
const RUNS: u64 = 10;
/// The same in a quick comparison.
const QUICK_RUNS: u64 = 4;
/// The first seed of these runs.
const FIRST_SEED: u64 = 2001;

/// The networks of scenario files, in their order, named by their files.
///
/// # Errors
///
/// A scenario is invalid, or has no flow of TCP; two files have the same name.
pub fn networks_of_files(files: &[impl AsRef<Path>]) -> Result<NetworkList, Error> {
    let mut networks: Vec<ComparedNetwork> = Vec::new();
    for file in files {
        let network = network_of_file(file.as_ref())?;
        if networks.iter().any(|other| other.name == network.name) {
            let (file, name) = (file.as_ref().display(), &network.name);
            return Err(Error::refused(format!(
                "{file}: another scenario is called {name} as well; results are named by files"
            )));
        }
        networks.push(network);
    }
    Ok(NetworkList {
        networks,
        note: None,
        hypotheses: Vec::new(),
        causes: Vec::new(),
        runs: RUNS,
        quick_runs: QUICK_RUNS,
        first_seed: FIRST_SEED,
    })
}

fn network_of_file(path: &Path) -> Result<ComparedNetwork, Error> {
    let scenario = Scenario::load(path, &[])?;
    let source = Source::from_file(path)?;
    let file = source.study_file_name().to_owned();
    let text = TomlFile::text(path)?;
    let target = CompareTarget::new(&path.display().to_string(), &text, &scenario)?;
    let mut study = Table::new();
    study.insert("title".into(), source.name.clone().into());
    study.insert("scenario".into(), file.into());
    study.insert("y".into(), throughput());
    study.insert("arm".into(), target.arms("").into());
    let dir = path.parent().unwrap_or(Path::new("")).to_owned();
    let plan = plan(Source::from_text(&source.name, to_text(&study)?, dir)).map_err(|error| {
        let path = path.display();
        match error {
            Error::File { error, .. } => Error::refused(format!("{path}: {error}")),
            other => other,
        }
    })?;
    let jobs = plan.figures[0].arms.iter().map(|arm| plan.jobs[arm.jobs[0]].clone()).collect();
    let name = source.name;
    Ok(ComparedNetwork {
        situation: name.clone(),
        figure: name.clone(),
        name,
        jobs,
        flow: target.flow,
        is_transfer: target.is_transfer,
    })
}

/// A part of the list of networks.
#[derive(Clone, Copy, Debug)]
pub enum ListPart<'a> {
    /// All networks.
    All,
    /// Those of a quick comparison.
    Quick,
    /// Those with these names.
    Named(&'a [String]),
}

/// The networks of `studies/compare.toml` in this directory, or else of the copy that is built in.
///
/// # Errors
///
/// The study is invalid, or there is no network of that name.
pub fn listed_networks(part: ListPart<'_>) -> Result<NetworkList, Error> {
    let here = Path::new(STUDIES);
    if here.join(STUDY).is_file() {
        return networks_of_study(here, part);
    }
    let dir = tempfile::tempdir()
        .map_err(|error| Error::io("write into", &std::env::temp_dir(), error))?;
    for (name, text) in BUILT_IN {
        let path = dir.path().join(name);
        fs::write(&path, text).map_err(|error| Error::io("write", &path, error))?;
    }
    networks_of_study(dir.path(), part)
}

fn networks_of_study(dir: &Path, part: ListPart<'_>) -> Result<NetworkList, Error> {
    let source = Source::from_file(&dir.join(STUDY))?;
    let listed = plan(source.clone())?;
    let names = names_of(&listed, part)?;
    let targets = study_targets(&listed, dir)?;
    let plan = plan_with_arms(&source, dir, &targets, &names)?;
    let mut networks = Vec::new();
    for planned in &plan.figures {
        let figure = &planned.figure;
        let target = &targets[&figure.scenario];
        for (at, point) in planned.points.iter().enumerate() {
            let jobs: Vec<Job> =
                planned.arms.iter().map(|arm| plan.jobs[arm.jobs[at]].clone()).collect();
            let flow = jobs.first().and_then(|job| job.scenario.flows.get(target.flow));
            networks.push(ComparedNetwork {
                name: point.title().to_owned(),
                situation: figure.title.clone(),
                figure: figure.id.clone(),
                is_transfer: flow.is_some_and(|flow| is_transfer(&flow.application)),
                jobs,
                flow: target.flow,
            });
        }
    }
    Ok(NetworkList {
        networks,
        note: plan.study.note.clone(),
        hypotheses: hypotheses::parse(&source.read_file(HYPOTHESES)?)?,
        causes: causes::parse(&source.read_file(CAUSES)?)?,
        runs: plan.study.runs,
        quick_runs: plan.study.quick.runs,
        first_seed: plan.study.first_seed,
    })
}

/// The names of the networks of a part of the list.
fn names_of(listed: &Plan, part: ListPart<'_>) -> Result<BTreeSet<String>, Error> {
    let quick = &listed.study.quick.figures;
    let is_wanted =
        |figure: &str| !matches!(part, ListPart::Quick) || quick.iter().any(|of| of == figure);
    let figures = listed.figures.iter().filter(|of| is_wanted(&of.figure.id));
    let known: Vec<String> =
        figures.flat_map(|of| of.points.iter().map(|point| point.title().to_owned())).collect();
    let ListPart::Named(names) = part else { return Ok(known.into_iter().collect()) };
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(names.iter().cloned().collect()),
        Some(wrong) => {
            let message = format!("--network {wrong}: there is no such network");
            Err(Error::refused_with(message, words::available(wrong, &known)))
        }
    }
}

/// The compared flow of each scenario of a study.
fn study_targets(listed: &Plan, dir: &Path) -> Result<BTreeMap<String, CompareTarget>, Error> {
    let mut targets = BTreeMap::new();
    for name in &listed.files {
        let path = dir.join(name);
        let scenario = Scenario::load(&path, &[])?;
        let text = TomlFile::text(&path)?;
        let target = CompareTarget::new(&path.display().to_string(), &text, &scenario)?;
        targets.insert(name.clone(), target);
    }
    Ok(targets)
}

/// Plans the study with an arm for each of [`arms`] over each of its scenarios, and without the networks that are not
/// named.
fn plan_with_arms(
    source: &Source,
    dir: &Path,
    targets: &BTreeMap<String, CompareTarget>,
    names: &BTreeSet<String>,
) -> Result<Plan, Error> {
    let text = source.read_file(STUDY)?;
    let refused = |error: toml::de::Error| Error::refused(format!("{STUDY}: {error}"));
    let mut study: Table = text.parse().map_err(refused)?;
    study.insert("y".into(), throughput());
    let all: Vec<Value> =
        targets.iter().flat_map(|(name, target)| target.arms(&format!("{name}:"))).collect();
    study.insert("arm".into(), all.into());
    if let Some(figures) = study.get_mut("figure").and_then(Value::as_array_mut) {
        figures.retain_mut(|figure| {
            let Some(figure) = figure.as_table_mut() else { return true };
            let scenario = figure.get("scenario").and_then(Value::as_str).unwrap_or_default();
            let own =
                arms().iter().map(|arm| format!("{scenario}:{}", arm.name()).into()).collect();
            figure.insert("arms".into(), Value::Array(own));
            keep_points(figure, names)
        });
        // A figure of the quick part may be gone.
        let ids: BTreeSet<String> =
            figures.iter().filter_map(|of| Some(of.get("id")?.as_str()?.to_owned())).collect();
        let quick = study.get_mut("quick").and_then(|quick| quick.get_mut("figures"));
        if let Some(quick) = quick.and_then(Value::as_array_mut) {
            quick.retain(|id| id.as_str().is_some_and(|id| ids.contains(id)));
        }
    }
    plan(Source::from_text("compare", to_text(&study)?, dir.to_owned()))
}

/// Keeps the named points of a figure; returns whether there are any.
fn keep_points(figure: &mut Table, wanted: &BTreeSet<String>) -> bool {
    let points = figure.get_mut("x").and_then(|x| x.get_mut("points"));
    let Some(points) = points.and_then(Value::as_array_mut) else { return false };
    points.retain(|point| {
        point.get("name").and_then(Value::as_str).is_some_and(|name| wanted.contains(name))
    });
    !points.is_empty()
}

/// The measure that a study needs.
fn throughput() -> Value {
    let mut measure = Table::new();
    measure.insert("metric".into(), "throughput_bps".into());
    measure.insert("label".into(), "throughput".into());
    vec![Value::Table(measure)].into()
}

fn to_text(study: &Table) -> Result<String, Error> {
    toml::to_string(study).map_err(|error| Error::refused(error.to_string()))
}

#[cfg(test)]
mod test {
    use super::*;

    fn network(tcp: &str) -> ComparedNetwork {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("mine.toml");
        let text = format!(
            "name = 'n'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 1\nlink = {{ rate = '1 Mbit/s', delay = '1 ms' }}\n\
             [[flow]]\nfrom = 0\nto = 1\ntransport = 'udp'\napplication = {{ cbr = {{ every = '1 s', size = '9 B' }} }}\n\
             [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n{tcp}\n"
        );
        fs::write(&file, text).unwrap();
        networks_of_files(&[file]).unwrap().networks.remove(0)
    }

    #[test]
    fn an_arm_replaces_the_tcp_and_keeps_what_no_preset_has() {
        let written = network(
            "tcp = { recovery = 'reno', growth = 'reno', min_rto = '3 s', window = '64 kB', mss = '500 B' }\naid = 'atcp'",
        );
        let preset = network("tcp = { preset = 'reno-bsd', window = '64 kB', mss = '500 B' }");
        assert_eq!((written.name.as_str(), written.flow, written.is_transfer), ("mine", 1, false));
        assert_eq!(written.jobs.len(), arms().len());
        for (one, other) in written.jobs.iter().zip(&preset.jobs) {
            assert_eq!(one.digest, other.digest);
        }
        let mut digests: Vec<_> = written.jobs.iter().map(|job| &job.digest).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), arms().len(), "two arms are the same");
    }

    #[test]
    fn all_files_of_the_study_are_built_in() {
        let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/studies")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("compare")).collect();
        names.sort();
        let mut known: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn networks_are_listed_and_built_in() {
        let quick = listed_networks(ListPart::Quick).unwrap().networks;
        let names: Vec<_> = quick.iter().map(|of| of.name.as_str()).collect();
        assert!(names.len() >= 4 && names.contains(&"simple-losses"), "{names:?}");
        let named = |name: &str| listed_networks(ListPart::Named(&[name.to_owned()]));
        let one = named("train").unwrap().networks;
        assert_eq!((one.len(), one[0].situation.as_str()), (1, "A train with tunnels"));
        let error = named("trian").unwrap_err();
        assert!(error.is_input() && error.to_string().contains("did you mean `train`?"), "{error}");
    }

    #[test]
    fn a_scenario_without_tcp_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("udp.toml");
        let text = "name = 'n'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 1\nlink = { rate = '1 Mbit/s', delay = '1 ms' }\n\
                    [[flow]]\nfrom = 0\nto = 1\ntransport = 'udp'\napplication = { cbr = { every = '1 s', size = '9 B' } }\n";
        fs::write(&file, text).unwrap();
        let error = networks_of_files(&[file]).unwrap_err().to_string();
        assert!(error.contains("no [[flow]] of TCP") && error.contains("help:"), "{error}");
    }
}
