//! Packets that the local TCP has sent while its link is known to be down.
//!
//! If they passed, the kernel would wait up to a second for the answer to its last ARP request when
//! the link is back. Instead the newest packet of each flow is sent then: its length may fit the
//! path MTU better than any stored one, and the local TCP's next retransmission may be a minute
//! away.

use std::collections::BTreeMap;

use driftway_base::FlowKey;
use driftway_shim::parse_headers;

/// The newest packet of each unroutable flow.
#[derive(Debug, Default)]
pub struct ParkedPackets(BTreeMap<FlowKey, Vec<u8>>);

impl ParkedPackets {
    /// Stores a packet in place of the previous one.
    pub fn park(&mut self, flow: FlowKey, packet: &[u8]) {
        let place = self.0.entry(flow).or_default();
        place.clear();
        place.extend_from_slice(packet);
    }

    /// Records that the shim sends a packet of this flow; one with the same sequence number
    /// replaces the parked one.
    pub fn on_sent(&mut self, flow: FlowKey, packet: &[u8]) {
        let seq = |packet| parse_headers(packet).map(|segment| segment.seq);
        if self.0.get(&flow).is_some_and(|parked| seq(parked) == seq(packet)) {
            self.0.remove(&flow);
        }
    }

    /// Takes the packet of a flow.
    pub fn remove(&mut self, flow: FlowKey) -> Option<Vec<u8>> {
        self.0.remove(&flow)
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

    /// A packet of `len` bytes with this sequence number, with headers without options.
    fn packet(seq: u8, len: u8) -> Vec<u8> {
        let mut bytes = vec![0; len.into()];
        (bytes[0], bytes[3], bytes[9]) = (0x45, len, 6);
        (bytes[27], bytes[32]) = (seq, 0x50);
        bytes
    }

    #[test]
    fn the_newest_packet_of_each_flow_is_kept() {
        let mut parked = ParkedPackets::default();
        parked.park(flow(1), &packet(1, 60));
        parked.park(flow(1), &packet(1, 50));
        parked.park(flow(2), &packet(9, 60));
        assert_eq!(parked.remove(flow(1)), Some(packet(1, 50)));
        assert_eq!(parked.remove(flow(1)), None);
        assert_eq!(parked.remove(flow(2)), Some(packet(9, 60)));
    }

    #[test]
    fn a_sent_packet_with_the_same_number_replaces_the_parked_one() {
        let mut parked = ParkedPackets::default();
        parked.park(flow(1), &packet(1, 60));
        parked.on_sent(flow(1), &packet(2, 60));
        parked.on_sent(flow(2), &packet(1, 60));
        assert_eq!(parked.0.len(), 1);
        parked.on_sent(flow(1), &packet(1, 90));
        assert_eq!(parked.remove(flow(1)), None);
    }
}
