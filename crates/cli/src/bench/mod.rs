//! `driftway bench`: the simulator's speed, compared with ns-2.35 and from 50 to 5,000 nodes.
//!
//! Every run is a process of its own, one at a time, so that the system reports its CPU time and
//! memory, and no run warms another's caches.

mod ns2;
mod scaling;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use driftway_sim::results::{Document, RunResult};

use crate::args::BenchArgs;
use crate::failure::Failure;
use driftway_experiment::validation::ns2::{ResourceUsage, run_measured};

/// Measures, and prints tables.
///
/// # Errors
/// Invalid cases, a failed run, or, with `--ns2`, a missing ns-2.35.
pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    write!(out, "{}", ns2::ns2_tables(args)?)?;
    out.flush()?;
    write!(out, "\n{}", scaling::scaling_tables(args)?)?;
    Ok(())
}

/// Runs one seed of a scenario in a process of its own.
fn run_in_process(
    scenario: &Path,
    set: &[(String, String)],
    seed: u64,
) -> Result<(RunResult, ResourceUsage), Failure> {
    let this = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("cannot find driftway's own program: {error}")))?;
    let mut command = Command::new(this);
    command.arg("run").arg(scenario).args(["--json", "--seed", &seed.to_string()]);
    for (key, value) in set {
        command.arg("--set").arg(format!("{key}={value}"));
    }
    let failed = |what: &dyn std::fmt::Display| Failure::Failed(what.to_string());
    let (text, used) = run_measured(&mut command).map_err(|error| failed(&error))?;
    let mut document: Document = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let run = document.runs.pop().ok_or_else(|| failed(&"a run without results"))?;
    Ok((run, used))
}

/// A number of bytes in megabytes, with one decimal.
fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}
