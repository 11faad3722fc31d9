//! Stored results: one directory of results, or a set of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use driftway_base::Instant;
use driftway_sim::log::EventLog;
use driftway_sim::results::{RunDocument, SCHEMA};
use driftway_sim::samples::{FlowSampleRow, LinkSampleRow, Samples, read_rows};
use driftway_sim::trace::{FaultEvent, FlowTrace, Trace};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Depth to which subdirectories are searched for results.
const MAX_DEPTH: usize = 3;

/// A directory of results.
pub struct ResultDir {
    /// Path of the directory.
    pub dir: PathBuf,
    /// Content of its `results.json`.
    pub document: RunDocument,
    /// Keys of the scenario with their values, as in a scenario file.
    pub keys: BTreeMap<String, String>,
}

impl ResultDir {
    /// Seed of the first run, which has traces.
    pub fn first_seed(&self) -> Option<u64> {
        self.document.runs.first().map(|run| run.seed)
    }

    /// Trace of a flow in the first run; `None` if there is no file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn trace(&self, flow: usize) -> Result<Option<FlowTrace>, Failure> {
        let Some(seed) = self.first_seed() else { return Ok(None) };
        open(&self.dir.join(Trace::flow_file_name(seed, flow)))?
            .map(|(path, file)| FlowTrace::read(file).map_err(|e| unreadable(&path, &e)))
            .transpose()
    }

    /// Faults of the network in the first run.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn faults(&self) -> Result<Vec<(Instant, FaultEvent)>, Failure> {
        let Some(seed) = self.first_seed() else { return Ok(Vec::new()) };
        let marks = open(&self.dir.join(Trace::network_file_name(seed)))?
            .map(|(path, file)| Trace::read_network(file).map_err(|e| unreadable(&path, &e)))
            .transpose()?;
        Ok(marks.unwrap_or_default())
    }

    /// Samples of the links and of the flows of the first run; empty without files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn samples(&self) -> Result<(Vec<LinkSampleRow>, Vec<FlowSampleRow>), Failure> {
        let Some(seed) = self.first_seed() else { return Ok((Vec::new(), Vec::new())) };
        let links = self.rows(&Samples::links_file_name(seed))?;
        Ok((links, self.rows(&Samples::flows_file_name(seed))?))
    }

    fn rows<R: DeserializeOwned>(&self, name: &str) -> Result<Vec<R>, Failure> {
        let rows = open(&self.dir.join(name))?
            .map(|(path, file)| read_rows(file).map_err(|e| unreadable(&path, &e)))
            .transpose()?;
        Ok(rows.unwrap_or_default())
    }

    /// File of the event log of a run, with its path; `None` if there is no file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn event_log(&self, seed: u64) -> Result<Option<(PathBuf, fs::File)>, Failure> {
        open(&self.dir.join(EventLog::file_name(seed)))
    }
}

fn open(path: &Path) -> Result<Option<(PathBuf, fs::File)>, Failure> {
    match fs::File::open(path) {
        Ok(file) => Ok(Some((path.to_owned(), file))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Input(format!("cannot read {}: {error}", path.display()))),
    }
}

/// The failure to read a file whose content is invalid.
pub fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::Input(format!("{}: {error}", path.display()))
}

/// All results in `dir`: its own `results.json`, or those of the directories below, sorted by name.
///
/// # Errors
/// No results, or results that cannot be read.
pub fn load_results(dir: &Path) -> Result<Vec<ResultDir>, Failure> {
    if !dir.is_dir() {
        let what = if dir.exists() { "not a directory" } else { "no such directory" };
        return Err(Failure::Input(format!("{}: {what}", dir.display())));
    }
    let mut found = Vec::new();
    find_results(dir, MAX_DEPTH, &mut found)?;
    if found.is_empty() {
        return Err(Failure::Input(format!(
            "no results.json in {0} or in the directories below\n\
             help: `driftway run SCENARIO.toml --out {0}` writes one",
            dir.display()
        )));
    }
    found.into_iter().map(read_result_dir).collect()
}

fn find_results(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if dir.join("results.json").is_file() {
        found.push(dir.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = fs::read_dir(dir)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", dir.display())))?;
    let mut below: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    below.sort();
    below
        .into_iter()
        .filter(|path| path.is_dir())
        .try_for_each(|path| find_results(&path, depth - 1, found))
}

/// Fields of a document in every version of the schema.
#[derive(Deserialize)]
struct DocumentHeader {
    schema: u32,
    version: String,
}

/// The results in `dir` itself.
///
/// # Errors
/// Results that cannot be read.
pub fn read_result_dir(dir: PathBuf) -> Result<ResultDir, Failure> {
    let path = dir.join("results.json");
    let text = fs::read_to_string(&path)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", path.display())))?;
    let DocumentHeader { schema, version } =
        serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))?;
    let again = "run the scenario again with this version of driftway";
    if schema != SCHEMA {
        let path = path.display();
        let what = format!("schema {schema}, but this version of driftway reads schema {SCHEMA}");
        return Err(Failure::Input(format!("{path}: {what}\nhelp: {again}")));
    }
    let mut document: RunDocument = serde_json::from_str(&text).map_err(|error| {
        let path = path.display();
        Failure::Input(format!(
            "{path}: {error}\nhelp: it was written by driftway {version}; {again}"
        ))
    })?;
    let keys = driftway_scenario::flatten(&document.scenario).into_iter().collect();
    document.scenario.restore_traffic();
    Ok(ResultDir { dir, document, keys })
}
