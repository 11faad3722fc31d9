//! The cause of a disagreement in a figure and a reading.

use driftway_scenario::{Error, TomlFile};

use super::format::Statement;
use super::planned::PlannedCause;
use crate::study::cause::{PlacedCause, filled_in};
use crate::study::check::{find_name, keys};
use crate::study::commands::set_options;
use crate::study::format::Study;
use crate::study::planned_figure::PlannedFigure;
use crate::study::reading::Reading;

/// Checks that the causes of a statement are known, and their places are places of the statement.
///
/// # Errors
///
/// An unknown cause, or a figure or reading that the statement does not have.
pub fn check(file: &TomlFile, study: &Study, number: usize) -> Result<(), Error> {
    let statement = &study.statements[number];
    let causes: Vec<&str> = study.causes.keys().map(String::as_str).collect();
    let figures: Vec<&str> = statement.figure.0.iter().map(String::as_str).collect();
    let own: Vec<&str> = statement.readings.iter().map(String::as_str).collect();
    let all: Vec<&str> = study.readings.iter().map(|of| of.name.as_str()).collect();
    let readings = if own.is_empty() { all } else { own };
    let several = statement.because.0.len() > 1;
    for (at, placed) in statement.because.0.iter().enumerate() {
        let place = keys!["statement", number, "because", at];
        let keys = if several { &place[..] } else { &place[..3] };
        find_name(file, keys, "cause", &placed.cause, &causes)?;
        for figure in &placed.figures {
            find_name(file, &place, "figure in this statement", figure, &figures)?;
        }
        for reading in &placed.readings {
            find_name(file, &place, "reading of this statement", reading, &readings)?;
        }
    }
    Ok(())
}

/// Checks that the causes of a study have texts and commands.
///
/// # Errors
///
/// One of them is empty.
pub fn check_texts(file: &TomlFile, study: &Study) -> Result<(), Error> {
    for (name, cause) in &study.causes {
        for (key, text) in [("text", &cause.text), ("shown_by", &cause.shown_by)] {
            if text.trim().is_empty() {
                let message = "a cause needs a text, and a command that shows it\n\
                               fill in `text = …` and `shown_by = \"driftway …\"`";
                return Err(file.error(&keys!["cause", name, key], message));
            }
        }
    }
    Ok(())
}

/// The cause of a disagreement of a statement in this figure and reading, if one is given.
pub fn cause(
    study: &Study,
    statement: &Statement,
    planned: &PlannedFigure,
    reading: Option<&Reading>,
) -> Option<PlannedCause> {
    let reading = reading.map(|of| of.name.as_str());
    let is_here = |of: &&PlacedCause| of.is_at(&planned.figure.id, reading);
    let placed = statement.because.0.iter().find(is_here)?;
    let cause = study.causes.get(&placed.cause)?;
    let fill = |text: &str| {
        filled_in(text, |name| match name {
            "figure" => Some(planned.figure.id.clone()),
            "reading" => reading.map(str::to_owned),
            _ => match name.strip_prefix("set ") {
                Some(arm) => planned
                    .arm_in(reading, arm)
                    .map(|of| set_options([&planned.figure.set, &of.arm.set])),
                None => planned.arm_in(reading, name).map(|of| of.arm.name.clone()),
            },
        })
    };
    let numbers = placed.numbers.iter().map(|numbers| fill(numbers.trim()));
    let text = std::iter::once(fill(cause.text.trim())).chain(numbers);
    Some(PlannedCause {
        name: placed.cause.clone(),
        text: text.collect::<Vec<_>>().join(" "),
        shown_by: fill(placed.shown_by.as_ref().unwrap_or(&cause.shown_by).trim()),
    })
}
