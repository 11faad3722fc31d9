//! The socket of an emulation, at which `driftway ctl` asks for its state and changes it.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use driftway_base::{Instant, LinkId, NodeId};
use driftway_linux::{
    EmulationControl, ImpossibleChange, LiveChange, NetworkStatus, UnchangeableLink, link_changes,
};
use driftway_scenario::Scenario;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;

use super::node_argument::read_node;
use super::programs::Names;
use crate::args::ScenarioArgs;
use crate::check::load_scenario;
use crate::ctl::protocol::{
    Answer, Changed, LatenessStatus, LinkState, NodeEntry, NodeState, Request, Route, Status,
    Toggled, address, receive, send,
};
use crate::failure::Failure;

/// Keys of links that can be changed, by their last parts.
const LIVE_KEYS: [&str; 4] = ["rate", "delay", "bit_error_rate", "packet_error_rate"];
/// Tables of links.
const LINK_TABLES: [&str; 4] =
    ["network.link.", "network.override.", "network.parallel.", "network.wire."];

/// An emulation as others see it.
pub struct Controlled {
    /// The network.
    pub control: EmulationControl,
    /// The scenario's file, and the keys that were set, also while it runs.
    pub source: ScenarioArgs,
    /// The scenario with these keys.
    pub scenario: Scenario,
    /// Names and addresses of the nodes.
    pub names: Names,
    /// Entries to the nodes with kernels.
    pub entries: BTreeMap<NodeId, NodeEntry>,
    /// Changes so far.
    pub changes: Vec<Changed>,
}

/// The socket, and what is behind it.
#[derive(Clone)]
pub struct ControlServer(Arc<Mutex<Controlled>>);

impl ControlServer {
    /// Listens at the socket of this process, in a thread of its own, until the process ends.
    ///
    /// # Errors
    /// The socket or the thread cannot be created.
    pub fn start(controlled: Controlled) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&address(process::id())?)?;
        let server = Self(Arc::new(Mutex::new(controlled)));
        let serving = server.clone();
        thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                // The client has gone, or says nothing in time.
                let _ = serving.serve(stream);
            }
        })?;
        Ok(server)
    }

    /// Returns the changes so far.
    pub fn changes(&self) -> Vec<Changed> {
        self.lock().changes.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Controlled> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        // Every process of this network namespace reaches an abstract name.
        let user = getsockopt(&stream, PeerCredentials)?.uid();
        if user != 0 && user != geteuid().as_raw() {
            let why = "only root and the user of the emulation may control it".to_owned();
            return send(&mut stream, &Answer::Error(why));
        }
        let answer = match receive(&stream) {
            Ok(request) => self.lock().answer(request).unwrap_or_else(Answer::Error),
            Err(error) => Answer::Error(format!("the request cannot be read: {error}")),
        };
        send(&mut stream, &answer)
    }
}

impl Controlled {
    fn answer(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Status => {
                let status = self.control.status().map_err(|e| e.to_string())?;
                Ok(Answer::Status(Box::new(self.status(&status))))
            }
            Request::Exec { node, words } => {
                let number = self.node("exec", &node)?;
                let entry = self.entries.get(&number).cloned().ok_or_else(|| {
                    format!("exec {node}: a router: no program runs there, so it has no kernel")
                })?;
                // It may send packets.
                self.change(&[], format!("exec {node} -- {}", words.join(" ")))?;
                Ok(Answer::Node(entry))
            }
            Request::Set { keys } => self.set(keys),
            Request::Toggle { what, which, is_up } => {
                let name = if is_up { "up" } else { "down" };
                let (change, what) = match what {
                    Toggled::Link => (self.link(name, &which, is_up)?, "link"),
                    Toggled::Radio => {
                        let node = self.node(&format!("{name} radio"), &which)?;
                        (LiveChange::Radio { node, is_up }, "radio")
                    }
                };
                self.change(&[change], format!("{name} {what} {which}"))
            }
            Request::Move { node, x, y } => {
                let number = self.node("move", &node)?;
                let change = LiveChange::Position { node: number, x, y };
                self.change(&[change], format!("move {node} {x} {y}"))
            }
        }
    }

    /// Makes changes of the network at once, and records them.
    fn change(&mut self, changes: &[LiveChange], words: String) -> Result<Answer, String> {
        let outcome = self.control.change(changes.to_vec()).map_err(|e| e.to_string())?;
        let at = outcome.map_err(|why| format!("{words}: {}", describe(why)))?;
        let time_s = at.since(Instant::ZERO).as_secs_f64();
        self.changes.push(Changed { time_s, change: words });
        Ok(Answer::Done(time_s))
    }

    fn set(&mut self, keys: Vec<(String, String)>) -> Result<Answer, String> {
        let is_live = |key: &str| {
            LINK_TABLES.iter().any(|table| key.starts_with(table))
                && LIVE_KEYS.iter().any(|end| key.rsplit('.').next() == Some(end))
        };
        if let Some((key, _)) = keys.iter().find(|(key, _)| !is_live(key)) {
            return Err(format!(
                "set {key}: it cannot be changed while the network runs; these keys of links can: \
                 {}, as in network.link.rate='2 Mbit/s'",
                LIVE_KEYS.join(", ")
            ));
        }
        let mut source = self.source.clone();
        source.set.extend(keys.iter().cloned());
        let scenario = load_scenario(&source).map_err(|failure| match failure {
            Failure::Input(why) | Failure::Failed(why) => why,
            other => format!("{other:?}"),
        })?;
        let words: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let changes =
            link_changes(&self.scenario, &scenario).map_err(|UnchangeableLink(link)| {
                format!(
                    "set {}: link {} differs by direction, follows a trace, or has delays that are \
                 correlated or in steps\nthe rate, the delay and the errors of both directions can \
                 be changed together",
                    words.join(" "),
                    link.index() + 1
                )
            })?;
        let answer = self.change(&changes, format!("set {}", words.join(" ")))?;
        self.source = source;
        self.scenario = scenario;
        Ok(answer)
    }

    fn node(&self, option: &str, text: &str) -> Result<NodeId, String> {
        // Host names, too.
        let nodes = (0..self.names.addresses.len()).map(NodeId::from);
        let named = nodes.into_iter().find(|node| self.names.of(*node) == text);
        named.map_or_else(
            || {
                read_node(option, text, &self.scenario).map_err(|failure| match failure {
                    Failure::Input(why) => why,
                    other => format!("{other:?}"),
                })
            },
            Ok,
        )
    }

    fn link(&self, name: &str, which: &str, is_up: bool) -> Result<LiveChange, String> {
        let number = which.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
        let link = number.ok_or_else(|| {
            format!("{name} link {which}: a link is the number of a hop or of a wire, from 1")
        })?;
        Ok(LiveChange::Link { link: LinkId::new(link), is_up })
    }

    fn status(&self, status: &NetworkStatus) -> Status {
        let lateness = &status.lateness;
        let [p50_s, p99_s] = [0.5, 0.99].map(|share| lateness.quantile(share).as_secs_f64());
        let sent = |node: &NodeId| {
            let kernel = self.entries.keys().position(|with_kernel| with_kernel == node)?;
            Some(status.counts.by_kernel.get(kernel)?.entered)
        };
        let nodes = (0..).map(NodeId::new).zip(&status.nodes).map(|(number, node)| NodeState {
            node: number.index(),
            name: self.names.of(number),
            address: self.names.addresses[number.index()],
            has_kernel: self.entries.contains_key(&number),
            position_m: node.position,
            radio_is_on: node.is_radio_on,
            queued: node.queue_length,
            sent: sent(&number).unwrap_or_default(),
            routes: node
                .next_hops
                .iter()
                .map(|(to, by)| Route { to: self.names.of(*to), by: self.names.of(*by) })
                .collect(),
        });
        let links = status.links.iter().map(|link| LinkState {
            link: link.link.index() + 1,
            between: link.ends.map(|node| self.names.of(node)),
            is_up: link.is_up,
            queued: link.queue_lengths,
        });
        Status {
            pid: process::id(),
            scenario: self.scenario.name.clone(),
            time_s: status.at.since(Instant::ZERO).as_secs_f64(),
            packets: lateness.count(),
            lateness: LatenessStatus { p50_s, p99_s, max_s: lateness.max().as_secs_f64() },
            nodes: nodes.collect(),
            links: links.collect(),
            changes: self.changes.clone(),
        }
    }
}

/// Description of the reason for which a change is not possible.
const fn describe(why: ImpossibleChange) -> &'static str {
    match why {
        ImpossibleChange::NoLink => "there is no such link",
        ImpossibleChange::NoRadio => "this node has no radio",
        ImpossibleChange::IsDown => "it is already down by `driftway ctl`",
        ImpossibleChange::IsNotDown => "`driftway ctl` has not taken it down",
        ImpossibleChange::Position => "a position is two numbers of metres",
    }
}
