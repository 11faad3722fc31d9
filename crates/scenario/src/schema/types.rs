//! Schemas of types that are deserialized by hand; types with derived deserialization have derived
//! schemas.

use std::borrow::Cow;

use driftway_aid::registry::AIDS;
use driftway_base::options::{OptionInfo, OptionKind};
use driftway_route::{CACHES, CacheOptions};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::adhoc::dsr_cache::{DsrCache, DsrUpdate, PathCacheLimits};
use crate::adhoc::radio::CaptureRatio;
use crate::file_value::{Keyword, Keywords};
use crate::options::WrittenValue;
use crate::{
    Aid, Arp, ArpOptions, ArpRetryRule, BitRate, Decibel, Distance, Frequency, InterferenceHop,
    Lifetime, OrNone, PartitionHop, Phase, Power, Size, Speed, Tcp, Tick, Time, Window, preset,
};

/// Schema of a string with a number and one of these units.
fn quantity(title: &str, example: &str, signed: bool, units: &[&str]) -> Schema {
    let sign = if signed { "-?" } else { "" };
    let units = units.join("|");
    let pattern = format!(r"^\s*{sign}[0-9][0-9.]*([eE][-+]?[0-9]+)?\s*({units})\s*$");
    json_schema!({ "title": title, "type": "string", "pattern": pattern, "examples": [example] })
}

macro_rules! quantities {
    ($($type:ident: $title:literal, $example:literal, $signed:literal, [$($unit:literal),+];)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                quantity($title, $example, $signed, &[$($unit),+])
            }
        }

        #[cfg(test)]
        impl Example for $type {
            const UNITS: &'static [&'static str] = &[$($unit),+];
        }
    )+};
}
quantities! {
    Time: "time", "20 ms", false, ["ns", "us", "ms", "s", "min", "h"];
    BitRate: "bit rate", "32 kbit/s", false, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
    Size: "size", "100 B", false, ["B", "kB", "KiB", "MB", "MiB", "GB"];
    Frequency: "frequency", "914 MHz", false, ["Hz", "kHz", "MHz", "GHz"];
    Distance: "distance", "250 m", true, ["mm", "cm", "m", "km"];
    Speed: "speed", "10 m/s", true, ["m/s", "km/h"];
    Decibel: "ratio of powers", "10 dB", true, ["dB"];
    Power: "power", "24.5 dBm", true, ["W", "mW", "uW", "dBm"];
}

/// Schema of a value of type `T`, or one word.
fn or_word<T: JsonSchema>(generator: &mut SchemaGenerator, word: &str) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "const": word }] })
}

macro_rules! or_words {
    ($($type:ident: $value:ty, $word:literal;)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                or_word::<$value>(generator, $word)
            }
        }
    )+};
}
or_words! {
    Lifetime: Time, "forever";
    ArpRetryRule: Time, "next-packet";
    Phase: Time, "random";
    CaptureRatio: Decibel, "none";
    PartitionHop: u32, "random";
    InterferenceHop: u32, "intermediate";
}

impl<T: JsonSchema> JsonSchema for OrNone<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} or none", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        or_word::<T>(generator, "none")
    }
}

impl<T: Keywords> JsonSchema for Keyword<T> {
    fn schema_name() -> Cow<'static, str> {
        names::<T>().join(" or ").into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": names::<T>() })
    }
}

fn names<T: Keywords>() -> Vec<&'static str> {
    T::ALL.iter().map(|(name, _)| *name).collect()
}

macro_rules! inlined {
    ($($type:ident: $generator:ident => $schema:expr;)+) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )+};
}
inlined! {
    Window: generator => json_schema!({ "anyOf": [
        generator.subschema_for::<Size>(),
        { "title": "number of segments", "type": "integer", "minimum": 0 },
    ] });
    Arp: generator => json_schema!({ "anyOf": [
        { "type": "boolean" }, generator.subschema_for::<ArpOptions>(),
    ] });
    Tick: generator => json_schema!({ "anyOf": [
        generator.subschema_for::<Time>(),
        {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "rtt": described(generator.subschema_for::<Time>(),
                    "Granularity of round-trip time measurements.", &json!("1 ms")),
                "timer": described(generator.subschema_for::<Time>(),
                    "Timers expire at multiples of this.", &json!("1 ms")),
                "phase": described(generator.subschema_for::<Phase>(),
                    "Phase of the clock: time of its first tick; random: drawn by seed and host.",
                    &json!("random")),
            },
        },
    ] });
    PresetName: _generator => json_schema!({ "type": "string", "enum": preset::preset_names() });
    TcpOrPreset: generator => json_schema!({ "anyOf": [
        generator.subschema_for::<PresetName>(), generator.subschema_for::<Tcp>(),
    ] });
    DsrCache: generator => cache(generator);
    NodeName: _generator => json_schema!({
        "title": "node name",
        "type": "string",
        "pattern": r"^[A-Za-z][A-Za-z0-9_-]*(\[[0-9]+-[0-9]+\])?$",
        "examples": ["server"],
    });
    NodeReference: generator => json_schema!({ "anyOf": [
        { "type": "integer", "minimum": 0 }, generator.subschema_for::<NodeName>(),
    ] });
}

/// One value, or minimum and maximum.
pub(crate) struct OneOrTwo<T>(std::marker::PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OneOrTwo<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} or range", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let both = generator.subschema_for::<(T, T)>();
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), both] })
    }
}

/// A table, or an array of such tables.
pub(crate) struct OneOrSeveral<T>(std::marker::PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OneOrSeveral<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} or several", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let several = generator.subschema_for::<Vec<T>>();
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), several] })
    }
}

/// The name of a node in a mixed network, or a range of names.
pub(crate) struct NodeName;

/// The number or the name of a node.
pub(crate) struct NodeReference;

/// The name of a preset.
pub(crate) struct PresetName;

/// A TCP configuration: the name of a preset, or a table.
pub(crate) struct TcpOrPreset;

/// Adds documentation and default to `schema`.
fn described(mut schema: Schema, text: &str, default: &Value) -> Schema {
    schema.insert("description".to_owned(), text.into());
    schema.insert("default".to_owned(), default.clone());
    schema
}

/// Schema of a route cache: a name, or a table with a name as its only key.
fn cache(generator: &mut SchemaGenerator) -> Schema {
    let by_name: Vec<_> =
        CACHES.iter().filter(|cache| cache.options_are_optional).map(|cache| cache.name).collect();
    let mut forms = vec![json!({ "type": "string", "enum": by_name })];
    for cache in CACHES {
        let (options, about) = match cache.options {
            CacheOptions::None => continue,
            CacheOptions::Limits(_) => (
                generator.subschema_for::<PathCacheLimits>(),
                "`{ paths = { … } }`: path caches of discovered and of learned routes.",
            ),
            CacheOptions::Update(_) => (
                generator.subschema_for::<DsrUpdate>(),
                "`{ update = { … } }`: the cache of DSR-Update (yu-2004 §2.2) with options.",
            ),
        };
        forms.push(json!({
            "description": about,
            "type": "object",
            "additionalProperties": false,
            "required": [cache.name],
            "properties": { cache.name: options },
        }));
    }
    json_schema!({ "anyOf": forms })
}

impl JsonSchema for Aid {
    fn schema_name() -> Cow<'static, str> {
        "Aid".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        aid(generator)
    }
}

/// Schema of an aid: its name, or a table with its name and options.
fn aid(generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> =
        std::iter::once("none").chain(AIDS.iter().map(|listed| listed.name)).collect();
    let mut forms = vec![json!({ "type": "string", "enum": names })];
    for listed in AIDS {
        let mut properties = Map::new();
        properties.insert("name".to_owned(), json!({ "const": listed.name }));
        for info in listed.options() {
            properties.insert(info.name.to_owned(), option(generator, info).to_value());
        }
        forms.push(json!({
            "title": listed.name,
            "description": listed.summary,
            "type": "object",
            "additionalProperties": false,
            "required": ["name"],
            "properties": properties,
        }));
    }
    json_schema!({ "anyOf": forms })
}

/// Schema of one option of an aid.
fn option(generator: &mut SchemaGenerator, info: &OptionInfo) -> Schema {
    let mut schema = match &info.kind {
        OptionKind::Duration(..) => generator.subschema_for::<Time>(),
        OptionKind::Count(least, most) => {
            json_schema!({ "type": "integer", "minimum": least, "maximum": most })
        }
        OptionKind::Flag => json_schema!({ "type": "boolean" }),
        OptionKind::Choice(words) => {
            let form = |(word, about)| json!({ "const": word, "description": about });
            let forms: Vec<_> = words.iter().copied().map(form).collect();
            json_schema!({ "type": "string", "oneOf": forms })
        }
    };
    let default = info.default.map(|value| json!(WrittenValue(value)));
    let mut about = info.about.to_owned();
    if let OptionKind::Choice(words) = &info.kind {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        about = format!("{}: {}.", about.trim_end_matches('.'), words.join(" or "));
    }
    if default.is_none() {
        about += " Default: the first tick of the host's clock.";
    }
    if let Some(default) = default {
        let text = match (&info.kind, default.as_str()) {
            (OptionKind::Choice(_), _) => format!("`{default}`"),
            (_, Some(span)) => span.to_owned(),
            (_, None) => default.to_string(),
        };
        about = format!("{about} Default {text}.");
        schema.insert("default".to_owned(), default);
    }
    schema.insert("description".to_owned(), about.into());
    schema
}

#[cfg(test)]
trait Example: std::str::FromStr<Err = String> {
    const UNITS: &'static [&'static str];
}

#[cfg(test)]
mod test {
    use super::*;

    fn reads_units<T: Example>() {
        for unit in T::UNITS {
            assert!(format!("1 {unit}").parse::<T>().is_ok(), "{unit}");
        }
        // The message about an unknown unit lists all units.
        let refused = "1 parsec".parse::<T>().err().unwrap_or_default();
        let listed = refused.rsplit("known units: ").next().unwrap_or_default();
        assert_eq!(listed.split(", ").collect::<Vec<_>>(), T::UNITS);
    }

    #[test]
    fn units_are_those_of_the_parser() {
        reads_units::<Time>();
        reads_units::<BitRate>();
        reads_units::<Size>();
        reads_units::<Frequency>();
        reads_units::<Distance>();
        reads_units::<Speed>();
        reads_units::<Decibel>();
        reads_units::<Power>();
    }
}
