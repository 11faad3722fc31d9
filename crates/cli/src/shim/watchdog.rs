//! Watchdog process, which kills a shim that hangs: this program as `driftway shim watchdog`.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

use driftway_linux::{DedicatedUser, Watchdog, current_executable};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tracing::warn;

use super::args::WatchdogArgs;
use crate::failure::{Failure, failed};

/// Arguments of a watchdog.
const COMMAND: [&str; 2] = ["shim", "watchdog"];

/// Starts the watchdog of this process, which will run as `user`. Without a watchdog the shim still
/// runs: if it hangs, new packets pass, but packets in its queue wait.
pub fn start(user: Option<DedicatedUser>) -> Option<Watchdog> {
    let mut command = current_executable();
    command.args(COMMAND);
    command.args(user.iter().flat_map(DedicatedUser::ids).map(|number| number.to_string()));
    let started = Watchdog::start(command);
    started.inspect_err(|error| warn!(%error, "cannot start the watchdog")).ok()
}

/// Runs as the watchdog, until its shim has ended.
pub fn watch(args: &WatchdogArgs) -> Result<(), Failure> {
    let user = match args.user[..] {
        [user, group] => Some(DedicatedUser::new(user, group)),
        _ => None,
    };
    driftway_linux::run_watchdog(user).map(drop).map_err(|e| failed("monitor the shim", &e))
}

/// The watchdogs of a shim: one, or none while it is replaced.
pub fn find(shim: i32) -> io::Result<Vec<(i32, OwnedFd)>> {
    let threads = format!("/proc/{shim}/task");
    let mut watchdogs = Vec::new();
    for thread in unless_ended(fs::read_dir(&threads))?.into_iter().flatten() {
        // A kernel may lack these lists (CONFIG_PROC_CHILDREN).
        let children = unless_ended(fs::read_to_string(thread?.path().join("children")))?;
        for number in children.unwrap_or_default().split_whitespace() {
            watchdogs.extend(number.parse().ok().map(open).transpose()?.flatten());
        }
    }
    Ok(watchdogs)
}

/// A process, if it is a watchdog.
fn open(number: i32) -> io::Result<Option<(i32, OwnedFd)>> {
    let Some(pid) = Pid::from_raw(number) else { return Ok(None) };
    let process = unless_ended(pidfd_open(pid, PidfdFlags::empty()).map_err(Into::into))?;
    // Read afterwards, so that it is of the process that was opened.
    let line = Path::new("/proc").join(number.to_string()).join("cmdline");
    let line = unless_ended(fs::read(line))?.unwrap_or_default();
    let is_watchdog = line.split(|byte| *byte == 0).skip(1).zip(COMMAND);
    let is_watchdog = is_watchdog.filter(|(word, of)| *word == of.as_bytes()).count();
    Ok(process.filter(|_| is_watchdog == COMMAND.len()).map(|process| (number, process)))
}

/// A result about a process; `None`: it has ended.
fn unless_ended<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Ok(None)
        }
        result => result.map(Some),
    }
}
