//! The runs to replay: of a directory with an event log, or of a scenario that is run for it.

use std::io::{BufReader, Seek};
use std::path::Path;

use driftway_base::Instant;
use driftway_experiment::command::shell_quoted;
use driftway_experiment::replay::{Replay, TimeWindow};
use driftway_experiment::runner::Job;
use driftway_sim::Observers;
use driftway_sim::log::EventLog;
use driftway_sim::results::RunResult;

use crate::args::ScenarioArgs;
use crate::check::load_scenario;
use crate::failure::Failure;
use crate::result_dirs::{ResultDir, read_result_dir, unreadable};

/// The title and the run of a directory or a scenario.
///
/// # Errors
/// A directory without an event log, an invalid scenario, or a time outside of the run.
pub fn load(
    path: &Path,
    label: String,
    seed: Option<u64>,
    window: TimeWindow,
) -> Result<(String, Replay), Failure> {
    if !path.is_dir() {
        return of_scenario(path, label, seed, window);
    }
    let dir = shell_quoted(&path.to_string_lossy());
    if !path.join("results.json").is_file() {
        return Err(Failure::Input(format!(
            "no results.json in {}\n\
             help: `driftway run SCENARIO.toml --out {dir} --events` writes one, with an event log",
            path.display()
        )));
    }
    let results = read_result_dir(path.to_owned())?;
    let title = results.document.scenario.name.clone();
    match of_results(&results, label, seed, window)? {
        Some(run) => Ok((title, run)),
        None => {
            let scenario = shell_quoted(&path.join("scenario.toml").to_string_lossy());
            let of = seed.map_or(String::new(), |seed| format!(" of seed {seed}"));
            let seed = seed.or(results.first_seed()).unwrap_or(1);
            Err(Failure::Input(format!(
                "{}: no event log{of}\n\
                 help: `driftway run {scenario} --seed {seed} --out {dir} --events` writes one",
                path.display()
            )))
        }
    }
}

/// The run with this seed, or the first one with an event log; `None`: there is no event log.
///
/// # Errors
/// A log that cannot be read, or a time outside of the run.
pub fn of_results(
    results: &ResultDir,
    label: String,
    seed: Option<u64>,
    window: TimeWindow,
) -> Result<Option<Replay>, Failure> {
    let is_wanted = |run: &&RunResult| seed.is_none_or(|seed| seed == run.seed);
    for run in results.document.runs.iter().filter(is_wanted) {
        let Some((path, file)) = results.event_log(run.seed)? else { continue };
        check_window(run, window)?;
        let scenario = &results.document.scenario;
        let replay = Replay::read(label, (scenario, run), BufReader::new(file), window);
        return replay.map(Some).map_err(|error| unreadable(&path, &error));
    }
    Ok(None)
}

/// Runs a scenario, with its event log in a temporary file.
fn of_scenario(
    path: &Path,
    label: String,
    seed: Option<u64>,
    window: TimeWindow,
) -> Result<(String, Replay), Failure> {
    let args = ScenarioArgs { scenario: path.to_owned(), set: Vec::new() };
    let scenario = load_scenario(&args)?;
    let seed = seed.unwrap_or(1);
    let temporary = |error: std::io::Error| {
        Failure::Failed(format!("cannot write a temporary event log: {error}"))
    };
    let mut file = tempfile::tempfile().map_err(temporary)?;
    let writer = std::io::BufWriter::new(file.try_clone().map_err(temporary)?);
    let mut log = EventLog::new(Box::new(writer));
    let observers = Observers { log: Some(&mut log), ..Observers::default() };
    let job = Job::new(scenario.clone(), path.to_string_lossy().into_owned(), Vec::new());
    let run = job.catch_failure(seed, || driftway_sim::run(&scenario, seed, observers))?;
    log.finish().map_err(temporary)?;
    check_window(&run, window)?;
    file.rewind().map_err(temporary)?;
    let title = scenario.name.clone();
    let replay = Replay::read(label, (&scenario, &run), BufReader::new(file), window)
        .map_err(|error| Failure::Failed(format!("cannot read the event log: {error}")))?;
    Ok((title, replay))
}

fn check_window(run: &RunResult, window: TimeWindow) -> Result<(), Failure> {
    if window.from > Instant::ZERO && window.from.as_secs_f64() >= run.duration_s {
        return Err(Failure::Input(format!(
            "--from {} s: the run ends at {} s",
            window.from.as_secs_f64(),
            run.duration_s
        )));
    }
    Ok(())
}
