//! The movement file of a scenario.

use std::path::Path;

use driftway_radio::movement::{self, Movement, MovementError};

use super::mobility::{self, MovementFormat};
use crate::error::Error;
use crate::regular_file::read_bytes;

/// Maximum size of a movement file in bytes; one of 1000 nodes and one hour has about 20 MB.
const MAX_BYTES: u64 = 256 << 20;

/// Error of a movement file.
pub(crate) enum MovementFileError {
    /// The file cannot be read: a message, and a hint after a line break.
    Unreadable(String),
    /// Its content is invalid.
    Invalid(Error),
}

/// Loads the file `named`, whose name is relative to the directory of the scenario file `scenario`.
pub(crate) fn load(
    named: &mobility::MovementFile,
    scenario: &str,
) -> Result<Movement, MovementFileError> {
    let folder = Path::new(scenario).parent().unwrap_or(Path::new(""));
    let path = folder.join(&named.file);
    let name = path.display().to_string();
    let bytes = read_bytes(&path, MAX_BYTES).map_err(|unreadable| {
        MovementFileError::Unreadable(format!(
            "{name}: {unreadable}\nthe name of a movement file is relative to the scenario's directory"
        ))
    })?;
    let wrong = |error: MovementError| {
        let MovementError { file, line, column, message, help } = error;
        MovementFileError::Invalid(Error::in_file(
            format!("{file}:{line}:{column}"),
            &message,
            &help,
        ))
    };
    let text = movement::decode(&name, &bytes).map_err(wrong)?;
    let read = match named.format {
        None => movement::parse(&name, text),
        Some(MovementFormat::Ns2) => movement::ns2::parse(&name, text),
        Some(MovementFormat::BonnMotion) => movement::bonnmotion::parse(&name, text),
    };
    read.map_err(wrong)
}
