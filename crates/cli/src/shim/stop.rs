//! `driftway shim stop`: stops the shim, and removes its remains from the kernel.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

use driftway_linux::ShimDaemon;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::socket_path;
use crate::failure::{Failure, failed};

/// Time for the shim to exit after SIGTERM, and after SIGKILL (ms).
const EXIT_TIMEOUT_MS: u16 = 2000;

/// Stops the running shim, and removes what a shim has left in the kernel.
pub fn stop(socket: Option<&Path>) -> Result<(), Failure> {
    let path = socket_path::query_path(socket).map_err(|e| failed("find the socket's path", &e))?;
    match find_process(&path).map_err(permission_failure("find the shim"))? {
        Some((pid, process)) => terminate(pid, &process)?,
        None => anstream::eprintln!("no shim is running in this network namespace"),
    }
    if ShimDaemon::remove_leftovers().map_err(permission_failure("remove the remains of a shim"))? {
        anstream::eprintln!("removed the remains of a shim");
    }
    // A shim that was killed, or lacked the permission, has left the file.
    let _ = socket_path::remove(&path);
    Ok(())
}

/// Process that intercepts this namespace's packets.
fn find_process(path: &Path) -> io::Result<Option<(i32, OwnedFd)>> {
    let at_work = || match driftway_linux::owning_process() {
        // Without permission to read its files, the peer of its socket is used: only the shim could
        // create that.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let peer = getsockopt(&UnixStream::connect(path)?, PeerCredentials)?;
            Ok(u32::try_from(peer.pid()).ok().filter(|pid| *pid > 0))
        }
        found => found,
    };
    let Some(number) = at_work()? else { return Ok(None) };
    let not_seen =
        || io::Error::new(ErrorKind::NotFound, "its process is in another PID namespace");
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(not_seen)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    // Checked again, so that the handle is not that of another process that reuses the number.
    Ok((at_work()? == Some(number)).then_some((pid.as_raw_nonzero().get(), process)))
}

/// Terminates the process; kills it if it does not exit in time.
fn terminate(pid: i32, process: &OwnedFd) -> Result<(), Failure> {
    let send = |signal| match pidfd_send_signal(process, signal) {
        Err(error) if error != rustix::io::Errno::SRCH => {
            Err(Failure::Failed(format!("cannot end process {pid}: {error}")))
        }
        _ => Ok(()),
    };
    send(Signal::TERM)?;
    if has_ended(process).map_err(|e| failed("wait for the process", &e))? {
        anstream::eprintln!("stopped: process {pid}");
        return Ok(());
    }
    send(Signal::KILL)?;
    if !has_ended(process).map_err(|e| failed("wait for the process", &e))? {
        return Err(Failure::Failed(format!("process {pid} does not exit")));
    }
    anstream::eprintln!("killed: process {pid} did not exit by itself");
    Ok(())
}

fn has_ended(process: &OwnedFd) -> io::Result<bool> {
    loop {
        let mut watched = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::from(EXIT_TIMEOUT_MS)) {
            Err(Errno::EINTR) => thread::yield_now(),
            Err(errno) => return Err(errno.into()),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

fn permission_failure(doing: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => {
            Failure::Input("this process lacks CAP_NET_ADMIN: run it as root".to_owned())
        }
        _ => failed(doing, &error),
    }
}
