//! Accounting of the packets that routing protocols hold, and counters of what became of packets over
//! the air.

/// Counts of the host packets that entered routing protocols and left them. Control packets of routing
/// itself are not counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoutingAccounting {
    /// From hosts, from neighbours, and returned by the link layer.
    packets_in: u64,
    /// To the queues of radios, to hosts, and dropped.
    packets_out: u64,
    /// Counters of the outcomes of packets.
    pub counters: RoutingCounters,
}

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

impl RoutingAccounting {
    /// Counts a packet that enters routing.
    pub fn on_packet_in(&mut self) {
        self.packets_in += 1;
    }

    /// Counts a packet that leaves routing.
    pub fn on_packet_out(&mut self) {
        self.packets_out += 1;
    }

    /// Checks that all packets are accounted for, with `kept` of them held by routing.
    ///
    /// # Errors
    /// Describes the difference.
    pub fn check_conservation(&self, kept: u64) -> Result<(), String> {
        if self.packets_in == self.packets_out + kept {
            return Ok(());
        }
        Err(format!(
            "{} packets entered routing, but {} left it and {kept} are held",
            self.packets_in, self.packets_out
        ))
    }
}
