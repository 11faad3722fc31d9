//! What is wrong with a movement file, and where.

use std::fmt;

/// What is wrong with a movement file: where, what, and what would be right.
///
/// Prints as `FILE:LINE:COLUMN: message` and a line `help: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovementError {
    /// The file's name, as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in it, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for MovementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, help } = self;
        write!(f, "{file}:{line}:{column}: {message}\nhelp: {help}")
    }
}

impl std::error::Error for MovementError {}

/// A line of a file, to say where something is wrong in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub file: &'a str,
    pub number: usize,
    pub text: &'a str,
}

impl Line<'_> {
    /// Something is wrong at this byte of the line.
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

/// A piece of a file in quotes, without what would disturb a terminal, and not all of it if long.
pub(super) fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("“{shown}”")
}
