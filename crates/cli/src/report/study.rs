//! The results of a study, in the directory that `sweep --out` or `paper --out` wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::select::SelectionArgs;
use driftway_experiment::study::source::{PAPER_FILE, STUDY_FILE, Source};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::failure::Failure;
use crate::figures::options::FigureOptions;
use crate::paper::{Output, run_study};

/// The fields of a study's results that say what was run.
#[derive(Deserialize)]
pub struct StudyHeader {
    study: Option<String>,
    seeds: Vec<u64>,
    recorded: String,
    figures: Vec<FigureHeader>,
}

#[derive(Deserialize)]
struct FigureHeader {
    figure: String,
    arms: BTreeMap<String, Vec<IgnoredAny>>,
}

/// Reads what was run, if the results in a directory are those of a study.
pub fn read_header(dir: &Path) -> Option<StudyHeader> {
    let text = fs::read_to_string(dir.join("results.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes the page again and prints the tables. The runs come from the cache; those that are not there
/// are repeated.
///
/// # Errors
/// The study is not in the directory, or is invalid; a failed run; an interruption.
pub fn report(dir: &Path, header: &StudyHeader, figures: &FigureOptions) -> Result<(), Failure> {
    let named = header.study.iter().map(|name| format!("{name}.toml"));
    let files = [STUDY_FILE, PAPER_FILE].map(str::to_owned).into_iter().chain(named);
    let Some(file) = files.map(|file| dir.join(file)).find(|file| file.is_file()) else {
        let dir = dir.display();
        return Err(Failure::Input(format!(
            "{dir}: results of a study, but the study is not there\nhelp: `driftway sweep \
             STUDY.toml --out {dir}` writes both"
        )));
    };
    let plan = plan(Source::from_file(&file)?)?;
    let output = Output { out: Some(dir), json: false, record: false, figures };
    run_study(&plan, &header.selection(&plan), (None, false), output)
}

impl StudyHeader {
    /// The part of the study that was run.
    fn selection(&self, plan: &Plan) -> SelectionArgs {
        let run = |id: &str| self.figures.iter().find(|of| of.figure == id);
        let all = plan.figures.iter().all(|planned| run(&planned.figure.id).is_some());
        let mut figures: Vec<String> = self.figures.iter().map(|of| of.figure.clone()).collect();
        figures.dedup();
        let has_fewer = |of: &FigureHeader, points: usize| {
            of.arms.values().any(|results| results.len() < points)
        };
        let is_short = plan.figures.iter().any(|planned| {
            run(&planned.figure.id).is_some_and(|of| has_fewer(of, planned.points.len()))
        });
        let quick = is_short || self.recorded == "quick";
        let planned = if quick { plan.study.quick.runs } else { plan.study.runs };
        let runs = self.seeds.len() as u64;
        SelectionArgs {
            figures: if all { Vec::new() } else { figures },
            runs: Some(runs).filter(|runs| *runs > 0 && *runs != planned),
            quick,
        }
    }
}
