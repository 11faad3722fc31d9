//! Results of the validation, as `driftway validate --json` prints them and the page shows them.

use std::collections::BTreeMap;

use driftway_sim::results::Estimate;

use super::cases::{FormulaCase, Point, SimulatorCase};
use super::compare::{Comparison, Interval, agrees, compare, log_ratio, mean_over_points};
use super::formula_point::{FormulaPoint, compare_with_formula};
use super::published::PublishedResult;
use super::run_metrics::{CPU_TIME, METRICS, RunMetrics, StoredRuns};
use super::simulate::{PointRuns, flow_seconds};
use crate::error::Error;
use crate::study::reference::{AgreementCriterion, FormulaKind, ReferenceSimulator};

/// The schema version of [`ValidationDocument`]. It increases when a reader of the old form would misread the new
/// one.
pub const SCHEMA: u32 = 2;

/// All results. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ValidationDocument {
    /// The version of this form.
    pub schema: u32,
    /// Version of driftway.
    pub version: &'static str,
    /// Comparisons with another simulator.
    pub cases: Vec<CaseResult>,
    /// Comparisons with a formula.
    pub formulas: Vec<FormulaResult>,
    /// Comparisons with published values.
    pub published: Vec<PublishedResult>,
    /// Cost; never compared.
    pub timing: Timing,
}

/// Cost of the runs.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Number of runs in parallel.
    pub jobs: u64,
}

/// A comparison with another simulator.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CaseResult {
    /// Name of the case.
    pub name: String,
    /// Title of the case.
    pub title: String,
    /// Label of the axis.
    pub axis: String,
    /// The reference simulator.
    pub against: ReferenceSimulator,
    /// True if the reference was run alongside, instead of using stored results.
    pub beside: bool,
    /// Criterion of agreement.
    pub judge: AgreementCriterion,
    /// True if they agree; `null`: not judged, or not possible to judge.
    pub agrees: Option<bool>,
    /// The mean over the points of their `log_ratio`; its interval reflects the differences between
    /// points. `null` if a point has none.
    pub log_ratio: Option<Interval>,
    /// Results at the points of the axis.
    pub points: Vec<PointResult>,
    /// Note for readers; `null` without one.
    pub note: Option<String>,
}

/// A point of a comparison.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct PointResult {
    /// Name of the point.
    pub name: String,
    /// The mean logarithm of driftway's goodput minus that of the reference; `null` if a run delivered
    /// nothing, or without runs.
    pub log_ratio: Option<Interval>,
    /// Comparisons by metric; `null` on a side that does not count it.
    pub metrics: BTreeMap<&'static str, Comparison>,
    /// User CPU time per run (s).
    pub user_s: Comparison,
    /// The command that runs driftway's side.
    pub command: String,
}

/// A comparison with a formula.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct FormulaResult {
    /// Name of the case.
    pub name: String,
    /// Title of the case.
    pub title: String,
    /// The formula.
    pub formula: FormulaKind,
    /// Publication of the formula; `null` where the case names none.
    pub source: Option<String>,
    /// Criterion of agreement.
    pub judge: AgreementCriterion,
    /// True if they agree; `null`: not judged, or not possible to judge.
    pub agrees: Option<bool>,
    /// Results at the points of the axis.
    pub points: Vec<FormulaPoint>,
    /// Note for readers; `null` without one.
    pub note: Option<String>,
}

/// The result of a comparison with another simulator.
pub fn case_result(
    case: &SimulatorCase,
    ran: &[PointRuns],
    (stored, beside): (&StoredRuns, bool),
) -> CaseResult {
    let about = &case.about;
    let point = |(point, ran): (&Point, &PointRuns)| {
        let lasts = flow_seconds(&point.job.scenario);
        let ours: Vec<RunMetrics> = ran
            .ours
            .iter()
            .map(|(run, user_s)| RunMetrics::of_run(run, lasts).with_user(*user_s))
            .collect();
        let kept: Vec<RunMetrics> = stored
            .runs(&about.name, &point.name)
            .iter()
            .map(|(_, record)| record.clone())
            .collect();
        let theirs = if beside { &ran.theirs } else { &kept };
        let of = |records: &[RunMetrics], name: &str| -> Vec<f64> {
            records.iter().filter_map(|record| record.get(name)).collect()
        };
        let both = |name: &str| compare(&of(&ours, name), &of(theirs, name));
        let goodput = METRICS[0].name;
        PointResult {
            name: point.name.clone(),
            log_ratio: log_ratio(&of(&ours, goodput), &of(theirs, goodput)),
            metrics: METRICS.iter().map(|of| (of.name, both(of.name))).collect(),
            user_s: both(CPU_TIME),
            command: point.job.command(),
        }
    };
    let points: Vec<PointResult> = about.points.iter().zip(ran).map(point).collect();
    let logs: Vec<Option<Interval>> = points.iter().map(|point| point.log_ratio).collect();
    let ratios: Vec<Option<Interval>> =
        points.iter().map(|point| point.metrics[METRICS[0].name].ratio).collect();
    let log_ratio = mean_over_points(&logs);
    CaseResult {
        name: about.name.clone(),
        title: about.title.clone(),
        axis: about.axis.clone(),
        against: case.against,
        beside,
        judge: about.judge,
        agrees: agrees(about.judge, &ratios, log_ratio),
        log_ratio,
        points,
        note: about.note.clone(),
    }
}

/// The result of a comparison with a formula.
///
/// # Errors
///
/// A point lacks a parameter of the formula.
pub fn formula_result(of: &FormulaCase, ran: &[PointRuns]) -> Result<FormulaResult, Error> {
    let about = &of.about;
    let points: Vec<FormulaPoint> = about
        .points
        .iter()
        .zip(ran)
        .map(|(point, ran)| compare_with_formula(of, point, ran))
        .collect::<Result<_, _>>()?;
    let ratios: Vec<Option<Interval>> =
        points.iter().map(|point| point.ratio.map(interval)).collect();
    Ok(FormulaResult {
        name: about.name.clone(),
        title: about.title.clone(),
        formula: of.formula,
        source: of.source.clone(),
        judge: about.judge,
        agrees: agrees(about.judge, &ratios, None),
        points,
        note: about.note.clone(),
    })
}

fn interval(estimate: Estimate) -> Interval {
    Interval { mean: estimate.mean, ci90: estimate.ci90 }
}

impl ValidationDocument {
    /// Names of the cases that were judged and do not agree.
    pub fn differing(&self) -> Vec<&str> {
        let cases = self.cases.iter().map(|case| (case.agrees, case.name.as_str()));
        let formulas = self.formulas.iter().map(|of| (of.agrees, of.name.as_str()));
        let published = self.published.iter().map(|of| (of.agrees, of.name.as_str()));
        let all = cases.chain(formulas).chain(published);
        all.filter(|(agrees, _)| *agrees == Some(false)).map(|(_, name)| name).collect()
    }
}
