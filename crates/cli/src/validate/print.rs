//! Text output of `driftway validate`.

use std::fmt::Write;

use super::tables::{counts_table, goodput_table, interval, value_table};
use crate::text::{count, wrapped};
use driftway_experiment::study::reference::AgreementCriterion;
use driftway_experiment::validation::document::{CaseResult, ValidationDocument};

use super::compared_value::ComparedValues;

/// All cases and the summary as text.
pub fn document(document: &ValidationDocument) -> String {
    let mut text = String::new();
    for case in &document.cases {
        let _ = writeln!(text, "{} ({})", case.title, case.name);
        text += &wrapped(&source(case), 0);
        let _ = write!(text, "{}", goodput_table(case));
        if let Some(counts) = counts_table(case) {
            let _ = write!(text, "Ratio to the other simulator; small counts as pairs\n{counts}");
        }
        text += &wrapped(&verdict(case), 0);
        if let Some(note) = &case.note {
            text += &wrapped(note, 0);
        }
        text.push('\n');
    }
    for of in ComparedValues::of(document) {
        let _ = writeln!(text, "{} ({})", of.title, of.name);
        if let Some(source) = of.source {
            text += &wrapped(&format!("Source: {source}."), 0);
        }
        let _ = write!(text, "{}", value_table(&of));
        text += &wrapped(&judgement(of.judge, of.agrees), 0);
        if let Some(note) = of.note {
            text += &wrapped(note, 0);
        }
        text.push('\n');
    }
    text += &wrapped(&summary(document), 0);
    text
}

/// Source of the other simulator's numbers.
pub fn source(case: &CaseResult) -> String {
    let name = case.against.name();
    if case.beside {
        format!("Against {name}, run as well.")
    } else {
        format!("Against {name}'s stored numbers.")
    }
}

/// Verdict on a case.
pub fn verdict(case: &CaseResult) -> String {
    let mut text = String::new();
    if case.judge == AgreementCriterion::LogRatio
        && let Some(log) = case.log_ratio
    {
        let points = count(case.points.len() as u64, "point");
        let _ = write!(text, "Mean log ratio over {points}: {}. ", interval(log));
    }
    text + &judgement(case.judge, case.agrees)
}

/// A verdict with its criterion, such as `Agrees: …`.
pub fn judgement(judge: AgreementCriterion, agrees: Option<bool>) -> String {
    let what = match judge {
        AgreementCriterion::Reported => return "Reported, not judged.".to_owned(),
        AgreementCriterion::Within(part) => {
            format!("each ratio within {} %", (part * 1e6).round() / 1e4)
        }
        AgreementCriterion::LogRatio => "its 90 % interval between ln 0.9 and ln 1.1".to_owned(),
    };
    match agrees {
        Some(true) => format!("Agrees: {what}."),
        Some(false) => format!("Differs: not {what}."),
        None => format!("Not judged: too few runs to say whether {what}."),
    }
}

/// Number of cases that agree, and the time that the runs took.
pub fn summary(document: &ValidationDocument) -> String {
    let verdicts: Vec<Option<bool>> = document
        .cases
        .iter()
        .map(|case| case.agrees)
        .chain(document.formulas.iter().map(|of| of.agrees))
        .chain(document.published.iter().map(|of| of.agrees))
        .collect();
    let of = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
    format!(
        "{}: {} agree, {} differ, {} not judged. {:.0} s, {} at a time. ± is half of the 90 % \
         interval.",
        count(verdicts.len() as u64, "case"),
        of(Some(true)),
        of(Some(false)),
        of(None),
        document.timing.wall_s,
        document.timing.jobs,
    )
}
