//! One run, from a scenario and a seed to a result.

mod adhoc;
mod hosts;
#[cfg(test)]
mod listener;
mod look;
mod outcome;
mod path;

use std::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr, Seek};
use driftway_link::Place;
use driftway_node::Host;
use driftway_scenario::{Scenario, Time, Transport};
use driftway_tcp::Stats;
use driftway_wire::Packet;

pub use adhoc::AdhocAtWork;

use look::follow;

use crate::books::Packets;
use crate::events::{Class, Event, Events};
use crate::fingerprint::Fingerprint;
use crate::flows::FlowAtWork;
use crate::nodes::address;
use crate::results::RunResult;
use crate::sabotage::Sabotage;
use crate::sockets::{self, End};
use crate::watch::Watch;

/// The reason why a run has no result. It is always an internal error, because a checked scenario has
/// a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Packets are not conserved.
    Books(String),
    /// A byte stream was not delivered as it was sent, or was acknowledged before it was delivered.
    Stream(String),
    /// The network cannot be built.
    Setup(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Books(what) => write!(f, "packets are not conserved: {what}"),
            Self::Stream(what) => write!(f, "a byte stream is corrupted: {what}"),
            Self::Setup(what) => write!(f, "the network cannot be built: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// The location and state of a socket. Sockets are numbered by flow and end: 2 × flow for the sender,
/// and 2 × flow + 1 for the receiver.
#[derive(Clone, Copy, Debug)]
struct SocketAt {
    node: usize,
    /// The socket's index at its host; `None` before the flow starts.
    number: Option<usize>,
    /// The application has no more data to send.
    closes: bool,
    /// The counters as last reported to the observers.
    counted: Stats,
}

/// The network between the hosts. Each kind of network is one type that implements this trait; [`Run`]
/// has everything that they share: time, hosts, flows, and packet accounting.
pub trait NetworkAtWork: Sized {
    /// A packet in the network, with the headers that this network adds.
    type Unit;
    /// True if the network can deliver a packet twice.
    const REPEATS: bool;
    /// True if nodes send route probes at an aid's request.
    const SEEKS: bool;

    /// Builds the network before the first event.
    ///
    /// # Errors
    /// The scenario has not been checked, or has another kind of network.
    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError>;
    /// The number of nodes, and of the network's entities that schedule events of
    /// [`EventClass::Fault`] and [`EventClass::Network`].
    fn sizes(&self) -> Sizes;
    /// Schedules the first events.
    fn open(run: &mut Run<'_, Self>);
    /// Sends a packet of a node's own host.
    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: Place);
    /// Starts or stops probing the route to a peer of a node's host. `first`: no other connection of
    /// this host is waiting for the peer.
    fn seek(run: &mut Run<'_, Self>, node: usize, peer: Ipv4Addr, seek: Seek, first: bool);
    /// Handles an event of one of the network's entities.
    fn on_event(run: &mut Run<'_, Self>, class: Class, entity: usize);
    /// Handles pending work until nothing is left at this instant.
    fn settle(run: &mut Run<'_, Self>);
    /// Continues an operation that a pause interrupted; `false` if there is none.
    fn resume(_: &mut Run<'_, Self>) -> bool {
        false
    }
    /// True if the node's last report of an unreachable destination was about a link whose two ends
    /// are in range of each other.
    fn reported_falsely(&self, _node: usize) -> bool {
        false
    }
    /// True if a pause has interrupted an operation.
    fn is_paused(&self) -> bool {
        false
    }
    /// The number of packets in the network.
    fn held(&self) -> u64;
    /// Checks that the network's own packet counts add up.
    ///
    /// # Errors
    /// Describes the difference.
    fn balance(&self) -> Result<(), String>;
    /// Adds the network's part to the results.
    fn report(run: &mut Run<'_, Self>, result: &mut RunResult);

    /// The number of packets in a node's queues.
    fn waiting(&self, node: usize) -> usize;
    /// The position of a node (m); `None` if nodes have no position.
    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)>;
    /// The route from one node to another by the present routing tables or caches, both ends included;
    /// `None` if there is no route.
    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>>;
}

/// The number of entities in a network.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Nodes.
    pub nodes: usize,
    /// Entities of [`EventClass::Fault`].
    pub faults: usize,
    /// Entities of [`EventClass::Network`].
    pub entities: usize,
}

/// An active run.
pub struct Run<'a, N: NetworkAtWork> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    /// The instant at which the caller wants to inspect the run: no operation goes beyond it.
    pause: Instant,
    events: Events,
    /// The number of the network's own entities of [`EventClass::Network`]. One entity for each flow
    /// follows them, for signals of an unreachable destination. These are the network's last events of
    /// an instant, so that a signal at the time of a link failure finds the routing state that the
    /// failure has left.
    entities: usize,
    handled: u64,
    packets: Packets<N::Unit>,
    net: N,
    hosts: Vec<Host>,
    sockets: Vec<SocketAt>,
    /// Packets from a host to itself.
    local: VecDeque<(usize, u32)>,
    flows: Vec<FlowAtWork>,
    /// The number of transfers that are not complete; `None` if some flow never completes.
    incomplete: Option<usize>,
    fingerprint: Fingerprint,
    /// The node whose report or signal came last.
    reporter: usize,
    sabotage: Sabotage,
    watch: Watch<'a>,
    failed: Option<RunError>,
}

impl<'a, N: NetworkAtWork> Run<'a, N> {
    /// Builds a run that has not handled any event yet.
    ///
    /// # Errors
    /// The scenario has not been checked, or has another kind of network.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        watch: impl Into<Watch<'a>>,
    ) -> Result<Self, RunError> {
        let net = N::new(scenario, seed)?;
        let Sizes { nodes, faults, entities } = net.sizes();
        let Time(duration) = scenario.duration;
        let host = |n| {
            let host = Host::new(address(n));
            if N::SEEKS { host.seeking() } else { host }
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
            packets: Packets::default(),
            net,
            hosts,
            sockets,
            local: VecDeque::with_capacity(16),
            incomplete: transfers.then_some(flows.len()),
            flows,
            fingerprint: Fingerprint::default(),
            reporter: 0,
            sabotage: Sabotage::default(),
            watch: watch.into(),
            failed: None,
        };
        run.open();
        Ok(run)
    }

    /// Opens the receivers and schedules the first events.
    fn open(&mut self) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            if let Some(tcp) = &flow.tcp
                && flow.transport == Transport::Tcp
            {
                let end = End::Receiver;
                let socket = sockets::socket(flow, tcp, number, end, self.seed, self.now);
                let at = &mut self.sockets[number * 2 + 1];
                at.number = Some(self.hosts[at.node].add(socket));
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
    /// A byte stream was corrupted.
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

    /// Handles all events up to and including `until`; `false` when the run is over.
    ///
    /// # Errors
    /// A byte stream was corrupted.
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

    /// Runs to the end and returns the result.
    ///
    /// # Errors
    /// A byte stream was corrupted, or packets were not conserved.
    pub fn complete(mut self) -> Result<RunResult, RunError> {
        while self.step()? {}
        self.finish()
    }

    /// Checks packet conservation and returns the result so far.
    ///
    /// # Errors
    /// Packets were not conserved.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        let held = self.net.held() + self.local.len() as u64;
        self.packets.balance(held).map_err(|error| RunError::Books(error.to_string()))?;
        self.net.balance().map_err(RunError::Books)?;
        Ok(self.result())
    }
}
