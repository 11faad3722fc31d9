//! Table of a set: a row per scenario and flow, or per scenario if it has many flows.

use driftway_scenario::Unit;

use super::variation::Variation;
use crate::aggregate::{FlowStatistics, flow_statistics};
use crate::flow_names::is_transfer;
use crate::result_dirs::ResultDir;
use crate::tables::has_many_flows;
use crate::text::{Grid, Scale, chosen_value, mean_in, title_with_unit};

/// Metrics that the table may have, with the heads of their columns.
const METRICS: [(&str, &str); 4] = [
    ("completion_s", "completion"),
    ("throughput_bps", "throughput"),
    ("retransmissions", "retransmitted"),
    ("timeouts", "timeouts"),
];

/// The table, with one scale per column. Empty columns are left out, and so is throughput if the
/// completion time determines it.
pub fn comparison_table(set: &[ResultDir], sweep: &Variation) -> Grid {
    let as_one = any_has_many_flows(set);
    let subjects: Vec<Vec<FlowStatistics>> =
        set.iter().map(|member| flow_statistics(&member.document, as_one)).collect();
    let any_transfer = subjects.iter().flatten().any(|subject| subject.transfers > 0);
    let columns: Vec<(&str, &str, Scale)> = METRICS
        .iter()
        .filter(|(metric, _)| *metric != "throughput_bps" || !all_transfers_complete(set))
        .filter_map(|&(metric, name)| Some((metric, name, scale(&subjects, metric)?)))
        .collect();
    let x_scale = x_scale(sweep);
    let mut header = vec!["arm".to_owned()];
    header.extend(sweep.axis.as_ref().map(|axis| title_with_unit(axis.name(), axis.unit(x_scale))));
    header.extend(
        columns.iter().map(|(_, name, scale)| title_with_unit((*name).to_owned(), scale.unit)),
    );
    header.extend(any_transfer.then(|| "complete".to_owned()));
    let mut rows = Vec::new();
    for arm in &sweep.arms {
        for &(x, member) in &arm.points {
            for subject in &subjects[member] {
                let name = match (arm.label.as_str(), subjects[member].len()) {
                    ("", _) => subject.name.clone(),
                    (label, 1) => label.to_owned(),
                    (label, _) => format!("{label}, {}", subject.name),
                };
                let dash = || "–".to_owned();
                let mut row = vec![name];
                row.extend(sweep.axis.as_ref().map(|_| chosen_value(x * x_scale.factor)));
                row.extend(columns.iter().map(|(metric, _, scale)| {
                    let estimate = subject.metrics.get(*metric).copied().flatten();
                    estimate.map_or_else(dash, |estimate| mean_in(*scale, &estimate))
                }));
                row.extend(any_transfer.then(|| match subject.transfers {
                    0 => dash(),
                    all => format!("{} of {all}", subject.completed),
                }));
                rows.push(row);
            }
        }
    }
    Grid { header, rows }
}

/// Returns true if any scenario has so many flows that the flows of each scenario are aggregated.
pub fn any_has_many_flows(set: &[ResultDir]) -> bool {
    set.iter().any(|member| has_many_flows(&member.document))
}

/// Scale of the axis' values.
fn x_scale(sweep: &Variation) -> Scale {
    let unit = sweep.axis.as_ref().map_or(Unit::One, |axis| axis.unit);
    Scale::of_unit(unit, sweep.arms.iter().flat_map(|arm| &arm.points).map(|(x, _)| *x))
}

/// Returns true if every flow is a transfer that completed in every run, so that its throughput is its size
/// over its completion time.
pub fn all_transfers_complete(set: &[ResultDir]) -> bool {
    set.iter().all(|member| {
        let summary = &member.document.summary;
        summary.flows.iter().enumerate().all(|(index, flow)| {
            is_transfer(&member.document, index) && flow.completed == summary.runs
        })
    })
}

/// Scale of a column; `None` if no flow has a value for it.
fn scale(subjects: &[Vec<FlowStatistics>], metric: &str) -> Option<Scale> {
    let means = subjects.iter().flatten();
    let means = means.filter_map(|subject| subject.metrics.get(metric).copied().flatten());
    Scale::of_any(metric, means.map(|estimate| estimate.mean))
}
