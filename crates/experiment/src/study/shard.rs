//! Shards of a study: parts of its runs that different machines perform, and that are merged afterwards.
//!
//! The runs of a selection are dealt out in turn, so that the shards have an equal share of each job. A shard
//! is a manifest, which says to which runs it belongs, and the records of its runs. The records of all
//! shards, in the order of the selection, are those of one machine.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::results::SelectedRun;
use crate::error::Error;
use crate::runner::identity::VERSION;
use crate::runner::{RunRecord, Task};

/// The file with the manifest of a shard.
pub const MANIFEST_FILE: &str = "shard.json";
/// The file with the records of a shard: a JSON document in each line.
pub const RECORDS_FILE: &str = "records.jsonl";

/// The number of a shard among those of a study: `I/N`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u64,
    /// The number of shards.
    pub of: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("expected I/N with I from 1 to N, as in 2/5".to_owned()),
        }
    }
}

impl Shard {
    /// Returns whether the run at this index of the selection belongs to the shard.
    pub const fn has(self, index: usize) -> bool {
        index as u64 % self.of == self.number - 1
    }

    /// The runs of this shard, of all runs of a selection.
    pub fn runs<'a>(self, all: &[SelectedRun<'a>]) -> Vec<SelectedRun<'a>> {
        let own = all.iter().enumerate().filter(|(index, _)| self.has(*index));
        own.map(|(_, run)| *run).collect()
    }
}

/// The manifest of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of driftway that performed the runs ([`VERSION`]).
    pub version: String,
    /// A digest of all runs of which this is a shard.
    pub runs: String,
    /// The number of the shard, from 1.
    pub shard: u64,
    /// The number of shards.
    pub shards: u64,
}

impl Manifest {
    /// The manifest of a shard of these runs.
    ///
    /// # Errors
    ///
    /// The movement file of a seed is missing or invalid.
    pub fn new(shard: Shard, all: &[SelectedRun<'_>]) -> Result<Self, Error> {
        let Shard { number, of } = shard;
        let runs = runs_digest(all)?;
        Ok(Self { version: VERSION.to_owned(), runs, shard: number, shards: of })
    }
}

/// A digest of runs and of their order.
fn runs_digest(all: &[SelectedRun<'_>]) -> Result<String, Error> {
    let mut sum = Sha256::new();
    for SelectedRun { task: Task { job, seed, step }, .. } in all {
        let step = step.map_or(0, |step| step.as_nanos());
        sum.update(format!("{} {seed} {step}\n", job.at_seed(*seed)?.digest));
    }
    Ok(sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the records of a shard, each in a line.
///
/// # Errors
///
/// Any error of `out`.
pub fn write_records(records: &[RunRecord], mut out: impl Write) -> io::Result<()> {
    for record in records {
        serde_json::to_writer(&mut out, record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads the records of all runs of a selection from the directories of its shards.
///
/// # Errors
///
/// A list of all directories that are no shards of these runs, and of all shards that are missing.
pub fn merge(all: &[SelectedRun<'_>], dirs: &[PathBuf]) -> Result<Vec<RunRecord>, Error> {
    let runs = runs_digest(all)?;
    let mut wrong = Vec::new();
    let mut shards: Vec<(Manifest, &Path)> = Vec::new();
    for dir in dirs {
        let found = read_manifest(dir).and_then(|manifest| {
            check_manifest(&manifest, &runs, &shards)?;
            Ok(manifest)
        });
        match found {
            Ok(manifest) => shards.push((manifest, dir)),
            Err(why) => wrong.push(format!("{}: {why}", dir.display())),
        }
    }
    let count = shards.first().map_or(0, |(manifest, _)| manifest.shards);
    let is_there = |number: u64| shards.iter().any(|(manifest, _)| manifest.shard == number);
    // As many names as a person reads.
    let missing = (1..=count).filter(|number| !is_there(*number)).take(20);
    wrong.extend(missing.map(|number| format!("shard {number}/{count} is missing")));
    if !wrong.is_empty() {
        return Err(refused(&wrong));
    }
    let mut records = vec![None; all.len()];
    for (manifest, dir) in &shards {
        let shard = Shard { number: manifest.shard, of: manifest.shards };
        if let Err(why) = read_records(dir, shard, all, &mut records) {
            wrong.push(format!("{}: {why}", dir.display()));
        }
    }
    match (wrong.is_empty(), records.into_iter().collect()) {
        (true, Some(records)) => Ok(records),
        _ => Err(refused(&wrong)),
    }
}

fn refused(wrong: &[String]) -> Error {
    Error::refused_with(
        format!("--merge: these are not all shards of this study:\n  {}", wrong.join("\n  ")),
        "each shard is the directory that `driftway sweep STUDY --shard I/N --out DIR` has written, with the \
         same version of driftway, the same study and the same options",
    )
}

fn read_manifest(dir: &Path) -> Result<Manifest, String> {
    let bytes = fs::read(dir.join(MANIFEST_FILE))
        .map_err(|error| format!("no shard: cannot read {MANIFEST_FILE}: {error}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("no shard: {MANIFEST_FILE}: {error}"))
}

fn check_manifest(
    found: &Manifest,
    runs: &str,
    others: &[(Manifest, &Path)],
) -> Result<(), String> {
    let Manifest { version, shard, shards, .. } = found;
    if version != VERSION {
        return Err(format!("its runs are of driftway {version}, and this is {VERSION}"));
    }
    if found.runs != runs {
        return Err("it is of another study, of other options or of other scenarios".to_owned());
    }
    if *shard < 1 || shard > shards {
        return Err(format!("no shard: there is no shard {shard}/{shards}"));
    }
    if let Some((other, dir)) = others.first().filter(|(other, _)| other.shards != *shards) {
        let of = other.shards;
        return Err(format!("it is one of {shards} shards, and {} one of {of}", dir.display()));
    }
    if let Some((_, dir)) = others.iter().find(|(other, _)| other.shard == *shard) {
        return Err(format!("it is shard {shard}/{shards}, and so is {}", dir.display()));
    }
    Ok(())
}

/// Reads the records of a shard into the places of their runs.
fn read_records(
    dir: &Path,
    shard: Shard,
    all: &[SelectedRun<'_>],
    records: &mut [Option<RunRecord>],
) -> Result<(), String> {
    let wrong = |why: &dyn std::fmt::Display| format!("{RECORDS_FILE}: {why}");
    let file = File::open(dir.join(RECORDS_FILE)).map_err(|error| wrong(&error))?;
    let mut lines = BufReader::new(file).lines();
    for (index, run) in all.iter().enumerate().filter(|(index, _)| shard.has(*index)) {
        let line = lines.next().ok_or_else(|| wrong(&"runs are missing"))?;
        let line = line.map_err(|error| wrong(&error))?;
        let record: RunRecord = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
        let Task { job, seed, step } = run.task;
        let job = job.at_seed(seed).map_err(|error| wrong(&error))?;
        if record.scenario != job.digest
            || record.seed != seed
            || record.samples.is_some() != step.is_some()
        {
            return Err(wrong(&"a run is not that of the study"));
        }
        records[index] = Some(record);
    }
    match lines.next() {
        None => Ok(()),
        Some(_) => Err(wrong(&"there are runs of another study")),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_shard_has_a_number_from_one() {
        assert_eq!("2/5".parse(), Ok(Shard { number: 2, of: 5 }));
        for wrong in ["", "2", "0/5", "6/5", "1/0", "a/b", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_run_belongs_to_one_shard() {
        for index in 0..20 {
            let shards = (1..=3).map(|number| Shard { number, of: 3 });
            assert_eq!(shards.filter(|shard| shard.has(index)).count(), 1);
        }
    }
}
