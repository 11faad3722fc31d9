//! Numbers in movement files.

use driftway_base::Instant;

use super::error::{Line, MovementError, quoted};
use crate::leg::seconds_after;

/// Maximum absolute coordinate (m).
pub(super) const MAX_COORDINATE: f64 = 1e9;
/// Maximum time (s).
pub(super) const MAX_TIME: f64 = 1e9;
/// Maximum speed (m/s).
pub(super) const MAX_SPEED: f64 = 1e6;

/// A word of a line, delimited by white space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    /// Byte offset in the line.
    pub byte: usize,
}

impl Word<'_> {
    /// Parses a number between `low` and `high`; `what` describes it in errors.
    fn number(
        &self,
        line: &Line<'_>,
        what: &str,
        (low, high): (f64, f64),
    ) -> Result<f64, MovementError> {
        match self.text.parse::<f64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(number),
            Ok(_) => {
                let message = format!("{} is not a valid {what}", self.text);
                let help = if high < 1e4 {
                    format!("from {low} to {high}")
                } else {
                    format!("from {low:e} to {high:e}")
                };
                Err(line.error_at(self.byte, message, help))
            }
            Err(_) => {
                let message = format!("expected a {what}, found {}", quoted(self.text));
                Err(line.error_at(self.byte, message, "a decimal number such as 12.5"))
            }
        }
    }

    /// Parses a coordinate in metres.
    pub fn coordinate(&self, line: &Line<'_>) -> Result<f64, MovementError> {
        self.number(line, "coordinate in metres", (-MAX_COORDINATE, MAX_COORDINATE))
    }

    /// Parses a latitude in degrees.
    pub fn latitude(&self, line: &Line<'_>) -> Result<f64, MovementError> {
        self.number(line, "latitude in degrees", (-90.0, 90.0))
    }

    /// Parses a longitude in degrees.
    pub fn longitude(&self, line: &Line<'_>) -> Result<f64, MovementError> {
        self.number(line, "longitude in degrees", (-180.0, 180.0))
    }

    /// Parses a speed in m/s.
    pub fn speed(&self, line: &Line<'_>) -> Result<f64, MovementError> {
        self.number(line, "speed in m/s", (0.0, MAX_SPEED))
    }

    /// Parses a time in seconds.
    pub fn time(&self, line: &Line<'_>) -> Result<Instant, MovementError> {
        let seconds = self.number(line, "time in seconds", (0.0, MAX_TIME))?;
        Ok(seconds_after(Instant::ZERO, seconds))
    }

    /// Parses a time in seconds, in nanoseconds.
    pub fn nanos(&self, line: &Line<'_>) -> Result<i64, MovementError> {
        // At most 10¹⁸.
        Ok(self.time(line)?.as_nanos().cast_signed())
    }

    /// Parses a count of nodes or hops.
    pub fn count(&self, line: &Line<'_>, what: &str) -> Result<u32, MovementError> {
        self.text.parse().map_err(|_| {
            let message = format!("expected a {what}, found {}", quoted(self.text));
            line.error_at(self.byte, message, "a whole number from 0 to 4294967295")
        })
    }
}
