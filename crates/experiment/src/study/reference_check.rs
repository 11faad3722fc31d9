//! Checks of the references of figures.

use driftway_scenario::{Error, TomlFile};

use super::check::keys;
use super::format::Figure;
use super::reference::{AgreementCriterion, Reference, ReferenceSimulator};

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
    let Some(reference) = &figure.reference else {
        let mut points = figure.x.iter().flat_map(|axis| &axis.points).enumerate();
        let useless = points.find(|(_, point)| !point.reference.is_empty());
        return useless.map_or(Ok(()), |(at, _)| {
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
    if let Some((key, message)) = contradiction(reference) {
        return wrong(key, message);
    }
    if let Some(formula) = reference.formula {
        check_points(file, figure, number, formula.parameters(), "the formula needs", true)?;
    } else if reference.simulator.is_none() {
        if figure.y.len() != 1 {
            return wrong("source", "published values of several measures\nset `y` to one measure");
        }
        let all_have_values = reference.judge != AgreementCriterion::Reported;
        check_points(file, figure, number, &["value"], "a published value is", all_have_values)?;
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

/// The key that contradicts the others, or lacks one, and the message.
fn contradiction(reference: &Reference) -> Option<(&'static str, &'static str)> {
    let Reference { simulator, formula, source, measure, judge, ns2, .. } = reference;
    match (simulator, formula) {
        (Some(_), Some(_)) => Some(("judge", "a reference has either `simulator` or `formula`")),
        (None, None) if source.is_none() => Some((
            "judge",
            "a reference has either `simulator` or `formula`, or the `source` of published values",
        )),
        (Some(ReferenceSimulator::Ns2), None) if ns2.is_none() => {
            Some(("simulator", "the configuration of ns-2 is missing\nadd [figure.reference.ns2]"))
        }
        _ if measure.is_some() && (simulator.is_some() || formula.is_some()) => {
            Some(("measure", "only published values have a `measure`\nremove it"))
        }
        (Some(_), None) if source.is_some() => {
            Some(("source", "stored results of a simulator have no publication\nremove `source`"))
        }
        (None, _) if ns2.is_some() => {
            Some(("ns2", "only a reference with simulator = \"ns-2\" has a run of ns-2"))
        }
        (None, _) if *judge == AgreementCriterion::LogRatio => Some((
            "judge",
            "formulas and published values have no runs\nuse { within = 0.05 } or \"reported\"",
        )),
        _ => None,
    }
}

/// Checks that each point, or each with a `reference`, has these numbers there.
fn check_points(
    file: &TomlFile,
    figure: &Figure,
    number: usize,
    names: &[&str],
    needs: &str,
    all: bool,
) -> Result<(), Error> {
    let points = figure.x.iter().flat_map(|axis| &axis.points).enumerate();
    for (at, point) in points.filter(|(_, point)| all || !point.reference.is_empty()) {
        let is_number = |name: &&&str| {
            let value = point.reference.get(**name);
            value.is_some_and(|value| value.0.parse::<f64>().is_ok_and(f64::is_finite))
        };
        if let Some(name) = names.iter().find(|name| !is_number(name)) {
            let keys = keys!["figure", number, "x", "points", at];
            let help = format!("write reference = {{ {name} = … }}");
            return Err(file.error(&keys, &format!("{needs} a number `{name}`\n{help}")));
        }
    }
    Ok(())
}
