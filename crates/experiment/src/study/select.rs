//! Selection of a part of a paper.

use super::check::figure_names;
use super::format::QuickPoints;
use super::plan::Plan;
use crate::error::Error;

/// The part of a plan that is run.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The seeds, in order.
    pub seeds: Vec<u64>,
    /// The points of each figure; none for a figure that is not run.
    pub points: Vec<Vec<usize>>,
    /// Indices of the jobs that are run.
    pub jobs: Vec<usize>,
    /// Runs that are traced.
    pub traces: Vec<TracedRun>,
    /// It is the paper's quick part.
    pub quick: bool,
    /// Not all runs, or not all points.
    pub reduced: bool,
    /// The recorded verdicts with which these runs are compared.
    pub recorded: RecordedVerdicts,
}

/// The recorded verdicts with which runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedVerdicts {
    /// Those of all runs at all points.
    All,
    /// Those of the quick part.
    Quick,
    /// No verdicts are recorded for this number of runs.
    None,
}

/// A run that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedRun {
    /// Index of the figure in the paper.
    pub figure: usize,
    /// Index of the arm in the figure.
    pub arm: usize,
    /// Index of the job.
    pub job: usize,
    /// Seed.
    pub seed: u64,
    /// Index of the flow.
    pub flow: usize,
}

/// The requested part.
#[derive(Clone, Debug, Default)]
pub struct SelectionArgs {
    /// Figures, by name; empty: all.
    pub figures: Vec<String>,
    /// Runs per point, if not the study's number.
    pub runs: Option<u64>,
    /// The study's quick part.
    pub quick: bool,
}

/// The points of a figure, or the ends of its axis.
fn figure_points(plan: &Plan, figure: usize, ends: bool) -> Vec<usize> {
    match plan.figures[figure].points.len() {
        all if ends && all > 2 => vec![0, all - 1],
        all => (0..all).collect(),
    }
}

/// The points of a figure in the quick part.
pub fn quick_points(plan: &Plan, figure: usize) -> Vec<usize> {
    let quick = &plan.study.quick;
    let id = &plan.study.figures[figure].id;
    match quick.figures.is_empty() || quick.figures.contains(id) {
        true => figure_points(plan, figure, quick.points == QuickPoints::Ends),
        false => Vec::new(),
    }
}

/// Selects the requested part of a plan.
///
/// # Errors
///
/// A figure that the study does not have.
pub fn select(plan: &Plan, args: &SelectionArgs) -> Result<Selection, Error> {
    let study = &plan.study;
    let names = figure_names(study);
    for figure in &args.figures {
        if !names.contains(&figure.as_str()) {
            let message = format!("--figure {figure}: {} has no such figure", plan.source.name);
            return Err(Error::refused_with(message, format!("available: {}", names.join(", "))));
        }
    }
    let quick = args.quick.then_some(&study.quick);
    let wanted = |id: &String| match (&args.figures[..], quick) {
        ([], Some(quick)) => quick.figures.is_empty() || quick.figures.contains(id),
        ([], None) => true,
        (figures, _) => figures.contains(id),
    };
    let ends = quick.is_some_and(|quick| quick.points == QuickPoints::Ends);
    let points = study.figures.iter().enumerate().map(|(number, figure)| {
        if wanted(&figure.id) { figure_points(plan, number, ends) } else { Vec::new() }
    });
    let points: Vec<Vec<usize>> = points.collect();
    let runs = args.runs.unwrap_or(quick.map_or(study.runs, |quick| quick.runs));
    let of_figures = study.figures.iter().filter_map(|figure| figure.first_seed);
    let furthest = of_figures.fold(study.first_seed, u64::max);
    if furthest.checked_add(runs - 1).is_none() {
        return Err(Error::refused(format!(
            "the maximum seed is {}: {runs} runs from seed {} exceed it",
            u64::MAX,
            furthest
        )));
    }
    let mut jobs: Vec<usize> = plan
        .figures
        .iter()
        .zip(&points)
        .flat_map(|(figure, points)| figure.jobs.iter().map(move |row| (row, points)))
        .flat_map(|(row, points)| points.iter().map(|&x| row[x]))
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    let mut traces = Vec::new();
    for (number, figure) in study.figures.iter().enumerate() {
        let Some(trace) = figure.trace.as_ref().filter(|_| !points[number].is_empty()) else {
            continue;
        };
        let seed = trace.seed.unwrap_or(study.first_seed);
        let rows = plan.figures[number].jobs.iter().enumerate();
        traces.extend(rows.map(|(arm, row)| TracedRun {
            figure: number,
            arm,
            job: row[0],
            seed,
            flow: trace.flow,
        }));
    }
    let seeds = (0..runs).map(|at| study.first_seed + at).collect();
    let recorded = match quick {
        Some(quick) if runs == quick.runs => RecordedVerdicts::Quick,
        None if runs == study.runs => RecordedVerdicts::All,
        _ => RecordedVerdicts::None,
    };
    let reduced = runs != study.runs || ends;
    Ok(Selection { seeds, points, jobs, traces, quick: args.quick, reduced, recorded })
}
