//! The positions of nodes in the event log, at intervals.

use driftway_base::{Instant, NodeId};

use crate::log::{Entry, Event, Layer};
use crate::world::World;

impl World<'_> {
    /// Records the positions of nodes that are due by `now`, at which everything before has been done.
    pub fn record_positions(&mut self, now: Instant) {
        let Some(log) = self.observers.log.as_mut().filter(|_| self.net.has_radios()) else {
            return;
        };
        while let Some(at) = log.take_positions_due(now) {
            for node in (0..self.net.nodes()).map(NodeId::from) {
                if let Some((x, y)) = self.net.position(node, at) {
                    log.record(position(at, node, x, y));
                }
            }
        }
    }
}

/// The entry of the position of a node (m).
pub fn position(now: Instant, node: NodeId, x: f64, y: f64) -> Entry {
    let entry = Entry::new(now, node.number(), Layer::Mobility, Event::Position);
    Entry { x_m: Some(x), y_m: Some(y), ..entry }
}
