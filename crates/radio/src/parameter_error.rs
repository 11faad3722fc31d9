//! Invalid parameters of a model.

use std::fmt;

/// An invalid parameter of a model: its name, the problem, and a valid choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Name as in the model's configuration: `speed`, `area`, `sense`.
    pub parameter: &'static str,
    /// Description of the problem.
    pub message: String,
    /// Description of a valid value.
    pub help: &'static str,
}

impl ParameterError {
    /// Creates the error for a parameter, with a valid choice.
    pub fn new(parameter: &'static str, message: impl fmt::Display, help: &'static str) -> Self {
        Self { parameter, message: message.to_string(), help }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\nhelp: {}", self.parameter, self.message, self.help)
    }
}

impl std::error::Error for ParameterError {}
