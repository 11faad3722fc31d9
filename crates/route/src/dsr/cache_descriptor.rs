//! The descriptor of a route cache, and the options that it accepts.

use alloc::boxed::Box;

use driftway_base::{Duration, Ipv4Addr};

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

/// Options of DSR-Update (yu-2004 §2.2), including parts that can be switched off to measure their effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateOptions {
    /// The number of data packets that a route has carried is ignored: the nodes on both sides of a broken
    /// link are always notified. yu-2004: no.
    pub ignore_data: bool,
    /// The records of routes learned by a reply are ignored. yu-2004: no.
    pub ignore_replies: bool,
    /// The part of a route before its broken link is kept. yu-2004 does not specify it; by default no.
    pub truncate: bool,
    /// Other nodes are notified. yu-2004: yes. Without, it is a table of routes without a limit.
    pub notify: bool,
    /// The capacity of the secondary cache, for routes of overheard packets. yu-2004 §5.3.1 does not specify
    /// it; 64 by default, as in ns-2.35.
    pub secondary: u16,
}

impl UpdateOptions {
    /// The options of yu-2004.
    pub const PAPER: Self = Self {
        ignore_data: false,
        ignore_replies: false,
        truncate: false,
        notify: true,
        secondary: 64,
    };
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self::PAPER
    }
}

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
