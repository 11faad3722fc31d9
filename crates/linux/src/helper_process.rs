//! A helper process, which outlives this process briefly to clean up after it.
//!
//! It runs the same program. Its standard input is one end of a socket pair whose other end only
//! this process has: however this process ends, the helper reads end-of-file.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::SigSet;
use nix::unistd::setsid;

/// The program that this process runs, even if its file was removed or replaced.
pub fn current_executable() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("driftway");
    command
}

/// Starts `command` as a helper process; also returns this process's end of the socket pair. Its
/// working directory is `/`, so that it blocks no unmounting.
///
/// # Errors
/// It cannot be started.
pub fn spawn(command: &mut Command) -> io::Result<(Child, UnixStream)> {
    let (ours, its) = UnixStream::pair()?;
    command.stdin(OwnedFd::from(its)).stdout(Stdio::null()).current_dir("/");
    let child = command.spawn()?;
    // The command would keep the other end open.
    command.stdin(Stdio::null());
    Ok((child, ours))
}

/// Detaches the calling process, a helper: signals of the terminal, the session or the process
/// group of the other process do not end it.
///
/// # Errors
/// Any error of the kernel.
pub fn detach() -> io::Result<()> {
    // A process group leader already has its own session, or cannot have one.
    let _ = setsid();
    Ok(SigSet::all().thread_block()?)
}
