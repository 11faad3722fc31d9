//! The account of packets that are in routing's hands.

/// Packets of hosts that went into routing machines, and came out of them. Routing's own packets
/// are made and consumed without an account.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoutingAccounting {
    /// From hosts, from neighbours, and back from the link layer.
    packets_in: u64,
    /// To the interface queue, to hosts, and dropped.
    packets_out: u64,
    /// What routing sent or forwarded, whatever became of it.
    pub routed: PacketCounts,
    /// What link layers have sent.
    pub hops: PacketCounts,
    /// Packets that a link layer gave up.
    pub link_failures: u64,
    /// Packets for whose next hop ARP found no address, as far as routing was told.
    pub arp_failures: u64,
    /// Of both, with the neighbour in range.
    pub false_link_failures: u64,
    /// Packets handed to a link layer again after it gave them up.
    pub link_retries: u64,
    /// Of these, with the neighbour out of range.
    pub vain_link_retries: u64,
    /// Packets sent after such a retry.
    pub link_retries_sent: u64,
}

/// Packets of hosts, each counted once for each node that sends it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketCounts {
    /// Segments with data, a SYN or a FIN, and datagrams.
    pub data: u64,
    /// Segments with none of these.
    pub acks: u64,
    /// ICMP messages.
    pub icmp: u64,
}

impl RoutingAccounting {
    /// One goes in.
    pub fn on_packet_in(&mut self) {
        self.packets_in += 1;
    }

    /// One comes out.
    pub fn on_packet_out(&mut self) {
        self.packets_out += 1;
    }

    /// Are they all there, with so many kept by routing machines?
    ///
    /// # Errors
    /// Says what is missing.
    pub fn check_conservation(&self, kept: u64) -> Result<(), String> {
        if self.packets_in == self.packets_out + kept {
            return Ok(());
        }
        Err(format!(
            "{} packets went into routing, but {} came out and {kept} are kept",
            self.packets_in, self.packets_out
        ))
    }
}
