//! The file of a study: runs, comparisons and measures; for a paper also its published values, its
//! statements, and the expected verdicts.
//!
//! The types here are the file, key by key: their documentation is the reference of the file
//! format. `studies/pauses.toml` is an example of a campaign, `papers/liu-singh-2001/paper.toml`
//! one of a paper. Unknown keys are errors.

use std::collections::BTreeMap;

use driftway_scenario::{Coordinate, Size, Time};
use serde::Deserialize;

pub use super::arm::Arm;
pub use super::axis::{Axis, Point};
pub use super::cause::Explanation;
use super::cause::{TextOrExplanation, causes};
pub use super::flow_selector::{ChosenFlows, FlowSelector, Take};
pub use super::measure_format::{Comparison, Divisor, Measure};
use super::measure_format::{MetricOrMeasure, fill_labels, measures};
pub use super::number::{OneOrMany, Settings};
use super::product::Product;
use super::reading::Reading;
use super::reference::Reference;
use super::scenario_place::ScenarioPlace;
use super::statement_format::Statement;
use super::table::table;

table! {
    /// The file.
    pub struct Study expecting "a table with the keys of a study" {
        /// Title of the study or paper.
        title: String,
        /// Note for readers.
        note: Option<String>,
        /// Authors of the paper.
        authors: Vec<String> = default,
        /// Publication. A study with this key is a paper.
        source: Option<String>,
        /// Runs per point, with consecutive seeds from `first_seed`. The recorded verdicts are those of
        /// this number of runs.
        #[serde(default = "ten")]
        runs: u64,
        /// The first seed.
        #[serde(default = "one")]
        first_seed: u64,
        /// Interval of the rows in `steps.csv` and `steps.parquet`.
        step: Option<Time> => "none",
        /// The part that `--quick` runs.
        quick: Quick = default => "two runs of the ends of each axis",
        /// The part that `--kernel` runs.
        kernel: Option<Kernel>,
        /// Scenario of figures without one: a file, or a table with the keys of a scenario file, `[scenario]`.
        scenario: Option<ScenarioPlace>,
        /// Overrides of every scenario. A figure's own `set` takes precedence.
        set: Settings = default,
        /// Axis of figures without one.
        x: Option<Axis>,
        /// Measures of figures without any.
        #[serde(default, deserialize_with = "measures")]
        #[schemars(with = "Vec<MetricOrMeasure>")]
        y: Vec<Measure>,
        /// The figure that decides what to think of the paper, by name: it is the first of the page.
        deciding: Option<String> => "the first one with values of the paper",
        /// Groups of arms: `[[group]]`. Figures show the arms of the first group initially, and the
        /// others on request.
        #[serde(default, rename = "group")]
        groups: Vec<Group> => "one group",
        /// Questions that the paper leaves open: `[[open]]`.
        open: Vec<OpenQuestion> = default,
        /// Arms, which are compared: `[[arm]]`.
        #[serde(default, rename = "arm")]
        arms: Vec<Arm> => "those of the products, else the unchanged scenario",
        /// Arms as products of factors: `[[product]]`. They precede the single arms.
        #[serde(default, rename = "product")]
        products: Vec<Product>,
        /// Figures, which are run and drawn: `[[figure]]`.
        #[serde(default, rename = "figure")]
        figures: Vec<Figure> => "one, with the study's `scenario`, `x` and `y`",
        /// Readings of the open questions: `[[reading]]`, the literal one first.
        #[serde(default, rename = "reading")]
        readings: Vec<Reading>,
        /// Statements of the paper, and our own: `[[statement]]`.
        #[serde(default, rename = "statement")]
        statements: Vec<Statement>,
        /// Command of causes that have none of their own.
        #[serde(default = "of_figure")]
        shown_by: String,
        /// Causes of disagreements, by name: `NAME = "…"` under `[cause]`, or `[cause.NAME]` with `text`, the command
        /// `shown_by` (default: the study's), the `readings` in which it is a cause (default: all), and the
        /// `sources` of its numbers.
        #[serde(default, rename = "cause", deserialize_with = "causes")]
        #[schemars(with = "BTreeMap<String, TextOrExplanation>")]
        causes: BTreeMap<String, Explanation>,
        /// Arms that readings derive from those above, where they differ.
        #[serde(skip)]
        derived_arms: Vec<Arm>,
    }
}

fn one() -> u64 {
    1
}

fn of_figure() -> String {
    "{paper} --figure {figure}".to_owned()
}

fn ten() -> u64 {
    10
}

impl Study {
    /// Fills in the defaults that depend on other keys; `own_file` is the name of the study's file.
    pub fn fill_defaults(&mut self, own_file: &str) {
        let of_figures = self.figures.iter_mut().flat_map(|figure| &mut figure.y);
        fill_labels(self.y.iter_mut().chain(of_figures));
        for question in self.open.iter_mut().filter(|of| of.run.is_empty()) {
            question.run = question.tried.first().cloned().unwrap_or_default();
        }
        Reading::fill_all(&mut self.readings);
        if self.groups.is_empty() {
            // The arms of the file are those of the first reading, next to the groups of the others.
            let first = self.readings.first().map(Group::of_reading);
            let default = first.unwrap_or_default();
            let products = self.products.iter_mut().map(|product| &mut product.group);
            let groups = products.chain(self.arms.iter_mut().map(|arm| &mut arm.group));
            groups
                .filter(|group| group.is_empty())
                .for_each(|group| group.clone_from(&default.name));
            self.groups.push(default);
        }
        for (number, arm) in self.arms.iter_mut().enumerate() {
            arm.place = vec!["arm".to_owned(), number.to_string()];
        }
        for (number, product) in self.products.iter().enumerate().rev() {
            let place = vec!["product".to_owned(), number.to_string()];
            let arms = product.arms().into_iter().map(|arm| Arm { place: place.clone(), ..arm });
            self.arms.splice(0..0, arms);
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
        // The arms of the first group have the first colours.
        let names: Vec<String> = self.groups.iter().map(|group| group.name.clone()).collect();
        self.arms.sort_by_key(|arm| names.iter().position(|name| *name == arm.group));
        for (number, arm) in self.arms.iter_mut().enumerate() {
            arm.number = number;
        }
        for number in 0..self.figures.len() {
            // An unknown name is an error of the check.
            let like = self.figures[number].like.clone();
            let other = like.and_then(|id| self.figures[..number].iter().find(|of| of.id == id));
            if let Some(other) = other.cloned() {
                self.figures[number].fill_from(other);
            }
        }
        for figure in &mut self.figures {
            if figure.scenario.is_empty() {
                let place = self.scenario.as_ref();
                figure.scenario = place.map_or_else(String::new, |place| place.file_name(own_file));
            }
            // A trace has one point.
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

    /// Label of an arm; empty for an unknown name.
    pub fn arm_label(&self, name: &str) -> &str {
        self.all_arms().find(|arm| arm.name == name).map_or("", |arm| &arm.label)
    }

    /// The arms of the file, and those that readings derive.
    pub fn all_arms(&self) -> impl Iterator<Item = &Arm> {
        self.arms.iter().chain(&self.derived_arms)
    }

    /// The groups of arms: those of the file, and one for the arms of each reading.
    pub fn all_groups(&self) -> Vec<Group> {
        let is_new = |of: &Group| self.groups.iter().all(|group| group.name != of.name);
        let readings = self.readings.iter().map(Group::of_reading).filter(is_new);
        self.groups.iter().cloned().chain(readings).collect()
    }

    /// Returns whether there are groups of arms; otherwise there is one without a name.
    pub fn has_groups(&self) -> bool {
        self.groups.iter().any(|group| !group.name.is_empty())
    }

    /// Returns whether the study is a paper.
    pub const fn is_paper(&self) -> bool {
        self.source.is_some()
    }
}

table! {
    /// A part of the study with the same scenarios, `[quick]`.
    pub struct Quick expecting "a table with the keys of quick" {
        /// Runs per point.
        runs: u64,
        /// Figures, by name.
        figures: Vec<String> = default => "all",
        /// Points of each axis: `"all"` or `"ends"`.
        points: QuickPoints = default => "`\"all\"`",
    }
}

impl Default for Quick {
    fn default() -> Self {
        Self { runs: 2, figures: Vec::new(), points: QuickPoints::Ends }
    }
}

table! {
    /// Figures that can be run with a real kernel's TCP instead of the simulator's, `[kernel]`. The
    /// kernel sends the data of the figure's flow over the path of its scenario, at every point: a
    /// transfer to its end, whatever the scenario's duration, or `"ftp"` for the scenario's duration.
    pub struct Kernel expecting "a table with the keys of kernel" {
        /// Figures, by name. Each measures `completion_s` or `throughput_bps`; of a figure that measures
        /// both, the first is run. The throughput of a kernel is what its application has received by the
        /// end of the run, over the run's duration; the flow starts at the start.
        figures: Vec<String>,
        /// The node of the scenario at which the shim runs, whichever way the flow goes: one of the
        /// flow's two nodes.
        shim_node: Option<u32> => "its sender",
        /// Aids with which the shim runs, one or several, each with its default options.
        aid: OneOrMany = default => "`\"carry\"`, the shim's own",
        /// Arms with the paper's own TCPs, which are also simulated.
        arms: Vec<String>,
        /// Arms with the simulator's equivalent of the kernel's TCP. They are also simulated, with the
        /// window growth of the kernel; the scenario of the first one is that of the kernel runs.
        twins: Vec<String>,
        /// Runs per point.
        runs: u64,
        /// The part that `--quick` runs.
        quick: QuickKernel,
    }
}

table! {
    /// A part that takes minutes, because runs are in real time, `[kernel.quick]`.
    pub struct QuickKernel expecting "a table with the keys of a quick kernel" {
        /// Runs per point.
        runs: u64,
        /// Points of each axis: `"all"` or `"ends"`.
        points: QuickPoints = default => "`\"all\"`",
        /// Largest size of a transfer.
        transfer: Option<Size> => "unlimited",
        /// Longest duration of a run of `"ftp"`.
        duration: Option<Time> => "unlimited",
    }
}

/// The points of an axis to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuickPoints {
    /// All points.
    #[default]
    All,
    /// The first and the last point.
    Ends,
}

table! {
    /// A group of arms, `[[group]]`.
    #[derive(Default)]
    pub struct Group expecting "a table with the keys of a group" {
        /// Name in arms and figures, such as `"text"`.
        name: String,
        /// Label for readers, such as `"as the text says"`.
        label: String,
    }
}

impl Group {
    /// The group of the arms that a reading derives.
    fn of_reading(reading: &Reading) -> Self {
        Self { name: reading.name.clone(), label: reading.label.clone() }
    }
}

table! {
    /// A question that the paper leaves open and a run must decide, `[[open]]`.
    #[derive(serde::Serialize)]
    pub struct OpenQuestion expecting "a table with the keys of an open reading" {
        /// The question.
        what: String,
        /// The values that were tried.
        tried: Vec<String>,
        /// The value that is used.
        run: String = default => "the first of `tried`",
        /// The reason.
        because: String,
        /// Sources of the numbers in `because`.
        #[serde(skip_serializing)]
        sources: Option<String>,
        /// True if the value was chosen by its results.
        fitted: bool = default,
        /// The command that shows the results of the other values.
        shown_by: String,
    }
}

table! {
    /// A figure, `[[figure]]`: arms against an axis, at one point without an axis, or over time.
    #[derive(Default)]
    pub struct Figure expecting "a table with the keys of a figure" {
        /// The paper's number of the figure, or a name of ours: `"8"`, `"flows"`.
        id: String,
        /// Title.
        title: String,
        /// The name of another figure, from which it has the scenario, arms, readings, overrides, axis or trace, and
        /// measures that it does not state. Overrides are merged.
        like: Option<String>,
        /// Scenario file, in the directory of the study.
        scenario: String = default => "the study's",
        /// Arms, by name.
        arms: Vec<String> = default,
        /// Arms, by group.
        groups: Vec<String> = default => "all, without `arms` and `groups`",
        /// Readings in which each of its arms is shown, and statements about it are judged, ours too. Without the
        /// first reading, arms are shown only as the others have them.
        readings: Vec<String> = default =>
            "those in which statements about it are judged, for their arms",
        /// Overrides of the scenario for all arms. An arm's own `set` takes precedence, and the axis
        /// over both.
        set: Settings = default,
        /// The first seed, so that a choice made on some runs is tested on others.
        first_seed: Option<u64> => "the study's",
        /// Runs per point, of all arms: at most the study's number, and with the same seeds. A figure whose runs
        /// take long may have fewer.
        runs: Option<u64> => "the study's",
        /// Axis.
        x: Option<Axis> => "the study's; without one, there is one point",
        /// Measures; one plot each. The first is the default of statements.
        #[serde(default, deserialize_with = "measures")]
        #[schemars(with = "Vec<MetricOrMeasure>", extend("x-default" = "the study's"))]
        y: Vec<Measure>,
        /// The paper's own values: `[[figure.paper]]`.
        paper: Vec<PaperCurve> = default,
        /// Horizontal lines: `[[figure.line]]`.
        line: Vec<ReferenceLine> = default,
        /// Plots of one run over time: `[figure.trace]`.
        trace: Option<TraceView>,
        /// The reference with which `driftway validate` compares it: `[figure.reference]`.
        reference: Option<Reference>,
        /// Note for readers.
        note: Option<String>,
        /// It is not the paper's: the page shows it after those that are.
        ours: bool = default => "false",
    }
}

impl Figure {
    /// Takes from another figure what this one does not state.
    fn fill_from(&mut self, other: Self) {
        if self.scenario.is_empty() {
            self.scenario = other.scenario;
        }
        if self.arms.is_empty() && self.groups.is_empty() {
            (self.arms, self.groups) = (other.arms, other.groups);
        }
        if self.readings.is_empty() {
            self.readings = other.readings;
        }
        let own = std::mem::replace(&mut self.set, other.set);
        self.set.extend(own);
        if self.x.is_none() && self.trace.is_none() {
            (self.x, self.trace) = (other.x, other.trace);
        }
        if self.y.is_empty() {
            self.y = other.y;
        }
    }
}

table! {
    /// Values that the paper reports, `[[figure.paper]]`.
    pub struct PaperCurve expecting "a table with the keys of a paper's curve" {
        /// Label.
        label: String,
        /// The arm with which they are compared.
        arm: String,
        /// One of the figure's metrics.
        metric: Option<String> => "the first",
        /// (x, reported value in the metric's base unit)
        points: Vec<(Coordinate, f64)>,
    }
}

table! {
    /// A value that belongs to no arm, such as a bound, `[[figure.line]]`.
    pub struct ReferenceLine expecting "a table with the keys of a line" {
        /// Label.
        label: String,
        /// Value in the metric's base unit.
        value: f64,
        /// One of the figure's metrics.
        metric: Option<String> => "the first",
    }
}

table! {
    /// Plots of one run of each arm, `[figure.trace]`. The figure has no `x`; its metrics, and the
    /// statements about it, use the same number of runs as any other.
    pub struct TraceView expecting "a table with the keys of a trace" {
        /// Plots: `"sequence"`, `"cwnd"`, `"rto"`.
        draw: Vec<TracePlot>,
        /// Index of the flow.
        flow: usize = default => "0",
        /// Seed.
        seed: Option<u64> => "the paper's first",
        /// Horizontal axis: `"time"` or `"transmission"`.
        against: TraceAxis = default => "`\"time\"`",
        /// Start of the window shown: a time, or the number of a transmission.
        from: Option<Coordinate> => "the start",
        /// End of the window shown.
        to: Option<Coordinate> => "the end",
    }
}

/// A plot of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TracePlot {
    /// Sequence numbers of the segments sent.
    Sequence,
    /// Congestion window.
    Cwnd,
    /// Retransmission timeout in effect, including backoff.
    Rto,
}

/// Horizontal axis of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceAxis {
    /// Time.
    #[default]
    Time,
    /// Consecutive transmissions of data, counted from 1.
    Transmission,
}
