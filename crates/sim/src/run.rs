//! One run: a scenario and a seed in, a result out.

mod hosts;
mod network;
mod outcome;
mod routes;

use std::collections::VecDeque;

use base::Instant;
use link::PathLink;
use node::Host;
use route::{Router, Way};
use scenario::{Network, Scenario, Time, Transport};
use tcp::Stats;

use crate::books::Packets;
use crate::events::{Class, Event, Events};
use crate::faults::{self, Deed, FaultAtWork};
use crate::fingerprint::Fingerprint;
use crate::flows::FlowAtWork;
use crate::results::RunResult;
use crate::sabotage::Sabotage;
use crate::sockets::{self, End};
use crate::topology::Topology;
use crate::trace::Trace;

/// Why there is no result: a mistake in driftway, because a checked scenario always has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The books of packets do not balance.
    Books(String),
    /// A stream was not delivered as it was sent, or acknowledged before it was.
    Stream(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Books(what) => write!(f, "the books don't balance: {what}"),
            Self::Stream(what) => write!(f, "a stream is broken: {what}"),
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

/// A run under way.
pub struct Run<'a> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    events: Events,
    handled: u64,
    packets: Packets,
    topology: Topology,
    links: Vec<PathLink>,
    /// Links that were touched and are to be polled.
    touched: VecDeque<usize>,
    /// How many faults have cut each link.
    cuts: Vec<u32>,
    hosts: Vec<Host>,
    /// Each node's router.
    routers: Vec<Router>,
    /// Nodes whose routers may have something to say, or to set free.
    stirred: VecDeque<usize>,
    ways: Vec<Way>,
    sockets: Vec<SocketAt>,
    /// Packets from a host to itself.
    local: VecDeque<(usize, u32)>,
    flows: Vec<FlowAtWork>,
    faults: Vec<FaultAtWork>,
    deeds: Vec<Deed>,
    /// Transfers not complete yet; `None` where some flow never is.
    incomplete: Option<usize>,
    fingerprint: Fingerprint,
    sabotage: Sabotage,
    trace: Option<&'a mut Trace>,
    foreign: u64,
    failed: Option<RunError>,
}

/// Runs `scenario` with `seed`, recording a trace if there is one.
///
/// # Errors
/// A mistake in driftway: packets or bytes went missing.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    trace: Option<&mut Trace>,
) -> Result<RunResult, RunError> {
    let mut run = Run::new(scenario, seed, trace);
    while run.step()? {}
    run.finish()
}

impl<'a> Run<'a> {
    /// Before the first event.
    pub fn new(scenario: &'a Scenario, seed: u64, trace: Option<&'a mut Trace>) -> Self {
        let Network::Path(path) = &scenario.network;
        let (topology, links) = Topology::build(path, Sabotage::seed(seed));
        let Time(duration) = scenario.duration;
        let faults = faults::at_work(path, scenario.duration, seed);
        let hosts: Vec<Host> =
            (0..topology.nodes()).map(|n| Host::new(Topology::address(n))).collect();
        let flows: Vec<FlowAtWork> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(n, flow)| FlowAtWork::new(flow, n as u32 * 2))
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
            events: Events::new([
                faults.len(),
                links.len(),
                sockets.len(),
                sockets.len(),
                flows.len(),
            ]),
            handled: 0,
            packets: Packets::default(),
            touched: VecDeque::with_capacity(links.len()),
            cuts: vec![0; links.len()],
            topology,
            links,
            routers: routes::routers(path, &hosts),
            stirred: VecDeque::new(),
            ways: Vec::new(),
            hosts,
            sockets,
            local: VecDeque::with_capacity(16),
            incomplete: transfers.then_some(flows.len()),
            flows,
            faults,
            deeds: Vec::with_capacity(4),
            fingerprint: Fingerprint::default(),
            sabotage: Sabotage::default(),
            trace,
            foreign: 0,
            failed: None,
        };
        run.open();
        run
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
                at.number = Some(self.hosts[at.node].add(socket));
            }
            if let Some(at) = self.flows[number].next {
                self.events.wake(Class::Application, number as u32, at);
            }
        }
        for number in 0..self.faults.len() {
            self.schedule_fault(number);
        }
    }

    fn schedule_fault(&mut self, number: usize) {
        if let Some(at) = self.faults[number].next() {
            self.events.wake(Class::Fault, number as u32, at);
        }
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// A stream broke.
    pub fn step(&mut self) -> Result<bool, RunError> {
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
            Class::Fault => self.on_fault(number),
            Class::Link => {
                self.links[number].on_timeout(at);
                self.touched.push_back(number);
            }
            Class::Aid | Class::Tcp => self.on_socket_timer(class, number),
            Class::Application => self.on_application(number),
        }
        self.settle();
        self.failed.take().map_or(Ok(true), Err)
    }

    /// Until nothing more happens at this instant: polls links, delivers what hosts send to
    /// themselves, and serves routers.
    fn settle(&mut self) {
        loop {
            if let Some(link) = self.touched.pop_front() {
                self.poll_link(link);
            } else if let Some((node, id)) = self.local.pop_front() {
                self.deliver(node, id);
            } else if let Some(node) = self.stirred.pop_front() {
                self.serve_router(node);
            } else {
                return;
            }
        }
    }

    /// Closes the books.
    fn finish(mut self) -> Result<RunResult, RunError> {
        let held: usize = self.links.iter().map(PathLink::held).sum();
        let kept: usize = self.routers.iter().map(Router::kept).sum();
        self.packets.balance((held + kept + self.local.len()) as u64).map_err(RunError::Books)?;
        Ok(self.result())
    }
}
