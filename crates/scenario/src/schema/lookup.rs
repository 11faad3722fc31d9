//! Finds the documentation of the keys of a table in the schema.

use serde_json::Value;
use toml::Table;

/// The position of a table in the schema.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    root: &'a Value,
    at: &'a Value,
}

impl<'a> Keys<'a> {
    /// The position of the whole file.
    pub fn of_file(root: &'a Value) -> Self {
        Self { root, at: root }
    }

    /// The position of `key` of `table`, which is at this position.
    pub fn key(&self, table: &Table, key: &str) -> Option<Self> {
        let at = property(self.form(table)?, key)?;
        let at = at.get("items").unwrap_or(at);
        Some(Self { root: self.root, at })
    }

    /// The documentation of `key` of `table`; if it has none, that of the table's form, which the key
    /// determines.
    pub fn documentation(&self, table: &Table, key: &str) -> Option<&'a str> {
        let form = self.form(table)?;
        let own = property(form, key)?.get("description");
        own.or(form.get("description"))?.as_str()
    }

    /// The form of `table` among those that a table may have at this position.
    fn form(&self, table: &Table) -> Option<&'a Value> {
        let fits = |form: &&'a Value| {
            table.iter().all(|(key, value)| {
                property(form, key).is_some_and(|schema| match schema.get("const") {
                    Some(only) => only.as_str() == value.as_str(),
                    None => true,
                })
            })
        };
        forms(self.root, self.at).into_iter().find(fits)
    }
}

fn property<'a>(form: &'a Value, key: &str) -> Option<&'a Value> {
    form.get("properties")?.get(key)
}

/// The schema that a reference denotes.
pub(super) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

/// The alternatives of a schema, or the schema itself if it has none.
pub(super) fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolve(root, schema);
    let parts = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match parts {
        Some(parts) => parts.iter().flat_map(|part| forms(root, part)).collect(),
        None => vec![schema],
    }
}
