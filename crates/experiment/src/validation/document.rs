//! What came out, as `driftway validate --json` prints it and the page draws it.

use std::collections::BTreeMap;

use driftway_sim::results::Estimate;

use super::cases::{FormulaCase, Point, SimulatorCase};
use super::compare::{Comparison, Interval, agrees, compare, log_ratio, mean_over_points};
use super::formula_point::{FormulaPoint, compare_with_formula};
use super::run_metrics::{CPU_TIME, METRICS, RunMetrics, StoredRuns};
use super::simulate::{PointRuns, flow_seconds};
use crate::error::Error;
use crate::study::reference::{AgreementCriterion, FormulaKind, ReferenceSimulator};

/// Everything that came out. Names end with their units, as in `driftway run --json`.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Document {
    /// The version of driftway.
    pub version: &'static str,
    /// Held against another simulator.
    pub cases: Vec<CaseResult>,
    /// Held against a formula.
    pub formulas: Vec<FormulaResult>,
    /// What it took; no comparison includes it.
    pub timing: Timing,
}

/// What it took.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Runs at a time.
    pub jobs: u64,
}

/// A case.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CaseResult {
    /// What it is called.
    pub name: String,
    /// In words.
    pub title: String,
    /// What the points differ in.
    pub axis: String,
    /// Whose numbers ours are held against.
    pub against: ReferenceSimulator,
    /// They were run beside ours, and are not the stored ones.
    pub beside: bool,
    /// What counts as agreement.
    pub judge: AgreementCriterion,
    /// `null`: it is not judged, or could not be.
    pub agrees: Option<bool>,
    /// The mean over the points of each one's `log_ratio`; its interval is what points differ by.
    pub log_ratio: Option<Interval>,
    /// The points.
    pub points: Vec<PointResult>,
    /// What a reader must know.
    pub note: Option<String>,
}

/// A point of a case.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PointResult {
    /// What it is called.
    pub name: String,
    /// The mean logarithm of our goodput less that of theirs.
    pub log_ratio: Option<Interval>,
    /// By metric; what a side does not count is `null` there.
    pub metrics: BTreeMap<&'static str, Comparison>,
    /// User CPU time a run.
    pub user_s: Comparison,
    /// What runs ours.
    pub command: String,
}

/// A formula.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FormulaResult {
    /// What it is called.
    pub name: String,
    /// In words.
    pub title: String,
    /// Which formula.
    pub formula: FormulaKind,
    /// What counts as agreement.
    pub judge: AgreementCriterion,
    /// `null`: it is not judged, or could not be.
    pub agrees: Option<bool>,
    /// The points.
    pub points: Vec<FormulaPoint>,
    /// What a reader must know.
    pub note: Option<String>,
}

/// What came of a case.
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
        let goodput = METRICS[0].0;
        PointResult {
            name: point.name.clone(),
            log_ratio: log_ratio(&of(&ours, goodput), &of(theirs, goodput)),
            metrics: METRICS.iter().map(|(name, ..)| (*name, both(name))).collect(),
            user_s: both(CPU_TIME),
            command: point.job.command(),
        }
    };
    let points: Vec<PointResult> = about.points.iter().zip(ran).map(point).collect();
    let logs: Vec<Option<Interval>> = points.iter().map(|point| point.log_ratio).collect();
    let ratios: Vec<Option<Interval>> =
        points.iter().map(|point| point.metrics[METRICS[0].0].ratio).collect();
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

/// What came of a formula.
///
/// # Errors
/// A point lacks what the formula takes.
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
        judge: about.judge,
        agrees: agrees(about.judge, &ratios, None),
        points,
        note: about.note.clone(),
    })
}

fn interval(estimate: Estimate) -> Interval {
    Interval { mean: estimate.mean, ci90: estimate.ci90 }
}

impl Document {
    /// What was judged and does not agree.
    pub fn differing(&self) -> Vec<&str> {
        let cases = self.cases.iter().map(|case| (case.agrees, case.name.as_str()));
        let formulas = self.formulas.iter().map(|of| (of.agrees, of.name.as_str()));
        cases.chain(formulas).filter(|(agrees, _)| *agrees == Some(false)).map(|(_, n)| n).collect()
    }
}
