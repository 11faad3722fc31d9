//! Exit statuses of programs.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Exit status as a shell reports it: 128 plus the signal's number if a signal ended it.
pub fn exit_status(status: ExitStatus) -> u8 {
    let number = status.code().or_else(|| Some(128 + status.signal()?));
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
}
