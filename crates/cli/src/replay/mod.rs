//! `driftway replay`: the events of a run, or of two, on one page with a map and a time line.

mod source;

use std::io::Write;
use std::path::{Path, PathBuf};

use driftway_base::Instant;
use driftway_experiment::replay::{MAX_PAGE, Replay, ReplayPage, TimeWindow, page};
use driftway_scenario::Time;

use crate::args::ReplayArgs;
use crate::failure::Failure;
use crate::files::OutputDir;
use crate::result_dirs::ResultDir;
use crate::text::{capitalized, count};

/// File name of the page beside a report.
pub const REPLAY: &str = "replay.html";

/// Reads or runs, and writes the page.
///
/// # Errors
/// A directory without an event log, an invalid scenario, a time outside of the run, or a page that cannot be
/// written.
pub fn replay(args: &ReplayArgs) -> Result<(), Failure> {
    let window = window(args)?;
    let (dir, name) = output(&args.out)?;
    let labels = labels(&args.runs);
    let mut runs = Vec::new();
    let mut titles = Vec::new();
    for (path, label) in args.runs.iter().zip(labels) {
        let (title, run) = source::load(path, label, args.seed, window)?;
        runs.push(run);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let made = make(&capitalized(&titles.join(" and ")), runs)?;
    let opened = OutputDir::open(&dir)?;
    let mut staging = opened.stage()?;
    staging.write_text(&name, &made.html)?;
    staging.commit()?;
    let mut out = anstream::stdout().lock();
    for sentence in &made.thinned {
        writeln!(out, "{sentence} --from and --to show a part in full.")?;
    }
    writeln!(
        out,
        "Written to {}: {}, {:.2} MB",
        args.out.display(),
        count(made.events as u64, "event"),
        made.html.len() as f64 / 1e6
    )?;
    Ok(())
}

/// The page of the first run of `results`, for a report; `None` without an event log.
///
/// # Errors
/// A log that cannot be read.
pub fn beside_report(title: &str, results: &ResultDir) -> Result<Option<ReplayPage>, Failure> {
    let Some(run) = source::of_results(results, String::new(), None, TimeWindow::default())? else {
        return Ok(None);
    };
    make(title, vec![run]).map(Some)
}

fn make(title: &str, runs: Vec<Replay>) -> Result<ReplayPage, Failure> {
    let made = page(title, runs, MAX_PAGE);
    made.map_err(|error| Failure::Failed(format!("cannot make the page: {error}")))
}

fn window(args: &ReplayArgs) -> Result<TimeWindow, Failure> {
    let instant = |Time(time): Time| Instant::ZERO + time;
    let (from, to) = (instant(args.from), args.to.map(instant));
    if to.is_some_and(|to| to <= from) {
        return Err(Failure::Input(
            "--to is not after --from\nhelp: as in --from 470s --to 485s".to_owned(),
        ));
    }
    Ok(TimeWindow { from, to })
}

/// The directory and the name of the page.
fn output(path: &Path) -> Result<(PathBuf, String), Failure> {
    let refused = |what: &str| {
        let help = "help: --out takes the name of a file, as in --out replay.html";
        Failure::Input(format!("--out {}: {what}\n{help}", path.display()))
    };
    if path.exists() && !path.is_file() {
        return Err(refused(if path.is_dir() { "is a directory" } else { "not a regular file" }));
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| refused("not a file name"))?;
    let dir = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !dir.is_dir() {
        return Err(refused(&format!("no directory {}", dir.display())));
    }
    Ok((dir.to_owned(), name.to_owned()))
}

/// Names by which two runs differ: of their paths, what is not the same.
fn labels(paths: &[PathBuf]) -> Vec<String> {
    let [one, other] = paths else { return vec![String::new(); paths.len()] };
    let last = |path: &Path| {
        let name = path.file_stem().filter(|_| path.is_file()).or(path.file_name());
        name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let names = [last(one), last(other)];
    if names[0] == names[1] {
        return vec![one.display().to_string(), other.display().to_string()];
    }
    names.to_vec()
}
