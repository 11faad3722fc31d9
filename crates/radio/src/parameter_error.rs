//! A model's parameter that makes no sense.

use std::fmt;

/// Which parameter of a model is wrong, what is wrong with it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Its name, as in the model's configuration: `speed`, `area`, `sense`.
    pub parameter: &'static str,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: &'static str,
}

impl ParameterError {
    pub(crate) fn new(
        parameter: &'static str,
        message: impl fmt::Display,
        help: &'static str,
    ) -> Self {
        Self { parameter, message: message.to_string(), help }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\nhelp: {}", self.parameter, self.message, self.help)
    }
}

impl std::error::Error for ParameterError {}
