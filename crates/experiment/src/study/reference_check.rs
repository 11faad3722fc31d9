//! Checks of the references of figures.

use driftway_scenario::{Error, TomlFile};

use super::check::keys;
use super::format::Figure;
use super::reference::{AgreementCriterion, ReferenceSimulator};

/// Checks a figure's reference.
///
/// # Errors
///
/// The first error.
pub(super) fn check(
    file: &TomlFile,
    figure: &Figure,
    number: usize,
    arms: usize,
) -> Result<(), Error> {
    let points = figure.x.iter().flat_map(|axis| &axis.points).enumerate();
    let Some(reference) = &figure.reference else {
        let mut useless = points.filter(|(_, point)| !point.reference.is_empty());
        return useless.next().map_or(Ok(()), |(at, _)| {
            let keys = keys!["figure", number, "x", "points", at, "reference"];
            Err(file.error(&keys, "this figure has no reference\nadd [figure.reference]"))
        });
    };
    let wrong = |key: &str, message: &str| {
        Err(file.error(&keys!["figure", number, "reference", key], message))
    };
    if arms != 1 {
        let message = "a figure with a reference has one arm\nset `arms` to one name";
        return Err(file.error(&keys!["figure", number, "reference"], message));
    }
    match (reference.simulator, reference.formula) {
        (Some(ReferenceSimulator::Ns2), None) if reference.ns2.is_none() => {
            return wrong(
                "simulator",
                "the configuration of ns-2 is missing\nadd [figure.reference.ns2]",
            );
        }
        (Some(_), None) => {}
        (None, Some(_)) if reference.ns2.is_some() => {
            return wrong("ns2", "a formula has no run of ns-2");
        }
        (None, Some(law)) => {
            for (at, point) in points {
                let is_number = |name: &&&str| {
                    let value = point.reference.get(**name);
                    value.is_some_and(|value| value.0.parse::<f64>().is_ok())
                };
                if let Some(name) = law.parameters().iter().find(|name| !is_number(name)) {
                    let keys = keys!["figure", number, "x", "points", at];
                    let help = format!("write reference = {{ {name} = … }}");
                    let message = format!("the formula needs a number `{name}`\n{help}");
                    return Err(file.error(&keys, &message));
                }
            }
        }
        _ => return wrong("judge", "a reference has either `simulator` or `formula`"),
    }
    if let AgreementCriterion::Within(part) = reference.judge
        && !(part > 0.0 && part < 1.0)
    {
        return wrong("judge", "out of range 0–1\nfor example { within = 0.05 } for five per cent");
    }
    if reference.runs == Some(0) {
        return wrong("runs", "at least one run is needed");
    }
    Ok(())
}
