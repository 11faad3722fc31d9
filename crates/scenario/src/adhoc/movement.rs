//! The movement file of a scenario.

use std::io::Read;
use std::path::Path;

use driftway_radio::movement::{self, Movement, MovementError};
use flate2::read::MultiGzDecoder;

use super::mobility::MovementFile;
use super::seeded_movement;
use crate::error::Error;
use crate::regular_file::read_bytes;

/// Maximum size of a movement file in bytes; one of 1000 nodes and one hour has about 20 MB.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum size of what is unpacked from a compressed file, which can be a thousand times as large.
const MAX_UNPACKED_BYTES: u64 = 64 << 20;

/// The first bytes of a file compressed by gzip (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Error of a movement file.
pub(crate) enum MovementFileError {
    /// The file cannot be read: a message, and a hint after a line break.
    Unreadable(String),
    /// Its content is invalid.
    Invalid(Error),
}

/// The movement of a scenario as it is loaded.
pub(crate) struct LoadedMovement {
    /// The movement.
    pub movement: Movement,
    /// The seed whose file it is, if each seed has one.
    pub seed: Option<u64>,
}

/// Loads the files `named`; of several for each seed those of the lowest one.
pub(crate) fn load_first(
    named: &MovementFile,
    scenario: &str,
) -> Result<LoadedMovement, MovementFileError> {
    if !named.is_seeded() {
        return Ok(LoadedMovement { movement: load(named, scenario)?, seed: None });
    }
    let folder = Path::new(scenario).parent().unwrap_or(Path::new(""));
    let (seed, file) =
        seeded_movement::first(named, folder).map_err(MovementFileError::Unreadable)?;
    Ok(LoadedMovement { movement: load(&file, scenario)?, seed: Some(seed) })
}

/// Loads the files `named`, whose names are relative to the directory of the scenario file `scenario`.
pub(crate) fn load(named: &MovementFile, scenario: &str) -> Result<Movement, MovementFileError> {
    let folder = Path::new(scenario).parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for file in named.file.iter() {
        let path = folder.join(file);
        let name = path.display().to_string();
        let bytes = read_bytes(&path, MAX_BYTES).map_err(|unreadable| {
            MovementFileError::Unreadable(format!(
                "{name}: {unreadable}\nthe name of a movement file is relative to the scenario's directory"
            ))
        })?;
        let bytes = if bytes.starts_with(&GZIP) { unpack(&name, &bytes)? } else { bytes };
        files.push((name, bytes));
        let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        if total as u64 > MAX_BYTES {
            let message = format!("the movement files are larger than {} MiB", MAX_BYTES >> 20);
            return Err(MovementFileError::Unreadable(format!(
                "{message}\nsmaller or fewer files"
            )));
        }
    }
    let wrong = |error: MovementError| {
        let MovementError { file, line, column, message, help } = error;
        MovementFileError::Invalid(Error::in_file(
            format!("{file}:{line}:{column}"),
            &message,
            &help,
        ))
    };
    let decode = |(name, bytes)| Ok((name, movement::decode(name, bytes)?));
    let named_bytes = files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let texts = named_bytes.map(decode).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    movement::read(&texts, &named.options()).map_err(wrong)
}

/// Unpacks a file compressed by gzip, as BonnMotion writes it.
fn unpack(name: &str, bytes: &[u8]) -> Result<Vec<u8>, MovementFileError> {
    let wrong = |message: &str, help: &str| {
        MovementFileError::Unreadable(format!("{name}: {message}\n{help}"))
    };
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut unpacked);
    if read.is_err() {
        return Err(wrong(
            "this file is not a complete gzip file",
            "unpack it with gunzip to see why",
        ));
    }
    if unpacked.len() as u64 > MAX_UNPACKED_BYTES {
        return Err(wrong(
            "this file unpacks to more than 64 MiB",
            "unpack it with gunzip: a file that is not compressed may have 256 MiB",
        ));
    }
    Ok(unpacked)
}
