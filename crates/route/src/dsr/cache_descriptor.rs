//! The descriptor of a route cache, and the options that it accepts.

use alloc::boxed::Box;

use driftway_base::{Duration, Ipv4Addr, configuration};

use super::cache::RouteCache;
use super::caching_rules::CachingRules;

/// The descriptor of a route cache.
#[derive(Debug)]
pub struct CacheDescriptor {
    /// The name of the cache in scenarios.
    pub name: &'static str,
    /// The accepted options, with their defaults.
    pub options: CacheOptions,
    /// The options may be omitted, with these defaults; otherwise they are required.
    pub options_are_optional: bool,
    /// Creates the cache of the node at that address.
    pub(crate) build: fn(Ipv4Addr, CacheOptions, &CachingRules) -> Box<dyn RouteCache>,
}

/// The options of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOptions {
    /// None.
    None,
    /// Capacity and lifetime.
    Limits(CacheLimits),
    /// Options of the distributed update.
    Update(UpdateOptions),
}

/// Capacity and lifetime of a path cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheLimits {
    /// Capacity for discovered routes.
    pub primary: u16,
    /// Capacity for observed routes.
    pub secondary: u16,
    /// RouteCacheTimeout of RFC 4728 §9 (300 s); `None`: a route stays until it breaks.
    pub timeout: Option<Duration>,
}

/// Passes the options of DSR-Update to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! update_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Ignores how many data packets a route has carried: the nodes on both sides of a broken link
        /// are always notified.
        ignore_data: bool = false;
        /// Ignores which neighbours have learned a route from a reply.
        ignore_replies: bool = false;
        /// Keeps the part of a route before its broken link; false: the whole route is removed.
        truncate: bool = false;
        /// Notifies other nodes of broken links; false: the cache is only an unbounded table of routes.
        notify: bool = true;
        /// Maximum number of routes in the secondary cache, which holds the routes of overheard
        /// packets; the oldest is evicted when it is full; 0: none are kept.
        secondary: u16 = 64;
    } } };
}

update_options! { configuration! {
    /// Options of DSR-Update (yu-2004 §2.2), including parts that can be switched off to measure their effect.
    #[derive(Eq)]
    pub struct UpdateOptions {
        /// The options of yu-2004.
        PAPER,
    }
} }

impl CacheOptions {
    /// The limits, or the default if there are none.
    pub(crate) fn limits(&self) -> CacheLimits {
        if let Self::Limits(limits) = self { *limits } else { CacheLimits::default() }
    }

    /// The options of the update, or the default if there are none.
    pub(crate) const fn update(&self) -> UpdateOptions {
        if let Self::Update(options) = self { *options } else { UpdateOptions::PAPER }
    }

    /// Returns true if both are options of the same kind of cache.
    pub(crate) const fn is_same_kind(&self, other: &Self) -> bool {
        use CacheOptions::{Limits, None, Update};
        matches!((self, other), (None, None) | (Limits(_), Limits(_)) | (Update(_), Update(_)))
    }
}
