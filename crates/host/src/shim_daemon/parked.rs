//! What the local TCP has sent into a link that is known to be down.
//!
//! Let through, it would have the kernel wait for an answer to its last ARP request, for up to a second,
//! when the link is back. The newest packet of each flow leaves then: it may be cut to a length that
//! nothing stored has, and the local TCP's next may be a minute away.

use std::collections::{BTreeMap, BTreeSet};

use driftway_base::FlowKey;

use super::carrier_acks::sequence_number;

/// The newest packet of each flow that has no way.
#[derive(Debug, Default)]
pub struct ParkedPackets {
    packets: BTreeMap<FlowKey, Vec<u8>>,
    /// Flows at which nobody has looked since.
    unreviewed: BTreeSet<FlowKey>,
}

impl ParkedPackets {
    /// Keeps a packet, instead of the one before.
    pub fn park(&mut self, flow: FlowKey, packet: &[u8]) {
        let place = self.packets.entry(flow).or_default();
        place.clear();
        place.extend_from_slice(packet);
        self.unreviewed.insert(flow);
    }

    /// Flows whose ways are to be looked at.
    pub fn unreviewed(&self) -> impl Iterator<Item = &FlowKey> {
        self.unreviewed.iter()
    }

    /// A flow's way was looked at.
    pub fn on_reviewed(&mut self, flow: FlowKey) {
        self.unreviewed.remove(&flow);
    }

    /// The shim sends a packet of this flow: if it begins where the kept one does, it does for both.
    pub fn on_sent(&mut self, flow: FlowKey, packet: &[u8]) {
        if self.packets.get(&flow).is_some_and(|kept| sequence_number(kept) == sequence_number(packet)) {
            self.packets.remove(&flow);
        }
    }

    /// What leaves, now that only these flows are dead.
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

    /// The headers of a packet with this sequence number.
    fn packet(seq: u8, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        (bytes[0], bytes[27]) = (0x45, seq);
        bytes
    }

    #[test]
    fn the_newest_of_each_flow_leaves_when_there_is_a_way() {
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
    fn what_the_shim_sends_from_the_same_number_does_for_both() {
        let mut parked = ParkedPackets::default();
        parked.park(flow(1), &packet(1, 60));
        parked.on_sent(flow(1), &packet(2, 60));
        parked.on_sent(flow(2), &packet(1, 60));
        assert_eq!(parked.packets.len(), 1);
        parked.on_sent(flow(1), &packet(1, 90));
        assert_eq!(parked.take_routable(|_| false), []);
    }
}
