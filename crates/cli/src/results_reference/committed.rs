//! Reads `docs/results.md`, and finds what it lacks.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The tables of the reference.
pub struct Committed {
    /// The rows of each section and of each subsection, by anchor. A section has those of its
    /// subsections too.
    rows: BTreeMap<String, Vec<Vec<String>>>,
}

impl Committed {
    /// Reads the file.
    pub fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    pub fn parse(text: &str) -> Self {
        let mut rows: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
        let (mut section, mut subsection) = (String::new(), String::new());
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                section = anchor(title);
                subsection.clone_from(&section);
                rows.entry(section.clone()).or_default();
            } else if let Some(title) = line.strip_prefix("### ") {
                subsection = anchor(title);
                rows.entry(subsection.clone()).or_default();
            } else if let Some(row) = line.strip_prefix("| ") {
                let row = row.trim_end_matches('|').replace("\\|", "\u{0}");
                let cells = row.split('|').map(|cell| cell.trim().replace('\u{0}', "|"));
                let cells: Vec<String> = cells.collect();
                if subsection != section {
                    rows.entry(subsection.clone()).or_default().push(cells.clone());
                }
                rows.entry(section.clone()).or_default().push(cells);
            }
        }
        Self { rows }
    }

    pub fn has_section(&self, anchor: &str) -> bool {
        self.rows.contains_key(anchor)
    }

    /// The rows of a section.
    pub fn rows(&self, anchor: &str) -> &[Vec<String>] {
        self.rows.get(anchor).map_or(&[], Vec::as_slice)
    }

    /// The paths of the fields of a document that the section with this anchor lacks.
    pub fn undocumented_fields(&self, anchor: &str, document: &Value) -> Vec<String> {
        let mut missing = Vec::new();
        let root = if document.is_array() { "[]" } else { "" };
        for part in document.as_array().map_or(std::slice::from_ref(document), Vec::as_slice) {
            self.check_object(anchor, root, part, &mut missing);
        }
        missing.sort();
        missing.dedup();
        missing
    }

    fn check_object(&self, anchor: &str, path: &str, object: &Value, missing: &mut Vec<String>) {
        for (key, value) in object.as_object().into_iter().flatten() {
            let parent = path;
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let mut rows = self.rows(anchor).iter();
            match rows.find(|row| row.first().is_some_and(|cell| cell.trim_matches('`') == path)) {
                Some(row) => {
                    self.check(anchor, &path, &row[1], value, missing);
                    if row[1].starts_with("map of ") {
                        self.check_keys(linked(&row[2]), value, missing);
                    }
                }
                None if self.lists_key(anchor, parent, key) => {}
                None => missing.push(format!("{anchor}: {path}")),
            }
        }
    }

    /// Returns true if the description of an object links to a section that lists this key.
    fn lists_key(&self, anchor: &str, object: &str, key: &str) -> bool {
        let is = |cell: Option<&String>, name: &str| {
            cell.is_some_and(|cell| cell.trim_matches('`') == name)
        };
        let row = self.rows(anchor).iter().find(|row| is(row.first(), object));
        let link = row.and_then(|row| linked(row.get(2)?));
        link.is_some_and(|link| self.rows(link).iter().any(|row| is(row.first(), key)))
    }

    /// Finds the keys of a map that the section which lists them lacks.
    fn check_keys(&self, anchor: Option<&str>, map: &Value, missing: &mut Vec<String>) {
        let Some(anchor) = anchor else { return };
        for key in map.as_object().into_iter().flat_map(serde_json::Map::keys) {
            let named =
                |row: &Vec<String>| row.first().is_some_and(|cell| *cell == format!("`{key}`"));
            if !self.rows(anchor).iter().any(named) {
                missing.push(format!("{anchor}: {key}"));
            }
        }
    }

    fn check(
        &self,
        anchor: &str,
        path: &str,
        kind: &str,
        value: &Value,
        missing: &mut Vec<String>,
    ) {
        // A scenario has a reference of its own.
        if kind.contains("(scenario.md)") {
            return;
        }
        match value {
            Value::Array(parts) => {
                for part in parts {
                    self.check(anchor, &format!("{path}[]"), kind, part, missing);
                }
            }
            Value::Object(parts) => match (kind.split_once("map of "), linked(kind)) {
                (Some((_, kind)), _) => {
                    for part in parts.values() {
                        self.check(anchor, &format!("{path}.*"), kind, part, missing);
                    }
                }
                (None, Some(link)) => self.check_object(link, "", value, missing),
                (None, None) => self.check_object(anchor, path, value, missing),
            },
            _ => {}
        }
    }
}

/// The anchor to which a cell links.
fn linked(cell: &str) -> Option<&str> {
    cell.split_once("](#")?.1.split(')').next()
}

/// The anchor of a title, as GitHub makes it.
pub fn anchor(title: &str) -> String {
    let title = title.to_lowercase();
    let legal = title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    legal.map(|c| if c == ' ' { '-' } else { c }).collect()
}
