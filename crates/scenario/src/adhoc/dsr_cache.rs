//! `cache = …`: what DSR keeps routes in.

use std::fmt;

use route::{CACHES, CacheKind, CacheLimits};
use serde::de::{EnumAccess, Error, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::setting::{Lifetime, Setting};

/// A route cache of [`CACHES`]: `"link-max-life"`, the name alone, or one that takes limits,
/// `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }`.
///
/// `"link-max-life"` keeps at most 256 nodes and 1024 links, each direction being one
/// ([`CacheKind::LINK_MAX_LIFE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache(CacheKind);

/// `{ primary = 30, secondary = 64, timeout = "300 s" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `primary`, `secondary`, `timeout`")]
pub struct Limits {
    /// Routes that were asked for.
    pub primary: u16,
    /// Routes that were only seen.
    pub secondary: u16,
    /// How long a route is kept; `"forever"` is a value, too. Default 300 s.
    #[serde(default = "five_minutes")]
    pub timeout: Lifetime,
}

/// RouteCacheTimeout of RFC 4728 §9.
const fn five_minutes() -> Lifetime {
    Lifetime::Limited(Time::from_secs(300))
}

impl Setting<CacheLimits> for Limits {
    fn of(CacheLimits { primary, secondary, timeout }: CacheLimits) -> Self {
        Self { primary, secondary, timeout: Setting::of(timeout) }
    }
    fn value(&self) -> CacheLimits {
        let Self { primary, secondary, timeout } = *self;
        CacheLimits { primary, secondary, timeout: timeout.value() }
    }
}

impl Cache {
    /// Its name and limits, if it takes any.
    pub fn limits(&self) -> Option<(&'static str, Limits)> {
        self.0.limits().map(|limits| (self.0.name(), Setting::of(limits)))
    }
}

impl Setting<CacheKind> for Cache {
    fn of(value: CacheKind) -> Self {
        Self(value)
    }
    fn value(&self) -> CacheKind {
        self.0
    }
}

impl Serialize for Cache {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let name = self.0.name();
        match self.0.limits() {
            Some(limits) => to.serialize_newtype_variant("Cache", 0, name, &Limits::of(limits)),
            None => to.serialize_unit_variant("Cache", 0, name),
        }
    }
}

/// The names of the list.
const NAMES: &[&str] = &{
    let mut names = [""; CACHES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = CACHES[at].name;
        at += 1;
    }
    names
};

impl<'de> Deserialize<'de> for Cache {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_enum("Cache", NAMES, OfList)
    }
}

/// Reads one of the list.
struct OfList;

impl<'de> Visitor<'de> for OfList {
    type Value = Cache;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, cache) in CACHES.iter().enumerate() {
            f.write_str(if at > 0 { " or " } else { "" })?;
            let name = cache.name;
            if cache.takes_limits {
                write!(f, "{{ {name} = {{ primary = 30, secondary = 64 }} }}")?;
            } else {
                write!(f, "\"{name}\"")?;
            }
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Cache, A::Error> {
        let (name, value) = data.variant::<String>()?;
        let unknown = || A::Error::unknown_variant(&name, NAMES);
        let listed = CACHES.iter().find(|cache| cache.name == name).ok_or_else(unknown)?;
        let limits = if listed.takes_limits {
            Some(value.newtype_variant::<Limits>()?.value())
        } else {
            value.unit_variant()?;
            None
        };
        CacheKind::named(&name, limits).map(Cache).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        cache: Cache,
    }

    #[test]
    fn each_of_the_list_is_read_and_written_alike() {
        for listed in CACHES {
            let name = listed.name;
            let value = if listed.takes_limits {
                format!("{{ {name} = {{ primary = 3, secondary = 4 }} }}")
            } else {
                format!("\"{name}\"")
            };
            let file: File = toml::from_str(&format!("cache = {value}")).unwrap();
            assert_eq!(file.cache.value().name(), name);
            let limits = Limits { primary: 3, secondary: 4, timeout: five_minutes() };
            assert_eq!(file.cache.limits(), listed.takes_limits.then_some((name, limits)));
            assert_eq!(toml::from_str::<File>(&toml::to_string(&file).unwrap()).unwrap(), file);
        }
        let unknown = toml::from_str::<File>("cache = \"stash\"").unwrap_err();
        assert!(CACHES.iter().all(|listed| unknown.message().contains(listed.name)), "{unknown}");
    }
}
