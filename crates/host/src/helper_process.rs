//! A second process beside this one, which outlives it by a moment to clear up.
//!
//! It is this program again. Its standard input is one end of a pair of sockets whose other end no
//! process but this one has: when this one ends, however that is, the companion reads the end of it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::SigSet;
use nix::unistd::setsid;

/// The program that this process runs, even if its file has gone or was replaced.
pub fn current_executable() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("driftway");
    command
}

/// Starts `command` as a companion; gives our end of the pair, too. It is in no directory that
/// somebody may want to unmount.
pub fn spawn(command: &mut Command) -> io::Result<(Child, UnixStream)> {
    let (ours, its) = UnixStream::pair()?;
    command.stdin(OwnedFd::from(its)).stdout(Stdio::null()).current_dir("/");
    let child = command.spawn()?;
    // It holds the other end.
    command.stdin(Stdio::null());
    Ok((child, ours))
}

/// Sets the calling process, a companion, apart: what ends the other one by the terminal, its session
/// or its process group does not end this one.
pub fn detach() -> io::Result<()> {
    // One that leads a group already has a session of its own, or can't have one.
    let _ = setsid();
    Ok(SigSet::all().thread_block()?)
}
