//! Text output of `driftway validate --kernel`.

use driftway_experiment::validation::compare::Interval;
use driftway_experiment::validation::kernel::document::{KernelRow, KernelValidation};
use driftway_experiment::validation::kernel::verdict::Verdict;
use driftway_sim::results::Estimate;

use crate::text::{Grid, Scale, count, mean_in, value, wrapped};
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
        let mean = bps.map(|mean| Estimate { mean, ci90: None, ci95: None, n: 1 });
        mean.map_or("–".to_owned(), |mean| mean_in(scale, &mean))
    };
    // A row stays in one line.
    let whole = |cell: String| cell.replace(' ', "\u{a0}");
    let row = |row: &KernelRow| {
        let ratio = row.ratio.map(|mean| interval(Interval { mean, ci90: row.ci90 }));
        let late = if row.late > 0 { "*" } else { "" };
        vec![
            split(&row.path).1.to_owned(),
            whole(value("rtt_s", row.rtt_s)),
            row.preset.clone(),
            row.beside.clone().unwrap_or_default(),
            cell(row.simulated_bps),
            cell(row.kernel_bps),
            ratio.map_or("–".to_owned(), whole),
            format!("{}{late}", row.n),
            row.verdict.word().to_owned(),
        ]
    };
    let header = [
        "path",
        "RTT",
        "TCP",
        "beside",
        &format!("simulated ({})", scale.unit),
        "kernel",
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
         s. Means over seeds; the ratio is simulated / kernel ± half of its 90 % interval (Welch).{late}",
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

#[cfg(test)]
mod test {
    use driftway_experiment::validation::kernel::document::{KernelTiming, SCHEMA};

    use super::*;

    fn row(path: &str, beside: Option<&str>, ratio: f64, verdict: Verdict) -> KernelRow {
        KernelRow {
            path: path.to_owned(),
            rtt_s: 0.2,
            preset: "linux-bbr".to_owned(),
            congestion_control: "bbr".to_owned(),
            alone: beside.is_none(),
            beside: beside.map(str::to_owned),
            simulated_bps: Some(9_654_321.0 * ratio),
            kernel_bps: Some(9_654_321.0),
            ratio: Some(ratio),
            ci90: Some([ratio - 0.1, ratio + 0.1]),
            n: 16,
            simulated_n: 40,
            late: u64::from(beside.is_some()),
            verdict,
            cause: beside.map(|_| "the kernel paces".to_owned()),
        }
    }

    fn example() -> KernelValidation {
        let rows = vec![
            row("reordering/200 ms", None, 1.25, Verdict::Outside),
            row("marking/200 ms", Some("linux"), 0.5, Verdict::Outside),
            row("singh-iyer-2002/modern-down/50 ms", None, 1.0, Verdict::Undecided),
            row("singh-iyer-2002/modern-down/4 s", None, 1.0, Verdict::Within),
        ];
        let timing = KernelTiming { wall_s: 270.0, kernel_runs: 64, simulated_runs: 160 };
        let (version, release) = ("0.1.0", "6.18.0".to_owned());
        KernelValidation { schema: SCHEMA, version, release, quick: true, rows, timing }
    }

    #[test]
    fn tables_fit_and_outside_rows_are_listed_with_their_cause() {
        let text = document(&example());
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        for part in [
            "\nsingh-iyer-2002\n",
            "\n modern-down/50 ms ",
            "reordering/200 ms, linux-bbr: not explained\n",
            "marking/200 ms, linux-bbr beside linux: the kernel paces\n",
            "1.250\u{a0}±\u{a0}0.100",
            "16*",
            "4 rows: 1 within 5 % of the kernel, 2 outside, 1 undecided.",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // One row in one line.
        assert_eq!(text.lines().filter(|line| line.ends_with("undecided")).count(), 1, "{text}");
    }

    #[test]
    fn the_document_is_documented() {
        crate::results_reference::assert_documented("driftway-validate---kernel", &example());
    }
}
