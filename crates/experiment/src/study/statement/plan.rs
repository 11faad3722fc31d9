//! Planning of statements: one entry per figure and reading, names resolved.

use driftway_scenario::{Error, TomlFile, Unit};

use super::cases::CaseBuilder;
use super::causes;
use super::format::{Bound, Statement, StatementKind};
use super::planned::{Case, CountedAs, PlannedStatement};
use crate::study::check::{figure_names, find_measure, find_name, keys};
use crate::study::format::Study;
use crate::study::number::{NumberUnit, PaperNumber};
use crate::study::planned_figure::PlannedFigure;
use crate::study::reading::Reading;
use crate::study::recorded_verdicts::{StoredVerdicts, VerdictPair};
use crate::units::metric_unit;

/// Resolves all statements, or those in the reading `only`.
///
/// # Errors
///
/// The first error and its location.
pub fn plan(
    file: &TomlFile,
    study: &Study,
    figures: &[PlannedFigure],
    recorded: &StoredVerdicts,
    only: Option<&str>,
) -> Result<Vec<PlannedStatement>, Error> {
    causes::check_texts(file, study)?;
    let mut all: Vec<PlannedStatement> = Vec::new();
    for number in 0..study.statements.len() {
        for mut planned in plan_statement(file, study, figures, number, only)? {
            planned.recorded = recorded.0.get(&planned.id).copied().unwrap_or_default();
            if all.iter().any(|other| other.id == planned.id) {
                let message = format!("`{}` is a duplicate\nchoose another name", planned.id);
                return Err(file.error(&keys!["statement", number, "id"], &message));
            }
            all.push(planned);
        }
    }
    Ok(all)
}

/// Plans a statement for each of its figures and readings.
fn plan_statement(
    file: &TomlFile,
    study: &Study,
    figures: &[PlannedFigure],
    number: usize,
    only: Option<&str>,
) -> Result<Vec<PlannedStatement>, Error> {
    let statement = &study.statements[number];
    check_predicate(file, statement, number)?;
    check_readings(file, study, number)?;
    causes::check(file, study, number)?;
    let mut all = Vec::new();
    for (at, name) in statement.figure.0.iter().enumerate() {
        let keys = match statement.figure.0.len() {
            1 => keys!["statement", number, "figure"].to_vec(),
            _ => keys!["statement", number, "figure", at].to_vec(),
        };
        let figure = find_name(file, &keys, "figure", name, &figure_names(study))?;
        let of = &figures[figure].figure;
        let metric_keys = keys!["statement", number, "metric"];
        let measure = find_measure(file, of, &metric_keys, statement.metric.as_deref())?;
        check_unit(file, statement, number, &of.y[measure].name())?;
        let mut literal: Option<Vec<Case>> = None;
        let is_wanted =
            |of: &Option<&Reading>| only.is_none() || of.map(|of| of.name.as_str()) == only;
        let readings = statement_readings(study, statement, name);
        for reading in readings.into_iter().filter(is_wanted) {
            let cases = CaseBuilder { file, study, figures, figure, measure, number, reading };
            let cases = cases.build(statement)?;
            // Where a reading changes nothing, there is nothing to count again.
            match &literal {
                Some(literal) if *literal == cases => continue,
                Some(_) => {}
                None => literal = Some(cases.clone()),
            }
            let suffix = reading.map_or_else(String::new, |of| format!("-{}", of.name));
            all.push(PlannedStatement {
                id: format!("{name}-{}{suffix}", statement.id),
                statement: statement.clone(),
                figure,
                measure,
                counted: counted_as(statement),
                kind: kind(statement),
                recorded: VerdictPair::default(),
                cause: causes::cause(study, statement, &figures[figure], reading),
                cases,
                reading: reading.map(|of| of.name.clone()),
            });
        }
    }
    if statement.figure.0.is_empty() {
        let message = "a statement needs a figure\nadd `figure = …`";
        return Err(file.error(&keys!["statement", number, "figure"], message));
    }
    Ok(all)
}

/// The readings in which a statement about a figure is judged, or `None` alone if it is judged in no reading.
fn statement_readings<'a>(
    study: &'a Study,
    statement: &Statement,
    figure: &str,
) -> Vec<Option<&'a Reading>> {
    let all = study.readings.iter().filter(|of| study.is_judged(statement, figure, of));
    let all: Vec<_> = all.map(Some).collect();
    if all.is_empty() { vec![None] } else { all }
}

/// Checks the names of a statement's readings.
fn check_readings(file: &TomlFile, study: &Study, number: usize) -> Result<(), Error> {
    let names: Vec<&str> = study.readings.iter().map(|of| of.name.as_str()).collect();
    for (at, name) in study.statements[number].readings.iter().enumerate() {
        find_name(file, &keys!["statement", number, "readings", at], "reading", name, &names)?;
    }
    Ok(())
}

const fn counted_as(statement: &Statement) -> CountedAs {
    match statement {
        Statement { capped: Some(_), .. } => CountedAs::Capped,
        Statement { ours: true, .. } => CountedAs::Ours,
        Statement { number: Some(_), .. } => CountedAs::Number,
        _ => CountedAs::Order,
    }
}

const fn kind(statement: &Statement) -> StatementKind {
    if statement.number.is_some() { StatementKind::Text } else { StatementKind::Shape }
}

/// Checks that there is exactly one predicate, with a matching number.
fn check_predicate(file: &TomlFile, statement: &Statement, number: usize) -> Result<(), Error> {
    let wrong =
        |key: &str, message: &str| Err(file.error(&keys!["statement", number, key], message));
    let written: Vec<&str> = [
        ("value", statement.value.is_some()),
        ("ratio", statement.ratio.is_some()),
        ("order", statement.order.is_some()),
        ("trend", statement.trend.is_some()),
        ("growth", statement.growth.is_some()),
        ("added", statement.added.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, there)| there.then_some(key))
    .collect();
    let [key] = written[..] else {
        let message = "a statement has exactly one predicate\n\
                       it is one of value, ratio, order, trend, growth, added";
        return wrong(written.last().unwrap_or(&"id"), message);
    };
    let band = statement.band;
    if let Some((low, high)) = band
        && !(low.is_finite() && high.is_finite() && low < high)
    {
        return wrong("band", "a band has its lower end first\nas in [1, 1.1]");
    }
    match (key, statement.number, band) {
        ("value", None, _) => {
            return wrong(key, "a value needs the paper's number\nadd `number = …`");
        }
        ("ratio", None, None) => {
            return wrong(key, "a ratio needs a number or a band\nadd `number = …` or `band = …`");
        }
        ("ratio", Some(_), Some(_)) | ("value", _, Some(_)) => {
            return wrong("band", "only a ratio can have a band, and not together with a number");
        }
        ("value" | "ratio", ..) | ("added", Some(_), None) => {}
        (_, None, None) if statement.bound.is_none() => {}
        _ => {
            let message = "an order has no number\nleave `number`, `bound` and `band` out";
            return wrong(key, message);
        }
    }
    if statement.bound.is_some() && statement.number.is_none() {
        return wrong("bound", "a bound needs a number\nadd `number = …`");
    }
    if let Some(capped) = &statement.capped
        && (capped.trim().is_empty() || !statement.because.0.is_empty())
    {
        let message = "a capped statement needs a reason, and its verdict has no cause\n\
                       write a reason here, and leave `because` out";
        return wrong("capped", message);
    }
    Ok(())
}

/// Checks that the number has the unit of the measure.
fn check_unit(
    file: &TomlFile,
    statement: &Statement,
    number: usize,
    metric: &str,
) -> Result<(), Error> {
    let wrong =
        |key: &str, message: &str| Err(file.error(&keys!["statement", number, key], message));
    let Some(said) = statement.number else { return Ok(()) };
    let unit = if statement.ratio.is_some() { Unit::One } else { metric_unit(metric) };
    let fits = match said.unit {
        None => true,
        Some(NumberUnit::Percent) => unit == Unit::One,
        Some(NumberUnit::Quantity(of)) => of == unit,
    };
    if !fits {
        return wrong("number", &format!("this is not in the unit of {metric}"));
    }
    let none = PaperNumber { unit: None, low: 0.0, high: 0.0 };
    if statement.bound == Some(Bound::AtLeast) && said == none {
        return wrong("bound", "at least 0 always holds");
    }
    Ok(())
}
