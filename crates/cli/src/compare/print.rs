//! Text output of `driftway compare`.

use std::fmt::Write;

use driftway_experiment::comparison::document::{CompareDocument, HypothesisResult};

use super::behind;
use super::kernel::tables::{KernelTables, kernel_tables};
use super::tables::{network_grid, networks, overview_grid};
use crate::text::{count, fixed, wrapped};

/// A statement about programs that this cannot help.
pub const NOT_FOR_UDP: &str = "None of this is for programs over QUIC or UDP: the aids act on TCP, and the shim lets other \
                               packets pass untouched.";

/// Networks that are shown in full.
const IN_FULL: usize = 3;

/// Cases in which carry is behind that are listed of each cause.
const CASES_SHOWN: usize = 3;

/// The comparison as text.
pub fn document(document: &CompareDocument) -> String {
    let mut text = String::new();
    text += &wrapped(&behind::summary(document), 0);
    for group in behind::groups(document) {
        let because = group.because.unwrap_or("The cause is not known.");
        text += &wrapped(&format!("{}: {because}", group.heading()), 2);
        for of in group.cases.iter().take(CASES_SHOWN) {
            text += &wrapped(&format!("  {}", behind::case(of)), 4);
        }
    }
    if behind::groups(document).iter().any(|group| group.cases.len() > CASES_SHOWN) {
        text += "  All cases are in the page and in the JSON document.\n";
    }
    text.push('\n');
    for of in &document.recommendations {
        text += &wrapped(&format!("{}: {}", of.network, of.sentence), 2);
    }
    text.push('\n');
    let names = networks(document);
    if names.len() <= IN_FULL {
        for network in names {
            let _ = writeln!(text, "{network}: throughput relative to the same TCP without an aid");
            let _ = write!(text, "{}", network_grid(document, network));
        }
    } else {
        text += "Over Linux's TCP (CUBIC): throughput, and relative to it without an aid\n";
        let _ = write!(text, "{}", overview_grid(document));
    }
    for of in &document.hypotheses {
        text += &wrapped(&hypothesis(of), 2);
    }
    text += &wrapped(&summary(document), 0);
    if let Some(KernelTables { summary, aids, grid, left_out }) = kernel_tables(document) {
        text += "\nWith this machine's own TCP: throughput as it is, and relative to that\n";
        let _ = write!(text, "{grid}");
        for (aid, says) in aids {
            text += &wrapped(&format!("{aid}: {says}."), 2);
        }
        text += &wrapped(&summary, 0);
        let left_out: Vec<String> = left_out.into_iter().map(|(name, _)| name).collect();
        if !left_out.is_empty() {
            text += &wrapped(&format!("Not run with the kernel: {}.", left_out.join(", ")), 2);
        }
    }
    text += &wrapped(NOT_FOR_UDP, 0);
    text
}

/// A hypothesis with its verdict.
pub fn hypothesis(of: &HypothesisResult) -> String {
    let verdict = verdict(of.holds);
    let ratio = match (of.ratio, of.ci90) {
        (Some(ratio), Some([low, high])) => {
            format!("{ratio:.2} ({} to {high:.2})", fixed(low, 2))
        }
        (Some(ratio), None) => format!("{ratio:.2}"),
        _ => "no ratio".to_owned(),
    };
    let p = of.p_holm.map_or_else(String::new, |p| format!(", p {p:.2e}"));
    format!("Hypothesis {}: {}: {verdict}; {ratio}{p}", of.id, of.says)
}

/// A verdict in words.
pub const fn verdict(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "undecided",
    }
}

/// The amount of work, and the meaning of signs.
pub fn summary(document: &CompareDocument) -> String {
    let cell = document.cells.first().map_or(0, |of| of.n);
    format!(
        "{} in {:.0} s, {} at a time; {} for each cell. ± is half of the paired 90 % interval (Student's t); * marks p below \
         0.05 by Holm's procedure over all {}.",
        count(document.timing.runs, "run"),
        document.timing.wall_s,
        document.timing.jobs,
        count(cell, "seed"),
        count(document.cells.iter().filter(|of| !of.kernel).count() as u64, "cell"),
    )
}
