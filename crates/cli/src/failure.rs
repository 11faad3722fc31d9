//! Failures of a command, and their exit statuses.

use std::io;
use std::path::Path;
use std::process::ExitCode;

/// Exit status after SIGINT.
const INTERRUPTED_STATUS: u8 = 130;

/// Failure to do something with valid input.
pub fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("cannot {doing}: {error}"))
}

/// Reason for a command to fail.
#[derive(Debug)]
pub enum Failure {
    /// Invalid input: the message has the error, its place, and what is valid.
    Input(String),
    /// Failure with valid input.
    Failed(String),
    /// Interruption by a signal.
    Interrupted(String),
    /// Standard output was closed by its reader (`driftway … | head`).
    BrokenPipe,
}

impl Failure {
    /// Failure to read or write a file.
    pub fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::Failed(format!("cannot {doing} {}: {error}", path.display()))
    }

    /// One failure with the messages of those of several inputs; nothing if there are none. Wrong input
    /// goes before what failed otherwise.
    pub fn of_several(failures: Vec<Self>) -> Result<(), Self> {
        let mut messages = Vec::new();
        let mut input = false;
        for failure in failures {
            match failure {
                Self::Input(message) => {
                    input = true;
                    messages.push(message.trim_end().to_owned());
                }
                Self::Failed(message) => messages.push(message.trim_end().to_owned()),
                other => return Err(other),
            }
        }
        let message = messages.join("\nerror: ");
        match (message.is_empty(), input) {
            (true, _) => Ok(()),
            (false, true) => Err(Self::Input(message)),
            (false, false) => Err(Self::Failed(message)),
        }
    }

    /// Prints the failure to standard error, and returns its exit status.
    pub fn report(self) -> ExitCode {
        let (message, status) = match self {
            Self::Input(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::Interrupted(message) => {
                anstream::eprintln!("{message}");
                return ExitCode::from(INTERRUPTED_STATUS);
            }
            Self::BrokenPipe => return ExitCode::SUCCESS,
        };
        let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
        anstream::eprintln!("{style}error:{style:#} {}", message.trim_end());
        ExitCode::from(status)
    }
}

impl From<driftway_experiment::Error> for Failure {
    fn from(error: driftway_experiment::Error) -> Self {
        if error.is_input() {
            Self::Input(error.to_string())
        } else {
            Self::Failed(error.to_string())
        }
    }
}

/// A failed write to standard output. For files there is [`Failure::file`], which has their names.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Failed(format!("cannot write to standard output: {error}"))
        }
    }
}
