//! DSR-Update: the distributed cache update of Yu and Kedem, as summarized in yu-2004 §2.2. A node keeps its
//! routes in a table without a limit and records which other nodes have them. When a link breaks it notifies
//! these nodes, which do the same. So notices reach exactly the reachable nodes that have the link in their
//! tables, without any timer or threshold.
//!
//! | file | contents |
//! |---|---|
//! | `table` | the routes, and the number of data packets that each has carried |
//! | `replies` | the neighbours that have learned a route by a reply |
//! | `secondary` | routes of overheard packets |
//! | `targets` | the nodes notified of a broken link |
//!
//! # Provenance
//!
//! yu-2004 describes the algorithm in a page. The report that it refers to (Yu and Kedem, TR2003-842) was not
//! available, and nothing here claims to be its text. The structure is the paper's; the details are this
//! implementation's:
//!
//! | | the paper | this implementation |
//! |---|---|---|
//! | the table | it has no limit (§5.3.3); for each route a node knows whether its links are cached upstream only, on both sides, or on neither (§2.2) | a count of data packets (0, 1, 2) expresses this. Each route that carries data is a separate entry; one that was learned by a reply is extended to the source route of the first data packet of its pair |
//! | the reply records | the neighbour that has learned a link by a reply (§2.2) | a record is the whole route that the neighbour has learned, with the link to the neighbour. The records of a node are one list beside its entries: they remain valid when an entry is removed because of a link that they do not contain. A record ends when its link breaks, or when data of its pair takes its whole route: then the entry contains the same information. A target records its own replies, too |
//! | triggers | a link that this node finds broken, a notification (§2.2) | any route error that it receives, forwards or overhears. The link is removed in both directions |
//! | notified nodes | only nodes of the neighbourhood that have the link (§2.2); the notifications are route errors, and count as routing packets (§5.1) | on each route over the link the nodes before and behind this one, also towards the link; neighbours with a record; and, by each end of the link, the nearest node beyond it to which there is a cached route, with a notice that goes there and no farther |
//! | excluded nodes | – | the neighbour that sent the report, its originator, and the next hop of the ordinary error; no node beyond the link if one of these is there. A notice never starts a route discovery, and one that fails is lost, without an error about it |
//! | the first data packet | – | a route whose first data packet fails is not known to the nodes behind the link. The failure of another node's packet does not imply this |
//! | overheard routes | a secondary cache; a route moves to the table when this node is about to use it (§5.3.1) | 64 of them, the oldest is evicted; only the used part is moved |
//! | lookups | – | the shortest route, then the one that has carried more, then the newest, in either direction; the secondary cache if the table has none |
//! | a broken route | – | is removed as a whole; with `truncate` the part before the link is kept |
//!
//! Nothing is learned from requests and from the source routes of control packets. `cache_requests`,
//! `cache_received_routes`, `cache_forwarded_replies`, `learn_both_ways` and `forget_both_ways` of the
//! configuration do not affect the table, and the other options of that kind only overheard routes: the
//! records about other nodes are correct because all nodes follow the same rules.
//!
//! # Coverage
//!
//! After the first failure of a link, in any network without promiscuous mode and lost frames, all nodes that
//! have taught each other the link are notified, including those beyond it if there is a cached route, and no
//! notice is unnecessary (`tests/dsr/update.rs`). After other failures this holds for all but 1 notice in 60,
//! which is unnecessary: a node to which no cached route led keeps a route that others have removed.
//!
//! Many nodes are beyond a broken link. Of the tables with such a link, in random networks of 12 nodes:
//!
//! | | stale afterwards | of these known and missed | stale without notices |
//! |---|---|---|---|
//! | not promiscuous, no loss | 35 % | 0 % | 74 % |
//! | not promiscuous, 2 % of the frames lost for good | 40 % | 6 % | 74 % |
//! | not promiscuous, 10 % | 44 % | 16 % | 69 % |
//! | promiscuous, no loss | 25 % | 2 % | 66 % |
//! | promiscuous, 2 % | 31 % | 5 % | 64 % |
//! | promiscuous, 10 % | 38 % | 4 % | 67 % |
//!
//! The nodes of an overheard route do not know which nodes have overheard it, so not all of these are
//! notified.

mod replies;
mod secondary;
mod table;
mod targets;
#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::DsrHeader;

use super::cache::{LearnedBy, LinkFailureNotice, LinkFailureReport, RouteCache, RouteObservation};
use super::cache_descriptor::{CacheDescriptor, CacheOptions, UpdateOptions};
use super::caching_policy::CachingPolicy;
use super::caching_rules::CachingRules;
use super::path::{Path, SourceRoute};
use replies::ReplyRecords;
use secondary::SecondaryCache;
use table::RouteTable;
use targets::NotificationTargets;

pub(crate) const DESCRIPTOR: CacheDescriptor = CacheDescriptor {
    name: "update",
    options: CacheOptions::Update(UpdateOptions::PAPER),
    options_are_optional: true,
    build: |me, options, rules| Box::new(UpdateCache::new(me, options.update(), rules)),
};

#[derive(Clone, Debug)]
struct UpdateCache {
    me: Ipv4Addr,
    options: UpdateOptions,
    /// A packet to a neighbour carries its route.
    route_to_neighbour: bool,
    table: RouteTable,
    replies: ReplyRecords,
    secondary: SecondaryCache,
    /// The policy for overheard routes.
    policy: CachingPolicy,
    targets: NotificationTargets,
}

impl UpdateCache {
    fn new(me: Ipv4Addr, options: UpdateOptions, rules: &CachingRules) -> Self {
        Self {
            me,
            options,
            route_to_neighbour: rules.route_to_neighbour,
            table: RouteTable::default(),
            replies: ReplyRecords::default(),
            secondary: SecondaryCache::new(options.secondary),
            policy: CachingPolicy::new(me, rules, None),
            targets: NotificationTargets::default(),
        }
    }

    /// Records a reply that lists `route` and goes to the neighbour `to`, which learns the part of it from
    /// itself on. The part from this node on is added to the table; returns true if it is new. `forwarded`:
    /// the reply came from the next node of the route.
    fn record_reply(&mut self, route: &Path, to: Ipv4Addr, forwarded: bool) -> bool {
        let (me, nodes) = (route.position(self.me), route.as_slice());
        let (Some(me), Some(pair), false) = (me, route.first().zip(route.last()), route.has_loop())
        else {
            return false;
        };
        if let Some(theirs) = route.position(to).filter(|at| *at < me) {
            self.replies.record(Path::of(nodes.get(theirs..).unwrap_or_default()), pair.0);
        }
        let rest = Path::of(nodes.get(me..).unwrap_or_default());
        let rest = self.policy.usable_prefix(&rest);
        rest.is_some_and(|rest| self.table.learn(&rest, pair, forwarded))
    }

    /// Records a data packet with this source route at this node.
    fn record_data(&mut self, route: &Path) -> bool {
        if route.has_loop() || !route.contains(self.me) {
            return false;
        }
        self.replies.remove_covered(route, self.me);
        self.table.record_data_packet(route, self.me)
    }

    /// The route to a destination: from the secondary cache if the table has none.
    fn find_route(&self, destination: Ipv4Addr) -> Option<Path> {
        let route = self.table.find(self.me, destination);
        let route = route.or_else(|| self.secondary.find(destination));
        route.filter(|path| self.policy.fits(path))
    }

    /// Records a route observed in packets of other nodes.
    fn record_overheard(&mut self, path: &Path) -> bool {
        let Self { table, secondary, policy, .. } = self;
        policy
            .usable_prefix(path)
            .is_some_and(|path| add_overheard(table, secondary, policy, &path))
    }
}

/// Adds an overheard route, unless the table has it. A recent one may have been evicted: hearing that again
/// adds it again.
fn add_overheard(
    table: &RouteTable,
    secondary: &mut SecondaryCache,
    learning: &mut CachingPolicy,
    path: &Path,
) -> bool {
    let new = !table.covers(path) && secondary.add(path);
    if new && secondary.is_full() {
        learning.clear_recent();
    }
    new
}

impl RouteCache for UpdateCache {
    fn on_route_learned(&mut self, _now: Instant, path: &Path, by: LearnedBy) -> bool {
        match by {
            LearnedBy::Reply => {
                let pair = path.first().zip(path.last());
                let path = self.policy.usable_prefix(path);
                path.zip(pair).is_some_and(|(path, pair)| self.table.learn(&path, pair, true))
            }
            // The next hop learns from the reply that this node is its neighbour.
            LearnedBy::OwnReply => {
                if let (Some(to), Some(source)) = (path.get(1), path.last()) {
                    self.replies.record(Path::hop(to, self.me), source);
                }
                false
            }
            LearnedBy::Shortening => self.record_overheard(path),
            LearnedBy::Request | LearnedBy::CachedReply => false,
        }
    }

    fn on_route_observed(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
    ) -> bool {
        match heard {
            RouteObservation::ForwardedReply { to } => self.record_reply(&route.path, to, true),
            RouteObservation::Forwarded { data } | RouteObservation::Received { data } => {
                data && self.record_data(&route.path)
            }
            RouteObservation::Overheard { .. } | RouteObservation::OverheardReply => {
                let Self { table, secondary, policy, .. } = self;
                policy.observe(now, route, heard, |policy, path, _| {
                    add_overheard(table, secondary, policy, path)
                })
            }
        }
    }

    fn on_reply_sent(&mut self, _now: Instant, route: &Path, to: Ipv4Addr) {
        self.record_reply(route, to, false);
    }

    fn on_route_used(&mut self, _now: Instant, path: &Path, data: bool) {
        // RFC 4728 §8.1.1: from a packet without a route the neighbour learns nothing.
        if data && (path.len() > 2 || self.route_to_neighbour) {
            self.record_data(path);
        }
    }

    fn on_link_failure(
        &mut self,
        _now: Instant,
        link: FailedLink,
        report: LinkFailureReport<'_>,
    ) -> bool {
        self.policy.clear_recent();
        self.handle_link_break(link, report)
    }

    fn on_error_sent(&mut self, link: FailedLink, to: Ipv4Addr, _header: &mut DsrHeader) {
        self.targets.cancel_notice(link, to);
    }

    fn lookup(&mut self, _now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.find_route(destination)
    }

    fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        let route = self.lookup(now, destination)?;
        if self.table.find(self.me, destination).is_none() {
            self.secondary.take(destination);
            self.policy.clear_recent();
            self.table.learn(&route, (self.me, destination), false);
        }
        Some(route)
    }

    /// The salvaged packet starts a route here, so this is a use like any other.
    fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.select(now, destination)
    }

    fn poll_notice(&mut self) -> Option<LinkFailureNotice> {
        self.targets.poll()
    }

    fn has_link(&self, _now: Instant, link: FailedLink) -> bool {
        self.table.has_link(link)
    }

    fn clone_boxed(&self) -> Box<dyn RouteCache> {
        Box::new(self.clone())
    }
}
