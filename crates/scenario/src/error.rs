//! Errors in scenario files, with their locations.

use std::fmt;

use serde::de::{Expected, Unexpected};

use crate::renamed::renamed_key;

/// An error in a scenario: its location, a message, and optionally a hint.
///
/// Printed as `FILE:LINE:COLUMN: message`, followed by a second line `help: …` if there is a hint.
/// Columns count characters from 1. An error in an override is printed as `--set KEY: message`, one
/// in the file as a whole as `FILE: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    location: String,
    line_and_column: Option<(usize, usize)>,
    message: String,
    help: Option<String>,
}

impl Error {
    /// An error in a file as a whole.
    pub(crate) fn in_file(file: impl fmt::Display, message: &str, help: &str) -> Self {
        let help = (!help.is_empty()).then(|| help.to_owned());
        let location = file.to_string();
        Self { location, line_and_column: None, message: message.to_owned(), help }
    }

    /// A diagnostic with its origin converted to a location.
    pub(crate) fn new(
        fault: Diagnostic,
        file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Self {
        let mut line_and_column = None;
        let location = match fault.origin {
            Some(Origin::Text(offset)) => {
                let before = text.get(..offset).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
                line_and_column = Some((line, column));
                format!("{file}:{line}:{column}")
            }
            Some(Origin::Override(number)) => {
                format!("--set {}", quoted(overrides.get(number).map_or("", |(key, _)| key)))
            }
            None => file.to_owned(),
        };
        Self { location, line_and_column, message: fault.message, help: fault.help }
    }

    /// Location: `FILE:LINE:COLUMN`, `FILE` or `--set KEY`.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Line and column in the file, from 1; `None` for an override, and for the file as a whole.
    pub const fn line_and_column(&self) -> Option<(usize, usize)> {
        self.line_and_column
    }

    /// Error message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Hint how to correct the error.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "\nhelp: {help}"))
    }
}

impl std::error::Error for Error {}

/// Origin of a key or value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Byte offset in the file.
    Text(usize),
    /// Index of the override.
    Override(usize),
}

impl Origin {
    /// Returns whether it is in the file.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// An error whose origin is not yet converted to line and column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Diagnostic {
    pub origin: Option<Origin>,
    pub message: String,
    pub help: Option<String>,
}

impl Diagnostic {
    /// Splits `message` at its first line break into message and hint.
    pub fn new(message: &str) -> Self {
        let (message, help) = match message.split_once('\n') {
            Some((message, help)) => (message, Some(help.to_owned())),
            None => (message, None),
        };
        Self { origin: None, message: message.to_owned(), help }
    }

    /// The message, and the hint after a line break.
    pub fn into_text(self) -> String {
        match self.help {
            Some(help) => format!("{}\n{help}", self.message),
            None => self.message,
        }
    }

    /// Sets `origin` unless a more precise one is known.
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin.get_or_insert(origin);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl serde::de::Error for Diagnostic {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(&message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Unsigned(n) => format!("the bare number {n}"),
            Unexpected::Signed(n) => format!("the bare number {n}"),
            Unexpected::Float(x) => format!("the bare number {x}"),
            Unexpected::Str(text) => format!("the text \"{}\"", quoted(text)),
            Unexpected::Bool(yes) => yes.to_string(),
            Unexpected::Map => "a table".into(),
            Unexpected::Seq => "an array".into(),
            other => other.to_string(),
        };
        Self::new(&format!("expected {}, found {found}", describe_expected(expected)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(&format!("expected {}, found {found} values", describe_expected(expected)))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(&unknown_key(key, known))
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new(&unknown_word(word, known))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(&format!("the key `{key}` is missing\nadd `{key} = …` to this table"))
    }
}

/// Message for a key that is not in `known`, with a hint after a line break.
pub(crate) fn unknown_key(key: &str, known: &[&str]) -> String {
    let help = renamed_key(key, known).unwrap_or_else(|| match known {
        [] => "this table has no keys".to_owned(),
        _ => format!("{}the keys of this table are {}", did_you_mean(key, known), known.join(", ")),
    });
    format!("unknown key `{}`\n{help}", quoted(key))
}

/// Message for a word that is not in `known`, with a hint after a line break.
pub(crate) fn unknown_word(word: &str, known: &[&str]) -> String {
    let near = did_you_mean(word, known);
    format!("unknown value `{}`\n{near}available: {}", quoted(word), known.join(", "))
}

fn did_you_mean(word: &str, known: &[&str]) -> String {
    let near = nearest(word, known.iter().copied());
    near.map_or(String::new(), |name| format!("did you mean `{name}`? "))
}

/// Translates the expectation of serde's derived code for the author of a file.
fn describe_expected(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u8" => "a whole number from 0 to 255".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "i16" => "a whole number from -32768 to 32767".into(),
        "u32" => "a whole number from 0 to 4294967295".into(),
        "usize" => "a whole number".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "an array".into(),
        "a tuple of size 2" => "an array of two values".into(),
        other => other.into(),
    }
}

/// User input, escaped and shortened for one line of a message.
pub(crate) fn quoted(text: &str) -> String {
    let mut line: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    if text.chars().nth(60).is_some() {
        line.push('…');
    }
    line
}

/// The element of `names` that is closest to `word`, if any is similar.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Damerau-Levenshtein takes time proportional to the product of both lengths; no name is long.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    let near = names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(&word, &name.to_lowercase()), name));
    let best = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= 0.5).then_some(best.1)
}
