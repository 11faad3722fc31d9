//! Programs at nodes of the network.

use std::ffi::OsStr;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use driftway_base::NodeId;
use driftway_linux::{Emulation, Namespace, RunningEmulation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::failure::{Failure, failed};

/// Time for a process to exit after SIGTERM.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(2);
/// Number of polls for listening sockets, one every [`LISTEN_POLL_INTERVAL`].
const LISTEN_POLLS: u32 = 100;
const LISTEN_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A program to be started at a node.
pub struct Program(Command);

/// The node of a program, for its environment.
pub struct Place<'a> {
    /// The node.
    pub node: NodeId,
    /// The other end, if the node is an end.
    pub remote: Option<NodeId>,
    /// The addresses of all nodes.
    pub addresses: &'a [Ipv4Addr],
    /// The names of all nodes: of a mixed network those of the file, else their numbers.
    pub names: &'a [String],
}

impl Program {
    /// The program with which the emulation ends. With `aside`, its standard output goes to standard
    /// error.
    pub fn main(mut command: Command, place: &Place<'_>, aside: bool) -> Self {
        if aside {
            command.stdout(io::stderr());
        }
        Self::at(command, place)
    }

    /// Another program, with no standard input and its output on standard error.
    pub fn background(line: &OsStr, place: &Place<'_>) -> Self {
        let mut command = shell(line);
        command.stdin(Stdio::null()).stdout(io::stderr());
        Self::at(command, place)
    }

    fn at(mut command: Command, place: &Place<'_>) -> Self {
        let Place { node, remote, addresses, names } = place;
        command.env("DRIFTWAY_NODE", node.to_string());
        command.env("DRIFTWAY_LOCAL", addresses[node.index()].to_string());
        if let Some(remote) = remote {
            command.env("DRIFTWAY_REMOTE", addresses[remote.index()].to_string());
        }
        for (number, (address, name)) in addresses.iter().zip(*names).enumerate() {
            command.env(format!("DRIFTWAY_ADDRESS_{number}"), address.to_string());
            // The name of a variable has no hyphen.
            let name = name.replace('-', "_");
            command.env(format!("DRIFTWAY_ADDRESS_{name}"), address.to_string());
        }
        Self(command)
    }

    /// Starts it in a namespace.
    pub fn start(mut self, namespace: &Namespace) -> io::Result<Child> {
        namespace.spawn(&mut self.0)
    }
}

/// A shell command line.
pub fn shell(line: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
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
    /// The program with which the emulation ends.
    pub main: Option<Child>,
    /// The others, with the nodes at which they run.
    pub background: Vec<(NodeId, Child)>,
}

impl Programs {
    /// Waits until a socket listens at the node of each background program that has not exited, or a
    /// second has passed.
    pub fn wait_for_listeners(&mut self, emulation: &Emulation) -> io::Result<()> {
        for _ in 0..LISTEN_POLLS {
            let mut is_ready = true;
            for (node, child) in &mut self.background {
                if child.try_wait()?.is_none()
                    && let Some(namespace) = emulation.namespace(*node)
                {
                    is_ready &= namespace.run(has_listener)??;
                }
            }
            if is_ready {
                break;
            }
            std::thread::sleep(LISTEN_POLL_INTERVAL);
        }
        Ok(())
    }

    /// Returns the main program's exit status, once it has exited.
    pub fn main_status(&mut self) -> Result<Option<u8>, Failure> {
        let Some(main) = &mut self.main else { return Ok(Some(0)) };
        let status = main.try_wait().map_err(|e| failed("wait for the command", &e))?;
        Ok(status.map(exit_status))
    }

    /// Returns the exit status of each background program that has exited.
    pub fn background_statuses(&mut self) -> Result<Vec<Option<u8>>, Failure> {
        let status = |(_, child): &mut (NodeId, Child)| child.try_wait();
        let statuses = self.background.iter_mut().map(status);
        let statuses: io::Result<Vec<_>> = statuses.map(|s| Ok(s?.map(exit_status))).collect();
        statuses.map_err(|e| failed("wait for a program", &e))
    }

    /// Forwards a signal to the main program.
    pub fn forward_signal(&mut self, signal: Signal) -> Result<(), Failure> {
        if let Some(main) = &self.main {
            kill(Pid::from_raw(main.id() as i32), signal)
                .map_err(|e| failed("signal the command", &e))?;
        }
        Ok(())
    }

    /// Terminates all processes at all nodes, those at the node of the main program, `first`, before
    /// the others. Returns the exit status of each background program that had exited by itself.
    pub fn terminate(
        &mut self,
        running: &RunningEmulation,
        first: NodeId,
    ) -> Result<Vec<Option<u8>>, Failure> {
        let statuses = self.background_statuses()?;
        for namespace in running.namespace(first).into_iter().chain(running.namespaces()) {
            let ended = namespace.end_processes(TERMINATION_GRACE);
            ended.map_err(|e| failed("end the remaining processes", &e))?;
        }
        for child in self.children() {
            child.wait().map_err(|e| failed("wait for a program", &e))?;
        }
        Ok(statuses)
    }

    fn children(&mut self) -> impl Iterator<Item = &mut Child> {
        self.main.iter_mut().chain(self.background.iter_mut().map(|(_, child)| child))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for child in self.children() {
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
