//! The list of route caches.

use alloc::boxed::Box;

use driftway_base::{Duration, Ipv4Addr};

use super::cache::RouteCache;
use super::config::DsrConfig;
use super::{link_cache, path_cache, update};

/// All route caches. A new one adds a file, with its descriptor, and an entry here.
pub const CACHES: &[&CacheDescriptor] =
    &[&link_cache::DESCRIPTOR, &path_cache::DESCRIPTOR, &update::DESCRIPTOR];

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
    pub(crate) build: fn(Ipv4Addr, &DsrConfig) -> Box<dyn RouteCache>,
}

/// A cache of the list, with its options.
#[derive(Clone, Copy, Debug)]
pub struct CacheKind {
    descriptor: &'static CacheDescriptor,
    options: CacheOptions,
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
    const fn is_same_kind(&self, other: &Self) -> bool {
        use CacheOptions::{Limits, None, Update};
        matches!((self, other), (None, None) | (Limits(_), Limits(_)) | (Update(_), Update(_)))
    }
}

impl CacheKind {
    /// Links with a lifetime each, from which the best route is computed (Link-MaxLife, RFC 4728 App. A).
    ///
    /// At most 256 nodes and 1024 links, counting each direction. RFC 4728 §4.1 leaves the size open: when
    /// the cache is full, the quarter of the links that expire first is evicted.
    pub const LINK_MAX_LIFE: Self =
        Self { descriptor: &link_cache::DESCRIPTOR, options: CacheOptions::None };

    /// Whole paths in two parts, for discovered and for observed routes, in each of which the oldest is
    /// evicted (RFC 4728 §4.1).
    pub const fn paths(limits: CacheLimits) -> Self {
        Self { descriptor: &path_cache::DESCRIPTOR, options: CacheOptions::Limits(limits) }
    }

    /// A table of routes that the nodes keep up to date for each other (DSR-Update, yu-2004 §2.2).
    pub const fn update(options: UpdateOptions) -> Self {
        Self { descriptor: &update::DESCRIPTOR, options: CacheOptions::Update(options) }
    }

    /// The cache of this name; `None` if it does not exist, lacks required options, or does not accept the
    /// given ones.
    pub fn named(name: &str, options: Option<CacheOptions>) -> Option<Self> {
        let descriptor = CACHES.iter().find(|descriptor| descriptor.name == name)?;
        let options = match options {
            None => Some(descriptor.options).filter(|_| descriptor.options_are_optional),
            Some(CacheOptions::None) => None,
            Some(options) => {
                Some(options).filter(|options| options.is_same_kind(&descriptor.options))
            }
        };
        options.map(|options| Self { descriptor, options })
    }

    /// The name in the list.
    pub const fn name(&self) -> &'static str {
        self.descriptor.name
    }

    /// The options.
    pub const fn options(&self) -> CacheOptions {
        self.options
    }

    pub(crate) fn build(&self, me: Ipv4Addr, config: &DsrConfig) -> Box<dyn RouteCache> {
        (self.descriptor.build)(me, config)
    }
}

impl PartialEq for CacheKind {
    fn eq(&self, other: &Self) -> bool {
        self.descriptor.name == other.descriptor.name && self.options == other.options
    }
}

impl Eq for CacheKind {}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn cache_names_are_unique() {
        let all = [
            CacheOptions::None,
            CacheOptions::Limits(CacheLimits::default()),
            CacheOptions::Update(UpdateOptions::PAPER),
        ];
        for (index, listed) in CACHES.iter().enumerate() {
            assert_eq!(CACHES.iter().position(|other| other.name == listed.name), Some(index));
            let alone = CacheKind::named(listed.name, None);
            assert_eq!(
                alone.map(|kind| kind.options()),
                listed.options_are_optional.then_some(listed.options)
            );
            for options in all {
                let takes = options != CacheOptions::None && options.is_same_kind(&listed.options);
                let kind = CacheKind::named(listed.name, Some(options));
                assert_eq!(kind.map(|kind| kind.options()), takes.then_some(options));
                assert!(kind.is_none_or(|kind| kind.name() == listed.name));
            }
        }
        assert_eq!(CacheKind::named("no such", None), None);
    }
}
