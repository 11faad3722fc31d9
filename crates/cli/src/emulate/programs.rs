//! Programs at nodes of the network.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use driftway_base::NodeId;
use driftway_linux::{Namespace, RunningEmulation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::failure::{Failure, failed};

/// Time for a process to exit after SIGTERM.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(2);

/// A program to be started at a node.
pub struct Program(Command);

/// The names and addresses of all nodes.
#[derive(Clone, Debug)]
pub struct Names {
    /// The addresses, in the order of the nodes.
    pub addresses: Vec<Ipv4Addr>,
    /// The IPv6 addresses; none if there are nodes that it does not reach.
    pub ipv6_addresses: Vec<Ipv6Addr>,
    /// The names: of a mixed network those of the file, else their numbers.
    pub names: Vec<String>,
}

impl Names {
    /// Returns the host name of a node: n5 if its name in the scenario is its number, 5.
    pub fn of(&self, node: NodeId) -> String {
        let name = self.names.get(node.index()).filter(|name| name.parse::<u32>().is_err());
        name.cloned().unwrap_or_else(|| numbered(node.index()))
    }
}

/// Name of a node by its number, which is no number by itself for a resolver.
pub fn numbered(node: usize) -> String {
    format!("n{node}")
}

/// The node of a program, for its environment.
pub struct Place<'a> {
    /// The node.
    pub node: NodeId,
    /// The other end, if the node is an end.
    pub remote: Option<NodeId>,
    /// The names and addresses of all nodes.
    pub names: &'a Names,
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
        Self::background_of(shell(line), place)
    }

    /// The same of a command.
    pub fn background_of(mut command: Command, place: &Place<'_>) -> Self {
        command.stdin(Stdio::null()).stdout(io::stderr());
        Self::at(command, place)
    }

    /// The program of `command`, with the environment of a node.
    pub fn at(mut command: Command, place: &Place<'_>) -> Self {
        command.envs(environment(place));
        Self(command)
    }

    /// Starts it in a namespace.
    pub fn start(mut self, namespace: &Namespace) -> io::Result<Child> {
        namespace.spawn(&mut self.0)
    }
}

/// The variables of a program's environment.
pub fn environment(place: &Place<'_>) -> Vec<(String, String)> {
    let Place { node, remote, names: Names { addresses, names, .. } } = place;
    let mut variables = vec![
        ("DRIFTWAY_NODE".to_owned(), node.to_string()),
        ("DRIFTWAY_LOCAL".to_owned(), addresses[node.index()].to_string()),
    ];
    if let Some(remote) = remote {
        variables.push(("DRIFTWAY_REMOTE".to_owned(), addresses[remote.index()].to_string()));
    }
    for (number, (address, name)) in addresses.iter().zip(names).enumerate() {
        variables.push((format!("DRIFTWAY_ADDRESS_{number}"), address.to_string()));
        // The name of a variable has no hyphen.
        let name = name.replace('-', "_");
        variables.push((format!("DRIFTWAY_ADDRESS_{name}"), address.to_string()));
    }
    variables
}

/// A shell command line.
pub fn shell(line: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line);
    command
}

/// Forwards a signal to a program.
pub fn forward_signal(program: &Child, signal: Signal) -> Result<(), Failure> {
    kill(Pid::from_raw(program.id() as i32), signal).map_err(|e| failed("signal the command", &e))
}

/// Terminates all processes at all nodes, those at the node `first` before the others.
pub fn terminate_all(running: &RunningEmulation, first: NodeId) -> Result<(), Failure> {
    let end = |namespace: &Namespace| {
        let ended = namespace.end_processes(TERMINATION_GRACE);
        ended.map_err(|e| failed("end the remaining processes", &e))
    };
    running.namespace(first).map_or(Ok(()), end)?;
    // Programs that do not end take their time together.
    thread::scope(|scope| {
        let ends: Vec<_> = running
            .namespaces()
            .iter()
            .map(|namespace| scope.spawn(move || end(namespace)))
            .collect();
        ends.into_iter().try_for_each(|ended| {
            ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
