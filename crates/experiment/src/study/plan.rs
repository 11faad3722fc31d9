//! The plan of a study: checked, with all names resolved, and each scenario once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use driftway_scenario::{
    Adhoc, Coordinate, Error as Wrong, Mobility, Registry, Scenario, TomlFile, Unit,
};

use super::applied_keys::AppliedKeys;
use super::axis_points::axis_points;
use super::check::{self, keys};
use super::files::Source;
use super::format::{Arm, Figure, Point, Settings, Study};
pub use super::planned_figure::{AxisPoint, DerivedFrom, PlannedArm, PlannedFigure};

use super::recorded_verdicts::StoredVerdicts;
use super::reference_check;
use super::statement::{self, PlannedStatement};
use crate::error::Error;
use crate::runner::Job;

/// The plan of a study.
#[derive(Debug)]
pub struct Plan {
    /// Its source.
    pub source: Source,
    /// The content of its file.
    pub study: Study,
    /// Names of the scenario files.
    pub files: Vec<String>,
    /// Scenarios, each once, even if several figures use it.
    pub jobs: Vec<Job>,
    /// One entry per figure of the file.
    pub figures: Vec<PlannedFigure>,
    /// One entry per statement of the file, figure and reading.
    pub statements: Vec<PlannedStatement>,
}

impl Plan {
    /// The movement files in the study's directory that its scenarios use, with their paths.
    pub fn movements(&self) -> Vec<(String, PathBuf)> {
        let Some(dir) = self.source.dir() else { return Vec::new() };
        let networks = self.jobs.iter().flat_map(|job| job.scenario.network.radio_networks());
        let named = |adhoc: &Adhoc| match &adhoc.mobility {
            Mobility::File(movement) => movement.files(dir),
            _ => Vec::new(),
        };
        let mut files: Vec<String> = networks.flat_map(named).collect();
        files.retain(|file| !file.contains(std::path::is_separator) && file != "..");
        files.sort();
        files.dedup();
        files.into_iter().map(|file| (file.clone(), dir.join(file))).collect()
    }
}

/// Plans a study, and finds all its errors before anything runs.
///
/// # Errors
///
/// The first error and its location.
pub fn plan(source: Source) -> Result<Plan, Error> {
    plan_with(source, &Registry::new())
}

/// Does the same as [`plan`], with the names of a registry besides the built-in ones.
///
/// # Errors
///
/// The first error and its location.
pub fn plan_with(source: Source, registry: &Registry) -> Result<Plan, Error> {
    let file = source.parse_study()?;
    let mut study: Study = file.read()?;
    study.fill_defaults(source.study_file_name());
    study.expand_names(&file)?;
    study.fill_commands(&file, &source)?;
    plan_study(source, study, registry)
}

fn plan_study(source: Source, mut study: Study, registry: &Registry) -> Result<Plan, Error> {
    let file = source.parse_study()?;
    check::check_names(&file, &study)?;
    let recorded = StoredVerdicts::of(&source)?;
    let mut planner = Planner {
        source: &source,
        file: &file,
        study: &study,
        registry,
        jobs: Vec::new(),
        job_numbers: BTreeMap::new(),
        texts: BTreeMap::new(),
        derived: Vec::new(),
        applied: AppliedKeys::default(),
    };
    let numbers = 0..study.figures.len();
    let figures = numbers.map(|number| planner.figure(number)).collect::<Result<Vec<_>, _>>()?;
    planner.applied.check(&file, &study)?;
    let Planner { jobs, texts, derived, .. } = planner;
    let own = source.study_file_name();
    let files = texts.into_keys().filter(|file| file != own).collect();
    study.derived_arms = derived;
    let statements = statement::plan(&file, &study, &figures, &recorded, None)?;
    Ok(Plan { source, study, files, jobs, figures, statements })
}

pub(super) struct Planner<'a> {
    source: &'a Source,
    file: &'a TomlFile,
    pub(super) study: &'a Study,
    pub(super) registry: &'a Registry,
    jobs: Vec<Job>,
    /// Jobs by their scenario's digest, first seed and number of runs.
    job_numbers: BTreeMap<(String, Option<u64>, Option<u64>), usize>,
    /// Scenario files by name.
    texts: BTreeMap<String, String>,
    /// Arms that readings derive, each once.
    pub(super) derived: Vec<Arm>,
    /// The overrides of readings that were applied.
    pub(super) applied: AppliedKeys,
}

impl Planner<'_> {
    fn figure(&mut self, number: usize) -> Result<PlannedFigure, Error> {
        let (file, study) = (self.file, self.study);
        let figure = &study.figures[number];
        let arms = check::figure_arms(file, study, number)?;
        let (points, unit) = match &figure.x {
            Some(axis) => axis_points(file, axis, number)?,
            None => (vec![Point::new(Coordinate::Number(0.0), Settings::new())], Unit::One),
        };
        reference_check::check(file, figure, number, arms.len())?;
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        check::check_measures(file, figure, number, &names, unit)?;
        if let Some(trace) = &figure.trace {
            check::check_trace(file, figure, trace, number)?;
        }
        let only = self.derived_only(number);
        let mut all = Vec::new();
        for arm in arms {
            // An arm that only readings represent is not run itself.
            let own = if only.contains(&arm.name.as_str()) { &[] } else { &points[..] };
            all.push(self.arm_with_jobs(number, own, arm, Vec::new())?);
        }
        let arms = self.with_readings(number, &points, all)?;
        let on_axis = figure.x.is_some();
        let points = points.iter().map(|Point { at, name, reference, .. }| AxisPoint {
            value: check::axis_position(at).map(|(value, _)| value).filter(|_| on_axis),
            text: if on_axis { check::coordinate_text(at) } else { String::new() },
            name: name.clone(),
            reference: reference.clone(),
        });
        Ok(PlannedFigure { figure: figure.clone(), arms, points: points.collect(), unit })
    }

    /// An arm with its jobs at all points.
    pub(super) fn arm_with_jobs(
        &mut self,
        figure: usize,
        points: &[Point],
        arm: Arm,
        derived: Vec<DerivedFrom>,
    ) -> Result<PlannedArm, Error> {
        let points = points.iter().enumerate();
        let jobs = points.map(|(at, point)| self.job(figure, &arm, at, &point.set));
        Ok(PlannedArm { jobs: jobs.collect::<Result<_, Error>>()?, arm, derived })
    }

    /// The scenario file of an arm in a figure, with its name in messages.
    pub(super) fn scenario_text(
        &mut self,
        figure: usize,
        arm: &Arm,
    ) -> Result<(String, String), Error> {
        let name = arm.scenario.as_ref().unwrap_or(&self.study.figures[figure].scenario);
        let text = match self.texts.get(name) {
            Some(text) => text.clone(),
            None => {
                let text = self.read(figure, arm, name)?;
                self.texts.entry(name.clone()).or_insert(text).clone()
            }
        };
        Ok((self.source.display_path(name), text))
    }

    /// The job of one arm at one point; jobs with the same scenario are shared.
    fn job(
        &mut self,
        figure: usize,
        of_arm: &Arm,
        step: usize,
        of_axis: &Settings,
    ) -> Result<usize, Error> {
        let of_figure = &self.study.figures[figure];
        let name = of_arm.scenario.as_ref().unwrap_or(&of_figure.scenario);
        let set: Vec<(String, String)> = [&of_figure.set, &of_arm.set, of_axis]
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.0.clone()))
            .collect();
        let (place, text) = self.scenario_text(figure, of_arm)?;
        let loaded = Scenario::parse_with(&place, &text, &set, self.registry);
        let scenario = loaded.map_err(|error| {
            let error = self.relocate(&error, figure, of_arm, step);
            let of = format!("figure {}, arm {}", of_figure.id, of_arm.name);
            Error::File { error: Box::new(error), context: Some(of) }
        })?;
        check::check_flows(of_figure, &scenario).map_err(|(measure, what)| {
            let error = self.file.error(&keys!["figure", figure, "y", measure], &what);
            Error::File { error: Box::new(error), context: Some(place.clone()) }
        })?;
        let next = self.jobs.len();
        let Figure { first_seed, runs, .. } = *of_figure;
        let runs = runs.filter(|runs| *runs != self.study.runs);
        let file = self.source.command_path(name);
        let job = Job { first_seed, runs, ..Job::new(scenario, file, set) };
        let number =
            *self.job_numbers.entry((job.digest.clone(), first_seed, runs)).or_insert(next);
        if number == next {
            self.jobs.push(job);
        }
        Ok(number)
    }

    /// Reads a scenario file.
    fn read(&self, figure: usize, arm: &Arm, name: &str) -> Result<String, Error> {
        let keys = match &arm.scenario {
            Some(_) => [&arm.place[..], &keys!["scenario"]].concat(),
            None => keys!["figure", figure, "scenario"].to_vec(),
        };
        if name.contains(std::path::is_separator) || name == ".." {
            let message = "the scenarios of a paper are in the directory of its paper.toml\nuse the file name only";
            return Err(self.file.error(&keys, message).into());
        }
        self.source.read_file(name).map_err(|error| {
            if error.is_input() { self.file.error(&keys, &error.to_string()).into() } else { error }
        })
    }

    /// Relocates an error in an override to the paper's file, at the override that takes
    /// precedence.
    fn relocate(&self, error: &Wrong, figure: usize, arm: &Arm, step: usize) -> Wrong {
        let Some(key) = error.location().strip_prefix("--set ") else { return error.clone() };
        if self.source.is_from_text() {
            return error.clone();
        }
        let message = match error.help() {
            Some(help) => format!("{key}: {}\n{help}", error.message()),
            None => format!("{key}: {}", error.message()),
        };
        let of_figure: &Figure = &self.study.figures[figure];
        let on_axis = of_figure.x.as_ref();
        if on_axis.is_some_and(|axis| axis.key.0.iter().any(|of| of == key)) {
            self.file.error(&keys!["figure", figure, "x", "values", step], &message)
        } else if on_axis.is_some_and(|axis| axis.set.contains_key(key)) {
            self.file.error(&keys!["figure", figure, "x", "set", key], &message)
        } else if on_axis
            .and_then(|axis| axis.points.get(step))
            .is_some_and(|point| point.set.contains_key(key))
        {
            self.file.error(&keys!["figure", figure, "x", "points", step, "set", key], &message)
        } else if arm.set.contains_key(key) {
            self.file.error(&[&arm.place[..], &keys!["set", key]].concat(), &message)
        } else {
            self.file.error(&keys!["figure", figure, "set", key], &message)
        }
    }
}
