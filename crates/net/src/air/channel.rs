//! Airs: radio channels with the MAC layers of their stations.

use driftway_base::{Instant, NodeId, RadioId, StationId};
use driftway_radio::{MacReport, RadioPower, RadioTime};
use typed_index_collections::{TiVec, ti_vec};

use super::mac_layer::MacLayer;

/// A radio channel with the MAC layers of its stations.
pub struct Air {
    /// The MAC layers.
    pub mac: MacLayer,
    /// The radio of each station.
    radios: TiVec<StationId, RadioId>,
    /// The node of each station.
    nodes: TiVec<StationId, NodeId>,
    /// The station of each node; `None` where it has none.
    stations: TiVec<NodeId, Option<StationId>>,
    /// The power that its radios draw; `None`: their energy is not measured.
    power: Option<RadioPower>,
    /// The reports of the MAC layers' last run, in order.
    reports: Vec<MacReport>,
    /// The number of these reports that have been handled.
    reports_handled: usize,
    /// The instant up to which the MAC layer was to run when a pause interrupted it.
    paused_until: Option<Instant>,
}

impl Air {
    /// Creates an air whose stations are these radios of these nodes, and draw this power.
    pub fn new(
        mut mac: MacLayer,
        radios: TiVec<StationId, RadioId>,
        nodes: TiVec<StationId, NodeId>,
        power: Option<RadioPower>,
    ) -> Self {
        if power.is_some() {
            mac.count_radio_times();
        }
        let mut stations = ti_vec![None; nodes.iter().max().map_or(0, |last| last.index() + 1)];
        for (station, node) in nodes.iter_enumerated() {
            stations[*node] = Some(station);
        }
        Self {
            stations,
            mac,
            radios,
            nodes,
            power,
            reports: Vec::with_capacity(64),
            reports_handled: 0,
            paused_until: None,
        }
    }

    /// Returns the station of a node; `None` if it has none on this air.
    #[inline]
    pub fn station_of(&self, node: NodeId) -> Option<StationId> {
        *self.stations.get(node)?
    }

    /// Returns the node of a station.
    pub fn node_of(&self, station: StationId) -> NodeId {
        self.nodes[station]
    }

    /// Returns the radio of a station.
    pub fn radio_of(&self, station: StationId) -> RadioId {
        self.radios[station]
    }

    /// Runs the MAC layers until they have something to report, or until `until`; returns the instant reached.
    pub fn run(&mut self, until: Instant) -> Instant {
        self.mac.run(until, &mut self.reports)
    }

    /// Returns true if reports are left.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Returns the next report of the last run.
    pub fn next_report(&mut self) -> Option<MacReport> {
        let Some(report) = self.reports.get(self.reports_handled) else {
            self.reports.clear();
            self.reports_handled = 0;
            return None;
        };
        self.reports_handled += 1;
        Some(*report)
    }

    /// Records that a pause has interrupted a run.
    pub fn pause(&mut self, until: Instant) {
        self.paused_until = Some(until);
    }

    /// Ends a pause; returns the instant up to which the MAC layer was to run, if one has interrupted it.
    pub fn resume(&mut self) -> Option<Instant> {
        self.paused_until.take()
    }

    /// Returns the energy that the radio of a station has drawn (J), and its time in each state; `None` if its
    /// power is not known.
    pub fn energy(&self, station: StationId, at: Instant) -> Option<(f64, RadioTime)> {
        let time = self.mac.radio_time(station, at)?;
        Some((self.power.as_ref()?.energy(&time), time))
    }
}
