//! The airs of a network, with its radios.

use driftway_base::{AirId, Instant, NodeId, RadioId, StationId};
use driftway_radio::NeighbourSignals;
use typed_index_collections::TiVec;

use super::link_monitor::LinkMonitor;
use super::radio::{Air, Radio};
use super::segment_order::SegmentQueueing;

/// All airs and radios, and what is known of neighbours over them.
pub struct Medium {
    /// The airs.
    pub airs: TiVec<AirId, Air>,
    /// The radios.
    pub radios: TiVec<RadioId, Radio>,
    /// The treatment of TCP segments in the queues of radios.
    pub segment_queueing: SegmentQueueing,
    /// Received signal powers of neighbours; `None` if nothing uses them.
    pub neighbour_signals: Option<NeighbourSignals>,
    /// `None`: hosts get no signals of their links over the air.
    pub link_monitor: Option<LinkMonitor>,
    /// True if radios resolve addresses.
    pub has_arp: bool,
}

impl Medium {
    /// A network without radios.
    pub fn none() -> Self {
        Self {
            airs: TiVec::new(),
            radios: TiVec::new(),
            segment_queueing: SegmentQueueing::default(),
            neighbour_signals: None,
            link_monitor: None,
            has_arp: false,
        }
    }

    /// Returns true if there is no air.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.airs.is_empty()
    }

    /// Returns these radios as far as a neighbour is on their air, too, with the neighbour's station.
    pub fn common_with(
        &self,
        radios: &[RadioId],
        neighbour: NodeId,
    ) -> impl Iterator<Item = (RadioId, StationId)> {
        radios.iter().filter_map(move |radio| {
            let air = &self.airs[self.radios[*radio].air];
            Some((*radio, air.station_of(neighbour)?))
        })
    }

    /// Returns that of these radios by which a neighbour is reached: one on an air that both are on. Of
    /// several the one that has heard the neighbour last, or else the first.
    pub fn choose_radio(&self, radios: &[RadioId], neighbour: NodeId) -> Option<RadioId> {
        let mut common = self.common_with(radios, neighbour).map(|(radio, _)| radio);
        let first = common.next()?;
        let heard = |radio: RadioId| self.radios[radio].heard.get(&neighbour).copied();
        let later = |one, other| if heard(other) > heard(one) { other } else { one };
        Some(common.fold(first, later))
    }

    /// Records that a radio of a node with several has heard a neighbour.
    pub fn on_heard(&mut self, now: Instant, radio: RadioId, neighbour: NodeId) {
        self.radios[radio].heard.insert(neighbour, now);
    }

    /// Returns the radios of a node.
    pub fn radios_of(&self, node: NodeId) -> Vec<RadioId> {
        let all = self.radios.iter_enumerated();
        all.filter(|(_, radio)| radio.node == node).map(|(id, _)| id).collect()
    }

    /// Returns true if no frame is on the air or about to be.
    pub fn is_idle(&self) -> bool {
        self.airs.iter().all(|air| air.mac.next_timeout().is_none())
    }

    /// Returns true if a radio is switched on.
    pub fn is_on(&self, radio: RadioId) -> bool {
        self.radios[radio].down_count == 0
    }

    /// Returns the number of packets at radios: on the way to queues, in them, held by ARP, and at the MAC
    /// layer.
    pub fn packets_held(&self) -> usize {
        let held = self.radios.iter().map(|radio| {
            let pending = radio.arp.as_ref().map_or(0, |arp| arp.pending_packets().count());
            let sending = self.airs[radio.air].mac.has_packet(radio.station);
            radio.queue.len() + radio.queue_arrivals.len() + pending + usize::from(sending)
        });
        held.sum()
    }
}
