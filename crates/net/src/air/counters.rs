//! Counters of what became of packets over the air.

use driftway_wire::{Body, Packet};

/// Counters of what became of packets over the air, of all nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutingCounters {
    /// Packets that routing sent or forwarded, whatever happened to them afterwards.
    pub routed: PacketCounts,
    /// Packets that link layers sent.
    pub hops: PacketCounts,
    /// Packets that a link layer failed to send.
    pub link_failures: u64,
    /// Packets that were returned to routing because ARP did not resolve their next hop.
    pub arp_failures: u64,
    /// Both kinds of failures with the neighbour in range.
    pub false_link_failures: u64,
    /// Packets passed to a link layer again after a failure.
    pub link_retries: u64,
    /// Link retries with the neighbour out of range.
    pub vain_link_retries: u64,
    /// Packets that were sent after a link retry.
    pub link_retries_sent: u64,
}

/// Host packets, each counted once for each node that sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// Segments with data, a SYN or a FIN, and datagrams.
    pub data: u64,
    /// Segments without data, SYN or FIN.
    pub acks: u64,
    /// ICMP messages.
    pub icmp: u64,
}

impl PacketCounts {
    /// Counts a packet by its kind, unless it is a message of routing.
    pub(crate) fn count(&mut self, packet: &Packet) {
        match &packet.body {
            Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => {}
            Body::Tcp(segment) if segment.sequence_len() == 0 => self.acks += 1,
            Body::Icmp(_) => self.icmp += 1,
            Body::Tcp(_) | Body::Udp(_) => self.data += 1,
        }
    }
}
