//! A run that is stepped and inspected by the caller.

use std::sync::Arc;

use driftway_base::{Duration, FlowId, Instant, NodeId, TcpView};
use driftway_net::{Network, Recording, Timer, TimerId, WakeUps};
use driftway_scenario::{Scenario, Time};
use driftway_tcp::Stats;

use crate::error::RunError;
use crate::fault_injection::FaultInjection;
use crate::fingerprint::Fingerprint;
use crate::host_timer::HostTimer;
use crate::hosts::Hosts;
use crate::observers::Observers;
use crate::results::{FlowOutcome, RunResult};
use crate::samples::FlowSample;
use crate::sockets::SocketId;
use crate::world::World;

/// An active run, which the caller advances to a time ([`run_until`](Self::run_until)) or by one event
/// ([`step`](Self::step)) and inspects in between. Inspecting or pausing it does not change its result.
///
/// A run shares its scenario and borrows nothing but its observers: without these it is
/// `Simulation<'static>`. It is `Send`, so that it can go from thread to thread between two steps. It is not
/// `Sync`, and would gain nothing by it: [`flow`](Self::flow) and [`position`](Self::position) compute on demand and
/// take `&mut self`, and the state machines of the network and of its hosts, aids and routing
/// protocols among them, need only be `Send`. Several threads run several simulations.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use driftway_base::{FlowId, Instant, NodeId};
/// # let text = r#"
/// #     name = "one hop"
/// #     duration = "60 s"
/// #     [network]
/// #     kind = "path"
/// #     hops = 1
/// #     link = { rate = "1 Mbit/s", delay = "20 ms" }
/// #     [[flow]]
/// #     from = 0
/// #     to = 1
/// #     application = "ftp"
/// # "#;
/// let scenario = driftway_scenario::Scenario::parse("one.toml", text, &[])?;
/// let mut simulation = driftway_sim::Simulation::new(&scenario, 1, None)?;
/// for second in 1..=10 {
///     simulation.run_until(Instant::from_secs(second))?;
///     let flow = simulation.flow(FlowId::new(0)).ok_or("the scenario has one flow")?;
///     let queued = simulation.queue_length(NodeId::new(0));
///     println!("{second} s: {} B, {queued} packets queued", flow.delivered_bytes);
/// }
/// let result = simulation.finish()?;
/// assert_eq!(result.duration_s, 10.0);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a> {
    pub(crate) world: World<'a>,
    pub(crate) hosts: Hosts,
    end: Instant,
    /// The time at which the caller inspects the run.
    pause: Instant,
    events_handled: u64,
    /// Wake-ups in a row without any time between them.
    at_one_instant: u32,
}

/// Largest number of wake-ups at one instant: a hundred times what networks of ten thousand nodes have when all start at
/// once, and some seconds of processor time.
const AT_ONE_INSTANT_MAX: u32 = 10_000_000;

/// The present state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowSnapshot {
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// The flow's outcome so far.
    pub outcome: FlowOutcome,
    /// The sender's state; `None` for UDP, and before the flow starts.
    pub sender: Option<SenderSnapshot>,
}

/// The present state of a sending TCP.
#[derive(Clone, Copy, Debug)]
pub struct SenderSnapshot {
    /// The connection as an aid sees it.
    pub view: TcpView,
    /// The connection's counters.
    pub stats: Stats,
    /// The retransmission timeout in force, back-off included.
    pub rto: Duration,
    /// The state of the aid, if the connection has one.
    pub aid_state: Option<&'static str>,
}

impl<'a> Simulation<'a> {
    /// Builds a run that has not handled any event yet. It keeps the scenario, or a copy of a borrowed one.
    ///
    /// # Errors
    /// The scenario has not been checked, or the movement file of the seed is missing or invalid.
    pub fn new(
        scenario: impl Into<Arc<Scenario>>,
        seed: u64,
        watch: impl Into<Observers<'a>>,
    ) -> Result<Self, RunError> {
        let scenario = scenario.into().at_seed(seed);
        let scenario = scenario.map_err(|error| RunError::Setup(error.to_string()))?;
        let Time(duration) = scenario.duration;
        let net = Network::build(&scenario, seed, FaultInjection::network_seed(seed))
            .map_err(|error| RunError::Setup(error.to_string()))?;
        let hosts = Hosts::new(scenario, seed, &net);
        let world = World {
            now: Instant::ZERO,
            net,
            wakeups: WakeUps::new(&HostTimer::counts(hosts.flows.len())),
            observers: watch.into(),
            records_at: Instant::FAR_FUTURE,
            fingerprint: Fingerprint::default(),
            fault_injection: FaultInjection::default(),
            error: None,
            partition_ended: false,
            active_outages: 0,
            is_restored: false,
        };
        let end = Instant::ZERO + duration;
        let pause = Instant::FAR_FUTURE;
        let mut run = Self { world, hosts, end, pause, events_handled: 0, at_one_instant: 0 };
        run.hosts.start(&mut run.world);
        run.start_network();
        Ok(run)
    }

    fn start_network(&mut self) {
        let world = &mut self.world;
        let records = world.observers.wants_network();
        world.net.start(if records { Recording::All } else { Recording::Faults });
        if let Some(log) = &mut world.observers.log
            && let airs @ 1.. = world.net.recorded_airs()
        {
            log.expect_frames(airs);
        }
        self.world.records_at = Instant::ZERO;
        self.record_what_is_due(Instant::ZERO);
        self.settle();
    }

    /// Records the positions and samples that are due by `now`, at which everything before has been done. The
    /// network does not run on by itself beyond the next ones.
    #[inline]
    fn record_what_is_due(&mut self, now: Instant) {
        if self.world.records_at <= now {
            self.record(now);
        }
    }

    #[cold]
    fn record(&mut self, now: Instant) {
        self.world.record_positions(now);
        self.record_samples(now);
        let Observers { log, samples, .. } = &self.world.observers;
        let positions = log.as_ref().filter(|_| self.world.net.has_radios());
        let positions = positions.map_or(Instant::FAR_FUTURE, |log| log.next_positions());
        let samples = samples.as_ref().map_or(Instant::FAR_FUTURE, |samples| samples.due());
        self.world.records_at = positions.min(samples);
        self.set_pause();
    }

    /// Records the samples that are due by `now`.
    fn record_samples(&mut self, now: Instant) {
        while let Some(due) = self.world.observers.samples.as_ref().map(|samples| samples.due())
            && due <= now
        {
            let flows = (0..self.hosts.flows.len()).map(FlowId::from);
            let flows: Vec<FlowSample> = flows.filter_map(|flow| self.flow_sample(flow)).collect();
            if let Some(samples) = &mut self.world.observers.samples {
                samples.take(due, &self.world.net, flows);
            }
        }
    }

    fn flow_sample(&mut self, id: FlowId) -> Option<FlowSample> {
        let FlowSnapshot { delivered_bytes, sender, .. } = self.flow(id)?;
        let view = sender.map(|sender| sender.view);
        Some(FlowSample {
            flow: id.number(),
            delivered_bytes,
            cwnd_bytes: view.and_then(|view| view.cwnd.value()).map(u64::from),
            rtt_s: view.and_then(|view| view.srtt.value()?).map(Duration::as_secs_f64),
            retransmissions: sender.map(|sender| sender.stats.retransmissions),
        })
    }

    fn set_pause(&mut self) {
        let world = &mut self.world;
        world.net.pause_at(self.pause.min(world.records_at));
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    #[inline]
    pub fn step(&mut self) -> Result<bool, RunError> {
        let goes_on = self.handle_next_event();
        match &mut self.world.error {
            None => Ok(goes_on),
            error => error.take().map_or(Ok(goes_on), Err),
        }
    }

    /// Handles the next event; false when the run is over.
    fn handle_next_event(&mut self) -> bool {
        if let Some(at) = self.world.net.paused_at() {
            self.record_what_is_due(at);
            self.world.net.resume();
            self.after_air();
            self.settle();
            return true;
        }
        if self.hosts.are_done() {
            return false;
        }
        loop {
            let world = &mut self.world;
            let (of_net, own) = (world.net.next_timeout(), world.wakeups.earliest_bound());
            let at = of_net.min(own);
            if at > self.end {
                world.now = self.end;
                self.record_what_is_due(self.end);
                return false;
            }
            if at < world.now {
                let error = format!("time goes back from {:?} to {at:?}", world.now);
                world.error.get_or_insert(RunError::Conservation(error));
                return false;
            }
            if at > world.now {
                self.at_one_instant = 0;
                self.record_what_is_due(at);
            }
            self.at_one_instant += 1;
            if self.at_one_instant > AT_ONE_INSTANT_MAX {
                self.end_standstill(of_net <= own);
                return false;
            }
            // At one instant the network is first.
            let is_handled = if of_net <= own {
                self.step_network(own.min(self.end))
            } else {
                self.step_hosts()
            };
            if is_handled {
                self.settle();
                return true;
            }
        }
    }

    /// Ends a run in which a timer is due again and again.
    #[cold]
    fn end_standstill(&mut self, is_of_network: bool) {
        let world = &mut self.world;
        let timer = if is_of_network {
            world.net.on_timeout(world.now).map(|wakeup| wakeup.timer.to_string())
        } else {
            world.wakeups.pop().map(|wakeup| wakeup.timer.to_string())
        };
        let timer = timer.unwrap_or_else(|| "a timer".to_owned());
        let at = world.now.since(Instant::ZERO).as_secs_f64();
        world.error.get_or_insert(RunError::Endless(format!(
            "{timer} is due again and again at {at} s; after on_timeout, next_timeout is None or later"
        )));
    }

    /// Handles the network's next wake-up; false if it was not valid.
    #[inline]
    fn step_network(&mut self, horizon: Instant) -> bool {
        let world = &mut self.world;
        let Some(wakeup) = world.net.on_timeout(horizon) else { return false };
        self.events_handled += 1;
        let (class, entity) = wakeup.timer.parts();
        world.fingerprint.event(wakeup.at, class, entity);
        world.now = world.net.now();
        if matches!(wakeup.timer, TimerId::Air(_)) && world.observers.wants_network() {
            self.after_air();
        }
        true
    }

    /// Records what has happened on the air.
    #[inline]
    fn after_air(&mut self) {
        self.world.now = self.world.net.now();
        self.world.record_events();
    }

    /// Handles the hosts' next wake-up; false if it was not valid.
    fn step_hosts(&mut self) -> bool {
        let world = &mut self.world;
        let Some(wakeup) = world.wakeups.pop() else { return false };
        self.events_handled += 1;
        world.now = wakeup.at;
        world.net.advance(wakeup.at);
        let (class, entity) = wakeup.timer.parts();
        world.fingerprint.event(wakeup.at, TimerId::CLASSES + class, entity);
        self.hosts.on_wakeup(world, wakeup.timer);
        true
    }

    /// Lets the network and the hosts act until nothing is left to do at this instant.
    #[inline]
    fn settle(&mut self) {
        let Self { world, hosts, .. } = self;
        loop {
            let output = world.net.poll();
            if world.net.has_events() {
                hosts.on_network_events(world);
            }
            match output {
                Some(output) => hosts.on_output(world, &output),
                None => return,
            }
        }
    }

    /// Handles all events up to and including `until`; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, RunError> {
        if until >= self.end {
            while self.step()? {}
            return Ok(false);
        }
        self.pause = until;
        self.set_pause();
        while self.is_due(until) {
            if !self.step()? {
                return Ok(false);
            }
        }
        self.pause = Instant::FAR_FUTURE;
        self.set_pause();
        if self.hosts.are_done() {
            return Ok(false);
        }
        self.world.now = self.world.now.max(until);
        self.world.net.advance(until);
        Ok(true)
    }

    fn is_due(&mut self, until: Instant) -> bool {
        if self.world.net.paused_at().is_some() {
            return self.world.now < until;
        }
        !self.hosts.are_done() && self.next_event() <= until
    }

    /// The time of the next event. Invalid wake-ups before it are removed, as they would be before it
    /// is handled.
    fn next_event(&mut self) -> Instant {
        let world = &mut self.world;
        loop {
            let (of_net, own) = (world.net.next_timeout(), world.wakeups.earliest_bound());
            let is_invalid = if of_net <= own {
                world.net.discard_replaced_wakeup()
            } else {
                world.wakeups.discard_invalid()
            };
            if !is_invalid {
                return of_net.min(own);
            }
        }
    }

    /// Runs to the end and returns the result.
    ///
    /// # Errors
    /// An internal error: packets or bytes were not conserved.
    pub fn run_to_end(mut self) -> Result<RunResult, RunError> {
        while self.step()? {}
        self.finish()
    }

    /// Stops now and returns the result so far.
    ///
    /// # Errors
    /// An internal error: packets were not conserved.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        self.world.net.check_conservation().map_err(RunError::Conservation)?;
        Ok(self.hosts.result(&mut self.world, self.events_handled))
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        self.world.now
    }

    /// The scenario of the run, with the pairs and the movement of its seed.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.hosts.scenario
    }

    /// The number of nodes; they are numbered from 0.
    pub fn nodes(&self) -> usize {
        self.world.net.nodes()
    }

    /// The present state of a flow; `None` if there is no such flow.
    pub fn flow(&mut self, id: FlowId) -> Option<FlowSnapshot> {
        let flow = self.hosts.flows.get(id)?;
        let (delivered_bytes, outcome) = (flow.delivered, flow.outcome());
        let sender = self.hosts.socket(SocketId::sender(id)).map(|socket| SenderSnapshot {
            view: socket.tcp().view(),
            stats: *socket.tcp().stats(),
            rto: socket.tcp().rtt().rto(),
            aid_state: socket.aid_state(),
        });
        Some(FlowSnapshot { delivered_bytes, outcome, sender })
    }

    /// The number of packets in the interface queues of a node.
    pub fn queue_length(&self, node: NodeId) -> usize {
        if self.has_node(node) { self.world.net.queue_length(node) } else { 0 }
    }

    /// The position of a node (m); `None` without a radio.
    pub fn position(&mut self, node: NodeId) -> Option<(f64, f64)> {
        let now = self.world.net.now();
        if self.has_node(node) { self.world.net.position(node, now) } else { None }
    }

    /// The route from one node to another by the present routes, tables or caches, both ends included;
    /// `None` if there is no route.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
        if self.has_node(from.max(to)) { self.world.net.route(from, to) } else { None }
    }

    fn has_node(&self, node: NodeId) -> bool {
        node.index() < self.nodes()
    }
}

/// Runs `scenario` with `seed` to its end. `watch` is `None`, a trace (`Some(&mut trace)`) or other
/// [`Observers`].
///
/// # Errors
/// Those of [`Simulation::new`], and an internal error: packets or bytes were not conserved.
pub fn run<'a>(
    scenario: impl Into<Arc<Scenario>>,
    seed: u64,
    watch: impl Into<Observers<'a>>,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, seed, watch)?.run_to_end()
}
