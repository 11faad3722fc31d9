//! One run: a scenario and a seed in, a result out.

mod adhoc;
mod hosts;
#[cfg(test)]
mod recording_aid;
mod inspect;
mod result;
mod path;

use std::collections::VecDeque;

use driftway_base::{Instant, Ipv4Addr, RouteProbe};
use driftway_link::QueuePosition;
use driftway_node::Host;
use driftway_scenario::{Scenario, Time, Transport};
use driftway_tcp::Stats;
use driftway_wire::Packet;

pub use adhoc::AdhocNetwork;

use inspect::follow_next_hops;

use crate::packet_accounting::PacketTable;
use crate::event_queue::{EventClass, Event, EventQueue};
use crate::fingerprint::Fingerprint;
use crate::flows::ActiveFlow;
use crate::addresses::address;
use crate::results::RunResult;
use crate::fault_injection::FaultInjection;
use crate::sockets::{self, FlowEnd};
use crate::observers::Observers;

/// Why there is no result: a mistake in driftway, because a checked scenario always has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The books of packets do not balance.
    Conservation(String),
    /// A stream was not delivered as it was sent, or acknowledged before it was.
    Stream(String),
    /// The network can't be put up.
    Setup(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Conservation(what) => write!(f, "the books don't balance: {what}"),
            Self::Stream(what) => write!(f, "a stream is broken: {what}"),
            Self::Setup(what) => write!(f, "the network can't be put up: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// Where a socket is. Sockets are numbered by flow and end: 2 × flow for the sender, and one more
/// for the receiver.
#[derive(Clone, Copy, Debug)]
struct SocketState {
    node: usize,
    /// Its number at its host; `None` before the flow starts.
    host_index: Option<usize>,
    /// The application has no more to send.
    application_done: bool,
    /// What the trace knows already.
    traced_stats: Stats,
}

/// What lies between hosts. A kind of network is one type with these methods; the run holds what
/// all of them share: time, hosts, flows, and the books.
pub trait NetworkModel: Sized {
    /// A packet on its way, with what this network adds to it.
    type NetworkPacket;
    /// Can it bring a packet twice?
    const MAY_DUPLICATE: bool;
    /// Do its nodes look for peers if an aid wants that?
    const PROBES_ROUTES: bool;

    /// Puts it up before the first event.
    ///
    /// # Errors
    /// The scenario is not one that was checked, or not of this kind.
    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError>;
    /// How many nodes it has, and how many entities of its own ([`Class::Fault`],
    /// [`Class::Network`]) want to be woken.
    fn entity_counts(&self) -> EntityCounts;
    /// The first wake-ups.
    fn start(run: &mut Run<'_, Self>);
    /// A node sends a packet of its own.
    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition);
    /// A node is to look for a peer of its host, or not any more; `first`: nobody else at this host has
    /// it looked for.
    fn probe_route(run: &mut Run<'_, Self>, node: usize, peer: Ipv4Addr, probe: RouteProbe, first: bool);
    /// One of its entities is woken.
    fn on_event(run: &mut Run<'_, Self>, class: EventClass, entity: usize);
    /// Until nothing more happens at this instant.
    fn run_until_idle(run: &mut Run<'_, Self>);
    /// Goes on with what a pause has cut short; `false` if that is nothing.
    fn resume(_: &mut Run<'_, Self>) -> bool {
        false
    }
    /// Was the last report of a node that a destination cannot be reached about a link whose ends are in
    /// range of each other?
    fn last_report_was_false(&self, _node: usize) -> bool {
        false
    }
    /// Has a pause cut something short?
    fn is_paused(&self) -> bool {
        false
    }
    /// How many packets it holds.
    fn packets_held(&self) -> u64;
    /// Do the network's own books balance?
    ///
    /// # Errors
    /// Says what is missing.
    fn check_conservation(&self) -> Result<(), String>;
    /// Writes down what it did.
    fn fill_result(run: &mut Run<'_, Self>, result: &mut RunResult);

    /// Packets that wait in a node's queues.
    fn queue_length(&self, node: usize) -> usize;
    /// Where a node is (m); `None` where nodes have no place.
    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)>;
    /// Which nodes a packet from the one to the other would pass, both included, as the nodes know it;
    /// `None`: there is no route.
    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>>;
}

/// What a network asks room for.
#[derive(Clone, Copy, Debug)]
pub struct EntityCounts {
    /// Nodes.
    pub nodes: usize,
    /// Entities of [`Class::Fault`].
    pub faults: usize,
    /// Entities of [`Class::Network`].
    pub network: usize,
}

/// A run under way.
pub struct Run<'a, N: NetworkModel> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    /// Nothing is to go beyond this: somebody wants to look.
    pause_at: Instant,
    events: EventQueue,
    /// How many entities of [`Class::Network`] are the network's. After these comes one for each flow,
    /// for the signals of an unreachable destination: of one instant they are the network's last events,
    /// so that a signal at the time of a link failure finds routing as the failure has left it.
    network_entities: usize,
    events_handled: u64,
    packets: PacketTable<N::NetworkPacket>,
    net: N,
    hosts: Vec<Host>,
    sockets: Vec<SocketState>,
    /// Packets from a host to itself.
    loopback: VecDeque<(usize, u32)>,
    flows: Vec<ActiveFlow>,
    /// Transfers not complete yet; `None` where some flow never is.
    incomplete_transfers: Option<usize>,
    fingerprint: Fingerprint,
    /// The node whose report, or whose host's signal, came last.
    last_reporter: usize,
    fault_injection: FaultInjection,
    observers: Observers<'a>,
    error: Option<RunError>,
}

impl<'a, N: NetworkModel> Run<'a, N> {
    /// Before the first event.
    ///
    /// # Errors
    /// The scenario is not one that was checked, or its network is of another kind.
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
            packets: PacketTable::default(),
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

    /// Puts up the receivers and the first wake-ups.
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
    /// A stream broke.
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
            return Err(RunError::Conservation(format!("time goes back from {:?} to {at:?}", self.now)));
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

    /// Handles all that happens up to `until`, and at that instant; `false` when the run is over.
    ///
    /// # Errors
    /// A stream broke.
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
        self.incomplete_transfers != Some(0) && self.events.next_time().is_some_and(|at| at <= until)
    }

    /// To the end of the run.
    ///
    /// # Errors
    /// A stream broke, or packets went missing.
    pub fn run_to_end(mut self) -> Result<RunResult, RunError> {
        while self.step()? {}
        self.finish()
    }

    /// Closes the books, and says what came out so far.
    ///
    /// # Errors
    /// Packets went missing.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        let held = self.net.packets_held() + self.loopback.len() as u64;
        self.packets.check_conservation(held).map_err(|error| RunError::Conservation(error.to_string()))?;
        self.net.check_conservation().map_err(RunError::Conservation)?;
        Ok(self.result())
    }
}
