//! DSR-Update: the distributed cache update of Yu and Kedem, as yu-2004 §2.2 sums it up. A node keeps
//! its routes in a table without a limit and notes which other nodes have them. When a link breaks it
//! informs these, which do the same. So the news gets to the nodes that have the link in their tables
//! and can be reached, and to no others, and no timer or threshold has to be chosen.
//!
//! | file | what |
//! |---|---|
//! | `table` | the routes, and how many data packets each has carried |
//! | `replies` | who has learned a route by a reply |
//! | `secondary` | routes of packets overheard |
//! | `targets` | who is informed of a broken link |
//!
//! # Whose it is
//!
//! yu-2004 describes the algorithm in a page. The report that it refers to (Yu and Kedem, TR2003-842)
//! was not at hand, and nothing here claims to be its text. The structure is the paper's, and what
//! fills it in is ours:
//!
//! | | the paper's | ours |
//! |---|---|---|
//! | the table | it has no limit (§5.3.3); of each route a node knows whether its links are cached upstream only, on both sides, or on neither (§2.2) | a count of data packets (0, 1, 2) says so. Each route that carries data is an entry of its own; one that was learned by a reply grows into the source route of the first data packet of its pair |
//! | the replies | which neighbour has learned which link by a reply (§2.2) | a record is the whole route that the neighbour has learned, with the link to the neighbour. The records of a node stand in one list beside its entries: they stay true when an entry goes because of a link that they do not have. One is over when its link breaks, or when data of its pair takes its whole route: then the entry says as much. A target notes its own replies, too |
//! | what starts it | a link that this node finds broken, a notification (§2.2) | any route error that it receives, forwards or overhears. The link is gone in both directions |
//! | who is informed | only nodes of the neighbourhood that have the link (§2.2); the notifications are route errors, and routing packets (§5.1) | on each route over the link the nodes before and behind this one, also towards the link; neighbours with a record; and by each end of the link the nearest node beyond it to which a cached route leads, with a notice that goes there and no farther |
//! | who is not | – | who the news comes from or was reported by, who gets the ordinary error; nobody beyond the link if one of these is there. A notice is never looked a route for, and one that fails is lost, without an error about it |
//! | the first data packet | – | a route whose first data packet fails is known to nobody behind. That another's packet fails says nothing of it |
//! | overheard routes | a secondary cache; a route moves to the table when this node is about to use it (§5.3.1) | 64 of them, the oldest makes room; as much of one moves as is used |
//! | lookups | – | the shortest route, then the one that has carried more, then the newest, in either direction; the secondary cache if the table has none |
//! | a broken route | – | goes as a whole; with `truncate` the part before the link stays |
//!
//! Of requests, and of the source routes of control packets, nothing is learned. `cache_requests`,
//! `cache_received_routes`, `cache_forwarded_replies`, `learn_both_ways` and `forget_both_ways` of the
//! configuration change nothing in the table, and the others of that kind only what is overheard: what
//! a node notes of others is true because they all keep to these rules.
//!
//! # How far it reaches
//!
//! After the first failure of a link, in any network without tapping and lost frames, all that have
//! taught each other the link hear of it, with those beyond it if a cached route leads there, and
//! nobody hears of it in vain (`tests/dsr/update.rs`). After other failures that holds of all but 1 notice
//! in 60, which comes in vain: a node that no cached route led to keeps a route that others have
//! forgotten.
//!
//! Much lies beyond a broken link. Of the tables with such a link, in random networks of 12 nodes:
//!
//! | | stale afterwards | of these known and missed | stale without notices |
//! |---|---|---|---|
//! | no tapping, no loss | 35 % | 0 % | 74 % |
//! | no tapping, 2 % of the frames lost for good | 40 % | 6 % | 74 % |
//! | no tapping, 10 % | 44 % | 16 % | 69 % |
//! | tapping, no loss | 25 % | 2 % | 66 % |
//! | tapping, 2 % | 31 % | 5 % | 64 % |
//! | tapping, 10 % | 38 % | 4 % | 67 % |
//!
//! A route that was overheard is not known to the nodes on it, and so not all of them are informed.

mod replies;
mod secondary;
mod table;
mod targets;
#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::DsrHeader;

use super::cache::{RouteObservation, LearnedBy, LinkFailureReport, LinkFailureNotice, RouteCache};
use super::caches::{CacheOptions, CacheDescriptor, UpdateOptions};
use super::config::DsrConfig;
use super::caching_policy::CachingPolicy;
use super::path::{SourceRoute, Path};
use replies::ReplyRecords;
use secondary::SecondaryCache;
use table::RouteTable;
use targets::NotificationTargets;

pub(crate) const DESCRIPTOR: CacheDescriptor = CacheDescriptor {
    name: "update",
    options: CacheOptions::Update(UpdateOptions::PAPER),
    options_are_optional: true,
    build: |me, config| Box::new(UpdateCache::new(me, config.cache.options().update(), config)),
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
    /// What is kept of an overheard route.
    policy: CachingPolicy,
    targets: NotificationTargets,
}

impl UpdateCache {
    fn new(me: Ipv4Addr, options: UpdateOptions, config: &DsrConfig) -> Self {
        Self {
            me,
            options,
            route_to_neighbour: config.route_to_neighbour,
            table: RouteTable::default(),
            replies: ReplyRecords::default(),
            secondary: SecondaryCache::new(options.secondary),
            policy: CachingPolicy::new(me, config, None),
            targets: NotificationTargets::default(),
        }
    }

    /// A reply that lists `route` goes to the neighbour `to`, who learns the rest of it from itself
    /// on. What begins here is in the table from now on, if it is not there; is it new?
    /// `forwarded`: it has come from the next node.
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

    /// A data packet with this source route is here.
    fn record_data(&mut self, route: &Path) -> bool {
        if route.has_loop() || !route.contains(self.me) {
            return false;
        }
        self.replies.remove_covered(route, self.me);
        self.table.record_data_packet(route, self.me)
    }

    /// The route that there is: the secondary cache is asked if the table has none.
    fn find_route(&self, destination: Ipv4Addr) -> Option<Path> {
        let route = self.table.find(self.me, destination);
        let route = route.or_else(|| self.secondary.find(destination));
        route.filter(|path| self.policy.fits(path))
    }

    /// A route that this node has heard of by the packets of others.
    fn record_overheard(&mut self, path: &Path) -> bool {
        let Self { table, secondary, policy: learning, .. } = self;
        learning.usable_prefix(path).is_some_and(|path| add_overheard(table, secondary, learning, &path))
    }
}

/// Keeps an overheard route, unless the table has it. One may have made room: hearing that again
/// brings it back.
fn add_overheard(table: &RouteTable, secondary: &mut SecondaryCache, learning: &mut CachingPolicy, path: &Path) -> bool {
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
            // Its next hop learns by the reply that this node is beside it.
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

    fn on_route_observed(&mut self, now: Instant, route: &SourceRoute, heard: RouteObservation) -> bool {
        match heard {
            RouteObservation::ForwardedReply { to } => self.record_reply(&route.path, to, true),
            RouteObservation::Forwarded { data } | RouteObservation::Received { data } => {
                data && self.record_data(&route.path)
            }
            RouteObservation::Overheard { .. } | RouteObservation::OverheardReply => {
                let Self { table, secondary, policy: learning, .. } = self;
                learning.observe(now, route, heard, |learning, path, _| {
                    add_overheard(table, secondary, learning, path)
                })
            }
        }
    }

    fn on_reply_sent(&mut self, _now: Instant, route: &Path, to: Ipv4Addr) {
        self.record_reply(route, to, false);
    }

    fn on_route_used(&mut self, _now: Instant, path: &Path, data: bool) {
        // RFC 4728 §8.1.1: without a route in the packet the neighbour learns nothing.
        if data && (path.len() > 2 || self.route_to_neighbour) {
            self.record_data(path);
        }
    }

    fn on_link_failure(&mut self, _now: Instant, link: FailedLink, report: LinkFailureReport<'_>) -> bool {
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

    /// The salvaged packet begins a route here, and so this is a use as any.
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
