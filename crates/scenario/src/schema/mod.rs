//! The JSON schema of the scenario file, for editors, for the comments of [`Scenario::show`] and for the
//! reference in `docs/scenario.md`.

mod lookup;
mod markdown;
mod types;

pub(crate) use lookup::Keys;
pub(crate) use types::{NodeName, OneOrSeveral, PresetName, TcpOrPreset};

use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::Scenario;

impl Scenario {
    /// The JSON schema (draft 2020-12) of a scenario file. It does not include the rules that depend on
    /// several keys, which [`Scenario::parse`] checks as well.
    pub fn schema() -> Value {
        toml_schema::<Self>()
    }

    /// The reference of the scenario file in Markdown: each key with its values, default and meaning.
    pub fn reference() -> String {
        toml_reference::<Self>(markdown::HEAD)
    }
}

/// The JSON schema (draft 2020-12) of a TOML file that is read as `T`.
pub fn toml_schema<T: JsonSchema>() -> Value {
    let mut schema = schema_of_keys::<T>();
    describe_defaults(&mut schema);
    schema
}

/// The reference in Markdown of a TOML file that is read as `T`, after `head`: each key with its values,
/// default and meaning.
pub fn toml_reference<T: JsonSchema>(head: &str) -> String {
    markdown::reference(&schema_of_keys::<T>(), head)
}

/// The schema, in which only `default`, or `x-default` in words, states the default of a key.
fn schema_of_keys<T: JsonSchema>() -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    types::add_built_in_entries(&mut schema);
    for_toml(&mut schema);
    describe_keys(&mut schema);
    schema
}

/// Removes the value null, which TOML does not have, and the names of Rust types from a schema.
fn for_toml(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(for_toml),
        Value::Object(object) => {
            object.values_mut().for_each(for_toml);
            // Among the keys of a table, `format` is a key of the file and has a schema.
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            if object.get("x-default").is_some_and(Value::is_null) {
                object.remove("x-default");
            }
            without_null(object);
        }
        _ => {}
    }
}

fn without_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(forms)) = object.get_mut("anyOf") {
        forms.retain(|form| form.get("type") != Some(&"null".into()));
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// Adds the defaults to the descriptions of the keys, for editors and comments.
fn describe_defaults(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(describe_defaults),
        Value::Object(object) => object.values_mut().for_each(describe_defaults),
        _ => return,
    }
    let default = markdown::default_text(schema);
    let Value::Object(key) = schema else { return };
    key.remove("x-default");
    if let (Some(default), Some(Value::String(text))) = (default, key.get_mut("description")) {
        text.push_str(&format!(" Default: {default}."));
    }
}

/// Describes each key that determines the form of its table (one with a single value, or the only key) by
/// the description of that form, unless it has its own.
fn describe_keys(schema: &mut Value) {
    let inner = match schema {
        Value::Array(parts) => {
            parts.iter_mut().for_each(describe_keys);
            return;
        }
        Value::Object(object) => object,
        _ => return,
    };
    inner.values_mut().for_each(describe_keys);
    let Some(text) = inner.get("description").filter(|text| text.is_string()).cloned() else {
        return;
    };
    let Some(Value::Object(keys)) = inner.get_mut("properties") else { return };
    let only = keys.len() == 1;
    for key in keys.values_mut().filter_map(Value::as_object_mut) {
        if only || key.contains_key("const") {
            key.entry("description").or_insert_with(|| text.clone());
        }
    }
}
