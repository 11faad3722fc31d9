//! A run that is stepped and inspected by the caller.

use driftway_base::{Duration, Instant, TcpView};
use driftway_path::PathNetwork;
use driftway_scenario::{Network, Scenario};
use driftway_tcp::Stats;

use crate::observers::Observers;
use crate::results::{FlowOutcome, RunResult};
use crate::run::{AdhocNetwork, Run, RunError};

/// An active run. Inspecting or pausing it does not change its result.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use driftway_base::Instant;
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
///     let flow = simulation.flow(0).ok_or("the scenario has one flow")?;
///     println!("{second} s: {} B, {} packets queued", flow.delivered_bytes, simulation.queue_length(0));
/// }
/// let result = simulation.finish()?;
/// assert_eq!(result.duration_s, 10.0);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a>(NetworkRun<'a>);

#[allow(clippy::large_enum_variant, reason = "one value per run")]
enum NetworkRun<'a> {
    Path(Run<'a, PathNetwork>),
    Adhoc(Run<'a, AdhocNetwork>),
}

/// Makes the same call whatever the kind of network.
macro_rules! for_each_network {
    ($self:expr, $run:ident => $call:expr) => {
        match $self {
            NetworkRun::Path($run) => $call,
            NetworkRun::Adhoc($run) => $call,
        }
    };
}

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
    /// Builds a run that has not handled any event yet.
    ///
    /// # Errors
    /// The scenario has not been checked.
    pub fn new(
        scenario: &'a Scenario,
        seed: u64,
        watch: impl Into<Observers<'a>>,
    ) -> Result<Self, RunError> {
        Ok(Self(match &scenario.network {
            Network::Path(_) => NetworkRun::Path(Run::new(scenario, seed, watch)?),
            Network::Adhoc(_) => NetworkRun::Adhoc(Run::new(scenario, seed, watch)?),
        }))
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    pub fn step(&mut self) -> Result<bool, RunError> {
        for_each_network!(&mut self.0, run => run.step())
    }

    /// Handles all events up to and including `until`; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, RunError> {
        for_each_network!(&mut self.0, run => run.run_until(until))
    }

    /// Runs to the end and returns the result.
    ///
    /// # Errors
    /// An internal error: packets or bytes were not conserved.
    pub fn run_to_end(self) -> Result<RunResult, RunError> {
        for_each_network!(self.0, run => run.run_to_end())
    }

    /// Stops now and returns the result so far.
    ///
    /// # Errors
    /// An internal error: packets were not conserved.
    pub fn finish(self) -> Result<RunResult, RunError> {
        for_each_network!(self.0, run => run.finish())
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        for_each_network!(&self.0, run => run.now())
    }

    /// The number of nodes; they are numbered from 0.
    pub fn nodes(&self) -> usize {
        for_each_network!(&self.0, run => run.nodes())
    }

    /// The flow with this index in the scenario; `None` if there is none.
    pub fn flow(&mut self, index: usize) -> Option<FlowSnapshot> {
        for_each_network!(&mut self.0, run => run.flow_snapshot(index))
    }

    /// The number of packets in the interface queues of a node.
    pub fn queue_length(&self, node: usize) -> usize {
        for_each_network!(&self.0, run => run.queue_length(node))
    }

    /// The position of a node (m); `None` on a path, whose nodes have no position.
    pub fn position(&mut self, node: usize) -> Option<(f64, f64)> {
        for_each_network!(&mut self.0, run => run.position(node))
    }

    /// The route from one node to another by the present routing tables or caches, both ends included;
    /// `None` if there is no route.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        for_each_network!(&self.0, run => run.route(from, to))
    }
}

/// Runs `scenario` with `seed` to its end, observed by a trace or by other [`Observers`].
///
/// # Errors
/// An internal error: packets or bytes were not conserved.
pub fn run<'a>(
    scenario: &'a Scenario,
    seed: u64,
    watch: impl Into<Observers<'a>>,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, seed, watch)?.run_to_end()
}
