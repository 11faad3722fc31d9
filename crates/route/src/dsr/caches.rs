//! The list of route caches.

use alloc::boxed::Box;

use driftway_base::Ipv4Addr;

use super::cache::RouteCache;
use super::cache_descriptor::{CacheDescriptor, CacheLimits, CacheOptions, UpdateOptions};
use super::caching_rules::CachingRules;
use super::{link_cache, path_cache, update};

/// All route caches. A new one adds a file, with its descriptor, and an entry here.
pub const CACHES: &[&CacheDescriptor] =
    &[&link_cache::DESCRIPTOR, &path_cache::DESCRIPTOR, &update::DESCRIPTOR];

/// A cache of the list, with its options.
#[derive(Clone, Copy, Debug)]
pub struct CacheKind {
    descriptor: &'static CacheDescriptor,
    options: CacheOptions,
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

    pub(crate) fn build(&self, me: Ipv4Addr, rules: &CachingRules) -> Box<dyn RouteCache> {
        (self.descriptor.build)(me, self.options, rules)
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
