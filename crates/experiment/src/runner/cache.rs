//! Runs that were made, kept in files: a study that was stopped goes on with what is missing, and what is
//! unchanged is not run again.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration as StdDuration, SystemTime};

use driftway_base::Duration;

use super::identity::VERSION;
use super::record::{Job, RunRecord};
use crate::error::Error;

/// The variable of the environment that names another place, or says `off`.
pub const CACHE_VARIABLE: &str = "DRIFTWAY_CACHE";

/// What a version has left is removed when no run of it was added for so long.
const MAX_AGE: StdDuration = StdDuration::from_secs(30 * 24 * 3600);

/// A directory in which runs are kept: `VERSION/DIGEST/SEED.json`, and with samples every so many
/// nanoseconds `VERSION/DIGEST/SEED-NANOSECONDS.json`. Files are written under another name and renamed, so
/// that several programs can use it at once, and none reads a half one.
#[derive(Clone, Debug)]
pub struct RunCache {
    dir: PathBuf,
}

impl RunCache {
    /// Where `DRIFTWAY_CACHE` says, else `driftway` in `XDG_CACHE_HOME` or `~/.cache`. `None` if it says
    /// `off`, or if there is no home.
    ///
    /// # Errors
    /// The directory can't be made.
    pub fn standard() -> Result<Option<Self>, Error> {
        let of = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let dir = match of(CACHE_VARIABLE) {
            Some(dir) if dir.as_os_str() == "off" => return Ok(None),
            Some(dir) => dir,
            None => {
                let home = of("XDG_CACHE_HOME").or(of("HOME").map(|home| home.join(".cache")));
                let Some(home) = home else { return Ok(None) };
                home.join("driftway")
            }
        };
        Self::at(&dir).map(Some)
    }

    /// In this directory.
    ///
    /// # Errors
    /// It can't be made.
    pub fn at(dir: &Path) -> Result<Self, Error> {
        let own = dir.join(VERSION);
        let made = own.is_dir();
        fs::create_dir_all(&own).map_err(|error| Error::io("keep runs in", dir, error))?;
        if !made {
            remove_stale_versions(dir);
        }
        Ok(Self { dir: own })
    }

    /// The run, if it is there. A file that is not a record of it counts as none.
    pub fn get(&self, job: &Job, seed: u64, step: Option<Duration>) -> Option<RunRecord> {
        let bytes = fs::read(self.file(job, seed, step)).ok()?;
        let record: RunRecord = serde_json::from_slice(&bytes).ok()?;
        let same = record.version == VERSION && record.scenario == job.digest;
        (same && record.seed == seed && record.samples.is_some() == step.is_some())
            .then_some(record)
    }

    /// Keeps a run.
    ///
    /// # Errors
    /// It can't be written.
    pub fn put(&self, job: &Job, step: Option<Duration>, record: &RunRecord) -> Result<(), Error> {
        let file = self.file(job, record.seed, step);
        self.write(&file, record).map_err(|error| Error::io("keep a run in", &file, error))
    }

    fn write(&self, file: &Path, record: &RunRecord) -> io::Result<()> {
        let dir = file.parent().unwrap_or(&self.dir);
        fs::create_dir_all(dir)?;
        let mut fresh = tempfile::NamedTempFile::new_in(dir)?;
        fresh.write_all(&serde_json::to_vec(record)?)?;
        fresh.persist(file)?;
        Ok(())
    }

    fn file(&self, job: &Job, seed: u64, step: Option<Duration>) -> PathBuf {
        let name = match step {
            None => format!("{seed}.json"),
            Some(step) => format!("{seed}-{}.json", step.as_nanos()),
        };
        self.dir.join(&job.digest).join(name)
    }
}

/// Removes what versions that are no longer used have left. What can't be removed stays: it is in nobody's way.
fn remove_stale_versions(dir: &Path) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the age of files is of the machine, not of a run"
    )]
    let now = SystemTime::now();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let since = entry.metadata().and_then(|of| of.modified());
        let age = since.ok().and_then(|since| now.duration_since(since).ok());
        if age.is_some_and(|age| age > MAX_AGE) && is_version_dir(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Only what this file has made is removed.
fn is_version_dir(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let code = name.and_then(|name| name.split_once('-'));
    path.is_dir()
        && code.is_some_and(|(_, code)| {
            code.len() == 16 && code.chars().all(|c| c.is_ascii_hexdigit())
        })
}
