//! The list of route caches.

use alloc::boxed::Box;

use base::{Duration, Ipv4Addr};

use super::cache::RouteCache;
use super::config::DsrConfig;
use super::{link_cache, path_cache};

/// Every route cache. Who adds one writes its file, with the entry for this list in it, and adds one
/// line here.
pub const CACHES: &[&ListedCache] = &[&link_cache::LISTED, &path_cache::LISTED];

/// A route cache as the list has it.
#[derive(Debug)]
pub struct ListedCache {
    /// The name by which scenarios know it.
    pub name: &'static str,
    /// It takes limits; else its name is all there is to be said.
    pub takes_limits: bool,
    /// The cache of the node at that address.
    pub(crate) build: fn(Ipv4Addr, &DsrConfig) -> Box<dyn RouteCache>,
}

/// What routes are kept in: a cache of the list, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct CacheKind {
    listed: &'static ListedCache,
    limits: CacheLimits,
}

/// How much a cache keeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CacheLimits {
    /// Routes that were asked for.
    pub primary: u16,
    /// Routes that were only seen.
    pub secondary: u16,
    /// RouteCacheTimeout of RFC 4728 §9 (300 s); `None`: a route stays until it breaks.
    pub timeout: Option<Duration>,
}

impl CacheKind {
    /// Links with a lifetime each, from which the best route is worked out (RFC 4728 App. A).
    ///
    /// At most 256 nodes and 1024 links, each direction being one. RFC 4728 §4.1 leaves the size
    /// open: when there is no room, the quarter of them goes whose lifetimes end first.
    pub const LINK_MAX_LIFE: Self = Self {
        listed: &link_cache::LISTED,
        limits: CacheLimits { primary: 0, secondary: 0, timeout: None },
    };

    /// Whole paths in two parts, in each of which the oldest makes room: routes asked for, and routes
    /// that were only seen (RFC 4728 §4.1).
    pub const fn paths(limits: CacheLimits) -> Self {
        Self { listed: &path_cache::LISTED, limits }
    }

    /// The cache of this name; `None` if there is none, or if it needs limits and has none, or has
    /// some that it does not take.
    pub fn named(name: &str, limits: Option<CacheLimits>) -> Option<Self> {
        let listed = CACHES.iter().find(|listed| listed.name == name)?;
        (listed.takes_limits == limits.is_some())
            .then(|| Self { listed, limits: limits.unwrap_or_default() })
    }

    /// Its name in the list.
    pub const fn name(&self) -> &'static str {
        self.listed.name
    }

    /// Its limits, if it takes any.
    pub fn limits(&self) -> Option<CacheLimits> {
        self.listed.takes_limits.then_some(self.limits)
    }

    pub(crate) fn build(&self, me: Ipv4Addr, config: &DsrConfig) -> Box<dyn RouteCache> {
        (self.listed.build)(me, config)
    }
}

impl PartialEq for CacheKind {
    fn eq(&self, other: &Self) -> bool {
        self.listed.name == other.listed.name && self.limits == other.limits
    }
}

impl Eq for CacheKind {}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_name_stands_for_one_cache() {
        for (index, listed) in CACHES.iter().enumerate() {
            assert_eq!(CACHES.iter().position(|other| other.name == listed.name), Some(index));
            let limits = listed.takes_limits.then(CacheLimits::default);
            let kind = CacheKind::named(listed.name, limits).unwrap();
            assert_eq!((kind.name(), kind.limits()), (listed.name, limits));
            let other = if limits.is_some() { None } else { Some(CacheLimits::default()) };
            assert_eq!(CacheKind::named(listed.name, other), None);
        }
        assert_eq!(CacheKind::named("no such", None), None);
    }
}
