//! Accounting of the packets that routing protocols hold.

/// Counts of the host packets that entered routing protocols and left them. Control packets of routing
/// itself are not counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// From hosts, from neighbours, and returned by the link layer.
    into: u64,
    /// To the interface queue, to hosts, and dropped.
    out: u64,
    /// Packets that routing sent or forwarded, whatever happened to them afterwards.
    pub routed: Counts,
    /// Packets that link layers sent.
    pub hops: Counts,
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Segments with data, a SYN or a FIN, and datagrams.
    pub data: u64,
    /// Segments without data, SYN or FIN.
    pub acks: u64,
    /// ICMP messages.
    pub icmp: u64,
}

impl Ledger {
    /// Counts a packet that enters routing.
    pub fn enters(&mut self) {
        self.into += 1;
    }

    /// Counts a packet that leaves routing.
    pub fn leaves(&mut self) {
        self.out += 1;
    }

    /// Checks that all packets are accounted for, with `kept` of them held by routing.
    ///
    /// # Errors
    /// Describes the difference.
    pub fn balance(&self, kept: u64) -> Result<(), String> {
        if self.into == self.out + kept {
            return Ok(());
        }
        Err(format!(
            "{} packets entered routing, but {} left it and {kept} are held",
            self.into, self.out
        ))
    }
}
