//! A run in a process of its own.

use std::path::Path;
use std::process::Command;

use driftway_experiment::validation::ns2::{ResourceUsage, run_measured};
use driftway_sim::results::{RunDocument, RunResult};

use crate::failure::Failure;

/// Runs one seed of a scenario in a process of its own.
pub fn run_in_process(
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
    let mut document: RunDocument = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    let run = document.runs.pop().ok_or_else(|| failed(&"a run without results"))?;
    Ok((run, used))
}

/// A number of bytes in megabytes, with one decimal.
pub fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}
