//! Errors of a study.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a study was not run, or not completed.
#[derive(Debug)]
pub enum Error {
    /// A file has an error, with its location.
    File {
        /// The error and its location.
        error: Box<driftway_scenario::Error>,
        /// The part of a study in which it occurs.
        context: Option<String>,
    },
    /// An invalid or unavailable request.
    Refused {
        /// Error message.
        message: String,
        /// Hint how to correct it.
        help: Option<String>,
    },
    /// A file cannot be read or written.
    Io {
        /// A verb for the message, such as `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A run failed: a bug in driftway.
    Bug {
        /// Description of the failure.
        what: String,
        /// The command that reproduces the run.
        command: String,
    },
    /// The other simulator, run alongside, is not available or failed.
    ExternalSimulator(String),
    /// Runs on a cluster failed.
    Cluster(String),
    /// The user interrupted the study. Completed runs remain in the cache.
    Stopped {
        /// Number of completed runs.
        finished: u64,
        /// Number of all runs.
        total: u64,
    },
}

impl Error {
    /// An invalid or unavailable request.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: None }
    }

    /// An invalid or unavailable request, with a hint.
    pub fn refused_with(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: Some(help.into()) }
    }

    /// A file cannot be read or written.
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), error }
    }

    /// Returns whether the user's input is the cause, rather than the machine or a bug.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Refused { .. })
    }
}

impl From<driftway_scenario::Error> for Error {
    fn from(error: driftway_scenario::Error) -> Self {
        Self::File { error: Box::new(error), context: None }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { error, context: None } => error.fmt(f),
            Self::File { error, context: Some(of) } => write!(f, "{error}\n(in {of})"),
            Self::Refused { message, help: None } => f.write_str(message),
            Self::Refused { message, help: Some(help) } => write!(f, "{message}\nhelp: {help}"),
            Self::Io { action, path, error } => {
                write!(f, "cannot {action} {}: {error}", path.display())
            }
            Self::Bug { what, command } => write!(
                f,
                "a bug in driftway {}: {what}\n  please report it with the scenario and this \
                 command:\n  {command}",
                env!("CARGO_PKG_VERSION")
            ),
            Self::ExternalSimulator(what) | Self::Cluster(what) => f.write_str(what),
            Self::Stopped { finished, total } => {
                write!(f, "stopped with {finished} of {total} runs finished")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { error, .. } => Some(error),
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
