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

use super::{socket_path, watchdog};
use crate::failure::{Failure, failed};

/// Time for the shim to exit after SIGTERM, and after SIGKILL (ms).
const EXIT_TIMEOUT_MS: u16 = 2000;

/// Stops the running shim, and removes what a shim has left in the kernel.
pub fn stop(socket: Option<&Path>) -> Result<(), Failure> {
    let path = socket_path::query_path(socket).map_err(|e| failed("find the socket's path", &e))?;
    let tried = socket_path::describe(&path, socket);
    match find_process(&path, &tried).map_err(permission_failure("find the shim"))? {
        Some((pid, process)) => {
            let watchdogs = watchdog::find(pid).map_err(|e| failed("find the watchdog", &e))?;
            terminate(pid, &process)?;
            watchdogs.iter().try_for_each(|(pid, process)| terminate_watchdog(*pid, process))?;
        }
        None => {
            anstream::eprintln!(
                "no shim is running in this network namespace; its socket would be {tried}"
            );
        }
    }
    if ShimDaemon::remove_leftovers().map_err(permission_failure("remove the remains of a shim"))? {
        anstream::eprintln!("removed the remains of a shim");
    }
    // A shim that was killed, or lacked the permission, has left the file.
    let _ = socket_path::remove(&path);
    Ok(())
}

/// Process that intercepts this namespace's packets.
fn find_process(path: &Path, tried: &str) -> io::Result<Option<(i32, OwnedFd)>> {
    let at_work = || match driftway_linux::owning_process() {
        // Without permission to read its files, the peer of its socket is used: only the shim could
        // create that.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let no_answer =
                |error: io::Error| io::Error::new(error.kind(), format!("{error}: {tried}"));
            let stream = UnixStream::connect(path).map_err(no_answer)?;
            let peer = getsockopt(&stream, PeerCredentials)?;
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
    send(pid, process, Signal::TERM)?;
    if has_ended(process).map_err(|e| failed("wait for the process", &e))? {
        anstream::eprintln!("stopped: process {pid}");
        return Ok(());
    }
    kill(pid, process)?;
    anstream::eprintln!("killed: process {pid} did not exit by itself");
    Ok(())
}

/// Has the watchdog of a shim that has ended exit, as it does unless it was stopped.
fn terminate_watchdog(pid: i32, process: &OwnedFd) -> Result<(), Failure> {
    send(pid, process, Signal::CONT)?;
    match has_ended(process).map_err(|e| failed("wait for the watchdog", &e))? {
        true => Ok(()),
        false => kill(pid, process),
    }
}

fn kill(pid: i32, process: &OwnedFd) -> Result<(), Failure> {
    send(pid, process, Signal::KILL)?;
    match has_ended(process).map_err(|e| failed("wait for the process", &e))? {
        true => Ok(()),
        false => Err(Failure::Failed(format!("process {pid} does not exit"))),
    }
}

/// Sends a signal to a process that may have ended.
fn send(pid: i32, process: &OwnedFd, signal: Signal) -> Result<(), Failure> {
    match pidfd_send_signal(process, signal) {
        Err(error) if error != rustix::io::Errno::SRCH => {
            Err(Failure::Failed(format!("cannot end process {pid}: {error}")))
        }
        _ => Ok(()),
    }
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
