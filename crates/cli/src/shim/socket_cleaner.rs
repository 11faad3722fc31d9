//! Removal of the socket's file at the end of a shim that has given up root, and with it the right to
//! do so: by a process that keeps the user, without a capability.

use std::fs;
use std::io::{self, Read, stdin};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use driftway_linux::{current_executable, detach_helper, drop_all_privileges, spawn_helper};
use tracing::warn;

use super::args::CleanerArgs;
use super::socket_path;
use crate::failure::{Failure, failed};

/// Time for the file to be removed.
const TIMEOUT: Duration = Duration::from_millis(300);

/// A running cleaner: it removes the file when this process ends, however that happens.
pub struct SocketCleaner(UnixStream);

impl SocketCleaner {
    /// Starts a cleaner of the socket at a path. Without one the file stays, until another shim
    /// replaces it.
    pub fn start(path: &Path) -> Option<Self> {
        let start = || {
            let mut command = current_executable();
            command.args(["shim", "cleaner"]).arg(std::path::absolute(path)?);
            let (mut child, pair) = spawn_helper(&mut command)?;
            // It has started the process that stays, which is not a child of the shim.
            child.wait()?;
            Ok(Self(pair))
        };
        let started: io::Result<Self> = start();
        started.inspect_err(|error| warn!(%error, "the socket's file will stay")).ok()
    }

    /// Has the file removed.
    pub fn finish(mut self) {
        let _ = self.0.shutdown(Shutdown::Write);
        let _ = self.0.set_read_timeout(Some(TIMEOUT));
        let _ = self.0.read(&mut [0]);
    }
}

/// Runs as the cleaner, until its shim has ended.
pub fn run(args: &CleanerArgs) -> Result<(), Failure> {
    let done = if args.detached { remove_at_end(&args.path) } else { start_detached(&args.path) };
    done.map_err(|e| failed("remove the shim's socket", &e))
}

/// Starts the process that stays, with the same standard input.
fn start_detached(path: &Path) -> io::Result<()> {
    let mut command = current_executable();
    command.args(["shim", "cleaner", "--detached"]).arg(path).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().map(drop)
}

fn remove_at_end(path: &Path) -> io::Result<()> {
    detach_helper()?;
    let number = |path| fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()));
    let own = number(path)?;
    drop_all_privileges(None)?;
    // The end of file is that of the shim.
    while stdin().read(&mut [0; 64])? > 0 {}
    // Another shim may have replaced it.
    if number(path)? == own { socket_path::remove(path) } else { Ok(()) }
}
