//! One reading of a paper: its figures without the arms of other readings, and the statements
//! judged in it.

use super::plan::{Plan, PlannedArm, PlannedFigure};
use super::recorded_verdicts::StoredVerdicts;
use super::statement;
use crate::error::Error;
use crate::words::available;

/// Restricts the plan to the reading with this name.
///
/// # Errors
///
/// The paper has no such reading.
pub fn restrict_to_reading(mut plan: Plan, name: &str) -> Result<Plan, Error> {
    let readings = &plan.study.readings;
    if !readings.iter().any(|reading| reading.name == name) {
        let message = format!("--reading {name}: {} has no such reading", plan.source.name);
        if readings.is_empty() {
            return Err(Error::refused(message));
        }
        let names: Vec<&str> = readings.iter().map(|reading| reading.name.as_str()).collect();
        return Err(Error::refused_with(message, available(name, &names)));
    }
    let judged = plan.statements.iter().filter(|of| of.reading.as_deref() == Some(name));
    let judged: Vec<String> = judged.map(|of| of.id.clone()).collect();
    plan.figures.iter_mut().for_each(|planned| restrict_arms(planned, name));
    let file = plan.source.parse_study()?;
    let recorded = StoredVerdicts::of(&plan.source)?;
    // Indices of arms are those of the figures as they are now.
    plan.statements = statement::plan(&file, &plan.study, &plan.figures, &recorded, Some(name))?;
    plan.statements.retain(|of| judged.contains(&of.id));
    Ok(plan)
}

/// Keeps the arms of the reading, and those that it does not change.
fn restrict_arms(planned: &mut PlannedFigure, reading: &str) {
    let of_reading = |of: &PlannedArm| {
        let from = of.derived.iter().find(|from| from.reading == reading)?;
        Some(from.arm.clone())
    };
    let replaced: Vec<String> = planned.arms.iter().filter_map(of_reading).collect();
    planned.arms.retain(|of| match of.derived.is_empty() {
        true => !replaced.contains(&of.arm.name),
        false => of_reading(of).is_some(),
    });
    let kept: Vec<String> = planned.arms.iter().map(|of| of.arm.name.clone()).collect();
    planned.figure.paper.retain(|curve| kept.contains(&curve.arm));
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
        let readings = all.study.readings.iter();
        let mut parts: Vec<String> =
            readings.flat_map(|one| ids(&of("yu-2004", &one.name).unwrap())).collect();
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
