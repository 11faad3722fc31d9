//! One reading of a paper: its figures without the arms of other readings, and the statements
//! judged in it.

use super::format::{Figure, Study};
use super::plan::{Plan, PlannedFigure, replan};
use super::statement::format::Reading;
use crate::error::Error;
use crate::words::available;

/// Restricts the plan to the reading with this name.
///
/// # Errors
///
/// The paper has no such reading.
pub fn restrict_to_reading(plan: Plan, name: &str) -> Result<Plan, Error> {
    let readings = &plan.study.readings;
    let Some(reading) = readings.iter().find(|reading| reading.name == name).cloned() else {
        let message = format!("--reading {name}: {} has no such reading", plan.source.name);
        if readings.is_empty() {
            return Err(Error::refused(message));
        }
        let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
        return Err(Error::refused_with(message, available(name, &names)));
    };
    let mut study = plan.study.clone();
    let restricted = |planned: &PlannedFigure| {
        let mut figure = planned.figure.clone();
        restrict_arms(&mut figure, &planned.arm_names(), &reading, readings);
        figure
    };
    study.figures = plan.figures.iter().map(restricted).collect();
    keep_judged(&mut study, name);
    replan(plan.source, study)
}

/// Restricts a figure to the arms of the reading; keeps all if it has none of them.
fn restrict_arms(figure: &mut Figure, arms: &[&str], reading: &Reading, readings: &[Reading]) {
    let own = |arm: &str| reading.arms.values().any(|own| own == arm);
    let of_others =
        |arm: &str| readings.iter().any(|other| other.arms.values().any(|of| of == arm));
    let replaced = |arm: &str| reading.arms.contains_key(arm);
    let is_kept = |arm: &&&str| own(arm) || !of_others(arm) && !replaced(arm);
    let kept: Vec<String> = arms.iter().filter(is_kept).map(|arm| (*arm).to_owned()).collect();
    if kept.is_empty() {
        return;
    }
    figure.paper.retain(|curve| kept.contains(&curve.arm));
    figure.groups.clear();
    figure.arms = kept;
}

/// Keeps the statements that are judged in the reading `name`, in that reading only.
fn keep_judged(study: &mut Study, name: &str) {
    let is_judged =
        |readings: &[String]| readings.is_empty() || readings.iter().any(|of| of == name);
    study.statements.retain(|of| is_judged(&of.readings) && !(of.ours && of.readings.is_empty()));
    for statement in &mut study.statements {
        statement.readings = vec![name.to_owned()];
        statement.differs.retain(|differs| is_judged(&differs.readings));
        for differs in &mut statement.differs {
            differs.readings = vec![name.to_owned()];
        }
    }
    study.quick.otherwise.retain(|of| of.ends_with(&format!("-{name}")));
}

#[cfg(test)]
mod test {
    use super::super::files::Source;
    use super::super::plan::plan;
    use super::*;

    fn of(paper: &str, reading: &str) -> Result<Plan, Error> {
        restrict_to_reading(plan(Source::find(paper).unwrap()).unwrap(), reading)
    }

    fn arms(plan: &Plan, figure: &str) -> Vec<String> {
        let planned = plan.figures.iter().find(|of| of.figure.id == figure).unwrap();
        planned.arm_names().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_reading_has_its_own_and_the_common_arms() {
        let paper = of("yu-2004", "paper").unwrap();
        assert_eq!(arms(&paper, "50-1"), ["elfn", "elfn-old", "paths", "update"]);
        let rfc = of("yu-2004", "rfc").unwrap();
        let own = ["elfn-rfc", "elfn-old-rfc", "paths-rfc", "update-rfc"];
        assert_eq!(arms(&rfc, "50-1"), own);
        assert!(arms(&rfc, "parts").contains(&"plain".to_owned()), "an arm of no reading");
        assert!(rfc.statements.iter().all(|of| of.id.ends_with("-rfc")));
        assert!(!rfc.statements.is_empty());
        for reading in ["text", "wire"] {
            assert!(!of("liu-singh-2001", reading).unwrap().statements.is_empty());
        }
    }

    #[test]
    fn single_readings_judge_the_same_statements() {
        let all = plan(Source::find("yu-2004").unwrap()).unwrap();
        let ids = |plan: &Plan| plan.statements.iter().map(|of| of.id.clone()).collect::<Vec<_>>();
        let mut parts: Vec<String> = ["paper", "ns-2", "rfc"]
            .iter()
            .flat_map(|of_one| ids(&of("yu-2004", of_one).unwrap()))
            .collect();
        let mut all = ids(&all);
        parts.sort();
        all.sort();
        assert_eq!(parts, all);
    }

    #[test]
    fn unknown_readings_get_a_suggestion() {
        let error = of("yu-2004", "rfcs").unwrap_err();
        assert!(error.is_input());
        assert!(error.to_string().contains("did you mean `rfc`?"), "{error}");
        assert!(of("chandran-1998", "none").is_err());
    }
}
