//! Selection of a part of a paper.

use std::collections::BTreeMap;

use super::check::figure_names;
use super::format::{Arm, Quick, QuickPoints};
use super::plan::{Plan, PlannedArm, PlannedFigure};
pub use super::recorded_verdicts::RecordedVerdicts;
use crate::error::Error;
use crate::runner::Job;

/// The part of a plan that is run.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The seeds, in order. A job may have a first seed of its own, and fewer runs.
    pub seeds: Vec<u64>,
    /// The number of runs was requested, so that it is that of all jobs.
    pub runs_requested: bool,
    /// The points that are run, by the figure's name; a figure that is not run has none.
    pub points: BTreeMap<String, Vec<usize>>,
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

impl Selection {
    /// The number of runs of a job.
    pub fn runs_of(&self, job: &Job) -> u64 {
        let all = self.seeds.len() as u64;
        job.runs.filter(|_| !self.runs_requested).map_or(all, |own| own.min(all))
    }

    /// The number of runs of a figure, if it is less than that of the study's seeds.
    pub fn fewer_runs(&self, plan: &Plan, planned: &PlannedFigure) -> Option<u64> {
        let jobs = planned.arms.iter().flat_map(|arm| &arm.jobs);
        let fewest = jobs.map(|&job| self.runs_of(&plan.jobs[job])).min()?;
        Some(fewest).filter(|runs| *runs < self.seeds.len() as u64)
    }

    /// The points of a figure that are run.
    pub fn points(&self, planned: &PlannedFigure) -> &[usize] {
        self.points.get(&planned.figure.id).map_or(&[], Vec::as_slice)
    }
}

/// A run that is traced.
#[derive(Clone, Debug)]
pub struct TracedRun {
    /// Name of the figure.
    pub figure: String,
    /// The arm.
    pub arm: Arm,
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

/// The points of a figure in the quick part.
pub fn quick_points(quick: &Quick, planned: &PlannedFigure) -> Vec<usize> {
    match quick.figures.is_empty() || quick.figures.contains(&planned.figure.id) {
        true => planned.some_points(quick.points == QuickPoints::Ends),
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
    let is_run = |planned: &&PlannedFigure| wanted(&planned.figure.id);
    let run: Vec<_> = plan.figures.iter().filter(is_run).collect();
    let points = |of: &&PlannedFigure| (of.figure.id.clone(), of.some_points(ends));
    let points: BTreeMap<_, _> = run.iter().map(points).collect();
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
    let mut jobs = Vec::new();
    let mut traces = Vec::new();
    for planned in run {
        let points = planned.some_points(ends);
        for PlannedArm { arm, jobs: of_arm, .. } in &planned.arms {
            jobs.extend(points.iter().map(|&x| of_arm[x]));
            traces.extend(planned.figure.trace.as_ref().map(|trace| TracedRun {
                figure: planned.figure.id.clone(),
                arm: arm.clone(),
                job: of_arm[0],
                seed: trace.seed.unwrap_or(study.first_seed),
                flow: trace.flow,
            }));
        }
    }
    jobs.sort_unstable();
    jobs.dedup();
    let seeds = (0..runs).map(|at| study.first_seed + at).collect();
    let recorded = match quick {
        Some(quick) if runs == quick.runs => RecordedVerdicts::Quick,
        None if runs == study.runs => RecordedVerdicts::All,
        _ => RecordedVerdicts::None,
    };
    let reduced = runs != study.runs || ends;
    Ok(Selection {
        seeds,
        runs_requested: args.runs.is_some(),
        points,
        jobs,
        traces,
        quick: args.quick,
        reduced,
        recorded,
    })
}
