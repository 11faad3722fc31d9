//! Networks built from scenarios, one file for each kind.

mod adhoc;
mod error;
mod mixed;
mod path;
mod seeds;

use driftway_base::NodeId;
use driftway_scenario::Scenario;

use crate::network::Network;
pub use error::BuildError;
use seeds::Seeds;

impl Network {
    /// Builds the network of a scenario in its initial state. Random times of faults fall within the
    /// scenario's duration. `seed` keys the random streams of faults and `network_seed`, usually the
    /// same, all others.
    ///
    /// # Errors
    /// The scenario has not been checked.
    pub fn build(scenario: &Scenario, seed: u64, network_seed: u64) -> Result<Self, BuildError> {
        let pairs: Vec<_> = scenario
            .flows
            .iter()
            .map(|flow| (NodeId::new(flow.from), NodeId::new(flow.to)))
            .collect();
        Self::build_between(scenario, &pairs, seed, network_seed)
    }

    /// Builds the network of a scenario for traffic between other pairs of nodes than those of its
    /// flows: static routes over the air exist between these.
    ///
    /// # Errors
    /// The scenario has not been checked.
    pub fn build_between(
        scenario: &Scenario,
        pairs: &[(NodeId, NodeId)],
        seed: u64,
        network_seed: u64,
    ) -> Result<Self, BuildError> {
        use driftway_scenario::Network as Kind;
        let seeds = Seeds { faults: seed, network: network_seed };
        Ok(Self::new(match &scenario.network {
            Kind::Path(path) => path::build(path, scenario.duration, seeds),
            Kind::Adhoc(adhoc) => adhoc::build(adhoc, scenario.duration, pairs, seeds)?,
            Kind::Mixed(mixed) => mixed::build(mixed, scenario, pairs, seeds)?,
        }))
    }
}
