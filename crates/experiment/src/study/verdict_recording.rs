//! The verdicts of runs, for the record.

use super::outcome::StudyOutcome;
use super::recorded_verdicts::{StoredVerdicts, VerdictPair};
use super::select::{SelectionArgs, select};
use super::statement::CountedAs;
use super::statement::format::Verdict;
use crate::error::Error;

/// The verdicts of runs of the part `wanted`: those of all of them, and those of their part that is also in
/// the quick part. Capped statements have no recorded verdict.
///
/// # Errors
///
/// Never: the part was selected before.
pub fn verdicts_found(
    outcome: &StudyOutcome<'_>,
    wanted: &SelectionArgs,
) -> Result<StoredVerdicts, Error> {
    let StudyOutcome { plan, results, .. } = *outcome;
    let mut all = StoredVerdicts::default();
    let mut add = |of: &StudyOutcome<'_>, set: fn(&mut VerdictPair, Option<Verdict>)| {
        let judged = of.statements().into_iter().filter(|of| of.counted != CountedAs::Capped);
        for statement in judged.filter(|of| of.verdict.is_some()) {
            set(all.0.entry(statement.id).or_default(), statement.verdict);
        }
    };
    add(outcome, |pair, verdict| pair.all = verdict);
    let mut quick = select(plan, &SelectionArgs { quick: true, ..wanted.clone() })?;
    let in_quick =
        |id: &String| plan.study.quick.figures.is_empty() || plan.study.quick.figures.contains(id);
    quick.points.retain(|id, _| in_quick(id));
    let results = results.first_runs(quick.seeds.len());
    add(&StudyOutcome { plan, selection: &quick, results: &results }, |pair, verdict| {
        pair.quick = verdict;
    });
    Ok(all)
}
