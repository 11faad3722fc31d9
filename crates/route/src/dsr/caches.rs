//! The list of route caches.

use alloc::boxed::Box;

use driftway_base::{Duration, Ipv4Addr};

use super::cache::RouteCache;
use super::config::DsrConfig;
use super::{link_cache, path_cache, update};

/// Every route cache. Who adds one writes its file, with the entry for this list in it, and adds one
/// line here.
pub const CACHES: &[&CacheDescriptor] = &[&link_cache::DESCRIPTOR, &path_cache::DESCRIPTOR, &update::DESCRIPTOR];

/// A route cache as the list has it.
#[derive(Debug)]
pub struct CacheDescriptor {
    /// The name by which scenarios know it.
    pub name: &'static str,
    /// Which options it takes, with their defaults.
    pub options: CacheOptions,
    /// Its name alone will do, with these defaults; else its options have to be said.
    pub options_are_optional: bool,
    /// The cache of the node at that address.
    pub(crate) build: fn(Ipv4Addr, &DsrConfig) -> Box<dyn RouteCache>,
}

/// What routes are kept in: a cache of the list, and its options.
#[derive(Clone, Copy, Debug)]
pub struct CacheKind {
    descriptor: &'static CacheDescriptor,
    options: CacheOptions,
}

/// What there is to be said of a cache beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheOptions {
    /// Nothing.
    None,
    /// How much it keeps, and for how long.
    Limits(CacheLimits),
    /// What a distributed update does.
    Update(UpdateOptions),
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

/// How DSR-Update updates caches (yu-2004 §2.2), and what is left out of it to see what that is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateOptions {
    /// Nothing is made of how many data packets a route has carried: the nodes on both sides of a
    /// broken link are informed always. yu-2004: no.
    pub ignore_data: bool,
    /// Nothing is made of who has learned a route by a reply. yu-2004: no.
    pub ignore_replies: bool,
    /// The part of a route before its broken link stays. yu-2004 does not say; by default no.
    pub truncate: bool,
    /// Other nodes are informed. yu-2004: yes. Without, it is a table of routes without a limit.
    pub notify: bool,
    /// The most routes in the secondary cache, of packets overheard. yu-2004 §5.3.1 does not say; 64
    /// by default, as in ns-2.35.
    pub secondary: u16,
}

impl UpdateOptions {
    /// As yu-2004 has it.
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
    /// How much it keeps, if that is among them.
    pub(crate) fn limits(&self) -> CacheLimits {
        if let Self::Limits(limits) = self { *limits } else { CacheLimits::default() }
    }

    /// What an update does, if that is among them.
    pub(crate) const fn update(&self) -> UpdateOptions {
        if let Self::Update(options) = self { *options } else { UpdateOptions::PAPER }
    }

    /// Are they those of the same kind of cache?
    const fn is_same_kind(&self, other: &Self) -> bool {
        use CacheOptions::{Limits, None, Update};
        matches!((self, other), (None, None) | (Limits(_), Limits(_)) | (Update(_), Update(_)))
    }
}

impl CacheKind {
    /// Links with a lifetime each, from which the best route is worked out (RFC 4728 App. A).
    ///
    /// At most 256 nodes and 1024 links, each direction being one. RFC 4728 §4.1 leaves the size
    /// open: when there is no room, the quarter of them goes whose lifetimes end first.
    pub const LINK_MAX_LIFE: Self =
        Self { descriptor: &link_cache::DESCRIPTOR, options: CacheOptions::None };

    /// Whole paths in two parts, in each of which the oldest makes room: routes asked for, and routes
    /// that were only seen (RFC 4728 §4.1).
    pub const fn paths(limits: CacheLimits) -> Self {
        Self { descriptor: &path_cache::DESCRIPTOR, options: CacheOptions::Limits(limits) }
    }

    /// A table of routes that the nodes keep up to date for each other (DSR-Update, yu-2004 §2.2).
    pub const fn update(options: UpdateOptions) -> Self {
        Self { descriptor: &update::DESCRIPTOR, options: CacheOptions::Update(options) }
    }

    /// The cache of this name; `None` if there is none, if it needs options and has none, or has some
    /// that it does not take.
    pub fn named(name: &str, options: Option<CacheOptions>) -> Option<Self> {
        let listed = CACHES.iter().find(|listed| listed.name == name)?;
        let options = match options {
            None => Some(listed.options).filter(|_| listed.options_are_optional),
            Some(CacheOptions::None) => None,
            Some(options) => Some(options).filter(|options| options.is_same_kind(&listed.options)),
        };
        options.map(|options| Self { descriptor: listed, options })
    }

    /// Its name in the list.
    pub const fn name(&self) -> &'static str {
        self.descriptor.name
    }

    /// Its options.
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
    fn a_name_stands_for_one_cache() {
        let all = [
            CacheOptions::None,
            CacheOptions::Limits(CacheLimits::default()),
            CacheOptions::Update(UpdateOptions::PAPER),
        ];
        for (index, listed) in CACHES.iter().enumerate() {
            assert_eq!(CACHES.iter().position(|other| other.name == listed.name), Some(index));
            let alone = CacheKind::named(listed.name, None);
            assert_eq!(alone.map(|kind| kind.options()), listed.options_are_optional.then_some(listed.options));
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
