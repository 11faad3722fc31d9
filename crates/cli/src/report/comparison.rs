//! The table of a set: a row for each scenario and flow.

use super::set::Member;
use super::sweep::{Sweep, short};
use crate::tables::{flow_name, is_transfer};
use crate::text::{Grid, Scale, mean_in, value};

/// The metrics that it may have, and what their columns are called.
const METRICS: [(&str, &str); 4] = [
    ("completion_s", "completion"),
    ("throughput_bps", "throughput"),
    ("retransmissions", "resent"),
    ("timeouts", "timeouts"),
];

/// One scale for each column. A column that would be empty is left out, and so is throughput where
/// completion says it.
pub fn comparison(set: &[Member], sweep: &Sweep) -> Grid {
    let any_transfer = set.iter().any(|member| {
        (0..member.document.summary.flows.len()).any(|flow| is_transfer(&member.document, flow))
    });
    let columns: Vec<(&str, &str, Scale)> = METRICS
        .iter()
        .filter(|(metric, _)| *metric != "throughput_bps" || !all_complete(set))
        .filter_map(|&(metric, name)| Some((metric, name, scale(set, metric)?)))
        .collect();
    let mut header = vec!["arm".to_owned()];
    header.extend(sweep.axis.as_ref().map(|axis| short(&axis.key)));
    header.extend(columns.iter().map(|(_, name, scale)| match scale.unit {
        "" => (*name).to_owned(),
        unit => format!("{name} ({unit})"),
    }));
    header.extend(any_transfer.then(|| "complete".to_owned()));
    let mut rows = Vec::new();
    for arm in &sweep.arms {
        for &(x, member) in &arm.points {
            let document = &set[member].document;
            let summary = &document.summary;
            for (index, flow) in summary.flows.iter().enumerate() {
                let name = match (arm.label.as_str(), summary.flows.len()) {
                    ("", _) => flow_name(flow),
                    (label, 1) => label.to_owned(),
                    (label, _) => format!("{label}, {}", flow_name(flow)),
                };
                let dash = || "–".to_owned();
                let mut row = vec![name];
                row.extend(sweep.axis.as_ref().map(|axis| value(axis.as_metric(), x)));
                row.extend(columns.iter().map(|(metric, _, scale)| {
                    let estimate = flow.metrics.get(*metric).copied().flatten();
                    estimate.map_or_else(dash, |estimate| mean_in(*scale, &estimate))
                }));
                row.extend(any_transfer.then(|| {
                    if is_transfer(document, index) {
                        format!("{} of {}", flow.completed, summary.runs)
                    } else {
                        dash()
                    }
                }));
                rows.push(row);
            }
        }
    }
    Grid { header, rows }
}

/// Is every flow a transfer that completed in every run? Then throughput is size over completion.
pub fn all_complete(set: &[Member]) -> bool {
    set.iter().all(|member| {
        let summary = &member.document.summary;
        summary.flows.iter().enumerate().all(|(index, flow)| {
            is_transfer(&member.document, index) && flow.completed == summary.runs
        })
    })
}

/// The scale of a column; `None`: no flow has a value for it.
fn scale(set: &[Member], metric: &str) -> Option<Scale> {
    let flows = set.iter().flat_map(|member| &member.document.summary.flows);
    let means = flows.filter_map(|flow| flow.metrics.get(metric).copied().flatten());
    let largest = means.map(|estimate| estimate.mean.abs()).reduce(f64::max)?;
    Some(Scale::of(metric, largest))
}
