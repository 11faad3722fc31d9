//! The nodes that are notified of a broken link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::cache::{News, Notice};
use super::super::path::Path;
use super::CacheTable;
use super::table::{DATA_MAX, Entry};

/// The nodes to notify, while they are collected, and the notices to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Targets {
    /// Nodes on this side of the link.
    near: Vec<Ipv4Addr>,
    /// Nodes beyond it, for each route, the nearest first: the first with another route to it is notified.
    far: Vec<Path>,
    notices: VecDeque<Notice>,
}

impl Targets {
    pub fn poll(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Cancels the notice to a node that is informed by another packet.
    pub fn informed(&mut self, link: FailedLink, to: Ipv4Addr) {
        self.notices.retain(|notice| notice.link != link || notice.way.last() != Some(to));
    }

    fn notify(&mut self, way: Path, link: FailedLink) {
        let known = |notice: &Notice| notice.link == link && notice.way.last() == way.last();
        if !self.notices.iter().any(known) {
            self.notices.push_back(Notice { way, link });
        }
    }
}

/// The state of a broken link while the routes are searched.
struct Broken<'a> {
    me: Ipv4Addr,
    ignore_data: bool,
    /// The route whose data packet failed on the link.
    failed: Option<&'a Path>,
    /// Nodes that need no notice: the neighbour that sent the report, its originator, and the neighbour that
    /// receives the same packet.
    informed: [Option<Ipv4Addr>; 3],
}

impl Broken<'_> {
    fn knows(&self, node: Ipv4Addr) -> bool {
        self.informed.contains(&Some(node))
    }

    /// Collects the nodes to notify about a route that crosses the link between its nodes `at` and `at + 1`.
    fn look(&self, entry: &Entry, at: usize, near: &mut Vec<Ipv4Addr>, far: &mut Vec<Path>) {
        let nodes = entry.route.as_slice();
        let Some(me) = entry.route.position(self.me) else { return };
        // Each node before this one has forwarded the data packet.
        let before = self.ignore_data || entry.data >= 1;
        // The next node has received it, unless it was the first and failed on its way there.
        let got_past = entry.data >= DATA_MAX || self.failed != Some(&entry.route);
        let behind = self.ignore_data || entry.data >= 1 && got_past;
        // The node that sent the reply has the route from itself on, but not the link to this node.
        let next = behind || entry.replied;
        let (is_tail, is_head) = (me == at, me == at + 1);
        if before
            && !is_head
            && let Some(node) = me.checked_sub(1).and_then(|at| nodes.get(at))
        {
            near.push(*node);
        }
        if next
            && !is_tail
            && let Some(node) = nodes.get(me + 1)
        {
            near.push(*node);
        }
        let beyond = if is_tail && behind {
            Path::of(nodes.get(at + 1..).unwrap_or_default())
        } else if is_head && before {
            Path::of(nodes.get(..=at).unwrap_or_default()).reversed()
        } else {
            return;
        };
        // One of them notifies the others.
        if !beyond.as_slice().iter().any(|node| self.knows(*node)) {
            far.push(beyond);
        }
    }
}

impl CacheTable {
    /// Removes a broken link and collects the nodes to notify; returns true if it was known. A node that does
    /// not have the link notifies none, so that the process terminates.
    pub(super) fn update(&mut self, link: FailedLink, news: News<'_>) -> bool {
        let Self { me, options, table, replies, secondary, targets, .. } = self;
        let Targets { near, far, .. } = targets;
        near.clear();
        far.clear();
        let (failed, informed) = match news {
            News::LinkLayer { route } => (route, [None; 3]),
            News::RouteError { reporter, from, also, .. } => {
                (None, [Some(reporter), Some(from), also])
            }
        };
        let broken = Broken { me: *me, ignore_data: options.ignore_data, failed, informed };
        let mut was_known = table
            .remove(link, *me, options.truncate, |entry, at| broken.look(entry, at, near, far));
        replies.remove(link, options.truncate, |neighbour| {
            let beyond =
                [link.from, link.to].contains(me) && [link.from, link.to].contains(&neighbour);
            match (options.ignore_replies, beyond) {
                (true, _) => {}
                (false, true) if broken.knows(neighbour) => {}
                (false, true) => far.push(Path::of(&[neighbour])),
                (false, false) => near.push(neighbour),
            }
        });
        was_known |= secondary.remove(link, *me, options.truncate);
        if options.notify {
            near.retain(|node| !broken.knows(*node) && *node != *me);
            self.notify(link);
        }
        was_known
    }

    /// Queues the notices. Those to nodes beyond the link come first: a node that forwards one needs none of
    /// its own.
    fn notify(&mut self, link: FailedLink) {
        for at in 0..self.targets.far.len() {
            let Some(beyond) = self.targets.far.get(at).copied() else { continue };
            let mut ways = beyond.as_slice().iter().filter_map(|node| self.way(*node));
            if let Some(way) = ways.next() {
                self.targets.notify(way, link);
            }
        }
        for at in 0..self.targets.near.len() {
            let Some(node) = self.targets.near.get(at).copied() else { continue };
            self.targets.notify(Path::hop(self.me, node), link);
        }
    }
}
