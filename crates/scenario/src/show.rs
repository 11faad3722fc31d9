//! Output of the effective scenario: as a file, and as a list of keys and values.

use std::fmt::Write;

use toml::{Table, Value};

use crate::Scenario;

impl Scenario {
    /// Formats the scenario as a TOML file with all defaults, which parses to the same scenario.
    pub fn show(&self) -> String {
        let mut out = String::new();
        section(&mut out, "", &self.table());
        out
    }

    fn table(&self) -> Table {
        // Numbers, strings and tables with string keys: TOML can represent all of them.
        Table::try_from(self).unwrap_or_default()
    }
}

/// The keys of `scenario` and their values, in the order of the file: `network.link.rate` and
/// `32 kbit/s`, `flow.0.tcp.recovery` and `sack`. Strings have no quotes. The name of an aid has
/// the key `flow.0.aid`, whether it has options or not.
pub fn flatten(scenario: &Scenario) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (key, value) in scenario.table() {
        leaves(key, &value, &mut pairs);
    }
    pairs
}

fn leaves(path: String, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                leaves(format!("{path}.{key}"), value, pairs);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                leaves(format!("{path}.{number}"), value, pairs);
            }
        }
        Value::String(text) => {
            let path = path.strip_suffix("aid.name").map_or(path.clone(), |p| format!("{p}aid"));
            pairs.push((path, text.clone()));
        }
        other => pairs.push((path, other.to_string())),
    }
}

/// Returns whether the table is short enough for one line.
fn is_inline(table: &Table) -> bool {
    table.len() <= 3 && table.values().all(|value| value.as_table().is_none_or(is_inline))
}

/// Writes the keys of the table at `path`: inline values first, then tables with a heading.
fn section(out: &mut String, path: &str, table: &Table) {
    let mut later = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !is_inline(inner) => later.push((key, "[", "]", inner)),
            Value::Array(values) if !values.is_empty() && values.iter().all(Value::is_table) => {
                let tables = values.iter().filter_map(Value::as_table);
                later.extend(tables.map(|inner| (key, "[[", "]]", inner)));
            }
            _ => {
                // Writing to a String does not fail.
                let _ = writeln!(out, "{key} = {value}");
            }
        }
    }
    for (key, open, close, inner) in later {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let _ = write!(out, "\n{open}{path}{close}\n");
        section(out, &path, inner);
    }
}
