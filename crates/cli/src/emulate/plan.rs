//! The programs of an emulation and their nodes.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use driftway_base::NodeId;
use driftway_linux::{end_nodes, node_count, not_emulated};
use driftway_scenario::{Network, Scenario};

use super::devices::Devices;
use super::node_argument::read_node;
use super::programs::{Names, Place, shell};
use crate::args::{EmulateArgs, Start};
use crate::failure::Failure;

/// The programs of an emulation and their nodes.
#[derive(Debug)]
pub struct Plan {
    /// The two ends of the network.
    pub ends: [NodeId; 2],
    /// Nodes with a namespace, in ascending order.
    pub nodes: Vec<NodeId>,
    /// The program with which the emulation ends.
    pub main: MainProgram,
    /// The others: options, nodes and command lines.
    pub background: Vec<BackgroundProgram>,
    /// Uplink, attached interfaces, addresses, Ethernet.
    pub devices: Devices,
}

/// The program with which an emulation ends.
#[derive(Debug)]
pub struct MainProgram {
    /// Its node.
    pub node: NodeId,
    /// The program and its arguments, or a line for the shell.
    words: Words,
    /// Its start.
    pub start: Start,
}

#[derive(Debug)]
enum Words {
    Command(Vec<OsString>),
    Line(OsString),
}

/// A program that is terminated at the end.
#[derive(Debug)]
pub struct BackgroundProgram {
    /// Its node.
    pub node: NodeId,
    /// A line for the shell.
    pub line: OsString,
    /// True if it is the program of `--far`.
    pub is_far: bool,
    /// Its start and its readiness.
    pub start: Start,
}

impl BackgroundProgram {
    /// Returns the option that gives it.
    pub fn option(&self) -> String {
        if self.is_far { "--far".to_owned() } else { format!("--at {}", self.node) }
    }
}

impl MainProgram {
    /// Returns the command that starts it.
    pub fn command(&self) -> Command {
        match &self.words {
            Words::Line(line) => shell(line),
            Words::Command(words) => {
                let (program, arguments) = words.split_first().expect("it is not empty");
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        }
    }

    /// Returns its line, if a shell runs it.
    pub fn line(&self) -> Option<&OsStr> {
        match &self.words {
            Words::Line(line) => Some(line),
            Words::Command(_) => None,
        }
    }

    /// Returns the name of the program for messages.
    pub fn name(&self) -> String {
        match &self.words {
            Words::Line(_) => "sh".to_owned(),
            Words::Command(words) => words[0].to_string_lossy().into_owned(),
        }
    }

    /// Returns its command, or its line, as text.
    pub fn words(&self) -> Vec<String> {
        let words = match &self.words {
            Words::Line(line) => std::slice::from_ref(line),
            Words::Command(words) => words,
        };
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

impl Plan {
    /// Reads the options.
    ///
    /// # Errors
    /// A network that cannot be emulated, or a node that it does not have.
    pub fn new(args: &EmulateArgs, scenario: &Scenario) -> Result<Self, Failure> {
        if let Some(why) = not_emulated(scenario) {
            return Err(Failure::Input(why));
        }
        let ends = end_nodes(scenario);
        let mut background = Vec::new();
        for program in &args.programs.programs {
            let node = match &program.node {
                None => ends[1],
                Some(node) => read_node("--at", &node.to_string_lossy(), scenario)?,
            };
            let (line, start) = (program.line.clone(), program.start.clone());
            background.push(BackgroundProgram {
                node,
                line,
                is_far: program.node.is_none(),
                start,
            });
        }
        let start = args.programs.main.clone();
        let main = if args.command.is_empty() {
            // That of `--far` does not end the emulation.
            let last = background.iter().rposition(|program| !program.is_far);
            let last = last.ok_or_else(|| Failure::Input("no COMMAND".into()))?;
            let last = background.remove(last);
            if last.start.ready.is_some() {
                return Err(Failure::Input(format!(
                    "--ready: the emulation ends with the program of the last --at {}, and nothing \
                     waits for it",
                    last.node
                )));
            }
            MainProgram { node: last.node, words: Words::Line(last.line), start: last.start }
        } else {
            MainProgram { node: ends[0], words: Words::Command(args.command.clone()), start }
        };
        let mut nodes: Vec<_> = background.iter().map(|program| program.node).collect();
        nodes.push(main.node);
        // What is sent to an end arrives at a kernel, also where no program runs.
        let is_path = matches!(scenario.network, Network::Path(_));
        if is_path || !args.command.is_empty() || background.iter().any(|program| program.is_far) {
            nodes.extend(ends);
        }
        let devices = Devices::new(args, scenario)?;
        let programs = background.iter().map(|program| (program.option(), program.node));
        for (option, node) in programs.chain([("COMMAND".to_owned(), main.node)]) {
            if let Some(interface) = devices.attached_to(node) {
                return Err(Failure::Input(format!(
                    "{option}: node {node} is what is behind {interface} (--attach), and its programs run there"
                )));
            }
        }
        nodes.extend(devices.uplink.iter().map(|(node, _)| *node));
        nodes.extend(devices.addresses.iter().map(|(node, _)| *node));
        // A router of the network reads no frames.
        if devices.is_ethernet {
            nodes.extend((0..node_count(scenario)).map(NodeId::from));
        }
        nodes.retain(|node| devices.attached_to(*node).is_none());
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self { ends, nodes, main, background, devices })
    }

    /// Returns the nodes with a kernel: those with a namespace, then those that are attached.
    pub fn kernels(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().copied().chain(self.devices.attached.iter().map(|(node, _)| *node))
    }

    /// Returns the place of a program at a node.
    pub fn place<'a>(&self, names: &'a Names, node: NodeId) -> Place<'a> {
        Place { node, remote: self.remote_of(node), names }
    }

    /// Returns the other end, if a node is an end.
    pub fn remote_of(&self, node: NodeId) -> Option<NodeId> {
        let [near, far] = self.ends;
        match node {
            _ if node == near => Some(far),
            _ if node == far => Some(near),
            _ => None,
        }
    }
}

/// Message about a program that the shell could not run, if that is its status.
pub fn not_run(program: &BackgroundProgram, status: Option<u8>) -> Option<String> {
    line_not_run(&program.option(), &program.line, status?)
}

/// The same about the line of an option. The statuses are those of POSIX, of any shell.
pub fn line_not_run(option: &str, line: &OsStr, status: u8) -> Option<String> {
    let why = match status {
        126 => "the shell cannot execute a program of this line",
        127 => "the shell does not find a program of this line",
        _ => return None,
    };
    let line = line.to_string_lossy();
    Some(format!("{option} '{line}': {why} (status {status}): give its path, or one in PATH"))
}
