//! The file of a study: what is run, compared and measured, and of a paper also what it measured, what it
//! says, and what we expect to come out.
//!
//! The types here are the file, key by key: their documentation is the documentation of the file.
//! `studies/pauses.toml` is the example of a campaign, `papers/liu-singh-2001/paper.toml` that of a
//! paper. Unknown keys are refused.

use std::collections::BTreeMap;

use driftway_scenario::{Coordinate, Size, Time};
use serde::Deserialize;

use super::number::SettingValue;
use super::reference::Reference;
use super::statement::format::{Reading, Statement};

/// Names of a scenario and the values that they get, as `--set KEY=VALUE` has them:
/// `{ "flow.0.aid" = "atcp", "network.link.queue" = { packets = 50 } }`.
pub type Settings = BTreeMap<String, SettingValue>;

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a study")]
pub struct Study {
    /// What it is about; a paper's title.
    pub title: String,
    /// What a reader must know.
    pub note: Option<String>,
    /// Who wrote the paper.
    #[serde(default)]
    pub authors: Vec<String>,
    /// Where and when it was published. A study that has this is a paper's.
    pub source: Option<String>,
    /// Runs a point: as many seeds from `first_seed` on. The recorded verdicts are those of so
    /// many runs. Default: 10.
    #[serde(default = "ten")]
    pub runs: u64,
    /// Default: 1.
    #[serde(default = "one")]
    pub first_seed: u64,
    /// One row of time each so often, in `steps.csv` and `steps.parquet`. Default: none.
    pub step: Option<Time>,
    /// What `--quick` runs. Default: two runs of the ends of each axis.
    #[serde(default)]
    pub quick: Quick,
    /// What `--kernel` runs.
    pub kernel: Option<Kernel>,
    /// The scenario of figures that name none.
    pub scenario: Option<String>,
    /// What is changed in every scenario. A figure's own `set` comes after it.
    #[serde(default)]
    pub set: Settings,
    /// What varies in figures that don't say it.
    pub x: Option<Axis>,
    /// What is measured in figures that don't say it.
    #[serde(default)]
    pub y: Vec<Measure>,
    /// What groups of arms are called: `text = "as the text says"`. Figures show the arms of the
    /// first group at once, and the others when asked. Default: one group.
    #[serde(default, rename = "group")]
    pub groups: Vec<Group>,
    /// What the paper leaves open: `[[open]]`.
    #[serde(default)]
    pub open: Vec<OpenQuestion>,
    /// What is compared: `[[arm]]`. Default: the scenario as it is.
    #[serde(default, rename = "arm")]
    pub arms: Vec<Arm>,
    /// What is drawn, and run: `[[figure]]`. Default: one, of the study's `scenario`, `x` and `y`.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
    /// How what the paper leaves open can be read: `[[reading]]`, the literal one first.
    #[serde(default, rename = "reading")]
    pub readings: Vec<Reading>,
    /// What the paper says, and what we say beyond it: `[[statement]]`.
    #[serde(default, rename = "statement")]
    pub statements: Vec<Statement>,
}

fn one() -> u64 {
    1
}

fn ten() -> u64 {
    10
}

impl Study {
    /// Writes out the defaults that depend on other keys.
    pub fn fill_defaults(&mut self) {
        if self.groups.is_empty() {
            self.groups.push(Group { name: String::new(), label: String::new() });
        }
        if self.arms.is_empty() {
            let name = "as it is".to_owned();
            self.arms.push(Arm { label: name.clone(), name, ..Arm::default() });
        }
        if self.figures.is_empty() {
            self.figures.push(Figure {
                id: "1".to_owned(),
                title: self.title.clone(),
                ..Figure::default()
            });
        }
        for figure in &mut self.figures {
            if figure.scenario.is_empty() {
                figure.scenario = self.scenario.clone().unwrap_or_default();
            }
            // A trace is of one point.
            if figure.x.is_none() && figure.trace.is_none() {
                figure.x = self.x.clone();
            }
            if figure.y.is_empty() {
                figure.y = self.y.clone();
            }
            let own = std::mem::replace(&mut figure.set, self.set.clone());
            figure.set.extend(own);
        }
    }

    /// Has it groups of arms? Otherwise there is one without a name.
    pub fn has_groups(&self) -> bool {
        self.groups.iter().any(|group| !group.name.is_empty())
    }

    /// Is it what a paper published?
    pub const fn is_paper(&self) -> bool {
        self.source.is_some()
    }
}

/// `[quick]`: a part of the whole, with the same scenarios.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of quick")]
pub struct Quick {
    /// Runs a point.
    pub runs: u64,
    /// Which figures. Default: all.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Which points of each axis. Default: all.
    #[serde(default)]
    pub points: QuickPoints,
    /// Statements, by their full names, whose recorded verdict is the other one with so few runs.
    #[serde(default)]
    pub otherwise: Vec<String>,
}

impl Default for Quick {
    fn default() -> Self {
        Self { runs: 2, figures: Vec::new(), points: QuickPoints::Ends, otherwise: Vec::new() }
    }
}

/// `[kernel]`: figures that can be run with a real kernel's TCP in the place of the lab's. What is
/// sent is what the figure's flow sends, over the path of its scenario, at every point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of kernel")]
pub struct Kernel {
    /// Which figures. Each measures `completion_s`.
    pub figures: Vec<String>,
    /// The arms of the paper's own TCPs, which are simulated beside it.
    pub arms: Vec<String>,
    /// The arms of the kernel's TCP as the lab has it. They are simulated beside it, too, with the
    /// growth that the kernel runs; the first one's scenario is what the kernel runs over.
    pub twins: Vec<String>,
    /// Runs a point.
    pub runs: u64,
    /// What `--quick` runs of it.
    pub quick: QuickKernel,
}

/// `[kernel.quick]`: a part that takes minutes, because real time can't be hurried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a quick kernel")]
pub struct QuickKernel {
    /// Runs a point.
    pub runs: u64,
    /// Which points of each axis. Default: all.
    #[serde(default)]
    pub points: QuickPoints,
    /// Transfers end after so much.
    pub transfer: Size,
}

/// Which points of an axis are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuickPoints {
    /// Every one.
    #[default]
    All,
    /// The first and the last.
    Ends,
}

/// `[[group]]`: arms that belong together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a group")]
pub struct Group {
    /// What arms and figures call it: `"text"`.
    pub name: String,
    /// What a reader is told: `"as the text says"`.
    pub label: String,
}

/// `[[open]]`: something that the paper does not say, and that a run must decide.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an open reading")]
pub struct OpenQuestion {
    /// What is open.
    pub what: String,
    /// The values that were tried.
    pub tried: Vec<String>,
    /// The one that is run.
    pub run: String,
    /// Why that one.
    pub because: String,
    /// Was it chosen by looking at what came out? Then it is said so. Default: no.
    #[serde(default)]
    pub fitted: bool,
    /// The command whose output shows what the others would do.
    pub shown_by: String,
}

/// `[[arm]]`: one of the things compared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an arm")]
pub struct Arm {
    /// What figures and statements call it: `"atcp"`.
    pub name: String,
    /// What a reader is told: `"ATCP"`.
    pub label: String,
    /// The name of its group, where there are groups.
    #[serde(default)]
    pub group: String,
    /// What it changes in a figure's scenario.
    #[serde(default)]
    pub set: Settings,
    /// Its own scenario file, in the place of each figure's.
    pub scenario: Option<String>,
    /// The arm that it is compared with: figures show the paired difference.
    pub against: Option<String>,
}

/// `[[figure]]`: arms against an axis, at one point where there is no axis, or in time.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a figure")]
pub struct Figure {
    /// The paper's number of it, or a name where it is ours: `"8"`, `"flows"`.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The scenario file, beside that of the study. Default: the study's.
    #[serde(default)]
    pub scenario: String,
    /// Which arms, by name.
    #[serde(default)]
    pub arms: Vec<String>,
    /// Which arms, by group. Where neither is written, all.
    #[serde(default)]
    pub groups: Vec<String>,
    /// What it changes in the scenario, for all arms. An arm's own `set` comes after it, the
    /// axis' after both.
    #[serde(default)]
    pub set: Settings,
    /// The first of its seeds, so that what was chosen on some runs is tested on others. Default: the
    /// study's.
    pub first_seed: Option<u64>,
    /// What varies. Default: the study's; without any, there is one point.
    pub x: Option<Axis>,
    /// What is measured; a picture each. The first is what statements mean that name no metric. Default:
    /// the study's.
    #[serde(default)]
    pub y: Vec<Measure>,
    /// The paper's own numbers: `[[figure.paper]]`.
    #[serde(default)]
    pub paper: Vec<PaperCurve>,
    /// Lines across: `[[figure.line]]`.
    #[serde(default)]
    pub line: Vec<ReferenceLine>,
    /// What one run did, moment by moment: `[figure.trace]`.
    pub trace: Option<TraceView>,
    /// What `driftway validate` holds it against: `[figure.reference]`.
    pub reference: Option<Reference>,
    /// What a reader must know to read it.
    pub note: Option<String>,
}

/// `x`: what varies.
///
/// One key: `{ key = "network.link.delay.mean", values = ["10 ms", "50 ms"], label = "…" }`;
/// several keys that get the same value: `key = ["a", "b"]`; anything else:
/// `{ label = "flows", points = [{ at = 1, set = { … } }, { at = 2, set = { … } }] }`, with a
/// `name` where the place on the axis says nothing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an axis")]
pub struct Axis {
    /// What it is called, without its unit.
    pub label: String,
    /// The keys that vary, and
    #[serde(default)]
    pub key: OneOrMany,
    /// their values, in the order of the axis.
    #[serde(default)]
    pub values: Vec<Coordinate>,
    /// Or each point with all that it sets.
    #[serde(default)]
    pub points: Vec<Point>,
}

/// One name or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMany(pub Vec<String>);

/// A point of an axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a point")]
pub struct Point {
    /// Where it stands on the axis.
    pub at: Coordinate,
    /// What it is called. Default: as `at` has it.
    pub name: Option<String>,
    /// What it sets.
    #[serde(default)]
    pub set: Settings,
    /// What the figure's reference has to know of it: further arguments of ns-2, or the numbers
    /// that the formula takes.
    #[serde(default)]
    pub reference: Settings,
}

/// `y`: `[{ metric = "completion_s", label = "transfer time" }]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a measure")]
pub struct Measure {
    /// A flow's result by its name in `driftway run --json` (`throughput_bps`), or one of all the network:
    /// `routing.packets_sent`, `mac.collisions`, `drops` (all packets), `drops.queue-overflow`.
    pub metric: String,
    /// What it is called, without its unit.
    pub label: String,
    /// Whose. Default: the first flow's.
    #[serde(default)]
    pub of: FlowSelector,
}

/// Whose result: a flow's by its number (`0`), or `"sum"`, `"mean"`, `"least"`, `"most"` of all TCP
/// flows', of all flows' where none is TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowSelector {
    /// The flow of this number, from 0.
    Flow(usize),
    /// All together.
    Sum,
    /// The mean over flows.
    Mean,
    /// The smallest.
    Least,
    /// The largest.
    Most,
}

/// `[[figure.paper]]`: what the paper reports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a paper's curve")]
pub struct PaperCurve {
    /// What it is called.
    pub label: String,
    /// The arm that it compares with.
    pub arm: String,
    /// Which of the figure's metrics. Default: the first.
    pub metric: Option<String>,
    /// (x, reported value in the metric's base unit)
    pub points: Vec<(Coordinate, f64)>,
}

/// `[[figure.line]]`: a number that belongs to no arm, such as a bound.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a line")]
pub struct ReferenceLine {
    /// What it is.
    pub label: String,
    /// Where, in the metric's base unit.
    pub value: f64,
    /// Which of the figure's metrics. Default: the first.
    pub metric: Option<String>,
}

/// `[figure.trace]`: what is drawn of one run of each arm. The figure has no `x`; its metrics, and
/// statements about it, are of as many runs as anywhere else.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a trace")]
pub struct TraceView {
    /// What is drawn, a picture each.
    pub draw: Vec<TracePlot>,
    /// Which flow. Default: the first.
    #[serde(default)]
    pub flow: usize,
    /// Which seed. Default: the paper's first.
    pub seed: Option<u64>,
    /// Against what. Default: time.
    #[serde(default)]
    pub against: TraceAxis,
    /// Where the window that is shown begins: a time, or the number of a transmission. Default: at
    /// the beginning.
    pub from: Option<Coordinate>,
    /// Where it ends. Default: at the end.
    pub to: Option<Coordinate>,
}

/// What a trace shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TracePlot {
    /// Sequence numbers of the segments sent.
    Sequence,
    /// The congestion window.
    Cwnd,
    /// The retransmission timeout in force, back-off included.
    Rto,
}

/// Against what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceAxis {
    /// Time.
    #[default]
    Time,
    /// Consecutive transmissions of data, counted from 1.
    Transmission,
}
