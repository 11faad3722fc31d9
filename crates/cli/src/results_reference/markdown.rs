//! Documents as Markdown: a row for each field, by its path.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value};

use super::committed::anchor;

/// The greatest number of fields of an object whose fields are rows of the table that contains it.
const INLINE_FIELDS: usize = 7;

/// A document.
pub struct DocumentSchema {
    pub title: &'static str,
    pub about: &'static str,
    /// Its schema.
    pub schema: Value,
    /// Fields that are described elsewhere.
    pub skipped: Vec<String>,
}

/// Writer of the sections of documents.
pub struct Documents {
    documents: Vec<DocumentSchema>,
    /// Titles of the types that have a section of their own, by their schema.
    shared: BTreeMap<String, String>,
}

/// A table, and the tables of the objects in it.
#[derive(Default)]
struct Rows {
    text: String,
    /// Path, schema and description of objects with a table of their own.
    inner: Vec<(String, Value, String)>,
}

impl Documents {
    pub fn new(documents: Vec<DocumentSchema>) -> Self {
        let mut uses: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for document in &documents {
            count_uses(document, &document.schema, &document.skipped, &mut uses);
        }
        let shared = uses.into_iter().filter(|(_, (_, uses))| *uses > 1);
        let shared = shared.map(|(schema, (name, _))| (schema, title(&name))).collect();
        Self { documents, shared }
    }

    /// The sections of all documents.
    pub fn sections(&self) -> String {
        let mut out = String::new();
        for document in &self.documents {
            let _ = writeln!(out, "\n## {}\n\n{}", document.title, document.about);
            let root = &document.schema;
            // The items of an array.
            let (path, top) = match root.get("items") {
                Some(items) => ("[]", resolve(root, items)),
                None => ("", root),
            };
            self.table(&mut out, document, path, top);
        }
        out
    }

    /// The sections of the types that several documents use.
    pub fn shared_types(&self) -> String {
        let mut out = String::new();
        let mut titles: Vec<(&String, &String)> = self.shared.iter().collect();
        titles.sort_by_key(|(_, title)| *title);
        for (key, title) in titles {
            let found = self.documents.iter().find_map(|document| {
                let types = document.schema.get("$defs")?.as_object()?;
                let schema = types.values().find(|schema| key_of(&document.schema, schema) == *key);
                Some((document, schema?))
            });
            if let Some((document, schema)) = found {
                let _ = writeln!(out, "\n### {title}\n\n{}", description(schema));
                self.table(&mut out, document, "", schema);
            }
        }
        out
    }

    /// Writes the table of an object, then those of the objects in it.
    fn table(&self, out: &mut String, document: &DocumentSchema, path: &str, schema: &Value) {
        let mut rows = Rows::default();
        self.fields(&mut rows, document, path, schema);
        let _ = write!(out, "\n| field | type | meaning |\n|---|---|---|\n{}", rows.text);
        for (path, schema, about) in rows.inner {
            let _ = writeln!(out, "\n### `{path}`\n\n{about}");
            self.table(out, document, &path, &schema);
        }
    }

    fn fields(&self, rows: &mut Rows, document: &DocumentSchema, path: &str, schema: &Value) {
        let root = &document.schema;
        let always = strings(schema.get("required"));
        let skipped = |name: &str| path.is_empty() && document.skipped.iter().any(|s| s == name);
        for (name, field) in fields_in_order(schema).into_iter().filter(|(name, _)| !skipped(name))
        {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let mut kind = self.kind(root, field, false);
            if !always.contains(&name.as_str()) {
                // It is absent rather than null.
                kind = kind.trim_end_matches(" or null").to_owned() + ", or absent";
            }
            // The only field of an alternative has the description of that.
            let alone = schema
                .get("description")
                .filter(|_| schema["properties"].as_object().is_some_and(|all| all.len() == 1));
            self.row(rows, root, &path, &kind, (field, alone));
            self.inside(rows, document, &path, field);
        }
    }

    fn row(
        &self,
        rows: &mut Rows,
        root: &Value,
        path: &str,
        kind: &str,
        (field, alone): (&Value, Option<&Value>),
    ) {
        let mut meaning = description(field);
        if meaning.is_empty() {
            meaning = description(resolve(root, field));
        }
        if let (true, Some(text)) = (meaning.is_empty(), alone) {
            meaning = one_line(text.as_str().unwrap_or_default());
        }
        for (form, word) in words(root, field) {
            let _ = write!(meaning, "<br>`{word}`: {}", description(form));
        }
        let cell = |text: &str| text.replace('|', "\\|");
        let _ = writeln!(rows.text, "| `{path}` | {} | {} |", cell(kind), cell(&meaning));
    }

    /// The fields of the objects that are values of a field: in the same table if they are few.
    fn inside(&self, rows: &mut Rows, document: &DocumentSchema, path: &str, field: &Value) {
        let root = &document.schema;
        let (mut path, mut at) = (path.to_owned(), field);
        loop {
            at = resolve(root, without_null(at));
            if let Some(items) = at.get("items") {
                (path, at) = (path + "[]", items);
            } else if let Some(values) = map_values(at) {
                (path, at) = (path + ".*", values);
            } else {
                break;
            }
        }
        for form in forms(root, at) {
            let Some(fields) = form.get("properties").and_then(Value::as_object) else { continue };
            if is_scenario(form) || self.shared.contains_key(&key_of(root, form)) {
                continue;
            }
            if fields.len() <= INLINE_FIELDS {
                self.fields(rows, document, &path, form);
            } else {
                rows.inner.push((path.clone(), form.clone(), description(form)));
            }
        }
    }

    /// The type of a value.
    fn kind(&self, root: &Value, schema: &Value, plural: bool) -> String {
        let s = if plural { "s" } else { "" };
        let without = without_null(schema);
        if !std::ptr::eq(without, schema) {
            return self.kind(root, without, plural) + " or null";
        }
        let at = resolve(root, schema);
        if is_scenario(at) {
            return "[scenario](scenario.md)".to_owned();
        }
        if let Some(title) = self.shared.get(&key_of(root, at)) {
            return format!("[{title}](#{})", anchor(title));
        }
        let forms = forms(root, at);
        if forms.len() > 1 {
            let mut kinds: Vec<String> =
                forms.into_iter().map(|form| self.kind(root, form, plural)).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
        let kinds = match at.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            kinds => strings(kinds),
        };
        let null = if kinds.contains(&"null") { " or null" } else { "" };
        let kind = match kinds.first().copied().unwrap_or_default() {
            "boolean" => format!("boolean{s}"),
            "integer" => format!("integer{s}"),
            "number" => format!("number{s}"),
            "array" => {
                let parts = at.get("prefixItems").and_then(Value::as_array);
                let count = at.get("minItems").and_then(Value::as_u64);
                let of = match (parts, at.get("items"), count) {
                    (Some(parts), ..) => {
                        let parts = parts.iter().map(|part| self.kind(root, part, false));
                        format!("[{}]", parts.collect::<Vec<_>>().join(", "))
                    }
                    (_, Some(items), Some(count)) => {
                        format!("{count} {}", self.kind(root, items, true))
                    }
                    (_, Some(items), None) => self.kind(root, items, true),
                    (None, None, _) => "values".to_owned(),
                };
                format!("array{s} of {of}")
            }
            "object" => match map_values(at) {
                Some(values) => format!("map{s} of {}", self.kind(root, values, true)),
                None => format!("object{s}"),
            },
            _ => "text".to_owned(),
        };
        kind + null
    }
}

/// The fields of an object: first those that it always has, in their order, then the others.
fn fields_in_order(schema: &Value) -> Vec<(&String, &Value)> {
    let always = strings(schema.get("required"));
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut fields: Vec<_> = fields.into_iter().flatten().collect();
    let place = |name: &str| always.iter().position(|field| *field == name).unwrap_or(always.len());
    fields.sort_by_key(|(name, _)| place(name));
    fields
}

/// Counts the places at which each type with fields is used, by its schema, with its name.
fn count_uses(
    document: &DocumentSchema,
    schema: &Value,
    skipped: &[String],
    uses: &mut BTreeMap<String, (String, usize)>,
) {
    let root = &document.schema;
    let mut seen = Vec::new();
    let parts: Vec<&Value> = match schema {
        Value::Object(parts) => {
            if let Some(Value::String(name)) = parts.get("$ref") {
                let of = resolve(root, schema);
                if of.get("properties").is_some() && !is_scenario(of) {
                    let name = name.rsplit('/').next().unwrap_or_default();
                    let of_type = uses.entry(key_of(root, of)).or_default();
                    *of_type = (name.to_owned(), of_type.1 + 1);
                    if of_type.1 > 1 {
                        return;
                    }
                }
                if !is_scenario(of) {
                    seen.push(of);
                }
            }
            let fields = parts.get("properties").and_then(Value::as_object);
            let fields = fields.into_iter().flatten();
            let fields = fields.filter(|(name, _)| !skipped.contains(name)).map(|(_, part)| part);
            seen.extend(fields);
            let others = |key: &&String| !["$defs", "properties", "$ref"].contains(&key.as_str());
            seen.extend(parts.iter().filter(|(key, _)| others(key)).map(|(_, part)| part));
            seen
        }
        Value::Array(parts) => parts.iter().collect(),
        _ => seen,
    };
    for part in parts {
        count_uses(document, part, &[], uses);
    }
}

/// The schema that a reference denotes.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str);
    let name = name.and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

/// The same text for equal types, whatever their names in a schema.
fn key_of(root: &Value, schema: &Value) -> String {
    fn expand(root: &Value, schema: &Value) -> Value {
        match resolve(root, schema) {
            Value::Object(parts) if !is_scenario(&Value::Object(parts.clone())) => {
                let parts = parts.iter().map(|(key, part)| (key.clone(), expand(root, part)));
                Value::Object(parts.collect::<Map<_, _>>())
            }
            Value::Array(parts) => parts.iter().map(|part| expand(root, part)).collect(),
            other => other.clone(),
        }
    }
    match schema.get("properties") {
        Some(_) if !is_scenario(schema) && schema.get("$defs").is_none() => {
            expand(root, schema).to_string()
        }
        _ => String::new(),
    }
}

/// The type of a whole scenario, which has a reference of its own.
fn is_scenario(schema: &Value) -> bool {
    let has = |name| schema.get("properties").is_some_and(|keys| keys.get(name).is_some());
    has("network") && has("flow")
}

/// The alternatives of a schema, or the schema itself if it has none.
fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolve(root, schema);
    let parts = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match parts {
        Some(parts) => parts.iter().flat_map(|part| forms(root, part)).collect(),
        None => vec![schema],
    }
}

/// The only other alternative of a schema that also allows null.
fn without_null(schema: &Value) -> &Value {
    let parts = schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice);
    match parts {
        Some([part, null]) if null.get("type").is_some_and(|kind| kind == "null") => part,
        _ => schema,
    }
}

/// The schema of the values of an object that is a map.
fn map_values(schema: &Value) -> Option<&Value> {
    let values = schema.get("additionalProperties").filter(|values| values.is_object());
    values.filter(|_| schema.get("properties").is_none())
}

/// The words that a field may have, each with its schema.
fn words<'a>(root: &'a Value, field: &'a Value) -> Vec<(&'a Value, &'a str)> {
    let forms = forms(root, without_null(field)).into_iter();
    forms.filter_map(|form| Some((form, form.get("const")?.as_str()?))).collect()
}

fn strings(values: Option<&Value>) -> Vec<&str> {
    let values = values.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

/// The description of a schema, as one line.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    one_line(text)
}

/// A paragraph as one line.
pub fn one_line(text: &str) -> String {
    let paragraphs = text.split("\n\n");
    let paragraphs = paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("<br>")
}

/// The title of a type: `PointResult` is "Point result".
fn title(name: &str) -> String {
    let mut title = String::new();
    for (index, c) in name.trim_end_matches(|c: char| c.is_ascii_digit()).chars().enumerate() {
        if index > 0 && c.is_uppercase() {
            title.push(' ');
            title.extend(c.to_lowercase());
        } else {
            title.push(c);
        }
    }
    title
}
