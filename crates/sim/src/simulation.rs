//! A run that is stepped and inspected by the caller.

use driftway_base::{Duration, Instant, TcpView};
use driftway_path::PathAtWork;
use driftway_scenario::{Network, Scenario};
use driftway_tcp::Stats;

use crate::results::{Outcome, RunResult};
use crate::run::{AdhocAtWork, Run, RunError};
use crate::watch::Watch;

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
pub struct Simulation<'a>(Kind<'a>);

#[allow(clippy::large_enum_variant, reason = "one value per run")]
enum Kind<'a> {
    Path(Run<'a, PathAtWork>),
    Adhoc(Run<'a, AdhocAtWork>),
}

/// Makes the same call whatever the kind of network.
macro_rules! each {
    ($self:expr, $run:ident => $call:expr) => {
        match $self {
            Kind::Path($run) => $call,
            Kind::Adhoc($run) => $call,
        }
    };
}

/// The present state of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowNow {
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// The flow's outcome so far.
    pub outcome: Outcome,
    /// The sender's state; `None` for UDP, and before the flow starts.
    pub sender: Option<SenderNow>,
}

/// The present state of a sending TCP.
#[derive(Clone, Copy, Debug)]
pub struct SenderNow {
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
        watch: impl Into<Watch<'a>>,
    ) -> Result<Self, RunError> {
        Ok(Self(match &scenario.network {
            Network::Path(_) => Kind::Path(Run::new(scenario, seed, watch)?),
            Network::Adhoc(_) => Kind::Adhoc(Run::new(scenario, seed, watch)?),
        }))
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    pub fn step(&mut self) -> Result<bool, RunError> {
        each!(&mut self.0, run => run.step())
    }

    /// Handles all events up to and including `until`; `false` when the run is over.
    ///
    /// # Errors
    /// An internal error: a byte stream was corrupted.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, RunError> {
        each!(&mut self.0, run => run.run_until(until))
    }

    /// Runs to the end and returns the result.
    ///
    /// # Errors
    /// An internal error: packets or bytes were not conserved.
    pub fn complete(self) -> Result<RunResult, RunError> {
        each!(self.0, run => run.complete())
    }

    /// Stops now and returns the result so far.
    ///
    /// # Errors
    /// An internal error: packets were not conserved.
    pub fn finish(self) -> Result<RunResult, RunError> {
        each!(self.0, run => run.finish())
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        each!(&self.0, run => run.now())
    }

    /// The number of nodes; they are numbered from 0.
    pub fn nodes(&self) -> usize {
        each!(&self.0, run => run.nodes())
    }

    /// The flow with this index in the scenario; `None` if there is none.
    pub fn flow(&mut self, index: usize) -> Option<FlowNow> {
        each!(&mut self.0, run => run.flow_now(index))
    }

    /// The number of packets in the interface queues of a node.
    pub fn waiting(&self, node: usize) -> usize {
        each!(&self.0, run => run.waiting(node))
    }

    /// The position of a node (m); `None` on a path, whose nodes have no position.
    pub fn position(&mut self, node: usize) -> Option<(f64, f64)> {
        each!(&mut self.0, run => run.position(node))
    }

    /// The route from one node to another by the present routing tables or caches, both ends included;
    /// `None` if there is no route.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        each!(&self.0, run => run.route(from, to))
    }
}

/// Runs `scenario` with `seed` to its end, observed by a trace or by other [`Observers`].
///
/// # Errors
/// An internal error: packets or bytes were not conserved.
pub fn run<'a>(
    scenario: &'a Scenario,
    seed: u64,
    watch: impl Into<Watch<'a>>,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, seed, watch)?.complete()
}
