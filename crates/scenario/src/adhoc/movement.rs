//! The movement file that a scenario names.

use std::path::Path;

use driftway_radio::movement::{self, Movement, MovementError};

use super::mobility::{self, MovementFormat};
use crate::error::Error;
use crate::load::read_bytes;

/// Larger files are refused: a thousand nodes for an hour have some 20 MB.
const MAX_BYTES: u64 = 256 << 20;

/// Why there is no movement.
pub(crate) enum MovementFileError {
    /// The file cannot be had; what of it, and what would be right after a line break.
    Unreadable(String),
    /// What is wrong in it.
    Invalid(Error),
}

/// Reads the file that `named` names, seen from the folder of the scenario file `scenario`.
pub(crate) fn load(
    named: &mobility::MovementFile,
    scenario: &str,
) -> Result<Movement, MovementFileError> {
    let folder = Path::new(scenario).parent().unwrap_or(Path::new(""));
    let path = folder.join(&named.file);
    let name = path.display().to_string();
    let bytes = read_bytes(&path, MAX_BYTES).map_err(|unreadable| {
        MovementFileError::Unreadable(format!(
            "{name}: {unreadable}\nthe name of a movement file is seen from the scenario's folder"
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
