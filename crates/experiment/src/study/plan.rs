//! What a paper's file asks to be run: checked, with every name resolved, each scenario once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use driftway_scenario::{Coordinate, Error as Wrong, Mobility, Network, Scenario, TomlFile, Unit};

use super::check::{self, keys};
use super::format::{Figure, Settings, Study};
use super::reference;
use super::source::Source;
use super::statement::{self, PlannedStatement};
use crate::error::Error;
use crate::runner::Job;

/// Everything there is to do for a study.
#[derive(Debug)]
pub struct Plan {
    /// Where it comes from.
    pub source: Source,
    /// What its file says.
    pub study: Study,
    /// Names of the scenario files.
    pub files: Vec<String>,
    /// Scenarios, each once however many figures need it.
    pub jobs: Vec<Job>,
    /// One a figure of the file.
    pub figures: Vec<PlannedFigure>,
    /// One a statement of the file, in each of its figures and readings.
    pub statements: Vec<PlannedStatement>,
}

impl Plan {
    /// The movement files of its scenarios that stand beside the study, and where they are.
    pub fn movements(&self) -> Vec<(String, PathBuf)> {
        let Some(dir) = self.source.dir() else { return Vec::new() };
        let named = |job: &Job| match &job.scenario.network {
            Network::Adhoc(adhoc) => match &adhoc.mobility {
                Mobility::File(movement) => Some(movement.file.clone()),
                _ => None,
            },
            Network::Path(_) => None,
        };
        let mut files: Vec<String> = self.jobs.iter().filter_map(named).collect();
        files.retain(|file| !file.contains(std::path::is_separator) && file != "..");
        files.sort();
        files.dedup();
        files.into_iter().map(|file| (file.clone(), dir.join(file))).collect()
    }
}

/// A figure, its names resolved.
#[derive(Clone, Debug)]
pub struct PlannedFigure {
    /// Numbers of its arms among the paper's.
    pub arms: Vec<usize>,
    /// The points of its axis; one without a place where there is no axis.
    pub points: Vec<AxisPoint>,
    /// The axis' unit.
    pub unit: Unit,
    /// For each arm, for each point, the number of the job.
    pub jobs: Vec<Vec<usize>>,
}

impl PlannedFigure {
    /// The number of the point at `value`, in base units.
    pub fn point_at(&self, value: f64) -> Option<usize> {
        let here = |x: &Option<f64>| x.is_some_and(|x| (x - value).abs() <= 1e-9 * value.abs());
        self.points.iter().position(|x| here(&x.value))
    }
}

/// A point of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisPoint {
    /// In base units; `None`: there is no axis.
    pub value: Option<f64>,
    /// As the file has it.
    pub text: String,
    /// What it is called, where it has a name.
    pub name: Option<String>,
}

impl AxisPoint {
    /// What a reader knows it by.
    pub fn title(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.text)
    }
}

/// Finds everything that is wrong with a paper before anything runs.
///
/// # Errors
/// What is wrong first, and where.
pub fn plan(source: Source) -> Result<Plan, Error> {
    let file = source.parse_study()?;
    let mut study: Study = file.read()?;
    study.fill_defaults();
    replan(source, study)
}

/// Plans a study of which a part was left out since it was read, with its defaults written out.
///
/// # Errors
/// What is wrong first, and where in the file.
pub fn replan(source: Source, study: Study) -> Result<Plan, Error> {
    let file = source.parse_study()?;
    check::check_names(&file, &study)?;
    let mut planner = Planner {
        source: &source,
        file: &file,
        study: &study,
        jobs: Vec::new(),
        job_numbers: BTreeMap::new(),
        texts: BTreeMap::new(),
    };
    let numbers = 0..study.figures.len();
    let figures = numbers.map(|number| planner.figure(number)).collect::<Result<Vec<_>, _>>()?;
    let jobs = planner.jobs;
    let files = planner.texts.into_keys().collect();
    let statements = statement::plan(&file, &study, &figures)?;
    Ok(Plan { source, study, files, jobs, figures, statements })
}

struct Planner<'a> {
    source: &'a Source,
    file: &'a TomlFile,
    study: &'a Study,
    jobs: Vec<Job>,
    /// Jobs by their scenario's digest and the first of their seeds.
    job_numbers: BTreeMap<(String, Option<u64>), usize>,
    /// Scenario files by name.
    texts: BTreeMap<String, String>,
}

impl Planner<'_> {
    fn figure(&mut self, number: usize) -> Result<PlannedFigure, Error> {
        let (file, study) = (self.file, self.study);
        let figure = &study.figures[number];
        let arms = check::figure_arms(file, study, number)?;
        let (steps, unit) = match &figure.x {
            Some(axis) => check::axis_steps(file, axis, number)?,
            None => (vec![(Coordinate::Number(0.0), Settings::new(), None)], Unit::One),
        };
        reference::check(file, figure, number, arms.len())?;
        let names: Vec<&str> = arms.iter().map(|&arm| study.arms[arm].name.as_str()).collect();
        check::check_measures(file, figure, number, &names, unit)?;
        if let Some(trace) = &figure.trace {
            check::check_trace(file, figure, trace, number)?;
        }
        let mut jobs = Vec::with_capacity(arms.len());
        for &arm in &arms {
            let row = steps.iter().enumerate().map(|(at, step)| self.job(number, arm, at, &step.1));
            jobs.push(row.collect::<Result<Vec<_>, _>>()?);
        }
        let on_axis = figure.x.is_some();
        let xs = steps.iter().map(|(x, _, name)| AxisPoint {
            value: check::axis_position(x).map(|(value, _)| value).filter(|_| on_axis),
            text: if on_axis { check::coordinate_text(x) } else { String::new() },
            name: name.clone(),
        });
        Ok(PlannedFigure { arms, points: xs.collect(), unit, jobs })
    }

    /// The job of one arm at one point: one that is there already, if its scenario is.
    fn job(
        &mut self,
        figure: usize,
        arm: usize,
        step: usize,
        of_axis: &Settings,
    ) -> Result<usize, Error> {
        let (of_figure, of_arm) = (&self.study.figures[figure], &self.study.arms[arm]);
        let name = of_arm.scenario.as_ref().unwrap_or(&of_figure.scenario);
        let set: Vec<(String, String)> = [&of_figure.set, &of_arm.set, of_axis]
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.0.clone()))
            .collect();
        let place = self.source.display_path(name);
        let text = match self.texts.get(name) {
            Some(text) => text,
            None => {
                let text = self.read(figure, arm, name)?;
                self.texts.entry(name.clone()).or_insert(text)
            }
        };
        let scenario = Scenario::parse(&place, text, &set).map_err(|error| {
            let error = self.relocate(&error, figure, arm, step);
            let of = format!("figure {}, arm {}", of_figure.id, of_arm.name);
            Error::File { error: Box::new(error), context: Some(of) }
        })?;
        check::check_flows(of_figure, &scenario).map_err(|(measure, what)| {
            let error = self.file.error(&keys!["figure", figure, "y", measure], &what);
            Error::File { error: Box::new(error), context: Some(place.clone()) }
        })?;
        let next = self.jobs.len();
        let first_seed = of_figure.first_seed;
        let job = Job { first_seed, ..Job::new(scenario, self.source.command_path(name), set) };
        let number = *self.job_numbers.entry((job.digest.clone(), first_seed)).or_insert(next);
        if number == next {
            self.jobs.push(job);
        }
        Ok(number)
    }

    /// The text of a scenario file.
    fn read(&self, figure: usize, arm: usize, name: &str) -> Result<String, Error> {
        let keys = match &self.study.arms[arm].scenario {
            Some(_) => keys!["arm", arm, "scenario"],
            None => keys!["figure", figure, "scenario"],
        };
        if name.contains(std::path::is_separator) || name == ".." {
            let message = "a paper's scenarios stand beside its paper.toml\nname the file alone";
            return Err(self.file.error(&keys, message).into());
        }
        self.source.read_file(name).map_err(|error| {
            if error.is_input() { self.file.error(&keys, &error.to_string()).into() } else { error }
        })
    }

    /// A mistake in a setting is one of the paper's file, at the setting that came last.
    fn relocate(&self, error: &Wrong, figure: usize, arm: usize, step: usize) -> Wrong {
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
        } else if on_axis
            .and_then(|axis| axis.points.get(step))
            .is_some_and(|point| point.set.contains_key(key))
        {
            self.file.error(&keys!["figure", figure, "x", "points", step, "set", key], &message)
        } else if self.study.arms[arm].set.contains_key(key) {
            self.file.error(&keys!["arm", arm, "set", key], &message)
        } else {
            self.file.error(&keys!["figure", figure, "set", key], &message)
        }
    }
}
