//! The reference of a TOML file: a section for each table, a row for each key.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::lookup::{forms, resolve};

/// The beginning of `docs/scenario.md`.
pub(super) const HEAD: &str = "\
# The scenario file

A scenario is one TOML file that defines everything about a run but its seed. This page lists all its keys;
it is generated from the types that read the file (`driftway check --schema` prints the same as a JSON schema
for editors). Quantities carry their unit in the value, such as `\"20 ms\"`; bare numbers are counts and
ratios. `driftway check FILE --show` prints a file with all its defaults.
";

/// Writes the reference of this schema, after `head`.
pub(super) fn reference(root: &Value, head: &str) -> String {
    let mut reference = Reference { root, out: head.to_owned(), seen: Vec::new() };
    reference.table("", root);
    reference.out
}

struct Reference<'a> {
    root: &'a Value,
    out: String,
    /// Types that have a section, with its path.
    seen: Vec<(String, String)>,
}

impl<'a> Reference<'a> {
    /// Writes the sections of the tables that `schema` allows at `path`, and of those inside them.
    fn table(&mut self, path: &str, schema: &'a Value) {
        let about = resolve(self.root, schema).get("description").and_then(Value::as_str);
        let tables = |form: &'a Value| Some((form, form.get("properties")?.as_object()?));
        let tables: Vec<_> = forms(self.root, schema).into_iter().filter_map(tables).collect();
        for (form, keys) in &tables {
            self.section(path, form, keys, about, tables.len() > 1);
        }
    }

    fn section(
        &mut self,
        path: &str,
        form: &'a Value,
        keys: &'a Map<String, Value>,
        about: Option<&str>,
        alternative: bool,
    ) {
        let required = |key: &str| {
            let names = form.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|name| name == key))
        };
        let tag = keys.iter().find_map(|(key, schema)| Some((key, schema.get("const")?.as_str()?)));
        // Several forms without a tag are distinguished by a required key.
        let mark = keys.keys().find(|key| alternative && required(key));
        // Writing to a String does not fail.
        let _ = match (path, tag, mark) {
            ("", ..) => writeln!(self.out, "\n## The file"),
            (_, Some((key, value)), _) => {
                writeln!(self.out, "\n## `{path}` with `{key} = \"{value}\"`")
            }
            (_, None, Some(key)) => writeln!(self.out, "\n## `{path}` with `{key}`"),
            (_, None, None) => writeln!(self.out, "\n## `{path}`"),
        };
        let own = form.get("description").and_then(Value::as_str).or(about);
        if let Some(text) = own.filter(|_| !path.is_empty()) {
            let _ = writeln!(self.out, "\n{}", text.replace('\n', " ").replace("  ", "\n\n"));
        }
        let _ = writeln!(self.out, "\n| key | values | default | meaning |\n|---|---|---|---|");
        for (key, schema) in keys.iter().filter(|(_, schema)| schema.get("const").is_none()) {
            let default = match default_text(schema) {
                None if required(key) => "required".to_owned(),
                default => default.unwrap_or_default().replace('|', "\\|"),
            };
            let values = self.values(schema).replace('|', "\\|");
            let meaning = self.meaning(schema).replace('|', "\\|");
            let _ = writeln!(self.out, "| `{key}` | {values} | {default} | {meaning} |");
        }
        for (key, schema) in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.inside(&path, schema);
        }
    }

    /// Writes the sections of the tables that are values of a key, once for each type.
    fn inside(&mut self, path: &str, schema: &'a Value) {
        let schema = schema.get("items").unwrap_or(schema);
        let tables = |form: &&Value| form.get("properties").is_some();
        if forms(self.root, schema).iter().all(|form| !tables(form)) {
            return;
        }
        let name = schema.get("$ref").and_then(Value::as_str).map(str::to_owned);
        if let Some(name) = name {
            if self.seen.iter().any(|(seen, _)| *seen == name) {
                return;
            }
            self.seen.push((name, path.to_owned()));
        }
        self.table(path, schema);
    }

    /// The values that a key may have.
    fn values(&self, schema: &Value) -> String {
        let mut words: Vec<String> = Vec::new();
        for form in forms(self.root, schema) {
            let word = self.form(form);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words.join(", ")
    }

    fn form(&self, form: &Value) -> String {
        if let Some(only) = form.get("const") {
            return format!("`{}`", as_toml(only));
        }
        if let Some(words) = form.get("enum").and_then(Value::as_array) {
            return words
                .iter()
                .map(|w| format!("`{}`", as_toml(w)))
                .collect::<Vec<_>>()
                .join(", ");
        }
        if let Some(title) = form.get("title").and_then(Value::as_str)
            && form.get("properties").is_none()
        {
            let example = form.get("examples").and_then(|all| all.get(0));
            return example
                .map_or_else(|| title.to_owned(), |e| format!("{title}: `{}`", as_toml(e)));
        }
        let bound = |key: &str| form.get(key).and_then(Value::as_u64);
        match form.get("type").and_then(Value::as_str).unwrap_or_default() {
            "boolean" => "`true`, `false`".to_owned(),
            "integer" => match (bound("minimum"), bound("maximum")) {
                (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
                _ => "whole number".to_owned(),
            },
            "number" => number(form),
            "array" => match (form.get("items"), form.get("prefixItems").and_then(Value::as_array))
            {
                (_, Some(parts)) => {
                    let parts: Vec<_> = parts.iter().map(|part| self.values(part)).collect();
                    format!("[{}]", parts.join(", "))
                }
                (Some(items), None) => format!("array of {}", plural(&self.values(items))),
                (None, None) => "array".to_owned(),
            },
            "object" => {
                let keys = form.get("properties").and_then(Value::as_object);
                let keys: Vec<_> = keys.into_iter().flatten().collect();
                match keys.as_slice() {
                    [(key, value)] => format!("`{{ {key} = … }}` ({})", self.values(value)),
                    _ => "table".to_owned(),
                }
            }
            _ => "text".to_owned(),
        }
    }

    /// The documentation of a key and of each word among its values.
    fn meaning(&self, schema: &Value) -> String {
        let text = |schema: &Value| {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            text.replace("\n\n", "<br>").replace('\n', " ")
        };
        let mut meaning = text(schema);
        for form in forms(self.root, schema) {
            if let (Some(word), Some(_)) = (form.get("const"), form.get("description")) {
                let (word, text) = (format!("`{}`: ", as_toml(word)), text(form));
                let _ = write!(meaning, "<br>{word}{}", text.strip_prefix(&word).unwrap_or(&text));
            }
        }
        meaning
    }
}

/// Describes a number by its range.
fn number(form: &Value) -> String {
    let bound = |included: &str, excluded: &str, word: &str| {
        let excluded = || form.get(excluded).map(|bound| format!("{word} {bound}"));
        form.get(included).map(Value::to_string).or_else(excluded)
    };
    let low = bound("minimum", "exclusiveMinimum", "above");
    match (low, bound("maximum", "exclusiveMaximum", "below")) {
        (Some(low), Some(high)) => format!("number, {low} to {high}"),
        (Some(low), None) if form.get("minimum").is_some() => format!("number, at least {low}"),
        (Some(low), None) => format!("number, {low}"),
        (None, _) => "number".to_owned(),
    }
}

/// The plural of a description of values, such as `time: "20 ms"`.
fn plural(values: &str) -> String {
    let end = values.find([':', ',']).unwrap_or(values.len());
    let (name, rest) = values.split_at(end);
    let is_noun = name.ends_with(|last: char| last.is_ascii_alphabetic()) && !name.starts_with('[');
    format!("{name}{}{rest}", if is_noun { "s" } else { "" })
}

/// The default of a key as the reference states it; `None`: the key is required.
pub(super) fn default_text(key: &Value) -> Option<String> {
    match (key.get("x-default").and_then(Value::as_str), key.get("default")) {
        (Some(text), _) => Some(text.to_owned()),
        (None, value) => value.map(|value| format!("`{}`", as_toml(value))),
    }
}

/// A value as a scenario file writes it.
fn as_toml(value: &Value) -> String {
    match value {
        Value::Object(keys) => {
            let keys: Vec<_> = keys.iter().map(|(k, v)| format!("{k} = {}", as_toml(v))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(as_toml).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
