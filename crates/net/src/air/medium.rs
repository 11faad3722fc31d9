//! The airs of a network, with its radios.

use driftway_base::{AirId, Instant, NodeId, RadioId, ReceivedPower, StationId};
use driftway_radio::dcf::{Counters, FrameRecord};
use driftway_radio::{NeighbourSignals, OutgoingPacket, RadioPower, StationInRange};
use typed_index_collections::{TiSlice, TiVec};

use super::channel::Air;
use super::link_monitor::LinkMonitor;
use super::mac_layer::MacLayer;
use super::radio::Radio;
use super::segment_order::SegmentQueueing;
use crate::frame_body::FrameBody;

/// All airs and radios, and what is known of neighbours over them.
#[derive(Default)]
pub struct Medium {
    airs: TiVec<AirId, Air>,
    radios: TiVec<RadioId, Radio>,
    /// The treatment of TCP segments in the queues of radios.
    segment_queueing: SegmentQueueing,
    /// Received signal powers of neighbours; `None` if nothing uses them.
    neighbour_signals: Option<NeighbourSignals>,
    /// `None`: hosts get no signals of their links over the air.
    pub link_monitor: Option<LinkMonitor>,
    /// True if radios resolve addresses.
    has_arp: bool,
    /// The number of times that radios were switched.
    changes: u64,
}

impl Medium {
    /// Creates a medium without airs.
    pub fn new(
        segment_queueing: SegmentQueueing,
        neighbour_signals: Option<NeighbourSignals>,
        link_monitor: Option<LinkMonitor>,
    ) -> Self {
        Self { segment_queueing, neighbour_signals, link_monitor, ..Self::default() }
    }

    /// Adds an air whose stations are these radios, which draw this power.
    pub fn add_air(&mut self, mac: MacLayer, radios: Vec<Radio>, power: Option<RadioPower>) {
        let (air, first) = (self.airs.next_key(), self.radios.len());
        let ids = (first..first + radios.len()).map(RadioId::from).collect();
        let nodes = radios.iter().map(|radio| radio.node).collect();
        self.has_arp |= radios.iter().any(|radio| radio.arp.is_some());
        self.radios.extend(radios.into_iter().enumerate().map(|(n, mut radio)| {
            (radio.air, radio.station) = (air, StationId::from(n));
            radio
        }));
        self.airs.push(Air::new(mac, ids, nodes, power));
    }

    /// Returns true if there is no air.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.airs.is_empty()
    }

    /// Returns true if radios resolve addresses.
    pub fn has_arp(&self) -> bool {
        self.has_arp
    }

    /// Returns the treatment of TCP segments in the queues of radios.
    pub fn segment_queueing(&self) -> SegmentQueueing {
        self.segment_queueing
    }

    /// Returns the airs.
    pub fn airs(&self) -> &TiSlice<AirId, Air> {
        &self.airs
    }

    /// Returns an air.
    pub fn air_mut(&mut self, air: AirId) -> &mut Air {
        &mut self.airs[air]
    }

    /// Returns a radio.
    pub fn radio(&self, radio: RadioId) -> &Radio {
        &self.radios[radio]
    }

    /// Returns a radio.
    pub fn radio_mut(&mut self, radio: RadioId) -> &mut Radio {
        &mut self.radios[radio]
    }

    /// Returns the air of a radio.
    pub fn air_of(&self, radio: RadioId) -> &Air {
        &self.airs[self.radios[radio].air]
    }

    /// Returns these radios as far as a neighbour is on their air, too, with the neighbour's station.
    fn common_with(
        &self,
        radios: &[RadioId],
        neighbour: NodeId,
    ) -> impl Iterator<Item = (RadioId, StationId)> {
        radios
            .iter()
            .filter_map(move |radio| Some((*radio, self.air_of(*radio).station_of(neighbour)?)))
    }

    /// Returns that of these radios by which a neighbour is reached: one on an air that both are on. Of
    /// several the one that has heard the neighbour last, or else the first.
    pub fn choose_radio(&self, radios: &[RadioId], neighbour: NodeId) -> Option<RadioId> {
        let mut common = self.common_with(radios, neighbour).map(|(radio, _)| radio);
        let first = common.next()?;
        let heard = |radio: RadioId| self.radios[radio].heard_at(neighbour);
        let later = |one, other| if heard(other) > heard(one) { other } else { one };
        Some(common.fold(first, later))
    }

    /// Returns the radios of a node.
    pub fn radios_of(&self, node: NodeId) -> Vec<RadioId> {
        let all = self.radios.iter_enumerated();
        all.filter(|(_, radio)| radio.node == node).map(|(id, _)| id).collect()
    }

    /// Returns the MAC layer of a radio, and its station there.
    pub fn mac_of(&mut self, radio: RadioId) -> (&mut MacLayer, StationId) {
        let Radio { air, station, .. } = self.radios[radio];
        (&mut self.airs[air].mac, station)
    }

    /// Passes a packet for a next hop, or `None`: broadcast, to the MAC layer of a radio.
    pub fn send(
        &mut self,
        now: Instant,
        radio: RadioId,
        next_hop: Option<NodeId>,
        packet: OutgoingPacket,
    ) {
        let Radio { air, station, .. } = self.radios[radio];
        let air = &mut self.airs[air];
        let to = next_hop.and_then(|node| air.station_of(node));
        air.mac.send(now, station, OutgoingPacket { to, ..packet });
    }

    /// Switches a radio off; returns true if it was on.
    pub fn switch_off(&mut self, now: Instant, radio: RadioId) -> bool {
        self.changes += 1;
        let was_on = self.radios[radio].switch_off();
        if was_on {
            let (mac, station) = self.mac_of(radio);
            mac.set_enabled(now, station, false);
        }
        was_on
    }

    /// Ends what has switched a radio off; returns true if it is on again.
    pub fn switch_on(&mut self, now: Instant, radio: RadioId) -> bool {
        self.changes += 1;
        let is_on = self.radios[radio].switch_on();
        if is_on {
            let (mac, station) = self.mac_of(radio);
            mac.set_enabled(now, station, true);
        }
        is_on
    }

    /// Returns the number of times that radios were switched.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if no frame is on the air or about to be.
    pub fn is_idle(&self) -> bool {
        self.airs.iter().all(|air| air.mac.next_timeout().is_none())
    }

    /// Returns true if a node can decode what one of these radios sends at their present positions: a radio that
    /// is down is in range of none.
    pub fn in_range(&mut self, now: Instant, radios: &[RadioId], to: NodeId) -> bool {
        radios.iter().any(|radio| {
            let Radio { air, station, .. } = self.radios[*radio];
            let of = &mut self.airs[air];
            let Some(hearer) = of.station_of(to) else { return false };
            let are_on = self.radios[*radio].is_on() && self.radios[of.radio_of(hearer)].is_on();
            are_on && of.mac.in_range(now, station, hearer)
        })
    }

    /// Adds the nodes that can decode what a radio sends at their present positions.
    pub fn add_hearers(&mut self, now: Instant, radio: RadioId, hearers: &mut Vec<NodeId>) {
        let Radio { air, station: own, .. } = self.radios[radio];
        if !self.radios[radio].is_on() {
            return;
        }
        let mut near: Vec<StationInRange> = Vec::new();
        let air = &mut self.airs[air];
        air.mac.positions().stations_in_range(now, own, &mut near);
        for StationInRange { station, .. } in near {
            if self.radios[air.radio_of(station)].is_on() && air.mac.in_range(now, own, station) {
                hearers.push(air.node_of(station));
            }
        }
    }

    /// Returns true if the powers at which frames are received are used.
    pub fn measures_power(&self) -> bool {
        self.neighbour_signals.is_some()
    }

    /// Measures the power at which a node has received a frame of a neighbour with these radios; `None` if nothing
    /// uses it.
    pub fn measure_power(
        &mut self,
        now: Instant,
        node: NodeId,
        (from, radios): (NodeId, &[RadioId]),
    ) -> Option<ReceivedPower> {
        let common = self.common_with(radios, node).next();
        let power = common.map_or(0.0, |(radio, station)| {
            let Radio { air, station: own, .. } = self.radios[radio];
            self.airs[air].mac.receive_power(now, own, station)
        });
        let powers = self.neighbour_signals.as_mut()?;
        powers.on_signal(now, node, from, power);
        powers.received_power(node, from)
    }

    /// Starts recording frames.
    pub fn set_recording(&mut self) {
        self.airs.iter_mut().for_each(|air| air.mac.set_recording());
    }

    /// Records a packet that the MAC layer of a radio accepts, if frames are recorded on its air.
    pub fn record_accepted(&mut self, now: Instant, radio: RadioId, body: FrameBody) {
        if self.air_of(radio).mac.is_recording() {
            self.radios[radio].on_accepted(now, body);
        }
    }

    /// Returns the recorded frames of an air that have ended since the last call, with the bodies of data frames.
    pub fn take_recorded(&mut self, air: AirId) -> Vec<(FrameRecord, Option<FrameBody>)> {
        let mut frames = Vec::new();
        let air = &mut self.airs[air];
        air.mac.take_recorded(&mut frames);
        let radios = &mut self.radios;
        let body_of = |frame: &FrameRecord| radios[air.radio_of(frame.from)].body_of(frame);
        let bodies: Vec<_> = frames.iter().map(body_of).collect();
        frames.into_iter().zip(bodies).collect()
    }

    /// Returns the counters of all MAC layers together.
    pub fn mac_counters(&self) -> Counters {
        self.airs.iter().fold(Counters::default(), |mut sum, air| {
            sum += air.mac.total_counters();
            sum
        })
    }

    /// Returns the number of packets that the queues of radios have marked.
    pub fn marks(&self) -> u64 {
        self.radios.iter().map(|radio| radio.queue.counters().marks).sum()
    }

    /// Returns the number of packets at radios: on the way to queues, in them, held by ARP, and at the MAC
    /// layer.
    pub fn packets_held(&self) -> usize {
        let held = self.radios.iter().map(|radio| {
            let sending = self.airs[radio.air].mac.has_packet(radio.station);
            radio.packets_held() + usize::from(sending)
        });
        held.sum()
    }
}
