//! Results of `driftway run` as tables and sentences.

use std::collections::BTreeMap;
use std::fmt::Write;

use driftway_experiment::summary::estimate;
use driftway_sim::results::{
    Direction, Estimate, FLOW_METRICS, FlowOutcome, FlowSummary, RunDocument, RunResult,
};

use crate::aggregate::{
    AGGREGATION_NOTE, FlowStatistics, MAX_SEPARATE_FLOWS, aggregate, flow_statistics,
};
use crate::flow_names::{flow_name, hop_name, is_transfer};
use crate::text::{
    Grid, Scale, count, list, mean, mean_in, title, title_with_unit, value, wrapped,
};

/// Metrics in a table with one row per flow.
const PER_FLOW_METRICS: [&str; 5] =
    ["completion_s", "throughput_bps", "goodput_ratio", "retransmissions", "timeouts"];

/// All results as text.
pub fn document(document: &RunDocument) -> String {
    let mut text = String::new();
    let name = &document.scenario.name;
    text += &wrapped(&format!("{name}: {}", seed_range(&document.runs)), 2);
    for grid in flows(document) {
        let _ = write!(text, "{grid}");
    }
    if has_many_flows(document) {
        text += &wrapped(AGGREGATION_NOTE, 2);
    }
    for sentence in incomplete_transfers(document) {
        text += &wrapped(&sentence, 2);
    }
    if document.runs.iter().any(|run| !run.links.is_empty()) {
        let _ = write!(text, "{}", links(document));
    }
    if document.summary.drops.is_empty() {
        text += "No packet was dropped.\n";
    } else {
        let _ = write!(text, "{}", drops(document));
    }
    if document.runs.len() > 1 {
        text += &wrapped("Means over the runs, ± half of the 90 % interval (Student's t).", 0);
    } else {
        text += "A single run has no confidence interval: --runs 10 gives intervals.\n";
    }
    text
}

/// `10 runs, seeds 1 to 10`
pub fn seed_range(runs: &[RunResult]) -> String {
    match runs {
        [] => "no runs".to_owned(),
        [run] => format!("1 run, seed {}", run.seed),
        [first, .., last] => {
            format!("{}, seeds {} to {}", count(runs.len() as u64, "run"), first.seed, last.seed)
        }
    }
}

fn metric_cell(metrics: &BTreeMap<String, Option<Estimate>>, metric: &str) -> String {
    match metrics.get(metric) {
        Some(Some(estimate)) => mean(metric, estimate),
        _ => "–".to_owned(),
    }
}

/// Returns true if there are more flows than are shown side by side.
pub fn has_many_flows(document: &RunDocument) -> bool {
    document.summary.flows.len() > MAX_SEPARATE_FLOWS
}

/// Tables of the flows: a few side by side; many first aggregated, then one per row.
pub fn flows(document: &RunDocument) -> Vec<Grid> {
    if has_many_flows(document) {
        return vec![side_by_side(&[aggregate(document)]), one_flow_per_row(document)];
    }
    vec![side_by_side(&flow_statistics(document, false))]
}

/// Table with a column per flow, and a row per metric that any of them has.
fn side_by_side(subjects: &[FlowStatistics]) -> Grid {
    let names = subjects.iter().map(|subject| subject.name.clone());
    let header: Vec<_> = std::iter::once("flow".to_owned()).chain(names).collect();
    let known = |metric: &str| {
        subjects.iter().any(|of| of.metrics.get(metric).is_some_and(Option::is_some))
    };
    let rows = FLOW_METRICS.iter().filter(|(metric, _)| known(metric)).map(|(metric, _)| {
        let cells = subjects.iter().map(|subject| metric_cell(&subject.metrics, metric));
        std::iter::once(title(metric)).chain(cells).collect()
    });
    Grid { header, rows: rows.collect() }
}

/// Table with a row per flow, and a column per metric that any of them has, in one unit.
pub fn one_flow_per_row(document: &RunDocument) -> Grid {
    let flows = &document.summary.flows;
    let of = |flow: &FlowSummary, metric: &str| flow.metrics.get(metric).copied().flatten();
    let column = |metric: &&'static str| {
        let means = flows.iter().filter_map(|flow| Some(of(flow, metric)?.mean));
        Some((*metric, Scale::of_any(metric, means)?))
    };
    let columns: Vec<(&str, Scale)> = PER_FLOW_METRICS.iter().filter_map(column).collect();
    let mut header = vec!["flow".to_owned()];
    header.extend(columns.iter().map(|(metric, scale)| title_with_unit(title(metric), scale.unit)));
    let row = |flow: &FlowSummary| {
        let cells = columns.iter().map(|(metric, scale)| {
            of(flow, metric).map_or("–".to_owned(), |estimate| mean_in(*scale, &estimate))
        });
        std::iter::once(flow_name(document, flow)).chain(cells).collect()
    };
    Grid { header, rows: flows.iter().map(row).collect() }
}

/// A sentence for each flow whose transfer did not complete in every run.
pub fn incomplete_transfers(document: &RunDocument) -> Vec<String> {
    let sentence = |(index, flow): (usize, &FlowSummary)| {
        is_transfer(document, index).then_some(())?;
        let late: Vec<&RunResult> = document
            .runs
            .iter()
            .filter(|run| run.flows.get(index).is_some_and(|f| f.completion_s.is_none()))
            .collect();
        let (first, all) = (late.first()?, document.runs.len());
        let delivered: Vec<f64> =
            late.iter().map(|run| run.flows[index].delivered_bytes as f64).collect();
        let delivered = mean("delivered_bytes", &estimate(&delivered)?);
        let seeds: Vec<String> = late.iter().map(|run| run.seed.to_string()).collect();
        let when = match (late.len(), all) {
            (1, 1) => String::new(),
            (some, all) if some == all => format!(" in any of {all} runs"),
            (some, all) => format!(
                " in {some} of {all} runs ({} {})",
                if some == 1 { "seed" } else { "seeds" },
                list(&seeds)
            ),
        };
        let of = |run: &RunResult| run.flows[index].outcome;
        let end = if late.iter().all(|run| of(run) == of(first)) {
            let at = value("_s", first.flows[index].end_s);
            match of(first) {
                FlowOutcome::TimedOut => format!("when the sender aborted the connection ({at})"),
                FlowOutcome::Reset => format!("when the connection was reset ({at})"),
                FlowOutcome::Running | FlowOutcome::Complete => {
                    format!("at the end of the run ({at})")
                }
            }
        } else {
            "at the end of the run or of the connection".to_owned()
        };
        Some(format!(
            "Flow {} did not complete{when}: {delivered} delivered {end}.",
            flow_name(document, flow)
        ))
    };
    document.summary.flows.iter().enumerate().filter_map(sentence).collect()
}

/// Table of the traffic on each hop.
pub fn links(document: &RunDocument) -> Grid {
    let runs = &document.runs;
    let Some(first) = runs.first() else { return Grid::default() };
    let header = ["hop", "direction", "frames", "bytes", "marked", "dropped", "utilisation"];
    let rows: Vec<_> = first
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let of =
                |metric: &str, read: &dyn Fn(&driftway_sim::results::LinkResult) -> Option<f64>| {
                    let values: Vec<f64> =
                        runs.iter().filter_map(|run| run.links.get(index).and_then(read)).collect();
                    estimate(&values).map_or("–".to_owned(), |e| mean(metric, &e))
                };
            let direction = match link.direction {
                Direction::Forward => "forward",
                Direction::Backward => "backward",
            };
            vec![
                hop_name(document, link.hop),
                direction.to_owned(),
                of("frames", &|l| Some(l.frames as f64)),
                of("bytes", &|l| Some(l.bytes as f64)),
                of("marks", &|l| Some(l.marks as f64)),
                of("drops", &|l| Some(l.drops as f64)),
                of("ratio", &|l| l.utilisation),
            ]
        })
        .collect();
    Grid { header: header.map(str::to_owned).to_vec(), rows }
}

/// Table of dropped packets by reason.
pub fn drops(document: &RunDocument) -> Grid {
    let rows = document.summary.drops.iter();
    Grid {
        header: vec!["packets dropped, by reason".to_owned(), "per run".to_owned()],
        rows: rows.map(|(reason, drops)| vec![reason.replace('-', " "), mean("", drops)]).collect(),
    }
}
