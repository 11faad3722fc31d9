//! Errors in lines of traces.

use crate::error::Error;

/// An error in line `line` of the file `name`.
pub(super) fn wrong(name: &str, line: usize, message: &str, help: &str) -> Error {
    Error::in_file(format!("{name}:{line}"), message, help)
}
