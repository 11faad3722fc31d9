//! Text output of `driftway paper --kernel`.

use std::fmt::Write as _;

use super::super::tables::{incomplete_note, points_table};
use super::document::KernelDocument;
use super::kernel_plan::KernelPlan;
use crate::text::{Grid, Scale, count, list, mean_in, value, wrapped};
use driftway_experiment::study::check::COMPLETION_METRIC;
use driftway_experiment::study::document::{FigureResult, PointResult};
use driftway_experiment::study::plan::PlannedFigure;

/// A table per figure, and the summary.
pub fn document(work: &KernelPlan, document: &KernelDocument) -> String {
    let paper = &work.plan.study;
    let mut text = super::super::print::heading(paper);
    for group in &paper.groups {
        text += &wrapped(&format!("{}: {}", group.name, group.label), 2);
    }
    for PlannedFigure { figure: about, .. } in &work.plan.figures {
        let Some(figure) = document.paper.measures(&about.id).next() else { continue };
        text += &wrapped(&format!("\nFigure {}: {}", figure.figure, figure.title), 2);
        if let Some(x) = &figure.x {
            let _ = writeln!(text, "against {}", x.label);
        }
        text += &table(document, figure).to_string();
        text += &incomplete_note(figure).map_or_else(String::new, |late| wrapped(&late, 2));
        text += &about.note.as_ref().map_or_else(String::new, |note| wrapped(note, 0));
    }
    text += "\n";
    text.extend(summary(document).iter().map(|line| wrapped(line, 0)));
    text
}

/// Table of all arms, and below each arm with shim or aid the ratio to the arm without.
pub fn table(document: &KernelDocument, figure: &FigureResult) -> Grid {
    let Grid { header, rows } = points_table(figure);
    let what = if figure.y.metric == COMPLETION_METRIC { "time" } else { "throughput" };
    let cell = |point: &PointResult| {
        let Some(estimate) = point.estimate() else { return "–".to_owned() };
        let mark = if point.incomplete > 0 { " *" } else { "" };
        mean_in(Scale::ONE, &estimate).replace("± ", "±\u{a0}") + mark
    };
    let mut all = Vec::new();
    for row in rows {
        let arm = figure.arms.0.iter().find(|of| of.arm.label == row[0]);
        all.push(row);
        if let Some(ratio) = arm.and_then(|of| document.ratio(figure, &of.arm.name)) {
            let name = format!("  of the {what} without");
            all.push(std::iter::once(name).chain(ratio.points.iter().map(cell)).collect());
        }
    }
    Grid { header, rows: all }
}

/// Summary: the runs, and whether they can be trusted.
pub fn summary(document: &KernelDocument) -> Vec<String> {
    let kernel = &document.kernel;
    let mut lines = Vec::new();
    if let Some(bytes) = kernel.transfer_bytes {
        lines.push(format!(
            "Reduced: transfers end after {}, so the paper's numbers are left out.",
            value("_bytes", bytes as f64)
        ));
    }
    if let Some(seconds) = kernel.duration_s {
        lines.push(format!(
            "Reduced: runs end after {}, so the paper's numbers are left out.",
            value("_s", seconds)
        ));
    }
    let runs = kernel.runs.len() as u64;
    let timing = &document.paper.timing;
    lines.push(format!(
        "Linux {}: {} in {:.0} s of real time, {} at a time. Means over {}, ± half of the 90 % \
         interval (Student's t); the ratio is that of the means, paired by seed.",
        kernel.release,
        count(runs, "run"),
        timing.wall_s,
        timing.jobs,
        count(document.paper.seeds.len() as u64, "seed"),
    ));
    let again = kernel.runs.iter().filter(|run| run.result.attempts > 1).count() as u64;
    if again > 0 {
        lines.push(format!("{} repeated, because packets were late.", count(again, "run")));
    }
    let doubts: Vec<String> = kernel
        .runs
        .iter()
        .filter(|run| !run.result.trusted)
        .map(|run| {
            let with = run.stack.aid.as_ref().map(|aid| format!(" with {aid}"));
            let with = with.unwrap_or_default();
            let control = &run.stack.congestion_control;
            let why = run.result.because.join("; ");
            format!("figure {}, {control}{with}, seed {} ({why})", run.figure, run.seed)
        })
        .collect();
    lines.push(match doubts.is_empty() {
        true => "Packets were on time in every run: all results can be trusted.".to_owned(),
        false => format!("Not to be trusted: {}. Fewer --jobs may help.", list(&doubts)),
    });
    let given_up: Vec<String> = kernel
        .runs
        .iter()
        .filter_map(|run| {
            let why = run.result.refused.as_ref()?;
            let control = &run.stack.congestion_control;
            Some(format!("figure {}, {control}, seed {}: {why}", run.figure, run.seed))
        })
        .collect();
    if !given_up.is_empty() {
        lines.push(format!("The kernel aborted connections: {}.", list(&given_up)));
    }
    lines
}
