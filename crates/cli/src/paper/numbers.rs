//! `driftway paper NAME --numbers`: compares the numbers cited in a paper's texts with the results.

use std::io::Write;
use std::num::NonZeroU64;
use std::process::Command;

use driftway_experiment::study::citations::{self, CitationReport, CitedNumber};
use driftway_experiment::study::plan::Plan;
use driftway_experiment::study::source::Source;

use crate::failure::Failure;
use crate::runner::{self, RunnerOptions};
use crate::text::{count, value, wrapped};

/// Checks the cited numbers and prints them.
///
/// # Errors
/// An invalid file; a failed run; a number that differs from the value found.
pub fn check_numbers(plan: &Plan, jobs: Option<NonZeroU64>, fresh: bool) -> Result<(), Failure> {
    let options = RunnerOptions { jobs, fresh, runs: 0 };
    let checked = runner::with_runner(options, |runner| {
        citations::check(plan, runner, |command| run_shell_command(&plan.source, command))
    })?;
    let mut out = anstream::stdout().lock();
    for (at, line) in checked.numbers.iter().enumerate() {
        write!(out, "{}", number_line(line))?;
        // A command may give several numbers: it is printed after the last of them.
        if checked.numbers.get(at + 1).is_none_or(|next| next.derivation != line.derivation) {
            writeln!(out, "{:9}{}", "", line.derivation)?;
        }
    }
    for gone in &checked.missing {
        write!(out, "{}", wrapped(&format!("differs  {gone}"), 9))?;
    }
    for (text, around) in &checked.uncited {
        write!(out, "{}", wrapped(&format!("uncited  {text}: {around}"), 9))?;
    }
    let wrong = checked.numbers.iter().filter(|line| !line.agrees()).count();
    let cited = count(checked.numbers.len() as u64, "number");
    writeln!(out, "{cited} cited: {} agree, {wrong} differ.", checked.numbers.len() - wrong)?;
    if checked.is_consistent() { Ok(()) } else { Err(mismatch_failure(&checked, wrong)) }
}

fn number_line(line: &CitedNumber) -> String {
    let verdict = if line.agrees() { "agrees " } else { "differs" };
    let found = match &line.value {
        Ok(found) => format!("found {}", value("", *found)),
        Err(why) => format!("but {why}"),
    };
    let CitedNumber { passage, cited, .. } = line;
    wrapped(&format!("{verdict}  cited {cited}, {found}: “{passage}”"), 9)
}

fn mismatch_failure(checked: &CitationReport, wrong: usize) -> Failure {
    let mut what = Vec::new();
    if wrong > 0 {
        what.push(format!("{} wrong", count(wrong as u64, "number")));
    }
    if !checked.missing.is_empty() {
        what.push(format!("{} stale", count(checked.missing.len() as u64, "entry")));
    }
    if !checked.uncited.is_empty() {
        what.push(format!("{} without source", count(checked.uncited.len() as u64, "number")));
    }
    Failure::Failed(what.join(", "))
}

/// Standard output of a shell command. It runs in a directory of its own, with this program as
/// `driftway` and the paper's files in `papers/NAME`.
fn run_shell_command(source: &Source, command: &str) -> Result<String, String> {
    let failed = |what: &dyn std::fmt::Display| format!("cannot run it: {what}");
    let dir = tempfile::tempdir().map_err(|error| failed(&error))?;
    let own = std::env::current_exe().map_err(|error| failed(&error))?;
    let bin = dir.path().join("bin");
    std::fs::create_dir(&bin).map_err(|error| failed(&error))?;
    std::os::unix::fs::symlink(own, bin.join("driftway")).map_err(|error| failed(&error))?;
    source.unpack(dir.path()).map_err(|error| failed(&error))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = vec![bin];
    paths.extend(std::env::split_paths(&path));
    let path = std::env::join_paths(paths).map_err(|error| failed(&error))?;
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(dir.path())
        .env("PATH", path)
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        let says = String::from_utf8_lossy(&output.stderr);
        return Err(format!("failed with {}: {}", output.status, says.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
