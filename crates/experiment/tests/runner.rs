//! Runs are performed once, stored completely, and interrupted between two events.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use driftway_base::Duration;
use driftway_experiment::Error;
use driftway_experiment::runner::{Job, RunCache, RunRecord, Runner, Task};
use driftway_scenario::Scenario;

fn job(set: &[(&str, &str)]) -> Job {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
    let set: Vec<_> = set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Job::new(Scenario::load(file, &set).unwrap(), "lossy-path.toml".to_owned(), set)
}

/// The records of these seeds.
fn run(
    cache: Option<&Path>,
    ignore_cache: bool,
    job: &Job,
    step: Option<Duration>,
) -> Vec<RunRecord> {
    let cache = cache.map(|dir| RunCache::at(dir).unwrap());
    let stop = AtomicBool::new(false);
    let runner = Runner { threads: 2, cache, ignore_cache, stop: &stop, on_finished: &|| () };
    let tasks: Vec<_> = (1..=4).map(|seed| Task { job, seed, step }).collect();
    runner.run(&tasks).unwrap()
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn without_time(records: Vec<RunRecord>) -> Vec<RunRecord> {
    records.into_iter().map(|record| RunRecord { user_s: 0.0, ..record }).collect()
}

#[test]
fn cached_runs_are_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let job = job(&[]);
    let first = run(Some(dir.path()), false, &job, None);
    assert_eq!(files(dir.path()).len(), 4);
    // The CPU time is that of the first run: it was not repeated. All else is identical.
    assert_eq!(run(Some(dir.path()), false, &job, None), first);
    let fresh = run(Some(dir.path()), true, &job, None);
    assert_ne!(fresh, first, "the time that it took differs");
    assert_eq!(without_time(fresh), without_time(first.clone()));
    assert_eq!(without_time(run(None, false, &job, None)), without_time(first));
}

#[test]
fn invalid_records_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let job = job(&[]);
    let first = run(Some(dir.path()), false, &job, None);
    let kept = files(dir.path());
    for wrong in [b"".as_slice(), b"{\"version\":", &fs::read(&kept[1]).unwrap()] {
        fs::write(&kept[0], wrong).unwrap();
        let again = run(Some(dir.path()), false, &job, None);
        assert_eq!(without_time(again), without_time(first.clone()));
    }
}

#[test]
fn scenario_and_sample_interval_identify_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (job(&[]), job(&[("network.link.delay", "7 ms")]));
    let first = run(Some(dir.path()), false, &one, None);
    assert_ne!(run(Some(dir.path()), false, &other, None)[0].result, first[0].result);
    let step = Some(Duration::from_secs(1));
    let sampled = run(Some(dir.path()), false, &one, step);
    assert_eq!(files(dir.path()).len(), 12);
    // Samples do not change the run.
    assert_eq!(sampled[0].result, first[0].result);
    let samples = sampled[0].samples.as_ref().unwrap();
    assert_eq!(samples.rows(), samples.aid_state.len());
    assert_eq!(*samples.time_s.last().unwrap(), sampled[0].result.duration_s);
    assert_eq!(
        *samples.delivered_bytes.last().unwrap(),
        sampled[0].result.flows[0].delivered_bytes
    );
    assert_eq!(run(Some(dir.path()), false, &one, step), sampled);
}

#[test]
fn completed_runs_survive_an_interruption() {
    let dir = tempfile::tempdir().unwrap();
    let job = job(&[]);
    let (stop, finished) = (AtomicBool::new(false), AtomicU64::new(0));
    let two = || {
        if finished.fetch_add(1, Ordering::Relaxed) == 1 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let cache = Some(RunCache::at(dir.path()).unwrap());
    let runner = Runner { threads: 1, cache, ignore_cache: false, stop: &stop, on_finished: &two };
    let tasks: Vec<_> = (1..=4).map(|seed| Task { job: &job, seed, step: None }).collect();
    let Err(Error::Stopped { finished: 2, total: 4 }) = runner.run(&tasks) else { panic!() };
    assert_eq!(files(dir.path()).len(), 2);
    let all = run(Some(dir.path()), false, &job, None);
    assert_eq!(without_time(all), without_time(run(None, false, &job, None)));
}

#[test]
fn running_runs_are_interrupted() {
    let job = job(&[]);
    let stop = AtomicBool::new(true);
    assert_eq!(job.run_recorded(1, None, &stop).unwrap(), None);
    assert_eq!(job.run_recorded(1, Some(Duration::from_secs(1)), &stop).unwrap(), None);
}
