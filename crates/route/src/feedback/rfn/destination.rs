//! A router's state of one destination.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr, PacketId};
use driftway_wire::QuotedPacket;

use crate::feedback::scheme::NextHop;

/// A destination with failed next hops.
#[derive(Clone, Debug)]
pub(crate) struct DestinationState {
    pub address: Ipv4Addr,
    failed_next_hops: Vec<FailedNextHop>,
    /// Sources to which an RFN was sent from or through this router, and no RRN since.
    rfn_sent: Vec<NotifiedSource>,
    /// Sources to which this router has sent an RRN, and no RFN since.
    rrn_sent: Vec<Ipv4Addr>,
    /// Packets buffered for it, oldest first.
    pub buffered: VecDeque<PacketId>,
}

/// A next hop that cannot reach the destination now.
#[derive(Clone, Copy, Debug)]
struct FailedNextHop {
    next_hop: NextHop,
    link: FailedLink,
    /// The expiry of a reported failure; `None`: it is this router's own link, whose state is known.
    expires_at: Option<Instant>,
}

/// A source, and the contents of an RRN to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotifiedSource {
    pub link: FailedLink,
    /// The last of its packets without a usable next hop.
    pub quoted: QuotedPacket,
}

impl DestinationState {
    pub const fn new(address: Ipv4Addr) -> Self {
        Self {
            address,
            failed_next_hops: Vec::new(),
            rfn_sent: Vec::new(),
            rrn_sent: Vec::new(),
            buffered: VecDeque::new(),
        }
    }

    pub fn is_failed(&self, now: Instant, next_hop: NextHop) -> bool {
        let holds = |failed: &FailedNextHop| failed.expires_at.is_none_or(|until| now < until);
        self.failed_next_hops.iter().any(|failed| failed.next_hop == next_hop && holds(failed))
    }

    /// Returns true if this router's own link at this next hop has failed.
    pub fn is_own_link_failed(&self, next_hop: NextHop) -> bool {
        self.failed_next_hops
            .iter()
            .any(|failed| failed.next_hop == next_hop && failed.expires_at.is_none())
    }

    /// The link to report for an undeliverable packet: this router's own before a reported one.
    pub fn failed_link(&self) -> Option<FailedLink> {
        let own = self.failed_next_hops.iter().find(|failed| failed.expires_at.is_none());
        own.or(self.failed_next_hops.last()).map(|failed| failed.link)
    }

    /// Returns true if an RRN of another router is awaited.
    pub fn awaits_rrn(&self) -> bool {
        self.failed_next_hops.iter().any(|failed| failed.expires_at.is_some())
    }

    /// Marks `next_hop` as failed. The state of this router's own link takes precedence.
    pub fn mark_failed(
        &mut self,
        next_hop: NextHop,
        link: FailedLink,
        expires_at: Option<Instant>,
    ) {
        match self.failed_next_hops.iter_mut().find(|failed| failed.next_hop == next_hop) {
            Some(known) => {
                known.link = link;
                known.expires_at = known.expires_at.and(expires_at);
            }
            None => self.failed_next_hops.push(FailedNextHop { next_hop, link, expires_at }),
        }
    }

    /// Clears the failure of `next_hop`; returns true if there was one.
    pub fn clear_failure(&mut self, next_hop: NextHop) -> bool {
        let before = self.failed_next_hops.len();
        self.failed_next_hops.retain(|failed| failed.next_hop != next_hop);
        self.failed_next_hops.len() < before
    }

    /// Removes expired failures; returns true if there were any.
    pub fn expire(&mut self, now: Instant) -> bool {
        let before = self.failed_next_hops.len();
        self.failed_next_hops.retain(|failed| failed.expires_at.is_none_or(|until| now < until));
        self.failed_next_hops.len() < before
    }

    /// Records an RFN to the source of `quoted`.
    pub fn record_rfn(&mut self, link: FailedLink, quoted: QuotedPacket) {
        self.forget_rrn(quoted.source);
        match self.rfn_sent.iter_mut().find(|known| known.quoted.source == quoted.source) {
            Some(known) => *known = NotifiedSource { link, quoted },
            None => self.rfn_sent.push(NotifiedSource { link, quoted }),
        }
    }

    /// Records an RRN of another router to `source`; returns true if one was sent from here before.
    pub fn record_rrn(&mut self, source: Ipv4Addr) -> bool {
        self.rfn_sent.retain(|known| known.quoted.source != source);
        self.rrn_sent.contains(&source)
    }

    /// Clears the record of an RRN to `source`, for which an RFN has arrived at this node itself.
    pub fn forget_rrn(&mut self, source: Ipv4Addr) {
        self.rrn_sent.retain(|notified| *notified != source);
    }

    /// Returns the next source that needs an RRN from here.
    pub fn take_next_for_rrn(&mut self) -> Option<NotifiedSource> {
        // In the order in which they were recorded.
        let source = (!self.rfn_sent.is_empty()).then(|| self.rfn_sent.remove(0))?;
        self.rrn_sent.push(source.quoted.source);
        Some(source)
    }
}
