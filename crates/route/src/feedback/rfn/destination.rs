//! What a router remembers about one destination.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::QuotedPacket;

use super::NextHop;

/// A destination to which some way has failed.
#[derive(Clone, Debug)]
pub(crate) struct DestinationState {
    pub address: Ipv4Addr,
    failed_next_hops: Vec<FailedNextHop>,
    /// Who has had an RFN from here, or through here, and no RRN since.
    rfn_sent: Vec<NotifiedSource>,
    /// Who has had an RRN from here, and no RFN since.
    rrn_sent: Vec<Ipv4Addr>,
    /// Packets kept for it, oldest first.
    pub buffered: VecDeque<u32>,
}

/// A way that leads nowhere now.
#[derive(Clone, Copy, Debug)]
struct FailedNextHop {
    next_hop: NextHop,
    link: FailedLink,
    /// How long that is believed; `None`: it is our own link, which will tell.
    believed_until: Option<Instant>,
}

/// A source, and what an RRN to it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotifiedSource {
    pub link: FailedLink,
    /// The last of its packets that had no way.
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

    pub fn is_failed(&self, now: Instant, way: NextHop) -> bool {
        let holds = |broken: &FailedNextHop| broken.believed_until.is_none_or(|until| now < until);
        self.failed_next_hops.iter().any(|broken| broken.next_hop == way && holds(broken))
    }

    /// Has our own link on this way failed?
    pub fn is_own_link_failed(&self, way: NextHop) -> bool {
        self.failed_next_hops.iter().any(|broken| broken.next_hop == way && broken.believed_until.is_none())
    }

    /// The link to name for a packet that has no way: our own before another's.
    pub fn failed_link(&self) -> Option<FailedLink> {
        let own = self.failed_next_hops.iter().find(|broken| broken.believed_until.is_none());
        own.or(self.failed_next_hops.last()).map(|broken| broken.link)
    }

    /// Does it wait for somebody else's RRN?
    pub fn awaits_rrn(&self) -> bool {
        self.failed_next_hops.iter().any(|broken| broken.believed_until.is_some())
    }

    /// `way` leads nowhere. What our own link says stands until it says otherwise.
    pub fn mark_failed(&mut self, way: NextHop, link: FailedLink, until: Option<Instant>) {
        match self.failed_next_hops.iter_mut().find(|broken| broken.next_hop == way) {
            Some(known) => {
                known.link = link;
                known.believed_until = known.believed_until.and(until);
            }
            None => self.failed_next_hops.push(FailedNextHop { next_hop: way, link, believed_until: until }),
        }
    }

    /// `way` leads there again; was it thought broken?
    pub fn clear_failure(&mut self, way: NextHop) -> bool {
        let before = self.failed_next_hops.len();
        self.failed_next_hops.retain(|broken| broken.next_hop != way);
        self.failed_next_hops.len() < before
    }

    /// Forgets what is not believed any more; was there something?
    pub fn expire(&mut self, now: Instant) -> bool {
        let before = self.failed_next_hops.len();
        self.failed_next_hops.retain(|broken| broken.believed_until.is_none_or(|until| now < until));
        self.failed_next_hops.len() < before
    }

    /// An RFN goes to the source that `quoted` is of.
    pub fn record_rfn(&mut self, link: FailedLink, quoted: QuotedPacket) {
        self.forget_rrn(quoted.source);
        match self.rfn_sent.iter_mut().find(|known| known.quoted.source == quoted.source) {
            Some(known) => *known = NotifiedSource { link, quoted },
            None => self.rfn_sent.push(NotifiedSource { link, quoted }),
        }
    }

    /// An RRN from elsewhere passes to `source`; has it had one from here?
    pub fn record_rrn(&mut self, source: Ipv4Addr) -> bool {
        self.rfn_sent.retain(|known| known.quoted.source != source);
        self.rrn_sent.contains(&source)
    }

    /// An RFN has reached `source`, at this very node.
    pub fn forget_rrn(&mut self, source: Ipv4Addr) {
        self.rrn_sent.retain(|told| *told != source);
    }

    /// The next source that is to have an RRN from here.
    pub fn take_next_for_rrn(&mut self) -> Option<NotifiedSource> {
        // In the order in which they were heard of.
        let source = (!self.rfn_sent.is_empty()).then(|| self.rfn_sent.remove(0))?;
        self.rrn_sent.push(source.quoted.source);
        Some(source)
    }
}
