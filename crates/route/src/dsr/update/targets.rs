//! The nodes that are notified of a broken link.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::cache::{LinkFailureNotice, LinkFailureReport};
use super::super::path::Path;
use super::UpdateCache;
use super::table::{DATA_MAX, RouteEntry};

/// The nodes to notify, while they are collected, and the notices to them.
#[derive(Clone, Debug, Default)]
pub(super) struct NotificationTargets {
    /// Nodes on this side of the link.
    near_side: Vec<Ipv4Addr>,
    /// Nodes beyond it, for each route, the nearest first: the first with another route to it is notified.
    far_side: Vec<Path>,
    notices: VecDeque<LinkFailureNotice>,
}

impl NotificationTargets {
    pub fn poll(&mut self) -> Option<LinkFailureNotice> {
        self.notices.pop_front()
    }

    /// Cancels the notice to a node that is informed by another packet.
    pub fn cancel_notice(&mut self, link: FailedLink, to: Ipv4Addr) {
        self.notices.retain(|notice| notice.link != link || notice.path.last() != Some(to));
    }

    fn notify(&mut self, path: Path, link: FailedLink) {
        let known =
            |notice: &LinkFailureNotice| notice.link == link && notice.path.last() == path.last();
        if !self.notices.iter().any(known) {
            self.notices.push_back(LinkFailureNotice { path, link });
        }
    }
}

/// The state of a broken link while the routes are searched.
struct BrokenLink<'a> {
    me: Ipv4Addr,
    ignore_data: bool,
    /// The route whose data packet failed on the link.
    failed: Option<&'a Path>,
    /// Nodes that need no notice: the neighbour that sent the report, its originator, and the neighbour that
    /// receives the same packet.
    informed: [Option<Ipv4Addr>; 3],
}

impl BrokenLink<'_> {
    fn is_informed(&self, node: Ipv4Addr) -> bool {
        self.informed.contains(&Some(node))
    }

    /// Collects the nodes to notify about a route that crosses the link between its nodes `at` and `at + 1`.
    fn collect_targets(
        &self,
        entry: &RouteEntry,
        at: usize,
        near: &mut Vec<Ipv4Addr>,
        far: &mut Vec<Path>,
    ) {
        let nodes = entry.route.as_slice();
        let Some(me) = entry.route.position(self.me) else { return };
        // Each node before this one has forwarded the data packet.
        let before = self.ignore_data || entry.data_packets >= 1;
        // The next node has received it, unless it was the first and failed on its way there.
        let got_past = entry.data_packets >= DATA_MAX || self.failed != Some(&entry.route);
        let behind = self.ignore_data || entry.data_packets >= 1 && got_past;
        // The node that sent the reply has the route from itself on, but not the link to this node.
        let next = behind || entry.learned_by_reply;
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
        if !beyond.as_slice().iter().any(|node| self.is_informed(*node)) {
            far.push(beyond);
        }
    }
}

impl UpdateCache {
    /// Removes a broken link and collects the nodes to notify; returns true if it was known. A node that does
    /// not have the link notifies none, so that the process terminates.
    pub(super) fn handle_link_break(
        &mut self,
        link: FailedLink,
        report: LinkFailureReport<'_>,
    ) -> bool {
        let Self { me, options, table, replies, secondary, targets, .. } = self;
        let NotificationTargets { near_side, far_side, .. } = targets;
        near_side.clear();
        far_side.clear();
        let (failed, informed) = match report {
            LinkFailureReport::LinkLayer { route } => (route, [None; 3]),
            LinkFailureReport::RouteError { reporter, from, also_sent_to, .. } => {
                (None, [Some(reporter), Some(from), also_sent_to])
            }
        };
        let broken = BrokenLink { me: *me, ignore_data: options.ignore_data, failed, informed };
        let mut was_known = table.remove(link, *me, options.truncate, |entry, at| {
            broken.collect_targets(entry, at, near_side, far_side)
        });
        replies.remove(link, options.truncate, |neighbour| {
            let beyond =
                [link.from, link.to].contains(me) && [link.from, link.to].contains(&neighbour);
            match (options.ignore_replies, beyond) {
                (true, _) => {}
                (false, true) if broken.is_informed(neighbour) => {}
                (false, true) => far_side.push(Path::of(&[neighbour])),
                (false, false) => near_side.push(neighbour),
            }
        });
        was_known |= secondary.remove(link, *me, options.truncate);
        if options.notify {
            near_side.retain(|node| !broken.is_informed(*node) && *node != *me);
            self.notify(link);
        }
        was_known
    }

    /// Queues the notices. Those to nodes beyond the link come first: a node that forwards one needs none of
    /// its own.
    fn notify(&mut self, link: FailedLink) {
        for at in 0..self.targets.far_side.len() {
            let Some(beyond) = self.targets.far_side.get(at).copied() else { continue };
            let mut paths = beyond.as_slice().iter().filter_map(|node| self.find_route(*node));
            if let Some(path) = paths.next() {
                self.targets.notify(path, link);
            }
        }
        for at in 0..self.targets.near_side.len() {
            let Some(node) = self.targets.near_side.get(at).copied() else { continue };
            self.targets.notify(Path::hop(self.me, node), link);
        }
    }
}
