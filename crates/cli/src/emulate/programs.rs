//! Programs at both ends of the path.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use driftway_host::{Namespace, PathEnd, RunningEmulation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::failed;
use crate::failure::Failure;

/// Time for a process to exit after SIGTERM.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(2);
/// Number of polls for a listening socket at the far end, one every [`LISTEN_POLL_INTERVAL`].
const LISTEN_POLLS: u32 = 100;
const LISTEN_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A program to be started at one end.
pub struct Program(Command);

impl Program {
    /// The user's command. With `aside`, its standard output goes to standard error.
    pub fn near(command: &[OsString], addresses: [Ipv4Addr; 2], aside: bool) -> Self {
        let (program, arguments) = command.split_first().expect("clap requires at least one");
        let mut command = Command::new(program);
        command.args(arguments);
        if aside {
            command.stdout(io::stderr());
        }
        Self::with_addresses(command, addresses[0], addresses[1])
    }

    /// A shell command line, with no standard input and its output on standard error.
    pub fn far(line: &OsStr, addresses: [Ipv4Addr; 2]) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(line).stdin(Stdio::null()).stdout(io::stderr());
        Self::with_addresses(command, addresses[1], addresses[0])
    }

    fn with_addresses(mut command: Command, local: Ipv4Addr, remote: Ipv4Addr) -> Self {
        command.env("DRIFTWAY_LOCAL", local.to_string());
        command.env("DRIFTWAY_REMOTE", remote.to_string());
        Self(command)
    }

    /// Starts it in a namespace.
    pub fn start(mut self, namespace: &Namespace) -> io::Result<Child> {
        namespace.spawn(&mut self.0)
    }
}

/// Waits until a socket in the namespace listens, `far` has exited, or a second has passed.
pub fn wait_for_listener(namespace: &Namespace, far: &mut Child) -> io::Result<()> {
    for _ in 0..LISTEN_POLLS {
        if far.try_wait()?.is_some() || namespace.run(has_listener)?? {
            break;
        }
        std::thread::sleep(LISTEN_POLL_INTERVAL);
    }
    Ok(())
}

/// Returns true if the calling thread's namespace has a listening TCP socket or a UDP socket.
fn has_listener() -> io::Result<bool> {
    for (table, listening) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        // A kernel without IPv6 lacks its tables.
        let Ok(sockets) = std::fs::read_to_string(format!("/proc/thread-self/net/{table}")) else {
            continue;
        };
        // proc(5): sl, local address, remote address, state.
        let mut states = sockets.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3));
        if states.any(|state| state == listening) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Running programs. Dropping them before [`Programs::terminate`], after an error, kills them.
#[derive(Default)]
pub struct Programs {
    /// The command at the near end.
    pub near: Option<Child>,
    /// The program at the far end.
    pub far: Option<Child>,
}

impl Programs {
    /// The command's exit status, once it has exited.
    pub fn near_status(&mut self) -> Result<Option<u8>, Failure> {
        let Some(near) = &mut self.near else { return Ok(Some(0)) };
        let status = near.try_wait().map_err(|e| failed("wait for the command", &e))?;
        Ok(status.map(exit_status))
    }

    /// Forwards a signal to the command.
    pub fn forward_signal(&mut self, signal: Signal) -> Result<(), Failure> {
        if let Some(near) = &self.near {
            kill(Pid::from_raw(near.id() as i32), signal)
                .map_err(|e| failed("signal the command", &e))?;
        }
        Ok(())
    }

    /// Terminates all processes at both ends, the near end first. Returns the far program's exit
    /// status if it had exited by itself.
    pub fn terminate(&mut self, running: &RunningEmulation) -> Result<Option<u8>, Failure> {
        let far = self.far.as_mut().map(Child::try_wait).transpose();
        let far = far.map_err(|e| failed("wait for the far end", &e))?.flatten();
        for end in PathEnd::BOTH {
            let ended = running.namespace(end).end_processes(TERMINATION_GRACE);
            ended.map_err(|e| failed("end the remaining processes", &e))?;
        }
        for child in [&mut self.near, &mut self.far].into_iter().flatten() {
            child.wait().map_err(|e| failed("wait for a program", &e))?;
        }
        Ok(far.map(exit_status))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for child in [&mut self.near, &mut self.far].into_iter().flatten() {
            // Killing an exited process fails, and is not needed.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// Exit status as a shell reports it: 128 plus the signal's number if a signal ended it.
fn exit_status(status: ExitStatus) -> u8 {
    let number = status.code().or_else(|| Some(128 + status.signal()?));
    number.and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
}
