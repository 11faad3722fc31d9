//! The scenario of the run with a seed.

use std::sync::Arc;

use crate::adhoc::movement::{self, MovementFileError};
use crate::traffic::{DrawnFlow, FIRST_SEED};
use crate::{Adhoc, Error, Mobility, MovementFile, Scenario, check};

impl Scenario {
    /// The scenario of the run with this seed: the pairs of its traffic are those that the seed draws, and
    /// its movement that of the seed's file, if each seed has one.
    ///
    /// # Errors
    ///
    /// The seed's movement file is missing or invalid.
    pub fn at_seed(self: Arc<Self>, seed: u64) -> Result<Arc<Self>, Error> {
        if self.traffic.is_empty() && !self.has_seeded_movement() {
            return Ok(self);
        }
        let mut drawn = Self::clone(&self);
        drawn.draw_traffic(seed);
        if drawn.has_seeded_movement() {
            drawn.load_movement_at(seed)?;
        }
        Ok(Arc::new(drawn))
    }

    /// Adds the flows of the traffic, which the file does not list, to a scenario that was not loaded
    /// from a file but deserialized. Their pairs are those of seed 1.
    pub fn restore_traffic(&mut self) {
        self.add_traffic_flows();
        self.resolve();
        self.draw_traffic(FIRST_SEED);
    }

    /// Adds the flows of the traffic, with ends that are to be drawn.
    pub(crate) fn add_traffic_flows(&mut self) {
        for (number, traffic) in self.traffic.iter().enumerate() {
            self.flows.extend(traffic.flows(number));
        }
    }

    /// Draws the ends and the starts of the flows of the traffic.
    pub(crate) fn draw_traffic(&mut self, seed: u64) {
        let nodes = self.network.end_nodes();
        for (number, traffic) in self.traffic.iter().enumerate() {
            let flows = self.flows.iter_mut().filter(|flow| flow.traffic == Some(number));
            let drawn = traffic.draw(number, nodes, seed).unwrap_or_default();
            for (flow, DrawnFlow { from, to, start }) in flows.zip(drawn) {
                (flow.from, flow.to, flow.start) = (from, to, start);
            }
        }
    }

    /// Returns whether each seed has a movement file of its own.
    pub fn has_seeded_movement(&self) -> bool {
        self.network.radio_networks().any(|adhoc| seeded(adhoc).is_some())
    }

    /// Replaces the movement by that of a seed.
    ///
    /// # Errors
    ///
    /// A file that is missing or invalid, or whose nodes are other than those of the first seed's file.
    pub(crate) fn load_movement_at(&mut self, seed: u64) -> Result<(), Error> {
        let mut last = String::new();
        for adhoc in self.network.radio_networks_mut() {
            let Some(file) = seeded(adhoc).map(|named| named.at_seed(seed)) else { continue };
            if adhoc.movement_seed == Some(seed) {
                continue;
            }
            let movement =
                movement::load(&file, &adhoc.movement_base).map_err(|missing| match missing {
                    MovementFileError::Invalid(error) => error,
                    MovementFileError::Unreadable(message) => {
                        let (message, help) = message.split_once('\n').unwrap_or((&message, ""));
                        Error::in_file(format!("seed {seed}"), message, help)
                    }
                })?;
            adhoc.movement = Some(Arc::new(movement));
            adhoc.movement_seed = Some(seed);
            last = file.file.label();
        }
        check::check(self).map_err(|problem| {
            let (message, help) =
                problem.message.split_once('\n').unwrap_or((&problem.message, ""));
            Error::in_file(last, message, help)
        })
    }
}

/// The movement file of a network, if there is one for each seed.
fn seeded(adhoc: &Adhoc) -> Option<&MovementFile> {
    match &adhoc.mobility {
        Mobility::File(named) if named.is_seeded() => Some(named),
        _ => None,
    }
}
