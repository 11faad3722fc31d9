//! A run that is stepped, and looked at, from outside.

use driftway_base::{Duration, Instant, TcpView};
use driftway_path::PathNetwork;
use driftway_scenario::{Network, Scenario};
use driftway_tcp::Stats;

use crate::results::{FlowOutcome, RunResult};
use crate::run::{AdhocNetwork, Run, RunError};
use crate::observers::Observers;

/// A run under way. Looking at it, or stopping in between, changes nothing of its result.
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
///     println!("{second} s: {} B, {} packets wait", flow.delivered_bytes, simulation.waiting(0));
/// }
/// let result = simulation.finish()?;
/// assert_eq!(result.duration_s, 10.0);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a>(NetworkRun<'a>);

#[allow(clippy::large_enum_variant, reason = "there is one")]
enum NetworkRun<'a> {
    Path(Run<'a, PathNetwork>),
    Adhoc(Run<'a, AdhocNetwork>),
}

/// The same call to whichever it is.
macro_rules! for_each_network {
    ($self:expr, $run:ident => $call:expr) => {
        match $self {
            Kind::Path($run) => $call,
            Kind::Adhoc($run) => $call,
        }
    };
}

/// A flow as it is now.
#[derive(Clone, Copy, Debug)]
pub struct FlowSnapshot {
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// What became of it so far.
    pub outcome: FlowOutcome,
    /// Its sender; `None` for UDP, and before the flow starts.
    pub sender: Option<SenderSnapshot>,
}

/// A sending TCP as it is now.
#[derive(Clone, Copy, Debug)]
pub struct SenderSnapshot {
    /// What an aid sees of it.
    pub view: TcpView,
    /// What it has counted.
    pub stats: Stats,
    /// The retransmission timeout in force, back-off included.
    pub rto: Duration,
    /// The state of its aid, where it has one.
    pub aid_state: Option<&'static str>,
}

impl<'a> Simulation<'a> {
    /// Before the first event.
    ///
    /// # Errors
    /// The scenario is not one that was checked.
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
    /// A mistake in driftway: a stream broke.
    pub fn step(&mut self) -> Result<bool, RunError> {
        for_each_network!(&mut self.0, run => run.step())
    }

    /// Handles all that happens up to `until`, and at that instant; `false` when the run is over.
    ///
    /// # Errors
    /// A mistake in driftway: a stream broke.
    pub fn run_until(&mut self, until: Instant) -> Result<bool, RunError> {
        for_each_network!(&mut self.0, run => run.run_until(until))
    }

    /// Goes on to the end of the run, and says what came out.
    ///
    /// # Errors
    /// A mistake in driftway: packets or bytes went missing.
    pub fn run_to_end(self) -> Result<RunResult, RunError> {
        for_each_network!(self.0, run => run.complete())
    }

    /// Stops here, and says what came out so far.
    ///
    /// # Errors
    /// A mistake in driftway: packets went missing.
    pub fn finish(self) -> Result<RunResult, RunError> {
        for_each_network!(self.0, run => run.finish())
    }

    /// The time of the run.
    pub fn now(&self) -> Instant {
        for_each_network!(&self.0, run => run.now())
    }

    /// How many nodes there are; they are numbered from 0.
    pub fn nodes(&self) -> usize {
        for_each_network!(&self.0, run => run.nodes())
    }

    /// The flow with this index in the scenario; `None` if there is none.
    pub fn flow(&mut self, index: usize) -> Option<FlowSnapshot> {
        for_each_network!(&mut self.0, run => run.flow_now(index))
    }

    /// Packets that wait in the interface queues of a node.
    pub fn queue_length(&self, node: usize) -> usize {
        for_each_network!(&self.0, run => run.waiting(node))
    }

    /// Where a node is (m); `None` on a path, where nodes have no place.
    pub fn position(&mut self, node: usize) -> Option<(f64, f64)> {
        for_each_network!(&mut self.0, run => run.position(node))
    }

    /// Which nodes a packet from the one to the other would pass, both included, as the nodes know it
    /// now; `None`: there is no route.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        for_each_network!(&self.0, run => run.route(from, to))
    }
}

/// Runs `scenario` with `seed` to its end, watched by a trace, or by more.
///
/// # Errors
/// A mistake in driftway: packets or bytes went missing.
pub fn run<'a>(
    scenario: &'a Scenario,
    seed: u64,
    watch: impl Into<Observers<'a>>,
) -> Result<RunResult, RunError> {
    Simulation::new(scenario, seed, watch)?.run_to_end()
}
