//! Radios, and the airs that they are on.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{AirId, Duration, Instant, NodeId, PacketId, RadioId, StationId};
use driftway_link::{AdhocQueue, Arp, QueuePosition};
use driftway_radio::{MacReport, RadioPower};
use driftway_route::LinkRetry;
use typed_index_collections::{TiVec, ti_vec};

use super::mac_layer::MacLayer;
use crate::event::AcceptedPacket;

/// A packet that waits for address resolution: its handle, and its position in the interface queue.
pub type PendingPacket = (PacketId, QueuePosition);

/// A packet on its way to the queue of a radio.
#[derive(Clone, Copy, Debug)]
pub struct QueueArrival {
    /// The time of its arrival.
    pub at: Instant,
    /// Its handle.
    pub id: PacketId,
    /// The next hop; `None`: broadcast.
    pub next_hop: Option<NodeId>,
    /// Its position in the queue.
    pub place: QueuePosition,
}

/// The interface of a node on an air.
pub struct Radio {
    /// The node.
    pub node: NodeId,
    /// The air.
    pub air: AirId,
    /// The number of the radio's station on its air.
    pub station: StationId,
    /// Packets that wait for the MAC layer.
    pub queue: AdhocQueue,
    /// Packets on their way to the queue, in order of arrival.
    pub queue_arrivals: VecDeque<QueueArrival>,
    /// The link layer's processing delay, of sender and receiver together. All of it is applied on
    /// the way from routing to the queue, and none at the receiver.
    pub stack_delay: Duration,
    /// Resolves neighbours' hardware addresses; `None`: they are all known.
    pub arp: Option<Arp<PendingPacket>>,
    /// Decides whether a packet is tried again on a link that has failed; `None`: never.
    pub link_retry: Option<LinkRetry>,
    /// The packets that the MAC layer accepted, while frames are recorded.
    pub accepted: VecDeque<AcceptedPacket>,
    /// The number of faults that keep the radio down.
    pub down_count: u32,
    /// The times at which it has last heard each neighbour; empty if its node has no other radio.
    pub heard: BTreeMap<NodeId, Instant>,
}

/// A radio channel with the MAC layers of its stations.
pub struct Air {
    /// The MAC layers.
    pub mac: MacLayer,
    /// The radio of each station.
    pub radios: TiVec<StationId, RadioId>,
    /// The node of each station.
    pub nodes: TiVec<StationId, NodeId>,
    /// The station of each node; `None` where it has none.
    stations: TiVec<NodeId, Option<StationId>>,
    /// The power that its radios draw; `None`: their energy is not measured.
    pub power: Option<RadioPower>,
    /// The reports of the MAC layers' last run, in order.
    pub reports: Vec<MacReport>,
    /// The number of these reports that have been handled.
    pub reports_handled: usize,
    /// The instant up to which the MAC layer was to run when a pause interrupted it.
    pub paused_until: Option<Instant>,
}

impl Air {
    /// Creates an air whose stations are these radios of these nodes, and draw this power.
    pub fn new(
        mut mac: MacLayer,
        radios: Vec<RadioId>,
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
            radios: radios.into(),
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
}
