//! What a router remembers about one destination.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::Quoted;

use super::Way;

/// A destination to which some way has failed.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub address: Ipv4Addr,
    broken: Vec<Broken>,
    /// Who has had an RFN from here, or through here, and no RRN since.
    sources: Vec<Source>,
    /// Who has had an RRN from here, and no RFN since.
    told: Vec<Ipv4Addr>,
    /// Packets kept for it, oldest first.
    pub kept: VecDeque<u32>,
}

/// A way that leads nowhere now.
#[derive(Clone, Copy, Debug)]
struct Broken {
    way: Way,
    link: FailedLink,
    /// How long that is believed; `None`: it is our own link, which will tell.
    until: Option<Instant>,
}

/// A source, and what an RRN to it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub link: FailedLink,
    /// The last of its packets that had no way.
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

    /// Has our own link on this way failed?
    pub fn is_cut(&self, way: Way) -> bool {
        self.broken.iter().any(|broken| broken.way == way && broken.until.is_none())
    }

    /// The link to name for a packet that has no way: our own before another's.
    pub fn failed_link(&self) -> Option<FailedLink> {
        let own = self.broken.iter().find(|broken| broken.until.is_none());
        own.or(self.broken.last()).map(|broken| broken.link)
    }

    /// Does it wait for somebody else's RRN?
    pub fn awaits_notice(&self) -> bool {
        self.broken.iter().any(|broken| broken.until.is_some())
    }

    /// `way` leads nowhere. What our own link says stands until it says otherwise.
    pub fn breaks(&mut self, way: Way, link: FailedLink, until: Option<Instant>) {
        match self.broken.iter_mut().find(|broken| broken.way == way) {
            Some(known) => {
                known.link = link;
                known.until = known.until.and(until);
            }
            None => self.broken.push(Broken { way, link, until }),
        }
    }

    /// `way` leads there again; was it thought broken?
    pub fn mends(&mut self, way: Way) -> bool {
        let before = self.broken.len();
        self.broken.retain(|broken| broken.way != way);
        self.broken.len() < before
    }

    /// Forgets what is not believed any more; was there something?
    pub fn forgets(&mut self, now: Instant) -> bool {
        let before = self.broken.len();
        self.broken.retain(|broken| broken.until.is_none_or(|until| now < until));
        self.broken.len() < before
    }

    /// An RFN goes to the source that `quoted` is of.
    pub fn has_rfn(&mut self, link: FailedLink, quoted: Quoted) {
        self.forget_told(quoted.source);
        match self.sources.iter_mut().find(|known| known.quoted.source == quoted.source) {
            Some(known) => *known = Source { link, quoted },
            None => self.sources.push(Source { link, quoted }),
        }
    }

    /// An RRN from elsewhere passes to `source`; has it had one from here?
    pub fn has_rrn(&mut self, source: Ipv4Addr) -> bool {
        self.sources.retain(|known| known.quoted.source != source);
        self.told.contains(&source)
    }

    /// An RFN has reached `source`, at this very node.
    pub fn forget_told(&mut self, source: Ipv4Addr) {
        self.told.retain(|told| *told != source);
    }

    /// The next source that is to have an RRN from here.
    pub fn next_to_tell(&mut self) -> Option<Source> {
        // In the order in which they were heard of.
        let source = (!self.sources.is_empty()).then(|| self.sources.remove(0))?;
        self.told.push(source.quoted.source);
        Some(source)
    }
}
