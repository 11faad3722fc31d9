//! What came out, as `driftway validate --json` prints it and the page draws it.

use std::collections::BTreeMap;

use driftway_sim::results::Estimate;

use super::cases::{Case, Formula, Point};
use super::compare::{Compared, Interval, agrees, compared, log_ratio, over_points};
use super::held::{Held, held};
use super::record::{METRICS, Record, Stored, USER};
use super::simulate::{Ran, lasts};
use crate::error::Error;
use crate::study::reference::{Against, Judge, Law};

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
    pub against: Against,
    /// They were run beside ours, and are not the stored ones.
    pub beside: bool,
    /// What counts as agreement.
    pub judge: Judge,
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
    pub metrics: BTreeMap<&'static str, Compared>,
    /// User CPU time a run.
    pub user_s: Compared,
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
    pub formula: Law,
    /// What counts as agreement.
    pub judge: Judge,
    /// `null`: it is not judged, or could not be.
    pub agrees: Option<bool>,
    /// The points.
    pub points: Vec<Held>,
    /// What a reader must know.
    pub note: Option<String>,
}

/// What came of a case.
pub fn case(case: &Case, ran: &[Ran], (stored, beside): (&Stored, bool)) -> CaseResult {
    let about = &case.about;
    let point = |(point, ran): (&Point, &Ran)| {
        let lasts = lasts(&point.job.scenario);
        let ours: Vec<Record> = ran
            .ours
            .iter()
            .map(|(run, user_s)| Record::of_run(run, lasts).with_user(*user_s))
            .collect();
        let kept: Vec<Record> = stored
            .runs(&about.name, &point.name)
            .iter()
            .map(|(_, record)| record.clone())
            .collect();
        let theirs = if beside { &ran.theirs } else { &kept };
        let of = |records: &[Record], name: &str| -> Vec<f64> {
            records.iter().filter_map(|record| record.get(name)).collect()
        };
        let both = |name: &str| compared(&of(&ours, name), &of(theirs, name));
        let goodput = METRICS[0].0;
        PointResult {
            name: point.name.clone(),
            log_ratio: log_ratio(&of(&ours, goodput), &of(theirs, goodput)),
            metrics: METRICS.iter().map(|(name, ..)| (*name, both(name))).collect(),
            user_s: both(USER),
            command: point.job.command(),
        }
    };
    let points: Vec<PointResult> = about.points.iter().zip(ran).map(point).collect();
    let logs: Vec<Option<Interval>> = points.iter().map(|point| point.log_ratio).collect();
    let ratios: Vec<Option<Interval>> =
        points.iter().map(|point| point.metrics[METRICS[0].0].ratio).collect();
    let log_ratio = over_points(&logs);
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
pub fn formula(of: &Formula, ran: &[Ran]) -> Result<FormulaResult, Error> {
    let about = &of.about;
    let points: Vec<Held> = about
        .points
        .iter()
        .zip(ran)
        .map(|(point, ran)| held(of, point, ran))
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
