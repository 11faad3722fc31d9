//! One run, from a scenario and a seed to a result.

mod adhoc;
mod hosts;
mod inspect;
mod path;
#[cfg(test)]
mod recording_aid;
mod result;

use std::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr, RouteProbe};
use driftway_link::QueuePosition;
use driftway_node::Host;
use driftway_scenario::{Scenario, Time, Transport};
use driftway_tcp::Stats;
use driftway_wire::Packet;

pub use adhoc::AdhocNetwork;

use inspect::follow_next_hops;

use crate::addresses::address;
use crate::event_queue::{Event, EventClass, EventQueue};
use crate::fault_injection::FaultInjection;
use crate::fingerprint::Fingerprint;
use crate::flows::ActiveFlow;
use crate::observers::Observers;
use crate::packet_accounting::PacketsInTransit;
use crate::results::RunResult;
use crate::sockets::{self, FlowEnd};

/// The reason why a run has no result. It is always an internal error, because a checked scenario has
/// a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// Packets are not conserved.
    Conservation(String),
    /// A byte stream was not delivered as it was sent, or was acknowledged before it was delivered.
    Stream(String),
    /// The network cannot be built.
    Setup(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conservation(what) => write!(f, "packets are not conserved: {what}"),
            Self::Stream(what) => write!(f, "a byte stream is corrupted: {what}"),
            Self::Setup(what) => write!(f, "the network cannot be built: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// The location and state of a socket. Sockets are numbered by flow and end: 2 × flow for the sender,
/// and 2 × flow + 1 for the receiver.
#[derive(Clone, Copy, Debug)]
struct SocketState {
    node: usize,
    /// The socket's index at its host; `None` before the flow starts.
    host_index: Option<usize>,
    /// The application has no more data to send.
    application_done: bool,
    /// The counters as last reported to the observers.
    traced_stats: Stats,
}

/// The network between the hosts. Each kind of network is one type that implements this trait; [`Run`]
/// has everything that they share: time, hosts, flows, and packet accounting.
pub trait NetworkModel: Sized {
    /// A packet in the network, with the headers that this network adds.
    type NetworkPacket;
    /// True if the network can deliver a packet twice.
    const MAY_DUPLICATE: bool;
    /// True if nodes send route probes at an aid's request.
    const PROBES_ROUTES: bool;

    /// Builds the network before the first event.
    ///
    /// # Errors
    /// The scenario has not been checked, or has another kind of network.
    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError>;
    /// The number of nodes, and of the network's entities that schedule events of
    /// [`EventClass::Fault`] and [`EventClass::Network`].
    fn entity_counts(&self) -> EntityCounts;
    /// Schedules the first events.
    fn start(run: &mut Run<'_, Self>);
    /// Sends a packet of a node's own host.
    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition);
    /// Starts or stops probing the route to a peer of a node's host. `first`: no other connection of
    /// this host is waiting for the peer.
    fn probe_route(
        run: &mut Run<'_, Self>,
        node: usize,
        peer: Ipv4Addr,
        probe: RouteProbe,
        first: bool,
    );
    /// Handles an event of one of the network's entities.
    fn on_event(run: &mut Run<'_, Self>, class: EventClass, entity: usize);
    /// Handles pending work until nothing is left at this instant.
    fn run_until_idle(run: &mut Run<'_, Self>);
    /// Continues an operation that a pause interrupted; `false` if there is none.
    fn resume(_: &mut Run<'_, Self>) -> bool {
        false
    }
    /// True if the node's last report of an unreachable destination was about a link whose two ends
    /// are in range of each other.
    fn last_report_was_false(&self, _node: usize) -> bool {
        false
    }
    /// True if a pause has interrupted an operation.
    fn is_paused(&self) -> bool {
        false
    }
    /// The number of packets in the network.
    fn packets_held(&self) -> u64;
    /// Checks that the network's own packet counts add up.
    ///
    /// # Errors
    /// Describes the difference.
    fn check_conservation(&self) -> Result<(), String>;
    /// Adds the network's part to the results.
    fn fill_result(run: &mut Run<'_, Self>, result: &mut RunResult);

    /// The number of packets in a node's queues.
    fn queue_length(&self, node: usize) -> usize;
    /// The position of a node (m); `None` if nodes have no position.
    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)>;
    /// The route from one node to another by the present routing tables or caches, both ends included;
    /// `None` if there is no route.
    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>>;
}

/// The number of entities in a network.
#[derive(Clone, Copy, Debug)]
pub struct EntityCounts {
    /// Nodes.
    pub nodes: usize,
    /// Entities of [`EventClass::Fault`].
    pub faults: usize,
    /// Entities of [`EventClass::Network`].
    pub network: usize,
}

/// An active run.
pub struct Run<'a, N: NetworkModel> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    /// The instant at which the caller wants to inspect the run: no operation goes beyond it.
    pause_at: Instant,
    events: EventQueue,
    /// The number of the network's own entities of [`EventClass::Network`]. One entity for each flow
    /// follows them, for signals of an unreachable destination. These are the network's last events of
    /// an instant, so that a signal at the time of a link failure finds the routing state that the
    /// failure has left.
    network_entities: usize,
    events_handled: u64,
    packets: PacketsInTransit<N::NetworkPacket>,
    net: N,
    hosts: Vec<Host>,
    sockets: Vec<SocketState>,
    /// Packets from a host to itself.
    loopback: VecDeque<(usize, u32)>,
    flows: Vec<ActiveFlow>,
    /// The number of transfers that are not complete; `None` if some flow never completes.
    incomplete_transfers: Option<usize>,
    fingerprint: Fingerprint,
    /// The node whose report or signal came last.
    last_reporter: usize,
    fault_injection: FaultInjection,
    observers: Observers<'a>,
    error: Option<RunError>,
}

impl<'a, N: NetworkModel> Run<'a, N> {
    /// Builds a run that has not handled any event yet.
    ///
    /// # Errors
    /// The scenario has not been checked, or has another kind of network.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        observers: impl Into<Observers<'a>>,
    ) -> Result<Self, RunError> {
        let net = N::new(scenario, seed)?;
        let EntityCounts { nodes, faults, network: entities } = net.entity_counts();
        let Time(duration) = scenario.duration;
        let host = |n| {
            let host = Host::new(address(n));
            if N::PROBES_ROUTES { host.with_route_probing() } else { host }
        };
        let hosts: Vec<Host> = (0..nodes).map(host).collect();
        let flows: Vec<ActiveFlow> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(n, flow)| ActiveFlow::new(flow, n as u32 * 2, seed))
            .collect();
        let sockets: Vec<SocketState> = scenario
            .flows
            .iter()
            .flat_map(|flow| [flow.from, flow.to])
            .map(|node| SocketState {
                node: node as usize,
                host_index: None,
                application_done: false,
                traced_stats: Stats::default(),
            })
            .collect();
        let transfers = flows.iter().all(ActiveFlow::is_finite);
        let mut run = Self {
            scenario,
            seed,
            now: Instant::ZERO,
            end: Instant::ZERO + duration,
            pause_at: Instant::FAR_FUTURE,
            events: EventQueue::new([
                faults,
                entities + flows.len(),
                sockets.len(),
                sockets.len(),
                flows.len(),
            ]),
            network_entities: entities,
            events_handled: 0,
            packets: PacketsInTransit::default(),
            net,
            hosts,
            sockets,
            loopback: VecDeque::with_capacity(16),
            incomplete_transfers: transfers.then_some(flows.len()),
            flows,
            fingerprint: Fingerprint::default(),
            last_reporter: 0,
            fault_injection: FaultInjection::default(),
            observers: observers.into(),
            error: None,
        };
        run.start();
        Ok(run)
    }

    /// Opens the receivers and schedules the first events.
    fn start(&mut self) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            if let Some(tcp) = &flow.tcp
                && flow.transport == Transport::Tcp
            {
                let end = FlowEnd::Receiver;
                let socket = sockets::socket(flow, tcp, number, end, self.seed, self.now);
                let at = &mut self.sockets[number * 2 + 1];
                at.host_index = Some(self.hosts[at.node].add_socket(socket));
            }
            if let Some(at) = self.flows[number].next_write {
                self.events.schedule(EventClass::Application, number as u32, at);
            }
            self.schedule_next_unreachable(number);
        }
        N::start(self);
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// A byte stream was corrupted.
    pub fn step(&mut self) -> Result<bool, RunError> {
        if N::resume(self) {
            N::run_until_idle(self);
            return self.error.take().map_or(Ok(true), Err);
        }
        if self.incomplete_transfers == Some(0) {
            return Ok(false);
        }
        let Some(Event { at, class, entity }) = self.events.next().filter(|e| e.at <= self.end)
        else {
            self.now = self.end;
            return Ok(false);
        };
        if at < self.now {
            return Err(RunError::Conservation(format!(
                "time goes back from {:?} to {at:?}",
                self.now
            )));
        }
        self.now = at;
        self.events_handled += 1;
        self.fingerprint.event(at, class as u8, entity);
        let number = entity as usize;
        match class {
            EventClass::Network if number >= self.network_entities => {
                self.on_unreachable(number - self.network_entities);
            }
            EventClass::Fault | EventClass::Network => N::on_event(self, class, number),
            EventClass::Aid | EventClass::Tcp => self.on_socket_timer(class, number),
            EventClass::Application => self.on_application(number),
        }
        N::run_until_idle(self);
        self.error.take().map_or(Ok(true), Err)
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
        self.pause_at = until;
        while self.is_due(until) {
            if !self.step()? {
                return Ok(false);
            }
        }
        self.pause_at = Instant::FAR_FUTURE;
        if self.incomplete_transfers == Some(0) {
            return Ok(false);
        }
        self.now = self.now.max(until);
        Ok(true)
    }

    fn is_due(&mut self, until: Instant) -> bool {
        if self.net.is_paused() {
            return self.now < until;
        }
        self.incomplete_transfers != Some(0)
            && self.events.next_time().is_some_and(|at| at <= until)
    }

    /// Runs to the end and returns the result.
    ///
    /// # Errors
    /// A byte stream was corrupted, or packets were not conserved.
    pub fn run_to_end(mut self) -> Result<RunResult, RunError> {
        while self.step()? {}
        self.finish()
    }

    /// Checks packet conservation and returns the result so far.
    ///
    /// # Errors
    /// Packets were not conserved.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        let held = self.net.packets_held() + self.loopback.len() as u64;
        self.packets
            .check_conservation(held)
            .map_err(|error| RunError::Conservation(error.to_string()))?;
        self.net.check_conservation().map_err(RunError::Conservation)?;
        Ok(self.result())
    }
}
