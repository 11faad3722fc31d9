//! Radios, and the airs that they are on.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Duration, Instant};
use driftway_link::{AdhocQueue, Arp, QueuePosition};
use driftway_radio::MacReport;
use driftway_route::LinkRetry;

use super::mac::MacLayer;
use crate::event::AcceptedPacket;

/// A packet that waits for address resolution: its handle, and its position in the interface queue.
pub type PendingPacket = (u32, QueuePosition);

/// A packet on its way to the queue of a radio.
#[derive(Clone, Copy, Debug)]
pub struct QueueArrival {
    /// The time of its arrival.
    pub at: Instant,
    /// Its handle.
    pub id: u32,
    /// The next hop; `None`: broadcast.
    pub next_hop: Option<u32>,
    /// Its position in the queue.
    pub place: QueuePosition,
}

/// The interface of a node on an air.
pub struct Radio {
    /// The node.
    pub node: usize,
    /// The air.
    pub air: usize,
    /// The number of the radio's station on its air.
    pub station: u32,
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
    pub heard: BTreeMap<u32, Instant>,
}

const NO_STATION: u32 = u32::MAX;

/// A radio channel with the MAC layers of its stations.
pub struct Air {
    /// The MAC layers.
    pub mac: MacLayer,
    /// The radio of each station.
    pub radios: Vec<usize>,
    /// The node of each station.
    pub nodes: Vec<u32>,
    /// The station of each node; [`NO_STATION`] where it has none.
    stations: Vec<u32>,
    /// Reports that have not been handled yet, and how many of them have.
    pub reports: Vec<MacReport>,
    /// The number of reports that have been handled.
    pub reports_handled: usize,
    /// The instant up to which the MAC layer was to run when a pause interrupted it.
    pub paused_until: Option<Instant>,
}

impl Air {
    /// Creates an air whose stations are these radios of these nodes.
    pub fn new(mac: MacLayer, radios: Vec<usize>, nodes: Vec<u32>) -> Self {
        let mut stations =
            vec![NO_STATION; nodes.iter().max().map_or(0, |last| *last as usize + 1)];
        for (station, node) in (0..).zip(&nodes) {
            stations[*node as usize] = station;
        }
        Self {
            stations,
            mac,
            radios,
            nodes,
            reports: Vec::with_capacity(64),
            reports_handled: 0,
            paused_until: None,
        }
    }

    /// Returns the station of a node; `None` if it has none on this air.
    #[inline]
    pub fn station_of(&self, node: u32) -> Option<u32> {
        self.stations.get(node as usize).copied().filter(|station| *station != NO_STATION)
    }
}
