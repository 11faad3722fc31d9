//! One run: a scenario and a seed in, a result out.

mod adhoc;
mod hosts;
#[cfg(test)]
mod listener;
mod look;
mod outcome;
mod path;

use std::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr, RouteProbe};
use driftway_link::QueuePosition;
use driftway_node::Host;
use driftway_scenario::{Scenario, Time, Transport};
use driftway_tcp::Stats;
use driftway_wire::Packet;

pub use adhoc::AdhocAtWork;

use look::follow;

use crate::packet_accounting::PacketTable;
use crate::events::{Class, Event, Events};
use crate::fingerprint::Fingerprint;
use crate::flows::FlowAtWork;
use crate::addresses::address;
use crate::results::RunResult;
use crate::sabotage::Sabotage;
use crate::sockets::{self, End};
use crate::watch::Watch;

/// Why there is no result: a mistake in driftway, because a checked scenario always has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The books of packets do not balance.
    Books(String),
    /// A stream was not delivered as it was sent, or acknowledged before it was.
    Stream(String),
    /// The network can't be put up.
    Setup(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Books(what) => write!(f, "the books don't balance: {what}"),
            Self::Stream(what) => write!(f, "a stream is broken: {what}"),
            Self::Setup(what) => write!(f, "the network can't be put up: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// Where a socket is. Sockets are numbered by flow and end: 2 × flow for the sender, and one more
/// for the receiver.
#[derive(Clone, Copy, Debug)]
struct SocketAt {
    node: usize,
    /// Its number at its host; `None` before the flow starts.
    number: Option<usize>,
    /// The application has no more to send.
    closes: bool,
    /// What the trace knows already.
    counted: Stats,
}

/// What lies between hosts. A kind of network is one type with these methods; the run holds what
/// all of them share: time, hosts, flows, and the books.
pub trait NetworkAtWork: Sized {
    /// A packet on its way, with what this network adds to it.
    type Unit;
    /// Can it bring a packet twice?
    const REPEATS: bool;
    /// Do its nodes look for peers if an aid wants that?
    const SEEKS: bool;

    /// Puts it up before the first event.
    ///
    /// # Errors
    /// The scenario is not one that was checked, or not of this kind.
    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError>;
    /// How many nodes it has, and how many entities of its own ([`Class::Fault`],
    /// [`Class::Network`]) want to be woken.
    fn sizes(&self) -> Sizes;
    /// The first wake-ups.
    fn open(run: &mut Run<'_, Self>);
    /// A node sends a packet of its own.
    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition);
    /// A node is to look for a peer of its host, or not any more; `first`: nobody else at this host has
    /// it looked for.
    fn seek(run: &mut Run<'_, Self>, node: usize, peer: Ipv4Addr, probe: RouteProbe, first: bool);
    /// One of its entities is woken.
    fn on_event(run: &mut Run<'_, Self>, class: Class, entity: usize);
    /// Until nothing more happens at this instant.
    fn settle(run: &mut Run<'_, Self>);
    /// Goes on with what a pause has cut short; `false` if that is nothing.
    fn resume(_: &mut Run<'_, Self>) -> bool {
        false
    }
    /// Was the last report of a node that a destination cannot be reached about a link whose ends are in
    /// range of each other?
    fn reported_falsely(&self, _node: usize) -> bool {
        false
    }
    /// Has a pause cut something short?
    fn is_paused(&self) -> bool {
        false
    }
    /// How many packets it holds.
    fn held(&self) -> u64;
    /// Do the network's own books balance?
    ///
    /// # Errors
    /// Says what is missing.
    fn balance(&self) -> Result<(), String>;
    /// Writes down what it did.
    fn report(run: &mut Run<'_, Self>, result: &mut RunResult);

    /// Packets that wait in a node's queues.
    fn waiting(&self, node: usize) -> usize;
    /// Where a node is (m); `None` where nodes have no place.
    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)>;
    /// Which nodes a packet from the one to the other would pass, both included, as the nodes know it;
    /// `None`: there is no route.
    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>>;
}

/// What a network asks room for.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Nodes.
    pub nodes: usize,
    /// Entities of [`Class::Fault`].
    pub faults: usize,
    /// Entities of [`Class::Network`].
    pub entities: usize,
}

/// A run under way.
pub struct Run<'a, N: NetworkAtWork> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    /// Nothing is to go beyond this: somebody wants to look.
    pause: Instant,
    events: Events,
    /// How many entities of [`Class::Network`] are the network's. After these comes one for each flow,
    /// for the signals of an unreachable destination: of one instant they are the network's last events,
    /// so that a signal at the time of a link failure finds routing as the failure has left it.
    entities: usize,
    handled: u64,
    packets: PacketTable<N::Unit>,
    net: N,
    hosts: Vec<Host>,
    sockets: Vec<SocketAt>,
    /// Packets from a host to itself.
    local: VecDeque<(usize, u32)>,
    flows: Vec<FlowAtWork>,
    /// Transfers not complete yet; `None` where some flow never is.
    incomplete: Option<usize>,
    fingerprint: Fingerprint,
    /// The node whose report, or whose host's signal, came last.
    reporter: usize,
    sabotage: Sabotage,
    watch: Watch<'a>,
    failed: Option<RunError>,
}

impl<'a, N: NetworkAtWork> Run<'a, N> {
    /// Before the first event.
    ///
    /// # Errors
    /// The scenario is not one that was checked, or its network is of another kind.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        observers: impl Into<Watch<'a>>,
    ) -> Result<Self, RunError> {
        let net = N::new(scenario, seed)?;
        let Sizes { nodes, faults, entities } = net.sizes();
        let Time(duration) = scenario.duration;
        let host = |n| {
            let host = Host::new(address(n));
            if N::SEEKS { host.with_route_probing() } else { host }
        };
        let hosts: Vec<Host> = (0..nodes).map(host).collect();
        let flows: Vec<FlowAtWork> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(n, flow)| FlowAtWork::new(flow, n as u32 * 2, seed))
            .collect();
        let sockets: Vec<SocketAt> = scenario
            .flows
            .iter()
            .flat_map(|flow| [flow.from, flow.to])
            .map(|node| SocketAt {
                node: node as usize,
                number: None,
                closes: false,
                counted: Stats::default(),
            })
            .collect();
        let transfers = flows.iter().all(FlowAtWork::is_transfer);
        let mut run = Self {
            scenario,
            seed,
            now: Instant::ZERO,
            end: Instant::ZERO + duration,
            pause: Instant::FAR_FUTURE,
            events: Events::new([
                faults,
                entities + flows.len(),
                sockets.len(),
                sockets.len(),
                flows.len(),
            ]),
            entities,
            handled: 0,
            packets: PacketTable::default(),
            net,
            hosts,
            sockets,
            local: VecDeque::with_capacity(16),
            incomplete: transfers.then_some(flows.len()),
            flows,
            fingerprint: Fingerprint::default(),
            reporter: 0,
            sabotage: Sabotage::default(),
            watch: observers.into(),
            failed: None,
        };
        run.open();
        Ok(run)
    }

    /// Puts up the receivers and the first wake-ups.
    fn open(&mut self) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            if let Some(tcp) = &flow.tcp
                && flow.transport == Transport::Tcp
            {
                let end = End::Receiver;
                let socket = sockets::socket(flow, tcp, number, end, self.seed, self.now);
                let at = &mut self.sockets[number * 2 + 1];
                at.number = Some(self.hosts[at.node].add_socket(socket));
            }
            if let Some(at) = self.flows[number].next {
                self.events.wake(Class::Application, number as u32, at);
            }
            self.wake_unreachable(number);
        }
        N::open(self);
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// A stream broke.
    pub fn step(&mut self) -> Result<bool, RunError> {
        if N::resume(self) {
            N::settle(self);
            return self.failed.take().map_or(Ok(true), Err);
        }
        if self.incomplete == Some(0) {
            return Ok(false);
        }
        let Some(Event { at, class, entity }) = self.events.next().filter(|e| e.at <= self.end)
        else {
            self.now = self.end;
            return Ok(false);
        };
        if at < self.now {
            return Err(RunError::Books(format!("time goes back from {:?} to {at:?}", self.now)));
        }
        self.now = at;
        self.handled += 1;
        self.fingerprint.event(at, class as u8, entity);
        let number = entity as usize;
        match class {
            Class::Network if number >= self.entities => {
                self.on_unreachable(number - self.entities);
            }
            Class::Fault | Class::Network => N::on_event(self, class, number),
            Class::Aid | Class::Tcp => self.on_socket_timer(class, number),
            Class::Application => self.on_application(number),
        }
        N::settle(self);
        self.failed.take().map_or(Ok(true), Err)
    }

    /// Handles all that happens up to `until`, and at that instant; `false` when the run is over.
    ///
    /// # Errors
    /// A stream broke.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, RunError> {
        if until >= self.end {
            while self.step()? {}
            return Ok(false);
        }
        self.pause = until;
        while self.is_due(until) {
            if !self.step()? {
                return Ok(false);
            }
        }
        self.pause = Instant::FAR_FUTURE;
        if self.incomplete == Some(0) {
            return Ok(false);
        }
        self.now = self.now.max(until);
        Ok(true)
    }

    fn is_due(&mut self, until: Instant) -> bool {
        if self.net.is_paused() {
            return self.now < until;
        }
        self.incomplete != Some(0) && self.events.soonest().is_some_and(|at| at <= until)
    }

    /// To the end of the run.
    ///
    /// # Errors
    /// A stream broke, or packets went missing.
    pub fn complete(mut self) -> Result<RunResult, RunError> {
        while self.step()? {}
        self.finish()
    }

    /// Closes the books, and says what came out so far.
    ///
    /// # Errors
    /// Packets went missing.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        let held = self.net.held() + self.local.len() as u64;
        self.packets.check_conservation(held).map_err(|error| RunError::Books(error.to_string()))?;
        self.net.balance().map_err(RunError::Books)?;
        Ok(self.result())
    }
}
