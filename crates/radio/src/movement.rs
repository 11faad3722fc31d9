//! Movement files of ns-2 ([`ns2`]) and BonnMotion ([`bonnmotion`]): [`decode`] converts a file's
//! bytes to text, and [`parse`] detects the format.

pub mod bonnmotion;
mod contents;
mod error;
pub mod ns2;
mod number;

pub use contents::{Bounds, Movement};
pub use error::MovementError;

use error::Line;

/// Decodes a movement file.
///
/// # Errors
/// Bytes that are not UTF-8, with a hint for the compressed files that BonnMotion writes.
pub fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, MovementError> {
    let line = Line { file: name, number: 1, text: "" };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let help = format!("unpack it: gunzip {name}");
        return Err(line.error_at(0, "this file is compressed by gzip", help));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let lines = good.iter().filter(|byte| **byte == b'\n').count();
        let start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&good[start..]).unwrap_or_default();
        let line = Line { file: name, number: lines + 1, text };
        line.error_at(text.len(), "this file is not UTF-8 text", "a movement file is plain text")
    })
}

/// Parses a movement file of either format: a BonnMotion file starts with a number, an ns-2 file
/// does not.
///
/// # Errors
/// The first problem and its location.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    let lines = text.lines().map(str::trim_start);
    let first = lines.filter(|line| !line.starts_with('#')).find(|line| !line.is_empty());
    let number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    if first.is_some_and(|line| line.starts_with(number)) {
        bonnmotion::parse(name, text)
    } else {
        ns2::parse(name, text)
    }
}
