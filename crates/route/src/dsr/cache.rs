//! What a route cache is to the rest of DSR: events go in, routes and notices to other nodes come out.
//!
//! Discovery, maintenance and forwarding report every route that this node comes to know of, with its
//! provenance, and every link that fails, with where the news comes from. What is kept of that, for
//! how long, and which node has to hear of a failed link is the cache's own affair. A cache is
//! one file, which has an entry for the list in [`caches`](super::caches).

use alloc::boxed::Box;
use core::fmt::Debug;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_wire::DsrHeader;

use super::path::{SourceRoute, Path};

/// A route cache (RFC 4728 §4.1). Time never goes back; after each event the node polls for notices
/// until there is none.
///
/// Events about routes say whether there is anything new in it, for what waits for a route.
pub(crate) trait RouteCache: Debug + Send {
    /// A route that begins at this node.
    fn on_route_learned(&mut self, now: Instant, path: &Path, by: LearnedBy) -> bool;

    /// A route in a packet that this node has received, forwards or has overheard. Of packets on an
    /// established flow, which carry none (RFC 4728 §3.5), nothing is heard.
    fn on_route_observed(&mut self, now: Instant, route: &SourceRoute, heard: RouteObservation) -> bool;

    /// A reply of this node leaves, from its cache (RFC 4728 §8.2.3) or gratuitous (§3.4.3): it lists
    /// `route`, from the initiator to the target, and goes to the neighbour `to`.
    fn on_reply_sent(&mut self, _now: Instant, _route: &Path, _to: Ipv4Addr) {}

    /// A packet leaves this node on `path`, which begins here; `data`: it is a host's. Its own packet,
    /// or another's that it salvages.
    fn on_route_used(&mut self, _now: Instant, _path: &Path, _data: bool) {}

    /// A link does not carry; was it known?
    fn on_link_failure(&mut self, now: Instant, link: FailedLink, report: LinkFailureReport<'_>) -> bool;

    /// An error of this node about a link, ordinary or a notice, leaves for the neighbour `to`, which
    /// needs no other; the cache may add options to it. It comes after `on_broken`, and if it is an
    /// ordinary one, before notices are polled for.
    fn on_error_sent(&mut self, _link: FailedLink, _to: Ipv4Addr, _header: &mut DsrHeader) {}

    /// A route to `destination`, to be looked at or listed in a reply.
    fn lookup(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// A route to `destination`, for a packet of this node.
    fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// A route to `destination`, to salvage another's packet.
    fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path>;

    /// The next notice.
    fn poll_notice(&mut self) -> Option<LinkFailureNotice> {
        None
    }

    /// Is there a route over this link, in its direction? For those who look: what was only overheard
    /// and never used need not count.
    fn has_link(&self, now: Instant, link: FailedLink) -> bool;

    /// Another of the same content.
    fn clone_boxed(&self) -> Box<dyn RouteCache>;
}

impl Clone for Box<dyn RouteCache> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

/// How this node has learned of a route that begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LearnedBy {
    /// A reply to this node (RFC 4728 §8.2.6).
    Reply,
    /// A request that has come by the reverse of it (§8.1.4).
    Request,
    /// The same, and this node is the target: its reply takes the route (§8.2.4).
    OwnReply,
    /// The same, and a reply from the cache takes the route.
    CachedReply,
    /// A gratuitous reply takes it, which shortens another's route (§3.4.3).
    Shortening,
}

/// In what a route was heard, and what this node has to do with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the contract: a cache that keeps less asks for less")]
pub(crate) enum RouteObservation {
    /// The source route of a packet that this node forwards; `data`: the packet is a host's.
    Forwarded { data: bool },
    /// The source route of a packet for this node.
    Received { data: bool },
    /// The source route of a packet between others.
    Overheard { data: bool },
    /// The route listed in a reply that this node forwards to the neighbour `to`.
    ForwardedReply { to: Ipv4Addr },
    /// The route listed in a reply between others.
    OverheardReply,
}

/// Where the news of a failed link comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the contract: a cache that informs nobody does not ask")]
pub(crate) enum LinkFailureReport<'a> {
    /// The own link layer, which could not carry a packet that takes `route`; `None` if the packet
    /// has none. Ordinary route errors about it (RFC 4728 §8.3.4) follow as `on_error`.
    LinkLayer { route: Option<&'a Path> },
    /// A route error in a packet of `reporter`, heard from the neighbour `from`. The neighbour `also`
    /// gets it, too: from this node, or because it was on the air to that one. In a header with a
    /// request it goes on to all. Further options may stand there.
    RouteError { reporter: Ipv4Addr, from: Ipv4Addr, also_sent_to: Option<Ipv4Addr>, header: &'a DsrHeader },
}

/// A node has to hear that a link does not carry. It goes out as a route error (RFC 4728 §6.4) to the
/// last node of `way` and no farther, reaches the caches on the way and that one's as
/// [`News::RouteError`], and is lost if a link of the way does not carry either: nobody looks for
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkFailureNotice {
    /// From this node to the one that has to hear, often a neighbour.
    pub path: Path,
    pub link: FailedLink,
}
