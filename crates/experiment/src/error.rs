//! Why a study was not run.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a study was not run, or not to its end.
#[derive(Debug)]
pub enum Error {
    /// A file is wrong, at a place in it.
    File {
        /// What, and where.
        error: Box<driftway_scenario::Error>,
        /// Which part of a study needs it so.
        context: Option<String>,
    },
    /// What was asked for is not there, or can't be.
    Refused {
        /// What.
        message: String,
        /// What would be right.
        help: Option<String>,
    },
    /// A file can't be read or written.
    Io {
        /// `write`, for a message.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A run broke: a mistake in driftway.
    Bug {
        /// What was noticed.
        what: String,
        /// The command that makes the same run.
        command: String,
    },
    /// The other simulator, which runs beside, can't be had, or failed.
    ExternalSimulator(String),
    /// Somebody stopped it. What is finished is kept where runs are kept.
    Stopped {
        /// Runs that are finished.
        finished: u64,
        /// Runs that there are.
        total: u64,
    },
}

impl Error {
    /// What was asked for is not there, or can't be.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: None }
    }

    /// The same, and what would be right.
    pub fn refused_with(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: Some(help.into()) }
    }

    /// A file can't be read or written.
    pub fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action: doing, path: path.to_owned(), error }
    }

    /// Is it a mistake of who asked, rather than of the machine or of driftway?
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
            Self::Io { action: doing, path, error } => {
                write!(f, "can't {doing} {}: {error}", path.display())
            }
            Self::Bug { what, command } => write!(
                f,
                "a bug in driftway {}: {what}\n  please report it with the scenario and this \
                 command:\n  {command}",
                env!("CARGO_PKG_VERSION")
            ),
            Self::ExternalSimulator(what) => f.write_str(what),
            Self::Stopped { finished, total: of } => {
                write!(f, "stopped with {finished} of {of} runs finished")
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
