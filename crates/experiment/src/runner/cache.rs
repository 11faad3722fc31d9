//! Cache of runs in files: an interrupted study resumes with the missing runs, and unchanged runs
//! are not repeated.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration as StdDuration, SystemTime};

use driftway_base::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::identity::VERSION;
use super::record::{Job, RunRecord};
use crate::error::Error;

/// The environment variable that sets another directory, or disables the cache with `off`.
pub const CACHE_VARIABLE: &str = "DRIFTWAY_CACHE";

/// The cache of an old version is removed if no run was added to it for this time.
const MAX_AGE: StdDuration = StdDuration::from_secs(30 * 24 * 3600);

/// A directory of runs: `VERSION/DIGEST/SEED.json`, or with samples at an interval in nanoseconds
/// `VERSION/DIGEST/SEED-NANOSECONDS.json`. Files are written under another name and renamed, so
/// that several processes can use the cache concurrently and none reads a partial file.
#[derive(Clone, Debug)]
pub struct RunCache {
    dir: PathBuf,
}

impl RunCache {
    /// The directory in `DRIFTWAY_CACHE`, else `driftway` in `XDG_CACHE_HOME` or `~/.cache`. `None`
    /// if the variable is `off`, or if there is no home directory.
    ///
    /// # Errors
    ///
    /// The directory cannot be created.
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

    /// Uses this directory.
    ///
    /// # Errors
    ///
    /// It cannot be created.
    pub fn at(dir: &Path) -> Result<Self, Error> {
        let (root, dir) = (dir, dir.join(VERSION));
        let made = dir.is_dir();
        fs::create_dir_all(&dir).map_err(|error| Error::io("store runs in", root, error))?;
        if !made {
            remove_stale_versions(root);
        }
        Ok(Self { dir })
    }

    /// Returns the run if it is cached. A file that is not a record of this run is ignored.
    pub fn get(&self, job: &Job, seed: u64, step: Option<Duration>) -> Option<RunRecord> {
        let bytes = fs::read(self.file(&job.digest, seed, step)).ok()?;
        let record: RunRecord = serde_json::from_slice(&bytes).ok()?;
        let same = record.version == VERSION && record.scenario == job.digest;
        (same && record.seed == seed && record.samples.is_some() == step.is_some())
            .then_some(record)
    }

    /// Stores a run.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn put(&self, step: Option<Duration>, record: &RunRecord) -> Result<(), Error> {
        let file = self.file(&record.scenario, record.seed, step);
        self.write(&file, record).map_err(|error| Error::io("store a run in", &file, error))
    }

    /// Returns the result of a run that was no simulation, by the digest of its scenario and a name of letters, digits,
    /// hyphens and dots that says how it was run. A file that is no such result is ignored.
    pub fn get_measured<T: DeserializeOwned>(&self, digest: &str, name: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.measured(digest, name)).ok()?).ok()
    }

    /// Stores the result of such a run.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn put_measured(
        &self,
        digest: &str,
        name: &str,
        result: &impl Serialize,
    ) -> Result<(), Error> {
        let file = self.measured(digest, name);
        self.write(&file, result).map_err(|error| Error::io("store a run in", &file, error))
    }

    fn measured(&self, digest: &str, name: &str) -> PathBuf {
        self.dir.join(digest).join(format!("measured-{name}.json"))
    }

    fn write(&self, file: &Path, record: &impl Serialize) -> io::Result<()> {
        let dir = file.parent().unwrap_or(&self.dir);
        fs::create_dir_all(dir)?;
        let mut fresh = tempfile::NamedTempFile::new_in(dir)?;
        fresh.write_all(&serde_json::to_vec(record)?)?;
        fresh.persist(file)?;
        Ok(())
    }

    fn file(&self, digest: &str, seed: u64, step: Option<Duration>) -> PathBuf {
        let name = match step {
            None => format!("{seed}.json"),
            Some(step) => format!("{seed}-{}.json", step.as_nanos()),
        };
        self.dir.join(digest).join(name)
    }
}

/// Removes the caches of versions no longer used. Files that cannot be removed are left, as they do
/// no harm.
fn remove_stale_versions(dir: &Path) {
    #[expect(clippy::disallowed_methods, reason = "file ages concern the machine, not a run")]
    let now = SystemTime::now();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let since = entry.metadata().and_then(|of| of.modified());
        let age = since.ok().and_then(|since| now.duration_since(since).ok());
        if age.is_some_and(|age| age > MAX_AGE) && is_version_dir(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Only directories that this module created are removed.
fn is_version_dir(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let code = name.and_then(|name| name.split_once('-'));
    path.is_dir()
        && code.is_some_and(|(_, code)| {
            code.len() == 16 && code.chars().all(|c| c.is_ascii_hexdigit())
        })
}
