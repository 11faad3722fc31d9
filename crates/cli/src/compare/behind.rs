//! Cases in which `carry`, which is recommended, has less throughput than another aid or none.

use driftway_experiment::comparison::arms::RECOMMENDED_AID;
use driftway_experiment::comparison::document::{CarryBehind, CompareDocument};

use super::tables::label;
use crate::text::{count, fixed};

/// Cases that have one cause, the one in which `carry` is behind most first.
pub struct CauseGroup<'a> {
    /// The cause; none where it is not known.
    pub because: Option<&'a str>,
    /// The command that shows it.
    pub shown_by: Option<&'a str>,
    /// The cases.
    pub cases: Vec<&'a CarryBehind>,
}

impl CauseGroup<'_> {
    /// The cases in short: their number, and in how much of another's throughput they lie.
    pub fn heading(&self) -> String {
        let ratios = || self.cases.iter().map(|of| of.carry_relative);
        let [least, most] = [ratios().fold(1.0, f64::min), ratios().fold(0.0, f64::max)];
        let [least, most] = [least, most].map(|ratio| fixed(ratio, 2));
        let range = if least == most { least } else { format!("{least} to {most}") };
        format!("{}, {range} of the other's throughput", count(self.cases.len() as u64, "case"))
    }
}

/// The cases by cause, that of the worst case first, and those without one last.
pub fn groups(document: &CompareDocument) -> Vec<CauseGroup<'_>> {
    let mut groups: Vec<CauseGroup<'_>> = Vec::new();
    for of in &document.carry_behind {
        let because = of.because.as_deref();
        match groups.iter_mut().find(|group| group.because == because) {
            Some(group) => group.cases.push(of),
            None => {
                let shown_by = of.shown_by.as_deref();
                groups.push(CauseGroup { because, shown_by, cases: vec![of] });
            }
        }
    }
    groups.sort_by_key(|group| group.because.is_none());
    groups
}

/// Number of cases in which `carry` is behind.
pub fn summary(document: &CompareDocument) -> String {
    let cases = document.cells.iter().filter(|of| of.aid == RECOMMENDED_AID).count();
    let cases = count(cases as u64, "case");
    let behind = &document.carry_behind;
    if behind.is_empty() {
        return format!(
            "{RECOMMENDED_AID}, which driftway recommends, is the best or within 3 % of the best in each of {cases}."
        );
    }
    let certain = behind.iter().filter(|of| of.certain).count();
    format!(
        "{RECOMMENDED_AID}, which driftway recommends, has over 3 % less throughput than another aid or no aid in {} of \
         {cases} (networks and TCPs); in {certain} of them the 90 % interval excludes chance.",
        behind.len()
    )
}

/// A case.
pub fn case(of: &CarryBehind) -> String {
    let aid = label(&of.aid, |one| Some(one.reading) == of.reading);
    let interval = of
        .ci90
        .map_or_else(String::new, |[low, high]| format!(" ({} to {high:.2})", fixed(low, 2)));
    let chance = if of.certain { "" } else { "; it may be chance" };
    format!(
        "{}, {}: {:.2}{interval} of what it is with {aid}{chance}",
        of.network, of.tcp, of.carry_relative
    )
}
