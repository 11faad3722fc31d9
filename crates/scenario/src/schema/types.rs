//! Schemas of types that are deserialized by hand; types with derived deserialization have derived
//! schemas.

use std::borrow::Cow;
use std::sync::Arc;

use driftway_aid::registry::AIDS;
use driftway_base::options::{NumberUnit, OptionInfo, OptionKind};
use driftway_base::{Duration, Entry, Named};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::file_value::{Keyword, Keywords};
use crate::options::WrittenValue;
use crate::registry::{built_in_models, built_in_protocols};
use crate::{
    Aid, Arp, ArpOptions, Distance, OrNone, RoutingKind, Speed, Tcp, Time, preset, value_or,
};

impl<T: JsonSchema> JsonSchema for OrNone<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{} or none", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        value_or::schema([(generator.subschema_for::<T>(), None)], &["none"])
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
        match T::DESCRIPTIONS {
            [] => json_schema!({ "type": "string", "enum": names::<T>() }),
            described => words(described),
        }
    }
}

/// Schema of one of these words, with their descriptions.
fn words(words: &[(&str, &str)]) -> Schema {
    let form = |(word, about): &(&str, &str)| json!({ "const": word, "description": about });
    let forms: Vec<_> = words.iter().map(form).collect();
    json_schema!({ "type": "string", "oneOf": forms })
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
    Arp: generator => json_schema!({ "anyOf": [
        { "type": "boolean" }, generator.subschema_for::<ArpOptions>(),
    ] });
    PresetName: _generator => json_schema!({ "type": "string", "enum": preset::preset_names() });
    TcpOrPreset: generator => json_schema!({ "anyOf": [
        generator.subschema_for::<PresetName>(), generator.subschema_for::<Tcp>(),
    ] });
    NodeName: _generator => json_schema!({
        "title": "node name",
        "type": "string",
        "pattern": r"^[A-Za-z][A-Za-z0-9_-]*(\[[0-9]+-[0-9]+\])?$",
        "examples": ["server"],
    });
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

/// The name of a preset.
pub(crate) struct PresetName;

/// A TCP configuration: the name of a preset, or a table.
pub(crate) struct TcpOrPreset;

impl JsonSchema for Aid {
    fn schema_name() -> Cow<'static, str> {
        "Aid".into()
    }
    /// Its name, or a table with its name and options.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> =
            std::iter::once("none").chain(AIDS.iter().map(|listed| listed.name)).collect();
        let names = json!({ "type": "string", "enum": names });
        let tables = AIDS.iter().map(|aid| entry("name", aid.name, aid.summary, aid.options()));
        let forms: Vec<_> = std::iter::once(names).chain(tables).collect();
        json_schema!({ "anyOf": forms })
    }
}

/// Adds to `schema` the built-in routing protocols and mobility models that declare their options themselves.
pub(super) fn add_built_in_entries(schema: &mut Value) {
    add_entries(schema.pointer_mut(MODELS), "model", built_in_models());
    add_entries(schema.pointer_mut(PROTOCOLS), "protocol", built_in_protocols());
    if let Some(Value::Array(forms)) = schema.pointer_mut(PROTOCOLS) {
        let names: Vec<_> = RoutingKind::ALL.iter().map(|kind| kind.name()).collect();
        forms.push(json!({ "type": "string", "enum": names, "description": "A protocol with all defaults." }));
    }
}

/// Places of the forms of mobility models and of routing protocols in the schema.
const MODELS: &str = "/$defs/Mobility/anyOf";
const PROTOCOLS: &str = "/$defs/Routing/anyOf";

/// Adds a form for each entry.
fn add_entries<P, T>(forms: Option<&mut Value>, tag: &str, entries: &[Arc<Entry<P, T>>]) {
    let Some(Value::Array(forms)) = forms else { return };
    let entries = entries.iter();
    forms.extend(entries.map(|listed| entry(tag, listed.name, listed.summary, listed.options())));
}

/// Schema of a table with the name of an entry, as the value of its key `tag`, and its options.
fn entry(tag: &str, name: &str, summary: &str, options: &[OptionInfo]) -> Value {
    let named = (tag.to_owned(), json!({ "const": name }));
    let options = options.iter().map(|info| (info.name.to_owned(), option(info).to_value()));
    let properties: Map<_, _> = std::iter::once(named).chain(options).collect();
    json!({
        "title": name,
        "description": summary,
        "type": "object",
        "additionalProperties": false,
        "required": [tag],
        "properties": properties,
    })
}

/// Schema of one option of an entry.
fn option(info: &OptionInfo) -> Schema {
    let defined = |name: &str| json_schema!({ "$ref": format!("#/$defs/{name}") });
    let mut schema = match &info.kind {
        OptionKind::Duration(..) => defined("Time"),
        OptionKind::Count(least, most) => {
            json_schema!({ "type": "integer", "minimum": least, "maximum": most })
        }
        OptionKind::Number(NumberUnit::One, least, most) => {
            json_schema!({ "type": "number", "minimum": least, "maximum": most })
        }
        OptionKind::Number(NumberUnit::Metre, ..) => defined("Distance"),
        OptionKind::Number(NumberUnit::MetrePerSecond, ..) => defined("Speed"),
        OptionKind::Flag => json_schema!({ "type": "boolean" }),
        OptionKind::Choice(choices) => words(choices),
    };
    let mut about = info.about.to_owned();
    if let OptionKind::Choice(words) = &info.kind {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        about = format!("{}: {}.", about.trim_end_matches('.'), words.join(" or "));
    }
    about.extend(range(&info.kind).map(|range| format!(" {range}.")));
    match info.default {
        Some(value) => schema.insert("default".to_owned(), json!(WrittenValue(value))),
        None => schema.insert("x-default".to_owned(), json!("the first tick of the host's clock")),
    };
    schema.insert("description".to_owned(), about.into());
    schema
}

/// Range of a quantity, for readers; none for what has a range in its schema.
fn range(kind: &OptionKind) -> Option<String> {
    match *kind {
        OptionKind::Duration(Duration::ZERO, Duration::MAX) => None,
        OptionKind::Duration(least, Duration::MAX) => Some(format!("At least {}", Time(least))),
        OptionKind::Duration(Duration::ZERO, most) => Some(format!("At most {}", Time(most))),
        OptionKind::Duration(least, most) => Some(format!("{} to {}", Time(least), Time(most))),
        OptionKind::Number(NumberUnit::Metre, least, most) => {
            Some(format!("{} to {}", Distance(least), Distance(most)))
        }
        OptionKind::Number(NumberUnit::MetrePerSecond, least, most) => {
            Some(format!("{} to {}", Speed(least), Speed(most)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Scenario;

    #[test]
    fn models_and_protocols_have_forms_to_which_others_are_added() {
        let schema = Scenario::schema();
        for (place, least) in [(MODELS, 5), (PROTOCOLS, 3)] {
            let forms = schema.pointer(place).and_then(Value::as_array);
            assert!(forms.is_some_and(|forms| forms.len() >= least), "{place}: {forms:?}");
        }
    }
}
