//! Messages between `driftway ctl` and a running emulation: a line of JSON each way.
//!
//! The emulation listens at a socket with an abstract name (unix(7)), of which nothing is left when its
//! process has ended, however it ends.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Beginning of the names of all sockets; the number of the process follows.
const NAME: &str = "driftway/emulate/";
/// Longest time for a message.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The state of everything.
    Status,
    /// A node, in which a command is to run.
    Exec {
        /// The node.
        node: String,
        /// The command with its arguments.
        words: Vec<String>,
    },
    /// Sets keys of links.
    Set {
        /// Keys and values.
        keys: Vec<(String, String)>,
    },
    /// Takes a link or a radio down, or up again.
    Toggle {
        /// The link, or the radio's node.
        what: Toggled,
        /// Its number, or the node.
        which: String,
        /// Up again.
        is_up: bool,
    },
    /// Moves a node.
    Move {
        /// The node.
        node: String,
        /// Position (m).
        x: f64,
        /// Position (m).
        y: f64,
    },
}

/// Things that go down and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Toggled {
    /// A link by its number from 1: a hop of a path, or a wire
    Link,
    /// The radios of a node
    Radio,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The request cannot be met.
    Error(String),
    /// It was done at this time of the scenario (s).
    Done(f64),
    /// The state.
    Status(Box<Status>),
    /// The node.
    Node(NodeEntry),
}

/// The state of an emulation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Process of the emulation.
    pub pid: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Time of the scenario (s).
    pub time_s: f64,
    /// Packets that left the network.
    pub packets: u64,
    /// Lateness of these packets.
    pub lateness: LatenessStatus,
    /// All nodes.
    pub nodes: Vec<NodeState>,
    /// All links.
    pub links: Vec<LinkState>,
    /// Changes so far.
    pub changes: Vec<Changed>,
}

/// Delay of packets beyond their due time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LatenessStatus {
    /// Median (s).
    pub p50_s: f64,
    /// 99th percentile (s).
    pub p99_s: f64,
    /// Maximum (s).
    pub max_s: f64,
}

/// The state of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeState {
    /// Number.
    pub node: usize,
    /// Host name.
    pub name: String,
    /// Address.
    pub address: Ipv4Addr,
    /// True if it has a kernel.
    pub has_kernel: bool,
    /// Position (m); `null` without a radio.
    pub position_m: Option<(f64, f64)>,
    /// True if its radio is on; `null` without a radio.
    pub radio_is_on: Option<bool>,
    /// Packets in its queues.
    pub queued: usize,
    /// Packets that its kernel has sent.
    pub sent: u64,
    /// Next hops by destination, of those nodes with kernels to which it has a route.
    pub routes: Vec<Route>,
}

/// A route of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Route {
    /// Name of the destination.
    pub to: String,
    /// Name of the next hop.
    pub by: String,
}

/// The state of a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkState {
    /// Number from 1.
    pub link: usize,
    /// Names of the nodes at its ends.
    pub between: [String; 2],
    /// True if it is up.
    pub is_up: bool,
    /// Packets in the queues of its ends.
    pub queued: [usize; 2],
}

/// A change of an emulation while it ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changed {
    /// Time of the scenario (s).
    pub time_s: f64,
    /// The change, as the arguments of `driftway ctl`.
    pub change: String,
}

/// Entry to a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeEntry {
    /// Its first process; `null`: its programs share the host's files and processes.
    pub init: Option<u32>,
    /// File of its network namespace.
    pub network: String,
    /// Environment of programs.
    pub environment: Vec<(String, String)>,
}

/// Returns the address of the socket of an emulation.
pub fn address(pid: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{NAME}{pid}"))
}

/// Returns the processes of running emulations, as a table of sockets lists them (`/proc/net/unix`).
pub fn emulations(sockets: &str) -> Vec<u32> {
    let pid = |line: &str| line.split_once('@')?.1.strip_prefix(NAME)?.parse().ok();
    let mut pids: Vec<u32> = sockets.lines().filter_map(pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Asks an emulation.
///
/// # Errors
/// It does not exist, or does not answer in time.
pub fn ask(pid: u32, request: &Request) -> io::Result<Answer> {
    let mut stream = UnixStream::connect_addr(&address(pid)?)?;
    send(&mut stream, request)?;
    receive(&stream)
}

/// Sends a message.
pub fn send(stream: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Receives a message.
pub fn receive<T: DeserializeOwned>(stream: &UnixStream) -> io::Result<T> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn emulations_are_found_among_sockets() {
        let table = "Num RefCount Protocol Flags Type St Inode Path\n\
                     0: 00000002 00000000 00010000 0001 01 17 @driftway/emulate/77\n\
                     0: 00000003 00000000 00000000 0001 03 18 @driftway/emulate/77\n\
                     0: 00000002 00000000 00010000 0001 01 19 /run/x@driftway\n\
                     0: 00000002 00000000 00010000 0001 01 20 @driftway/emulate/8\n";
        assert_eq!(emulations(table), [8, 77]);
    }

    #[test]
    fn requests_survive_the_way() {
        let request = Request::Toggle { what: Toggled::Radio, which: "n5".into(), is_up: false };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(text, r#"{"command":"toggle","what":"radio","which":"n5","is_up":false}"#);
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        assert!(serde_json::from_str::<Request>(r#"{"command":"stop"}"#).is_err());
    }
}
