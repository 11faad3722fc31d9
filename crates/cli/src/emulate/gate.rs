//! Programs that wait for the network: each shell has started, and has stopped itself.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use driftway_base::Instant;
use driftway_linux::{Emulation, RealClock};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::plan::Plan;
use super::programs::{Names, Program};
use crate::failure::{Failure, failed};

/// Line of a shell that waits for SIGCONT, and then runs another line.
const WAIT: &str = "kill -STOP $$; exec sh -c \"$1\"";
/// Time for all shells to start.
const PATIENCE: driftway_base::Duration = driftway_base::Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Background programs that run as soon as they are released, so that none of them is late because another
/// one is being started. Dropping this kills them.
pub struct Gate(Vec<Option<Child>>);

impl Gate {
    /// Starts the shells of those programs that are to start with the network, and returns when they wait.
    ///
    /// # Errors
    /// A shell cannot be started.
    pub fn close(plan: &Plan, names: &Names, emulation: &Emulation) -> Result<Self, Failure> {
        let mut gate = Self(Vec::new());
        for program in &plan.background {
            if program.start.after.is_some() {
                gate.0.push(None);
                continue;
            }
            let shell = Program::background_of(
                waiting_shell(&program.line),
                &plan.place(names, program.node),
            );
            let namespace = emulation.namespace(program.node).ok_or_else(|| {
                Failure::Failed("a bug in driftway: a node has no namespace".into())
            })?;
            let child = shell.start(namespace).map_err(|e| {
                Failure::Input(format!("{}: cannot start sh: {e}", program.option()))
            })?;
            gate.0.push(Some(child));
        }
        let clock = RealClock::start();
        for child in gate.0.iter().flatten() {
            while !waits(child).map_err(|e| failed("wait for a program", &e))? {
                if clock.now() >= Instant::ZERO + PATIENCE {
                    return Err(Failure::Failed("the programs' shells do not start".into()));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(gate)
    }

    /// Releases all programs; returns them in the order of the plan.
    ///
    /// # Errors
    /// One cannot be released.
    pub fn open(mut self) -> Result<Vec<Option<Child>>, Failure> {
        for child in self.0.iter().flatten() {
            match kill(pid(child), Signal::SIGCONT) {
                Ok(()) | Err(Errno::ESRCH) => {}
                Err(errno) => return Err(failed("start a program", &errno)),
            }
        }
        Ok(std::mem::take(&mut self.0))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        for child in self.0.iter_mut().flatten() {
            // Killing an exited process fails, and is not needed.
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

fn waiting_shell(line: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", WAIT, "sh"]).arg(line);
    command
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32)
}

/// Returns whether a shell has stopped, or has exited.
fn waits(child: &Child) -> io::Result<bool> {
    let what = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED;
    let status = waitid(Id::Pid(pid(child)), what | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT)?;
    Ok(!matches!(status, WaitStatus::StillAlive))
}
