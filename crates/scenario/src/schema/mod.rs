//! The JSON schema of the scenario file, for editors, for the comments of [`Scenario::show`] and for the
//! reference in `docs/scenario.md`.

mod lookup;
mod markdown;
mod types;

pub(crate) use lookup::Keys;
pub(crate) use types::{OneOrTwo, PresetName, TcpOrPreset};

use serde_json::{Map, Value};

use crate::Scenario;

impl Scenario {
    /// The JSON schema (draft 2020-12) of a scenario file. It does not include the rules that depend on
    /// several keys, which [`Scenario::parse`] checks as well.
    pub fn schema() -> Value {
        let mut schema = schemars::generate::SchemaSettings::draft2020_12()
            .into_generator()
            .into_root_schema_for::<Self>()
            .to_value();
        for_toml(&mut schema);
        schema
    }

    /// The reference of the scenario file in Markdown: each key with its values, default and meaning.
    pub fn reference() -> String {
        markdown::reference(&Self::schema())
    }
}

/// Removes the value null, which TOML does not have, and the names of Rust types from a schema.
fn for_toml(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(for_toml),
        Value::Object(object) => {
            object.values_mut().for_each(for_toml);
            object.remove("format");
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
