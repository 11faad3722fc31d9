//! Planning of statements: one entry per figure and reading, names resolved.

use driftway_scenario::{Error, TomlFile, Unit};

use super::cases::CaseBuilder;
use super::format::{Bound, Disagreement, Reading, Statement, StatementKind, Verdict};
use super::planned::{CountedAs, PlannedStatement};
use crate::study::check::{figure_names, find_measure, find_name, keys};
use crate::study::format::Study;
use crate::study::number::{NumberUnit, PaperNumber};
use crate::study::planned_figure::PlannedFigure;
use crate::units::metric_unit;

/// Resolves all statements.
///
/// # Errors
///
/// The first error and its location.
pub fn plan(
    file: &TomlFile,
    study: &Study,
    figures: &[PlannedFigure],
) -> Result<Vec<PlannedStatement>, Error> {
    let mut all: Vec<PlannedStatement> = Vec::new();
    for number in 0..study.statements.len() {
        for planned in plan_statement(file, study, figures, number)? {
            if all.iter().any(|other| other.id == planned.id) {
                let message = format!("`{}` is a duplicate\nchoose another name", planned.id);
                return Err(file.error(&keys!["statement", number, "id"], &message));
            }
            all.push(planned);
        }
    }
    let names: Vec<&str> = all.iter().map(|planned| planned.id.as_str()).collect();
    for (number, name) in study.quick.otherwise.iter().enumerate() {
        find_name(file, &keys!["quick", "otherwise", number], "statement", name, &names)?;
    }
    Ok(all)
}

/// Plans a statement for each of its figures and readings.
fn plan_statement(
    file: &TomlFile,
    study: &Study,
    figures: &[PlannedFigure],
    number: usize,
) -> Result<Vec<PlannedStatement>, Error> {
    let statement = &study.statements[number];
    check_predicate(file, statement, number)?;
    let readings = statement_readings(file, study, number)?;
    for (at, differs) in statement.differs.iter().enumerate() {
        check_disagreement(file, study, number, (at, differs))?;
    }
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
        for &reading in &readings {
            let cases = CaseBuilder {
                file,
                study,
                figures,
                figure,
                measure,
                number,
                reading,
                is_base: false,
            };
            let reading = reading.map(|reading| reading.name.clone());
            let suffix = reading.as_ref().map_or_else(String::new, |name| format!("-{name}"));
            let differs = disagreement(statement, name, reading.as_ref());
            all.push(PlannedStatement {
                id: format!("{name}-{}{suffix}", statement.id),
                statement: statement.clone(),
                figure,
                measure,
                counted: counted_as(statement),
                kind: kind(statement),
                expected: if differs.is_some() { Verdict::Differs } else { Verdict::Agrees },
                differs: differs.cloned(),
                cases: cases.build(statement)?,
                reading,
            });
        }
    }
    if all.is_empty() {
        let message = "a statement needs a figure\nadd `figure = …`";
        return Err(file.error(&keys!["statement", number, "figure"], message));
    }
    Ok(all)
}

/// The readings in which a statement is judged, or `None` alone if it is judged in no reading.
fn statement_readings<'a>(
    file: &TomlFile,
    study: &'a Study,
    number: usize,
) -> Result<Vec<Option<&'a Reading>>, Error> {
    let statement = &study.statements[number];
    if statement.readings.is_empty() && !statement.ours && !study.readings.is_empty() {
        return Ok(study.readings.iter().map(Some).collect());
    }
    if statement.readings.is_empty() {
        return Ok(vec![None]);
    }
    let names = reading_names(study);
    let find = |(at, name): (usize, &String)| {
        let keys = keys!["statement", number, "readings", at];
        let found = find_name(file, &keys, "reading", name, &names)?;
        Ok(Some(&study.readings[found]))
    };
    statement.readings.iter().enumerate().map(find).collect()
}

/// The recorded disagreement of a statement in this figure and reading, if there is one.
fn disagreement<'a>(
    statement: &'a Statement,
    figure: &String,
    reading: Option<&String>,
) -> Option<&'a Disagreement> {
    statement.differs.iter().find(|differs| {
        (differs.figures.is_empty() || differs.figures.contains(figure))
            && (differs.readings.is_empty()
                || reading.is_some_and(|reading| differs.readings.contains(reading)))
    })
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

fn reading_names(study: &Study) -> Vec<&str> {
    study.readings.iter().map(|reading| reading.name.as_str()).collect()
}

/// Checks that a disagreement refers to figures and readings of its statement, and has a cause and
/// a command.
fn check_disagreement(
    file: &TomlFile,
    study: &Study,
    number: usize,
    (at, differs): (usize, &Disagreement),
) -> Result<(), Error> {
    let statement = &study.statements[number];
    let figures: Vec<&str> = statement.figure.0.iter().map(String::as_str).collect();
    for (n, name) in differs.figures.iter().enumerate() {
        let keys = keys!["statement", number, "differs", at, "figures", n];
        find_name(file, &keys, "figure in this statement", name, &figures)?;
    }
    let all = reading_names(study);
    let own: Vec<&str> = statement.readings.iter().map(String::as_str).collect();
    let readings = if own.is_empty() { &all } else { &own };
    for (n, name) in differs.readings.iter().enumerate() {
        let keys = keys!["statement", number, "differs", at, "readings", n];
        find_name(file, &keys, "reading of this statement", name, readings)?;
    }
    for (key, text) in [("because", &differs.because), ("shown_by", &differs.shown_by)] {
        if text.trim().is_empty() {
            let message = "a disagreement needs a cause, and a command that shows it\n\
                           fill in `because = …` and `shown_by = \"driftway …\"`";
            return Err(file.error(&keys!["statement", number, "differs", at, key], message));
        }
    }
    Ok(())
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
        ("value" | "ratio", ..) => {}
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
        && (capped.trim().is_empty() || !statement.differs.is_empty())
    {
        let message = "a capped statement needs a reason, and has no recorded verdict\n\
                       write a reason here, and leave `differs` out";
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
