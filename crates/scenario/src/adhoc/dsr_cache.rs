//! The key `cache`: the route cache of DSR.

use std::borrow::Cow;

use driftway_route::{
    CACHES, CacheDescriptor, CacheKind, CacheLimits, CacheOptions, UpdateOptions, update_options,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use crate::Time;
use crate::error::unknown_word;
use crate::file_value::{FileValue, Lifetime};
use crate::keys::keys;
use crate::problem::{CheckResult, MAX_PROTOCOL_TIME};
use crate::rules::{RuledValue, Table};
use crate::table::table;
use crate::value_or::{self, Forms, Found};

/// A route cache of [`CACHES`]: its name alone, `"link-max-life"` or `"update"`, or its name with
/// options, `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }` or
/// `{ update = { truncate = true } }`.
///
/// `"link-max-life"` keeps at most 256 nodes and 1024 directed links
/// ([`CacheKind::LINK_MAX_LIFE`]). `"update"` is DSR-Update (yu-2004), an unbounded table whose
/// nodes notify each other of broken links ([`CacheKind::update`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrCache(CacheKind);

keys! {
    /// Sizes of the path caches, `{ primary = 30, secondary = 64, timeout = "300 s" }`.
    #[derive(Copy, Eq)]
    pub struct PathCacheLimits expecting "a table with the keys `primary`, `secondary`, `timeout`" {
        /// Maximum number of routes in the primary cache, which holds the routes that the node
        /// discovered itself.
        primary: u16 [range("the number of paths", 1..=65_535)],
        /// Maximum number of routes in the secondary cache, which holds the routes learned from other
        /// nodes' packets.
        secondary: u16 [range("the number of paths", 1..=65_535)],
        /// Lifetime of a cached route (RouteCacheTimeout, RFC 4728 §9), or `"forever"`.
        #[serde(default = "default_path_timeout")]
        timeout: Lifetime [positive(), at_most(MAX_PROTOCOL_TIME)],
    }
}

/// RouteCacheTimeout of RFC 4728 §9.
const fn default_path_timeout() -> Lifetime {
    Lifetime::Limited(Time::from_secs(300))
}

impl FileValue<CacheLimits> for PathCacheLimits {
    fn from_config(CacheLimits { primary, secondary, timeout }: CacheLimits) -> Self {
        Self { primary, secondary, timeout: FileValue::from_config(timeout) }
    }
    fn to_config(&self) -> CacheLimits {
        let Self { primary, secondary, timeout } = *self;
        CacheLimits { primary, secondary, timeout: timeout.to_config() }
    }
}

update_options! { table! {
    /// Options of the cache of DSR-Update (yu-2004 §2.2): the table `update`. The defaults are the
    /// paper's algorithm; each option removes a part of it.
    pub struct DsrUpdate of UpdateOptions = UpdateOptions::PAPER, "a table with the keys of `update`";
} }

/// Declares the tables of options of caches: how each is read, written and checked, and its schema.
macro_rules! option_tables {
    ($($(#[doc = $doc:literal])+ $kind:ident($table:ty),)+) => {
        impl Serialize for DsrCache {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let name = self.0.name();
                match self.0.options() {
                    _ if CacheKind::named(name, None) == Some(self.0) => name.serialize(to),
                    CacheOptions::None => name.serialize(to),
                    $(CacheOptions::$kind(options) => {
                        let table = <$table>::from_config(options);
                        to.serialize_newtype_variant("Cache", 0, name, &table)
                    })+
                }
            }
        }

        /// The options of a cache whose options are of the same kind as `kind`; `None` if it has none.
        fn read_options<'de, A: MapAccess<'de>>(
            map: &mut A,
            kind: CacheOptions,
        ) -> Result<Option<CacheOptions>, A::Error> {
            Ok(match kind {
                CacheOptions::None => None,
                $(CacheOptions::$kind(_) => {
                    Some(CacheOptions::$kind(map.next_value::<$table>()?.to_config()))
                })+
            })
        }

        /// Schema and description of a table of options of this kind.
        fn options_schema(
            kind: CacheOptions,
            generator: &mut SchemaGenerator,
        ) -> Option<(Schema, &'static str)> {
            match kind {
                CacheOptions::None => None,
                $(CacheOptions::$kind(_) => {
                    let about = concat!($($doc),+).trim_ascii();
                    Some((generator.subschema_for::<$table>(), about))
                })+
            }
        }

        impl RuledValue for DsrCache {
            fn check_inside(&self, key: &str) -> CheckResult {
                match self.0.options() {
                    CacheOptions::None => Ok(()),
                    $(CacheOptions::$kind(options) => {
                        <$table>::from_config(options).check_ranges(&format!("{key}.{}", self.0.name()))
                    })+
                }
            }
        }
    };
}
option_tables! {
    /// `{ paths = { … } }`: path caches of discovered and of learned routes.
    Limits(PathCacheLimits),
    /// `{ update = { … } }`: the cache of DSR-Update (yu-2004 §2.2) with options.
    Update(DsrUpdate),
}

/// Its name, or a table with its name as the only key.
impl JsonSchema for DsrCache {
    fn schema_name() -> Cow<'static, str> {
        "DsrCache".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let by_name = CACHES.iter().filter(|cache| cache.options_are_optional);
        let names: Vec<_> = by_name.map(|cache| cache.name).collect();
        let tables = CACHES.iter().filter_map(|cache| {
            let (options, about) = options_schema(cache.options, generator)?;
            Some(json!({
                "description": about,
                "type": "object",
                "additionalProperties": false,
                "required": [cache.name],
                "properties": { cache.name: options },
            }))
        });
        let names = json!({ "type": "string", "enum": names });
        let forms: Vec<_> = std::iter::once(names).chain(tables).collect();
        json_schema!({ "anyOf": forms })
    }
}

impl DsrCache {
    /// Name and limits of a path cache; `None` for the other caches.
    pub fn limits(&self) -> Option<(&'static str, PathCacheLimits)> {
        match self.0.options() {
            CacheOptions::Limits(limits) => Some((self.0.name(), FileValue::from_config(limits))),
            CacheOptions::None | CacheOptions::Update(_) => None,
        }
    }
}

impl FileValue<CacheKind> for DsrCache {
    fn from_config(value: CacheKind) -> Self {
        Self(value)
    }
    fn to_config(&self) -> CacheKind {
        self.0
    }
}

/// The cache with this name; the error is a message for the user.
fn find_cache(name: &str) -> Result<&'static CacheDescriptor, String> {
    let listed = CACHES.iter().find(|cache| cache.name == name);
    listed.copied().ok_or_else(|| unknown_word(name, &cache_names()))
}

fn cache_names() -> Vec<&'static str> {
    CACHES.iter().map(|cache| cache.name).collect()
}

/// Its name, or a table with its name as the only key.
impl Forms for DsrCache {
    fn expecting() -> Cow<'static, str> {
        let form = |cache: &&CacheDescriptor| match (cache.name, cache.options_are_optional) {
            (name, true) => format!("\"{name}\""),
            (name, false) => format!("{{ {name} = {{ primary = 30, secondary = 64 }} }}"),
        };
        CACHES.iter().map(form).collect::<Vec<_>>().join(" or ").into()
    }

    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        let Found::Text(name) = found else { return None };
        let needs = || format!("`{name}` needs a value\nwrite {{ {name} = … }}");
        Some(
            find_cache(name)
                .and_then(|listed| CacheKind::named(listed.name, None).map(Self).ok_or_else(needs)),
        )
    }

    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(Self::read_named(found))
    }
}

impl DsrCache {
    fn read_named<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let one =
            || A::Error::custom(format_args!("expected one key of {}", cache_names().join(", ")));
        let listed = map.next_key_seed(CacheNameSeed)?.ok_or_else(one)?;
        let name = listed.name;
        let options = read_options(&mut map, listed.options)?.ok_or_else(|| {
            A::Error::custom(format_args!("`{name}` has no value\nwrite \"{name}\""))
        })?;
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(one());
        }
        CacheKind::named(name, Some(options)).map(Self).ok_or_else(one)
    }
}

value_or::by_forms!(DsrCache);

/// Deserializes the name as a key, so that an error about an unknown name points at it.
struct CacheNameSeed;

impl<'de> DeserializeSeed<'de> for CacheNameSeed {
    type Value = &'static CacheDescriptor;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        find_cache(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        cache: DsrCache,
    }

    fn read(cache: &str) -> File {
        toml::from_str(&format!("cache = {cache}")).unwrap()
    }

    fn reads_back(file: &File) {
        assert_eq!(toml::from_str::<File>(&toml::to_string(file).unwrap()).unwrap(), *file);
    }

    #[test]
    fn all_caches_round_trip() {
        for listed in CACHES {
            let name = listed.name;
            if listed.options_are_optional {
                let file = read(&format!("\"{name}\""));
                assert_eq!(file.cache.to_config().name(), name);
                assert_eq!(file.cache.to_config().options(), listed.options);
                assert_eq!(toml::to_string(&file).unwrap().trim(), format!("cache = \"{name}\""));
                reads_back(&file);
            }
            let (options, written) = match listed.options {
                CacheOptions::None => continue,
                CacheOptions::Limits(_) => {
                    let limits = PathCacheLimits {
                        primary: 3,
                        secondary: 4,
                        timeout: default_path_timeout(),
                    };
                    (CacheOptions::Limits(limits.to_config()), "primary = 3, secondary = 4")
                }
                CacheOptions::Update(options) => {
                    let options = UpdateOptions { truncate: true, secondary: 4, ..options };
                    (CacheOptions::Update(options), "truncate = true, secondary = 4")
                }
            };
            let file = read(&format!("{{ {name} = {{ {written} }} }}"));
            assert_eq!(
                (file.cache.to_config().name(), file.cache.to_config().options()),
                (name, options)
            );
            assert_eq!(file.cache.limits().is_some(), matches!(options, CacheOptions::Limits(_)));
            reads_back(&file);
        }
    }

    #[test]
    fn unknown_caches_are_rejected() {
        for unknown in ["\"stash\"", "{ stash = { } }"] {
            let refused = toml::from_str::<File>(&format!("cache = {unknown}")).unwrap_err();
            let message = refused.message();
            assert!(CACHES.iter().all(|listed| message.contains(listed.name)), "{message}");
        }
        for (written, part) in [
            ("\"paths\"", "`paths` needs a value"),
            ("{ link-max-life = 3 }", "`link-max-life` has no value"),
            ("{ update = { trunk = true } }", "unknown field `trunk`"),
            ("{ }", "expected one key"),
            ("{ update = { }, paths = { primary = 1, secondary = 1 } }", "expected one key"),
        ] {
            let refused = toml::from_str::<File>(&format!("cache = {written}")).unwrap_err();
            assert!(refused.message().contains(part), "{written}: {}", refused.message());
        }
    }
}
