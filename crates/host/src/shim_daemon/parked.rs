//! Packets that the local TCP has sent while its link is known to be down.
//!
//! If they passed, the kernel would wait up to a second for the answer to its last ARP request when
//! the link is back. Instead the newest packet of each flow is sent then: its length may fit the
//! path MTU better than any stored one, and the local TCP's next retransmission may be a minute
//! away.

use std::collections::{BTreeMap, BTreeSet};

use driftway_base::FlowKey;

use super::carrier_acks::sequence_number;

/// The newest packet of each unroutable flow.
#[derive(Debug, Default)]
pub struct ParkedPackets {
    packets: BTreeMap<FlowKey, Vec<u8>>,
    /// Flows not reviewed since.
    unreviewed: BTreeSet<FlowKey>,
}

impl ParkedPackets {
    /// Stores a packet in place of the previous one.
    pub fn park(&mut self, flow: FlowKey, packet: &[u8]) {
        let place = self.packets.entry(flow).or_default();
        place.clear();
        place.extend_from_slice(packet);
        self.unreviewed.insert(flow);
    }

    /// Flows whose routes are to be reviewed.
    pub fn unreviewed(&self) -> impl Iterator<Item = &FlowKey> {
        self.unreviewed.iter()
    }

    /// Records that a flow's route was reviewed.
    pub fn on_reviewed(&mut self, flow: FlowKey) {
        self.unreviewed.remove(&flow);
    }

    /// Records that the shim sends a packet of this flow; one with the same sequence number
    /// replaces the parked one.
    pub fn on_sent(&mut self, flow: FlowKey, packet: &[u8]) {
        if self
            .packets
            .get(&flow)
            .is_some_and(|kept| sequence_number(kept) == sequence_number(packet))
        {
            self.packets.remove(&flow);
        }
    }

    /// Takes the packets of all flows that are not dead.
    pub fn take_routable(&mut self, is_dead: impl Fn(FlowKey) -> bool) -> Vec<(FlowKey, Vec<u8>)> {
        let (dead, back) =
            std::mem::take(&mut self.packets).into_iter().partition(|(flow, _)| is_dead(*flow));
        self.packets = dead;
        BTreeMap::into_iter(back).collect()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Endpoint, Ipv4Addr};

    fn flow(port: u16) -> FlowKey {
        let end = |port| Endpoint::new(Ipv4Addr::new(10, 0, 0, 1), port);
        FlowKey { source: end(port), destination: end(80) }
    }

    /// Headers of a packet with this sequence number.
    fn packet(seq: u8, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        (bytes[0], bytes[27]) = (0x45, seq);
        bytes
    }

    #[test]
    fn the_newest_packet_of_each_flow_leaves_with_a_route() {
        let mut parked = ParkedPackets::default();
        parked.park(flow(1), &packet(1, 60));
        parked.park(flow(1), &packet(1, 50));
        parked.park(flow(2), &packet(9, 60));
        assert_eq!(parked.unreviewed().count(), 2);
        parked.on_reviewed(flow(1));
        assert_eq!(Vec::from_iter(parked.unreviewed()), [&flow(2)]);
        assert_eq!(parked.take_routable(|_| true), []);
        assert_eq!(parked.take_routable(|known| known == flow(2)), [(flow(1), packet(1, 50))]);
        assert_eq!(parked.take_routable(|_| false), [(flow(2), packet(9, 60))]);
    }

    #[test]
    fn a_sent_packet_with_the_same_number_replaces_the_parked_one() {
        let mut parked = ParkedPackets::default();
        parked.park(flow(1), &packet(1, 60));
        parked.on_sent(flow(1), &packet(2, 60));
        parked.on_sent(flow(2), &packet(1, 60));
        assert_eq!(parked.packets.len(), 1);
        parked.on_sent(flow(1), &packet(1, 90));
        assert_eq!(parked.take_routable(|_| false), []);
    }
}
