//! The interface of a route cache: events in, routes and notices to other nodes out.
//!
//! Discovery, maintenance and forwarding report every route that this node learns, with its origin, and every
//! link failure, with the origin of the report. The cache decides what it keeps, for how long, and which
//! nodes are notified of a failed link. A cache is one file, with an entry in the list of
//! [`caches`](super::caches).

use alloc::boxed::Box;
use core::fmt::Debug;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::DsrHeader;

use super::path::{Path, SourceRoute};

/// A route cache (RFC 4728 §4.1). Time never decreases; after each event the node polls for notices until
/// there is none.
///
/// Events about routes return true if the cache learned something new, so that buffered packets may have a
/// route.
pub(crate) trait RouteCache: Debug + Send {
    /// A route that starts at this node was learned.
    fn on_route_learned(&mut self, now: Instant, path: &Path, by: LearnedBy) -> bool;

    /// A route was observed in a packet that this node received, forwards or has overheard. Packets on an
    /// established flow, which carry none (RFC 4728 §3.5), are not reported.
    fn on_route_observed(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
    ) -> bool;

    /// A reply of this node was sent, from its cache (RFC 4728 §8.2.3) or gratuitous (§3.4.3): it lists
    /// `route`, from the initiator to the target, and goes to the neighbour `to`.
    fn on_reply_sent(&mut self, _now: Instant, _route: &Path, _to: Ipv4Addr) {}

    /// A packet leaves this node on `path`, which starts here; `data`: it is a host packet. It is this node's
    /// own, or one that it salvages.
    fn on_route_used(&mut self, _now: Instant, _path: &Path, _data: bool) {}

    /// A link has failed. Returns true if it was in the cache.
    fn on_link_failure(
        &mut self,
        now: Instant,
        link: FailedLink,
        report: LinkFailureReport<'_>,
    ) -> bool;

    /// An error of this node about a link, ordinary or a notice, leaves for the neighbour `to`, which needs
    /// no other; the cache may add options to it. It follows `on_link_failure`, and if it is an ordinary one,
    /// precedes polling for notices.
    fn on_error_sent(&mut self, _link: FailedLink, _to: Ipv4Addr, _header: &mut DsrHeader) {}

    /// A route to `destination`, for inspection or to be listed in a reply.
    fn lookup(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// A route to `destination`, for a packet of this node.
    fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// A route to `destination`, to salvage a packet of another node.
    fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// The hop to and from `host` is external (RFC 4728 §4.1): no route may lead through this host.
    fn mark_external(&mut self, _host: Ipv4Addr) {}

    /// The next notice.
    fn poll_notice(&mut self) -> Option<LinkFailureNotice> {
        None
    }

    /// Returns true if there is a route over this link, in its direction, for inspection: overheard routes
    /// that were never used need not count.
    fn has_link(&self, now: Instant, link: FailedLink) -> bool;

    /// A clone in a box.
    fn clone_boxed(&self) -> Box<dyn RouteCache>;
}

impl Clone for Box<dyn RouteCache> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// The origin of a route that starts at this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LearnedBy {
    /// A reply to this node (RFC 4728 §8.2.6).
    Reply,
    /// The reverse of a request's route (§8.1.4).
    Request,
    /// The same, and this node is the target: its reply takes the route (§8.2.4).
    OwnReply,
    /// The same, and a reply from the cache takes the route.
    CachedReply,
    /// The reverse of an overheard route, taken by a gratuitous reply (§3.4.3).
    Shortening,
}

/// The kind of packet in which a route was observed, and this node's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "part of the interface; not every cache uses it")]
pub(crate) enum RouteObservation {
    /// The source route of a packet that this node forwards; `data`: it is a host packet.
    Forwarded { data: bool },
    /// The source route of a packet for this node.
    Received { data: bool },
    /// The source route of an overheard packet.
    Overheard { data: bool },
    /// The route listed in a reply that this node forwards to the neighbour `to`.
    ForwardedReply { to: Ipv4Addr },
    /// The route listed in an overheard reply.
    OverheardReply,
}

/// The origin of a link failure report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "part of the interface; not every cache uses it")]
pub(crate) enum LinkFailureReport<'a> {
    /// The local link layer, for a packet with the source route `route`; `None` if the packet has none.
    /// Ordinary route errors about it (RFC 4728 §8.3.4) follow as `on_error_sent`.
    LinkLayer { route: Option<&'a Path> },
    /// A route error in a packet of `reporter`, received from the neighbour `from`. The neighbour
    /// `also_sent_to` receives it, too: this node forwards it there, or it was overheard on its way there. In
    /// a header with a request it is flooded. The header may hold further options.
    RouteError {
        reporter: Ipv4Addr,
        from: Ipv4Addr,
        also_sent_to: Option<Ipv4Addr>,
        header: &'a DsrHeader,
    },
}

/// A notice of a link failure to one node. It is sent as a route error (RFC 4728 §6.4) to the last node of
/// `path` and no farther, reaches the caches on the path and at its end as [`LinkFailureReport::RouteError`],
/// and is lost if a link of the path fails: it is not rerouted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkFailureNotice {
    /// The path from this node to the notified one, often a neighbour.
    pub path: Path,
    pub link: FailedLink,
}
