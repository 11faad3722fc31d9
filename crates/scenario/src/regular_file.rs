//! Reading of regular files of limited size.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reason why a file was not read.
pub(crate) enum ReadFailure {
    Directory,
    NotRegular,
    /// The file has more bytes than this maximum.
    TooLarge(u64),
    Io(std::io::Error),
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("this is a directory"),
            Self::NotRegular => f.write_str("this is not a regular file"),
            Self::TooLarge(most) => write!(f, "this file is larger than {} MiB", most >> 20),
            Self::Io(error) => error.fmt(f),
        }
    }
}

/// Reads the regular file at `path`, of at most `most` bytes.
pub(crate) fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, ReadFailure> {
    // Checked before the file is opened, because opening a FIFO blocks until its other end is
    // opened.
    let about = std::fs::metadata(path).map_err(ReadFailure::Io)?;
    if about.is_dir() {
        return Err(ReadFailure::Directory);
    }
    if !about.is_file() {
        return Err(ReadFailure::NotRegular);
    }
    if about.len() > most {
        return Err(ReadFailure::TooLarge(most));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(ReadFailure::Io)?;
    // The file may have grown since.
    file.take(most + 1).read_to_end(&mut bytes).map_err(ReadFailure::Io)?;
    if bytes.len() as u64 > most { Err(ReadFailure::TooLarge(most)) } else { Ok(bytes) }
}
