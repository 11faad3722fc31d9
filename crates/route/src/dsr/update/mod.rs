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

use super::cache::{Heard, LearnedBy, News, Notice, RouteCache};
use super::caches::{CacheOptions, ListedCache, UpdateOptions};
use super::config::DsrConfig;
use super::learning::Learning;
use super::path::{Carried, Path};
use replies::ReplyRecords;
use secondary::Secondary;
use table::Table;
use targets::Targets;

pub(crate) const LISTED: ListedCache = ListedCache {
    name: "update",
    options: CacheOptions::Update(UpdateOptions::PAPER),
    by_name: true,
    build: |me, config| Box::new(CacheTable::new(me, config.cache.options().update(), config)),
};

#[derive(Clone, Debug)]
struct CacheTable {
    me: Ipv4Addr,
    options: UpdateOptions,
    /// A packet to a neighbour carries its route.
    route_to_neighbour: bool,
    table: Table,
    replies: ReplyRecords,
    secondary: Secondary,
    /// The policy for overheard routes.
    learning: Learning,
    targets: Targets,
}

impl CacheTable {
    fn new(me: Ipv4Addr, options: UpdateOptions, config: &DsrConfig) -> Self {
        Self {
            me,
            options,
            route_to_neighbour: config.route_to_neighbour,
            table: Table::default(),
            replies: ReplyRecords::default(),
            secondary: Secondary::new(options.secondary),
            learning: Learning::new(me, config, None),
            targets: Targets::default(),
        }
    }

    /// Records a reply that lists `route` and goes to the neighbour `to`, which learns the part of it from
    /// itself on. The part from this node on is added to the table; returns true if it is new. `forwarded`:
    /// the reply came from the next node of the route.
    fn replied(&mut self, route: &Path, to: Ipv4Addr, forwarded: bool) -> bool {
        let (me, nodes) = (route.position(self.me), route.as_slice());
        let (Some(me), Some(pair), false) = (me, route.first().zip(route.last()), route.has_loop())
        else {
            return false;
        };
        if let Some(theirs) = route.position(to).filter(|at| *at < me) {
            self.replies.note(Path::of(nodes.get(theirs..).unwrap_or_default()), pair.0);
        }
        let rest = Path::of(nodes.get(me..).unwrap_or_default());
        let rest = self.learning.usable(&rest);
        rest.is_some_and(|rest| self.table.learn(&rest, pair, forwarded))
    }

    /// Records a data packet with this source route at this node.
    fn carried(&mut self, route: &Path) -> bool {
        if route.has_loop() || !route.contains(self.me) {
            return false;
        }
        self.replies.covered(route, self.me);
        self.table.carry(route, self.me)
    }

    /// The route to a destination: from the secondary cache if the table has none.
    fn way(&self, destination: Ipv4Addr) -> Option<Path> {
        let route = self.table.find(self.me, destination);
        let route = route.or_else(|| self.secondary.find(destination));
        route.filter(|path| self.learning.fits(path))
    }

    /// Records a route observed in packets of other nodes.
    fn overheard(&mut self, path: &Path) -> bool {
        let Self { table, secondary, learning, .. } = self;
        learning.usable(path).is_some_and(|path| add(table, secondary, learning, &path))
    }
}

/// Adds an overheard route, unless the table has it. A recent one may have been evicted: hearing that again
/// adds it again.
fn add(table: &Table, secondary: &mut Secondary, learning: &mut Learning, path: &Path) -> bool {
    let new = !table.covers(path) && secondary.add(path);
    if new && secondary.is_full() {
        learning.forget_seen();
    }
    new
}

impl RouteCache for CacheTable {
    fn on_learned(&mut self, _now: Instant, path: &Path, by: LearnedBy) -> bool {
        match by {
            LearnedBy::Reply => {
                let pair = path.first().zip(path.last());
                let path = self.learning.usable(path);
                path.zip(pair).is_some_and(|(path, pair)| self.table.learn(&path, pair, true))
            }
            // The next hop learns from the reply that this node is its neighbour.
            LearnedBy::OwnReply => {
                if let (Some(to), Some(source)) = (path.get(1), path.last()) {
                    self.replies.note(Path::hop(to, self.me), source);
                }
                false
            }
            LearnedBy::Shortening => self.overheard(path),
            LearnedBy::Request | LearnedBy::CachedReply => false,
        }
    }

    fn on_heard(&mut self, now: Instant, route: &Carried, heard: Heard) -> bool {
        match heard {
            Heard::ForwardedReply { to } => self.replied(&route.path, to, true),
            Heard::Forwarded { data } | Heard::Received { data } => {
                data && self.carried(&route.path)
            }
            Heard::Overheard { .. } | Heard::OverheardReply => {
                let Self { table, secondary, learning, .. } = self;
                learning.hear(now, route, heard, |learning, path, _| {
                    add(table, secondary, learning, path)
                })
            }
        }
    }

    fn on_replied(&mut self, _now: Instant, route: &Path, to: Ipv4Addr) {
        self.replied(route, to, false);
    }

    fn on_used(&mut self, _now: Instant, path: &Path, data: bool) {
        // RFC 4728 §8.1.1: from a packet without a route the neighbour learns nothing.
        if data && (path.len() > 2 || self.route_to_neighbour) {
            self.carried(path);
        }
    }

    fn on_broken(&mut self, _now: Instant, link: FailedLink, news: News<'_>) -> bool {
        self.learning.forget_seen();
        self.update(link, news)
    }

    fn on_error(&mut self, link: FailedLink, to: Ipv4Addr, _header: &mut DsrHeader) {
        self.targets.informed(link, to);
    }

    fn find(&mut self, _now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.way(destination)
    }

    fn take(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        let route = self.find(now, destination)?;
        if self.table.find(self.me, destination).is_none() {
            self.secondary.take(destination);
            self.learning.forget_seen();
            self.table.learn(&route, (self.me, destination), false);
        }
        Some(route)
    }

    /// The salvaged packet starts a route here, so this is a use like any other.
    fn take_for_another(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.take(now, destination)
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        self.targets.poll()
    }

    fn has_link(&self, _now: Instant, link: FailedLink) -> bool {
        self.table.has(link)
    }

    fn boxed(&self) -> Box<dyn RouteCache> {
        Box::new(self.clone())
    }
}
