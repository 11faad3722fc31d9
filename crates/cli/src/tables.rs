//! A document as tables and sentences.

use std::fmt::Write;

use scenario::Application;
use sim::results::{Direction, Document, FlowSummary, METRICS, Outcome, RunResult};

use crate::summary::estimate;
use crate::text::{Grid, count, list, mean, title, value, wrapped};

/// Flows stand side by side up to this many, else one below the other.
const ABREAST: usize = 4;

/// What a table of many flows tells of each.
const FOR_MANY: [&str; 5] =
    ["completion_s", "throughput_bps", "goodput_ratio", "retransmissions", "timeouts"];

/// Everything that a person wants to know at once.
pub fn document(document: &Document) -> String {
    let mut text = String::new();
    let name = &document.scenario.name;
    text += &wrapped(&format!("{name}: {}", seeds(&document.runs)), 2);
    let _ = write!(text, "{}", flows(&document.summary.flows));
    for sentence in incomplete(document) {
        text += &wrapped(&sentence, 2);
    }
    if document.runs.iter().any(|run| !run.links.is_empty()) {
        let _ = write!(text, "{}", links(&document.runs));
    }
    if document.summary.drops.is_empty() {
        text += "No packet was dropped.\n";
    } else {
        let _ = write!(text, "{}", drops(document));
    }
    if document.runs.len() > 1 {
        text += &wrapped("Means over the runs, ± half of the 90 % interval (Student's t).", 0);
    } else {
        text += "One run says nothing about chance: --runs 10 gives intervals.\n";
    }
    text
}

/// `10 runs, seeds 1 to 10`
pub fn seeds(runs: &[RunResult]) -> String {
    match runs {
        [] => "no runs".to_owned(),
        [run] => format!("1 run, seed {}", run.seed),
        [first, .., last] => {
            format!("{}, seeds {} to {}", count(runs.len() as u64, "run"), first.seed, last.seed)
        }
    }
}

/// What a flow is called: `0 → 4 reno, atcp`.
pub fn flow_name(flow: &FlowSummary) -> String {
    let mut name = format!("{} → {} {}", flow.source, flow.destination, transport(flow));
    if flow.aid != "none" {
        let _ = write!(name, ", {}", flow.aid);
    }
    name
}

/// `sack+cubic`, and `reno` where recovery and growth are both of that name.
fn transport(flow: &FlowSummary) -> &str {
    let tcp = flow.tcp.as_deref().unwrap_or("udp");
    tcp.split_once('+').filter(|(recovery, growth)| recovery == growth).map_or(tcp, |(one, _)| one)
}

fn cell(flow: &FlowSummary, metric: &str) -> String {
    match flow.metrics.get(metric) {
        Some(Some(estimate)) => mean(metric, estimate),
        _ => "–".to_owned(),
    }
}

/// What each flow did.
pub fn flows(flows: &[FlowSummary]) -> Grid {
    if flows.len() <= ABREAST {
        let header: Vec<_> =
            std::iter::once("flow".to_owned()).chain(flows.iter().map(flow_name)).collect();
        let known = |metric: &str| {
            flows.iter().any(|flow| flow.metrics.get(metric).is_some_and(Option::is_some))
        };
        let rows: Vec<_> = METRICS
            .iter()
            .filter(|(metric, _)| known(metric))
            .map(|(metric, _)| {
                let cells = flows.iter().map(|flow| cell(flow, metric));
                std::iter::once(title(metric)).chain(cells).collect()
            })
            .collect();
        Grid { header, rows }
    } else {
        let header: Vec<_> = std::iter::once("flow".to_owned())
            .chain(FOR_MANY.iter().map(|metric| title(metric)))
            .collect();
        let rows: Vec<_> = flows
            .iter()
            .map(|flow| {
                let cells = FOR_MANY.iter().map(|metric| cell(flow, metric));
                std::iter::once(flow_name(flow)).chain(cells).collect()
            })
            .collect();
        Grid { header, rows }
    }
}

/// Only a transfer has an end that it could reach.
pub fn is_transfer(document: &Document, flow: usize) -> bool {
    let flow = document.scenario.flows.get(flow);
    flow.is_some_and(|flow| matches!(flow.application, Application::Transfer(_)))
}

/// One sentence for each flow whose transfer did not always complete.
pub fn incomplete(document: &Document) -> Vec<String> {
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
                Outcome::TimedOut => format!("when its sender gave up ({at})"),
                Outcome::Reset => format!("when the connection was reset ({at})"),
                Outcome::Running | Outcome::Complete => format!("when the time was up ({at})"),
            }
        } else {
            "when the time was up or the connection was gone".to_owned()
        };
        Some(format!(
            "Flow {} did not complete{when}: {delivered} delivered {end}.",
            flow_name(flow)
        ))
    };
    document.summary.flows.iter().enumerate().filter_map(sentence).collect()
}

/// What each hop carried.
pub fn links(runs: &[RunResult]) -> Grid {
    let Some(first) = runs.first() else { return Grid::default() };
    let header = ["hop", "direction", "frames", "bytes", "marked", "dropped", "utilisation"];
    let rows: Vec<_> = first
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            let of = |metric: &str, read: &dyn Fn(&sim::results::LinkResult) -> Option<f64>| {
                let values: Vec<f64> =
                    runs.iter().filter_map(|run| run.links.get(index).and_then(read)).collect();
                estimate(&values).map_or("–".to_owned(), |e| mean(metric, &e))
            };
            let direction = match link.direction {
                Direction::Forward => "forward",
                Direction::Backward => "backward",
            };
            vec![
                link.hop.to_string(),
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

/// Why packets were not delivered.
pub fn drops(document: &Document) -> Grid {
    let rows = document.summary.drops.iter();
    Grid {
        header: vec!["packets dropped for".to_owned(), "in a run".to_owned()],
        rows: rows.map(|(reason, drops)| vec![reason.replace('-', " "), mean("", drops)]).collect(),
    }
}
