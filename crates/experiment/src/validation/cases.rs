//! The cases of a study: its figures with a reference.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::runner::Job;
use crate::study::format::{Measure, Settings};
use crate::study::plan::{Plan, PlannedFigure, plan};
use crate::study::reference::{
    AgreementCriterion, FormulaKind, Ns2Config, PublishedMeasure, Reference, ReferenceSimulator,
};
use crate::study::source::Source;
use crate::words::available;

/// Common part of cases with a simulator and with a formula.
#[derive(Clone, Debug)]
pub struct CaseInfo {
    /// Name on the command line.
    pub name: String,
    /// Title.
    pub title: String,
    /// Label of the axis.
    pub axis: String,
    /// Runs per point, unless the command line sets another number.
    pub seeds: u64,
    /// Criterion of agreement.
    pub judge: AgreementCriterion,
    /// Note for readers.
    pub note: Option<String>,
    /// Points.
    pub points: Vec<Point>,
}

/// A scenario at several points, compared with another simulator.
#[derive(Clone, Debug)]
pub struct SimulatorCase {
    /// Common part.
    pub about: CaseInfo,
    /// Configuration of the corresponding run of ns-2.
    pub ns2: Option<Ns2Config>,
    /// The simulator of the stored results.
    pub against: ReferenceSimulator,
}

/// A scenario at several points, compared with a formula.
#[derive(Clone, Debug)]
pub struct FormulaCase {
    /// Common part.
    pub about: CaseInfo,
    /// The formula.
    pub formula: FormulaKind,
    /// Publication of the formula.
    pub source: Option<String>,
}

/// A scenario at several points, compared with published values.
#[derive(Clone, Debug)]
pub struct PublishedCase {
    /// Common part.
    pub about: CaseInfo,
    /// The publication.
    pub source: String,
    /// The figure's measure.
    pub y: Measure,
    /// Another measure in its place.
    pub measure: Option<PublishedMeasure>,
}

/// A point of a case.
#[derive(Clone, Debug)]
pub struct Point {
    /// Name.
    pub name: String,
    /// The job.
    pub job: Job,
    /// Parameters of the reference.
    pub reference: Settings,
}

/// The cases of a study and its directory.
#[derive(Debug)]
pub struct ValidationCases {
    /// Directory of the study.
    pub dir: PathBuf,
    /// Cases with a simulator.
    pub cases: Vec<SimulatorCase>,
    /// Cases with a formula.
    pub formulas: Vec<FormulaCase>,
    /// Cases with published values.
    pub published: Vec<PublishedCase>,
}

impl ValidationCases {
    /// Loads the study in `path` with the cases called `names`; all if empty.
    ///
    /// # Errors
    ///
    /// The file is missing or invalid, or there is no case of such a name.
    pub fn load(path: &Path, names: &[String]) -> Result<Self, Error> {
        if !path.is_file() {
            return Err(Error::refused_with(
                format!("{}: there is no such file", path.display()),
                "driftway's own is `studies/validation` in its sources; run this command there, or \
                 select the file with --study",
            ));
        }
        let plan = plan(Source::from_file(path)?)?;
        let figures = plan.figures.iter();
        let held: Vec<(&PlannedFigure, &Reference)> =
            figures.filter_map(|of| Some((of, of.figure.reference.as_ref()?))).collect();
        let known: Vec<&str> = held.iter().map(|(of, _)| of.figure.id.as_str()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
            let message = format!("there is no case `{name}`");
            return Err(Error::refused_with(message, available(name, &known)));
        }
        if held.is_empty() {
            let message = format!("{}: no figure has a reference", path.display());
            return Err(Error::refused_with(message, "add a [figure.reference] to one"));
        }
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut cases =
            Self { dir, cases: Vec::new(), formulas: Vec::new(), published: Vec::new() };
        for (planned, reference) in held {
            if !names.is_empty() && !names.contains(&planned.figure.id) {
                continue;
            }
            let about = case_info(&plan, planned, reference);
            let source = reference.source.clone();
            if let Some(against) = reference.simulator {
                cases.cases.push(SimulatorCase { about, ns2: reference.ns2.clone(), against });
            } else if let Some(formula) = reference.formula {
                cases.formulas.push(FormulaCase { about, formula, source });
            } else if let (Some(source), [y]) = (source, &planned.figure.y[..]) {
                let (y, measure) = (y.clone(), reference.measure);
                cases.published.push(PublishedCase { about, source, y, measure });
            }
        }
        Ok(cases)
    }
}

fn case_info(plan: &Plan, planned: &PlannedFigure, reference: &Reference) -> CaseInfo {
    let figure = &planned.figure;
    // A figure with a reference has one arm.
    let points = planned.points.iter().zip(&planned.arms[0].jobs).map(|(x, &job)| Point {
        name: x.title().to_owned(),
        job: plan.jobs[job].clone(),
        reference: x.reference.clone(),
    });
    CaseInfo {
        name: figure.id.clone(),
        title: figure.title.clone(),
        axis: figure.x.as_ref().map_or_else(String::new, |axis| axis.label.clone()),
        seeds: reference.runs.unwrap_or(plan.study.runs),
        judge: reference.judge,
        note: figure.note.clone(),
        points: points.collect(),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn here() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/validation/study.toml")
    }

    #[test]
    fn every_case_can_be_run_and_compared() {
        let cases = ValidationCases::load(&here(), &[]).unwrap();
        let counts = (cases.cases.len(), cases.formulas.len(), cases.published.len());
        assert_eq!(counts, (17, 9, 14));
        assert!(cases.formulas.iter().filter(|case| case.source.is_some()).count() == 6);
        for case in &cases.cases {
            assert_eq!(
                case.against == ReferenceSimulator::Ns2,
                case.ns2.is_some(),
                "{}",
                case.about.name
            );
        }
        let [last] =
            &ValidationCases::load(&here(), &["exchange".to_owned()]).unwrap().formulas[..]
        else {
            panic!();
        };
        assert_eq!((last.about.seeds, last.about.points.len()), (1, 8));
        assert_eq!(last.about.points[0].name, "40 B, RTS");
        // Values that were only recalled are not judged.
        let recalled = cases.published.iter().filter(|case| case.source.contains("recalled"));
        assert!(recalled.into_iter().all(|case| case.about.judge == AgreementCriterion::Reported));
    }

    #[test]
    fn unknown_cases_get_a_suggestion() {
        let error = ValidationCases::load(&here(), &["mobile-aod".to_owned()]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("did you mean `mobile-aodv`?"), "{message}");
        let message = ValidationCases::load(Path::new("/nowhere"), &[]).unwrap_err().to_string();
        assert!(message.contains("--study"), "{message}");
    }
}
