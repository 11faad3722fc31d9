//! The networks of a comparison: scenario files, or those of `studies/compare.toml`, each with a job for every arm.
//!
//! An arm sets the preset and the aid of the first flow of TCP, and nothing else: what a scenario says of that flow's `mss`,
//! `window`, `ecn`, `nagle`, `keep_alive` and `msl`, which no preset has, stays, but for a window that a TCP without window
//! scaling cannot advertise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use driftway_scenario::{Application, Network as Kind, Scenario, TomlFile, Transport};
use toml::{Table, Value};

use super::arms::{ComparedArm, End, arms};
use super::hypotheses::{self, Hypothesis};
use super::network::ComparedNetwork;
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

/// The largest window without window scaling (RFC 7323).
const UNSCALED_WINDOW: u64 = 65_535;

/// The networks with the number of runs and the first seed of their study.
#[derive(Debug)]
pub struct NetworkList {
    /// The networks.
    pub networks: Vec<ComparedNetwork>,
    /// A description of them.
    pub note: Option<String>,
    /// Hypotheses about them.
    pub hypotheses: Vec<Hypothesis>,
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
        is_quick: true,
    })
}

/// The networks of `studies/compare.toml` in this directory, or else of the copy that is built in; of these the named
/// ones, or all without a name.
///
/// # Errors
///
/// The study is invalid, or there is no network of that name.
pub fn listed_networks(names: &[String]) -> Result<NetworkList, Error> {
    let here = Path::new(STUDIES);
    if here.join(STUDY).is_file() {
        return networks_of_study(here, names);
    }
    let dir = tempfile::tempdir()
        .map_err(|error| Error::io("write into", &std::env::temp_dir(), error))?;
    for (name, text) in BUILT_IN {
        let path = dir.path().join(name);
        fs::write(&path, text).map_err(|error| Error::io("write", &path, error))?;
    }
    networks_of_study(dir.path(), names)
}

fn networks_of_study(dir: &Path, names: &[String]) -> Result<NetworkList, Error> {
    let source = Source::from_file(&dir.join(STUDY))?;
    let listed = plan(source.clone())?;
    let known: Vec<&str> =
        listed.figures.iter().flat_map(|of| of.points.iter().map(|point| point.title())).collect();
    if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let message = format!("--network {wrong}: there is no such network");
        return Err(Error::refused_with(message, words::available(wrong, &known)));
    }
    let targets = study_targets(&listed, dir)?;
    let plan = plan_with_arms(&source, dir, &targets, names)?;
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
                is_quick: plan.study.quick.figures.contains(&figure.id),
            });
        }
    }
    Ok(NetworkList {
        networks,
        note: plan.study.note.clone(),
        hypotheses: hypotheses::parse(&source.read_file(HYPOTHESES)?)?,
        runs: plan.study.runs,
        quick_runs: plan.study.quick.runs,
        first_seed: plan.study.first_seed,
    })
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
    names: &[String],
) -> Result<Plan, Error> {
    let text = source.read_file(STUDY)?;
    let refused = |error: toml::de::Error| Error::refused(format!("{STUDY}: {error}"));
    let mut study: Table = text.parse().map_err(refused)?;
    study.insert("y".into(), throughput());
    let all: Vec<Value> =
        targets.iter().flat_map(|(name, target)| target.arms(&format!("{name}:"))).collect();
    study.insert("arm".into(), all.into());
    let wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    if let Some(figures) = study.get_mut("figure").and_then(Value::as_array_mut) {
        figures.retain_mut(|figure| {
            let Some(figure) = figure.as_table_mut() else { return true };
            let scenario = figure.get("scenario").and_then(Value::as_str).unwrap_or_default();
            let own =
                arms().iter().map(|arm| format!("{scenario}:{}", arm.name()).into()).collect();
            figure.insert("arms".into(), Value::Array(own));
            names.is_empty() || keep_points(figure, &wanted)
        });
        if !names.is_empty() {
            // A figure of the quick part may be gone.
            let ids: BTreeSet<String> =
                figures.iter().filter_map(|of| Some(of.get("id")?.as_str()?.to_owned())).collect();
            if let Some(quick) = study.get_mut("quick").and_then(|quick| quick.get_mut("figures"))
                && let Some(quick) = quick.as_array_mut()
            {
                quick.retain(|id| id.as_str().is_some_and(|id| ids.contains(id)));
            }
        }
    }
    plan(Source::from_text("compare", to_text(&study)?, dir.to_owned()))
}

/// Keeps the named points of a figure; returns whether there are any.
fn keep_points(figure: &mut Table, wanted: &BTreeSet<&str>) -> bool {
    let points = figure.get_mut("x").and_then(|x| x.get_mut("points"));
    let Some(points) = points.and_then(Value::as_array_mut) else { return false };
    points.retain(|point| {
        point.get("name").and_then(Value::as_str).is_some_and(|name| wanted.contains(name))
    });
    !points.is_empty()
}

/// The part of a scenario that arms set.
#[derive(Debug)]
struct CompareTarget {
    /// Index of the compared flow in the file.
    entry: usize,
    /// Index of the compared flow, when all are expanded.
    flow: usize,
    is_transfer: bool,
    /// Its window is larger than a TCP without window scaling can advertise.
    has_large_window: bool,
    /// The other end sends data on the same connection, and has the same aid by default.
    has_back: bool,
    is_adhoc: bool,
    has_link_signals: bool,
}

impl CompareTarget {
    fn new(place: &str, text: &str, scenario: &Scenario) -> Result<Self, Error> {
        let none = || {
            let help =
                "list the flow whose TCP is to be compared: [[flow]] with from, to and application";
            Error::refused_with(format!("{place}: no [[flow]] of TCP, which is compared"), help)
        };
        let flow = scenario.flows.iter().position(|flow| flow.transport == Transport::Tcp);
        let flow = flow.filter(|at| scenario.flows[*at].traffic.is_none()).ok_or_else(none)?;
        let table: Table =
            text.parse().map_err(|error| Error::refused(format!("{place}: {error}")))?;
        let entries = table.get("flow").and_then(Value::as_array).ok_or_else(none)?;
        let is_tcp = |entry: &&Value| entry.get("transport").and_then(Value::as_str) != Some("udp");
        let (entry, own) =
            entries.iter().enumerate().find(|(_, entry)| is_tcp(entry)).ok_or_else(none)?;
        if own.get("copies").and_then(Value::as_integer).is_some_and(|copies| copies > 1) {
            return Err(Error::refused_with(
                format!("{place}: the first flow of TCP has copies, and one flow is compared"),
                "list it once, and its copies as another [[flow]]",
            ));
        }
        let network = table.get("network");
        Ok(Self {
            entry,
            flow,
            is_transfer: is_transfer(&scenario.flows[flow].application),
            has_large_window: scenario.flows[flow]
                .tcp
                .as_ref()
                .is_some_and(|tcp| tcp.window_bytes() > UNSCALED_WINDOW),
            has_back: own.get("back").is_some(),
            is_adhoc: matches!(scenario.network, Kind::Adhoc(_)),
            has_link_signals: network.is_some_and(|of| of.get("link_signals").is_some()),
        })
    }

    /// An arm of a study for each of [`arms`].
    fn arms(&self, prefix: &str) -> Vec<Value> {
        let arm = |arm: &ComparedArm| {
            let name = format!("{prefix}{}", arm.name());
            let mut table = Table::new();
            table.insert("name".into(), name.clone().into());
            table.insert("label".into(), name.into());
            table.insert("set".into(), self.settings(arm).into());
            Value::Table(table)
        };
        arms().iter().map(arm).collect()
    }

    /// The overrides of an arm.
    fn settings(&self, arm: &ComparedArm) -> Table {
        let key = |name: &str| format!("flow.{}.{name}", self.entry);
        let mut set = Table::new();
        set.insert(key("tcp.preset"), arm.tcp.name.into());
        if self.has_large_window && !arm.tcp.scales_window {
            set.insert(key("tcp.window"), format!("{UNSCALED_WINDOW} B").into());
        }
        set.insert(key("aid"), "none".into());
        if !self.has_back {
            set.insert(key("receiver_aid"), "none".into());
        }
        let Some(aid) = arm.aid else { return set };
        let end = match aid.end {
            End::Sender => "aid",
            End::Receiver => "receiver_aid",
        };
        set.insert(key(end), inline(&aid.value()));
        if self.is_adhoc {
            let free =
                |key: &&(&str, &str)| !(self.has_link_signals && key.0.ends_with("link_signals"));
            for (name, value) in aid.adhoc.iter().filter(free) {
                set.insert((*name).to_owned(), inline(value));
            }
        }
        set
    }
}

fn is_transfer(application: &Application) -> bool {
    matches!(application, Application::Transfer(_))
}

/// A value as in `--set`.
fn inline(text: &str) -> Value {
    text.parse().unwrap_or_else(|_| text.into())
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
        let all = listed_networks(&[]).unwrap();
        assert!(
            all.networks.len() > 35 && all.networks.iter().filter(|of| of.is_quick).count() >= 4
        );
        let one = listed_networks(&["train".to_owned()]).unwrap().networks;
        assert_eq!((one.len(), one[0].situation.as_str()), (1, "A train with tunnels"));
        let error = listed_networks(&["trian".to_owned()]).unwrap_err();
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
