//! Text output of `driftway validate --kernel`.

use driftway_experiment::validation::compare::Interval;
use driftway_experiment::validation::kernel::document::{KernelRow, KernelValidation};
use driftway_experiment::validation::kernel::verdict::Verdict;

use crate::text::{Grid, Scale, count, value, wrapped};
use crate::validate::tables::interval;

/// A table for the paths of the study and for those of each paper, the rows that are outside, and the
/// summary.
pub fn document(document: &KernelValidation) -> String {
    let mut text = String::new();
    let mut rest = &document.rows[..];
    while let Some(row) = rest.first() {
        let (paper, _) = split(&row.path);
        let len = rest.iter().take_while(|row| split(&row.path).0 == paper).count();
        let (rows, others) = rest.split_at(len);
        rest = others;
        if let Some(paper) = paper {
            text += &format!("{paper}\n");
        }
        text += &format!("{}\n", table(rows));
    }
    for row in document.rows.iter().filter(|row| row.verdict == Verdict::Outside) {
        let beside = row.beside.as_ref().map(|of| format!(" beside {of}")).unwrap_or_default();
        let cause = row.cause.as_deref().unwrap_or("not explained");
        text += &wrapped(&format!("{}, {}{beside}: {cause}", row.path, row.preset), 2);
    }
    text + &wrapped(&summary(document), 0)
}

/// The paper of a path, if it is of one, and the rest of its name.
fn split(path: &str) -> (Option<&str>, &str) {
    match path.split_once('/') {
        Some((paper, rest)) if rest.contains('/') => (Some(paper), rest),
        _ => (None, path),
    }
}

fn table(rows: &[KernelRow]) -> Grid {
    const METRIC: &str = "throughput_bps";
    let throughputs = rows.iter().flat_map(|row| [row.simulated_bps, row.kernel_bps]).flatten();
    let scale = Scale::of(METRIC, throughputs);
    let cell = |bps: Option<f64>| {
        bps.map_or("–".to_owned(), |bps| format!("{:.*}", 4, bps * scale.factor))
    };
    let row = |row: &KernelRow| {
        let ratio = row.ratio.map(|mean| interval(Interval { mean, ci90: row.ci90 }));
        let late = if row.late > 0 { " *" } else { "" };
        vec![
            split(&row.path).1.to_owned(),
            value("rtt_s", row.rtt_s).replace(' ', "\u{a0}"),
            row.preset.clone(),
            row.beside.clone().unwrap_or_default(),
            cell(row.simulated_bps),
            cell(row.kernel_bps),
            ratio.unwrap_or_else(|| "–".to_owned()),
            format!("{}{late}", row.n),
            row.verdict.word().to_owned(),
        ]
    };
    let header = [
        "path",
        "RTT",
        "TCP",
        "beside",
        "simulated",
        &format!("kernel ({})", scale.unit),
        "ratio",
        "n",
        "verdict",
    ];
    Grid { header: header.map(str::to_owned).to_vec(), rows: rows.iter().map(row).collect() }
}

/// Number of rows with each verdict, and how the numbers were measured.
fn summary(document: &KernelValidation) -> String {
    let of = |verdict| document.rows.iter().filter(|row| row.verdict == verdict).count();
    let late: u64 = document.rows.iter().map(|row| row.late).sum();
    let late = match late {
        0 => String::new(),
        _ => " * among them are runs whose packets were late; a quiet machine, or fewer --jobs, may help."
            .to_owned(),
    };
    let timing = &document.timing;
    format!(
        "{}: {} within 5 % of the kernel, {} outside, {} undecided. Linux {}: {}, and {} simulated, in {:.0} \
         s. Means over seeds; the ratio is simulated / kernel, ± half of its 90 % interval (Welch).{late}",
        count(document.rows.len() as u64, "row"),
        of(Verdict::Within),
        of(Verdict::Outside),
        of(Verdict::Undecided),
        document.release,
        count(timing.kernel_runs, "run"),
        timing.simulated_runs,
        timing.wall_s,
    )
}
