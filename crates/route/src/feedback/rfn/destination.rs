//! A router's state of one destination.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::Quoted;

use super::Way;

/// A destination with failed next hops.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub address: Ipv4Addr,
    broken: Vec<Broken>,
    /// Sources to which an RFN was sent from or through this router, and no RRN since.
    sources: Vec<Source>,
    /// Sources to which this router has sent an RRN, and no RFN since.
    told: Vec<Ipv4Addr>,
    /// Packets buffered for it, oldest first.
    pub kept: VecDeque<u32>,
}

/// A next hop that cannot reach the destination now.
#[derive(Clone, Copy, Debug)]
struct Broken {
    way: Way,
    link: FailedLink,
    /// The expiry of a reported failure; `None`: it is this router's own link, whose state is known.
    until: Option<Instant>,
}

/// A source, and the contents of an RRN to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub link: FailedLink,
    /// The last of its packets without a usable next hop.
    pub quoted: Quoted,
}

impl Destination {
    pub const fn new(address: Ipv4Addr) -> Self {
        Self {
            address,
            broken: Vec::new(),
            sources: Vec::new(),
            told: Vec::new(),
            kept: VecDeque::new(),
        }
    }

    pub fn is_broken(&self, now: Instant, way: Way) -> bool {
        let holds = |broken: &Broken| broken.until.is_none_or(|until| now < until);
        self.broken.iter().any(|broken| broken.way == way && holds(broken))
    }

    /// Returns true if this router's own link at this next hop has failed.
    pub fn is_cut(&self, way: Way) -> bool {
        self.broken.iter().any(|broken| broken.way == way && broken.until.is_none())
    }

    /// The link to report for an undeliverable packet: this router's own before a reported one.
    pub fn failed_link(&self) -> Option<FailedLink> {
        let own = self.broken.iter().find(|broken| broken.until.is_none());
        own.or(self.broken.last()).map(|broken| broken.link)
    }

    /// Returns true if an RRN of another router is awaited.
    pub fn awaits_notice(&self) -> bool {
        self.broken.iter().any(|broken| broken.until.is_some())
    }

    /// Marks `next_hop` as failed. The state of this router's own link takes precedence.
    pub fn breaks(&mut self, way: Way, link: FailedLink, until: Option<Instant>) {
        match self.broken.iter_mut().find(|broken| broken.way == way) {
            Some(known) => {
                known.link = link;
                known.until = known.until.and(until);
            }
            None => self.broken.push(Broken { way, link, until }),
        }
    }

    /// Clears the failure of `next_hop`; returns true if there was one.
    pub fn mends(&mut self, way: Way) -> bool {
        let before = self.broken.len();
        self.broken.retain(|broken| broken.way != way);
        self.broken.len() < before
    }

    /// Removes expired failures; returns true if there were any.
    pub fn forgets(&mut self, now: Instant) -> bool {
        let before = self.broken.len();
        self.broken.retain(|broken| broken.until.is_none_or(|until| now < until));
        self.broken.len() < before
    }

    /// Records an RFN to the source of `quoted`.
    pub fn has_rfn(&mut self, link: FailedLink, quoted: Quoted) {
        self.forget_told(quoted.source);
        match self.sources.iter_mut().find(|known| known.quoted.source == quoted.source) {
            Some(known) => *known = Source { link, quoted },
            None => self.sources.push(Source { link, quoted }),
        }
    }

    /// Records an RRN of another router to `source`; returns true if one was sent from here before.
    pub fn has_rrn(&mut self, source: Ipv4Addr) -> bool {
        self.sources.retain(|known| known.quoted.source != source);
        self.told.contains(&source)
    }

    /// Clears the record of an RRN to `source`, for which an RFN has arrived at this node itself.
    pub fn forget_told(&mut self, source: Ipv4Addr) {
        self.told.retain(|told| *told != source);
    }

    /// Returns the next source that needs an RRN from here.
    pub fn next_to_tell(&mut self) -> Option<Source> {
        // In the order in which they were recorded.
        let source = (!self.sources.is_empty()).then(|| self.sources.remove(0))?;
        self.told.push(source.quoted.source);
        Some(source)
    }
}
