//! The airs of a network, with its radios.

use driftway_radio::NeighbourSignals;

use super::link_monitor::LinkMonitor;
use super::segment_order::SegmentQueueing;
use crate::network::{Air, Radio};

/// All airs and radios, and what is known of neighbours over them.
pub struct Medium {
    /// The airs.
    pub airs: Vec<Air>,
    /// The radios.
    pub radios: Vec<Radio>,
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
            airs: Vec::new(),
            radios: Vec::new(),
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

    /// Returns the first of these radios on an air that a neighbour is on, too, with the neighbour's
    /// station.
    pub fn towards(&self, radios: &[usize], neighbour: u32) -> Option<(usize, u32)> {
        radios.iter().find_map(|radio| {
            let air = &self.airs[self.radios[*radio].air];
            Some((*radio, air.station_of(neighbour)?))
        })
    }

    /// Returns true if no frame is on the air or about to be.
    pub fn is_idle(&self) -> bool {
        self.airs.iter().all(|air| air.mac.next_timeout().is_none())
    }

    /// Returns true if a radio is switched on.
    pub fn is_on(&self, radio: usize) -> bool {
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
