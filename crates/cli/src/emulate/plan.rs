//! The programs of an emulation and their nodes.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;

use driftway_base::NodeId;
use driftway_linux::{end_nodes, node_count, not_emulated};
use driftway_scenario::{Network, Scenario, nearest};

use super::programs::{Names, Place, shell};
use crate::args::{EmulateArgs, Start};
use crate::failure::Failure;

/// The programs of an emulation and their nodes.
#[derive(Debug)]
pub struct Plan {
    /// The two ends of the network.
    pub ends: [NodeId; 2],
    /// Nodes with a kernel, in ascending order.
    pub nodes: Vec<NodeId>,
    /// The program with which the emulation ends.
    pub main: MainProgram,
    /// The others: options, nodes and command lines.
    pub background: Vec<BackgroundProgram>,
    /// The node with an uplink, and the interface of the host.
    pub uplink: Option<(NodeId, String)>,
    /// Further addresses of nodes.
    pub addresses: Vec<(NodeId, IpAddr)>,
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
        let uplink = args.uplink.as_ref().map(|(node, interface)| {
            let node = read_node("--uplink", node, scenario)?;
            // The name is a part of a path.
            let is_name = !interface.is_empty() && !interface.contains(['/', '\0']);
            let exists = is_name && Path::new("/sys/class/net").join(interface).exists();
            if exists { Ok((node, interface.clone())) } else { Err(no_interface(interface)) }
        });
        let uplink = uplink.transpose()?;
        let addresses = args.address.iter().map(|(node, address)| {
            let node = read_node("--address", node, scenario)?;
            let address = address.parse().map_err(|_| {
                let help = "it has to be an address, as in 5=192.168.7.1 or 5=fd01::1";
                Failure::Input(format!("--address {node}={address}: {help}"))
            });
            Ok((node, address?))
        });
        let addresses = addresses.collect::<Result<Vec<_>, Failure>>()?;
        nodes.extend(uplink.iter().map(|(node, _)| *node));
        nodes.extend(addresses.iter().map(|(node, _)| *node));
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Self { ends, nodes, main, background, uplink, addresses })
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

fn no_interface(name: &str) -> Failure {
    let names = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != "lo").collect();
    names.sort();
    let names = if names.is_empty() { "none but lo".to_owned() } else { names.join(", ") };
    Failure::Input(format!("--uplink {name}: the host has no such interface; it has {names}"))
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

/// Reads the node of an option: its name in a mixed network, its number, or the name of an end.
///
/// # Errors
/// There is no such node.
pub fn read_node(option: &str, text: &str, scenario: &Scenario) -> Result<NodeId, Failure> {
    let [near, far] = end_nodes(scenario);
    let count = node_count(scenario);
    let name = |node: NodeId| scenario.node_name(node.number());
    let nodes = || (0..count).map(NodeId::from);
    let named = nodes().find(|node| name(*node) == text).map(NodeId::index);
    match (named, text, text.parse()) {
        (Some(node), ..) | (None, _, Ok(node)) if node < count => Ok(NodeId::from(node)),
        (_, "near", _) => Ok(near),
        (_, "far", _) => Ok(far),
        _ if matches!(scenario.network, Network::Mixed(_)) => {
            let names: Vec<String> = nodes().map(name).collect();
            let nearest = nearest(text, names.iter().map(String::as_str))
                .map_or(String::new(), |word| format!("; did you mean `{word}`?"));
            Err(Failure::Input(format!(
                "{option} {text}: there is no such node: NODE is a name of `network.nodes`, a number from \
                 0 to {}, near ({}) or far ({}){nearest}",
                count - 1,
                name(near),
                name(far)
            )))
        }
        _ => Err(Failure::Input(format!(
            "{option} {text}: there is no such node: NODE is a number from 0 to {}, near ({near}) or \
             far ({far})",
            count - 1
        ))),
    }
}
