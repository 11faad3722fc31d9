//! Errors of movement files.

use std::fmt;

/// An error in a movement file: its location, the problem, and a valid form.
///
/// Prints as `FILE:LINE:COLUMN: message` and a line `help: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovementError {
    /// Name of the file as given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// Description of the problem.
    pub message: String,
    /// Description of a valid form.
    pub help: String,
}

impl fmt::Display for MovementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, help } = self;
        write!(f, "{file}:{line}:{column}: {message}\nhelp: {help}")
    }
}

impl std::error::Error for MovementError {}

/// A line of a file, for error locations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub file: &'a str,
    pub number: usize,
    pub text: &'a str,
}

impl Line<'_> {
    /// Returns an error at this byte of the line.
    pub fn error_at(
        &self,
        byte: usize,
        message: impl fmt::Display,
        help: impl fmt::Display,
    ) -> MovementError {
        let before = self.text.get(..byte).unwrap_or(self.text);
        MovementError {
            file: self.file.to_owned(),
            line: self.number,
            column: before.chars().count() + 1,
            message: message.to_string(),
            help: help.to_string(),
        }
    }
}

/// Quotes text of a file, with control characters escaped and long text truncated.
pub(super) fn quoted(text: &str) -> String {
    format!("“{}”", shown(text))
}

/// Text of a file without quotes.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}
