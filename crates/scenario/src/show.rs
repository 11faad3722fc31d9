//! Output of the effective scenario: as a file, and as a list of keys and values.

use std::fmt::Write;

use toml::{Table, Value};

use crate::schema::Keys;
use crate::{Network, Scenario};

/// Maximum width of a line of a comment.
const WIDTH: usize = 100;

impl Scenario {
    /// Formats the scenario as a TOML file with all defaults, which parses to the same scenario.
    pub fn show(&self) -> String {
        let mut out = String::new();
        write_section(&mut out, "", &self.table(), None);
        out
    }

    /// Formats the scenario like [`Scenario::show`], with the documentation of each key as a comment
    /// above it.
    pub fn show_documented(&self) -> String {
        let mut out = String::new();
        let schema = Self::schema();
        write_section(&mut out, "", &self.table(), Some(Keys::of_file(&schema)));
        out
    }

    fn table(&self) -> Table {
        // Numbers, strings and tables with string keys: TOML can represent all of them.
        let mut table = Table::try_from(self).unwrap_or_default();
        if let Network::Mixed(mixed) = &self.network {
            insert_node_names(&mut table, &mixed.nodes);
        }
        table
    }
}

/// Replaces the numbers of nodes by their names.
fn insert_node_names(file: &mut Table, names: &[String]) {
    let insert = |node: &mut Value| {
        let number = node.as_integer().and_then(|number| usize::try_from(number).ok());
        if let Some(name) = number.and_then(|number| names.get(number)) {
            *node = Value::String(name.clone());
        }
    };
    for flow in elements(file.get_mut("flow")) {
        for key in ["from", "to"] {
            flow.get_mut(key).into_iter().for_each(insert);
        }
    }
    let Some(network) = file.get_mut("network") else { return };
    for wire in elements(network.get_mut("wire")) {
        elements(wire.get_mut("between")).iter_mut().for_each(insert);
    }
    for route in elements(network.get_mut("route")) {
        for key in ["at", "to"] {
            route.get_mut(key).into_iter().for_each(insert);
        }
    }
    let gateway = network.get_mut("gateway").and_then(|gateway| gateway.get_mut("node"));
    gateway.into_iter().for_each(insert);
    let mut insert_radios = |air: &mut Value| {
        elements(air.get_mut("radios")).iter_mut().for_each(insert);
    };
    match network.get_mut("air") {
        Some(Value::Array(airs)) => airs.iter_mut().for_each(insert_radios),
        air => air.into_iter().for_each(&mut insert_radios),
    }
    for fault in elements(network.get_mut("fault")) {
        fault.get_mut("node").into_iter().for_each(insert);
    }
}

/// The elements of an array; none if it is not an array.
fn elements(value: Option<&mut Value>) -> &mut [Value] {
    match value {
        Some(Value::Array(values)) => values,
        _ => &mut [],
    }
}

/// The keys of `scenario` and their values, in the order of the file: `network.link.rate` and
/// `32 kbit/s`, `flow.0.tcp.recovery` and `sack`. Strings have no quotes. The name of an aid has
/// the key `flow.0.aid`, whether it has options or not.
pub fn flatten(scenario: &Scenario) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (key, value) in scenario.table() {
        collect_leaves(key, &value, &mut pairs);
    }
    pairs
}

fn collect_leaves(path: String, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                collect_leaves(format!("{path}.{key}"), value, pairs);
            }
        }
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                collect_leaves(format!("{path}.{number}"), value, pairs);
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

/// Writes the keys of the table at `path`: inline values first, then tables with a heading. With
/// `keys`, each key has its documentation above it, and no table is inline.
fn write_section(out: &mut String, path: &str, table: &Table, keys: Option<Keys<'_>>) {
    let comment = |out: &mut String, key: &str| {
        let text = keys.and_then(|keys| keys.documentation(table, key));
        text.into_iter().for_each(|text| write_comment(out, text));
    };
    let mut later = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if keys.is_some() || !is_inline(inner) => {
                later.push((key, "[", "]", inner));
            }
            Value::Array(values) if !values.is_empty() && values.iter().all(Value::is_table) => {
                let tables = values.iter().filter_map(Value::as_table);
                later.extend(tables.map(|inner| (key, "[[", "]]", inner)));
            }
            _ => {
                comment(out, key);
                // Writing to a String does not fail.
                let _ = writeln!(out, "{key} = {value}");
            }
        }
    }
    for (key, open, close, inner) in later {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        out.push('\n');
        comment(out, key);
        let _ = writeln!(out, "{open}{below}{close}");
        write_section(out, &below, inner, keys.and_then(|keys| keys.key(table, key)));
    }
}

/// Writes `text` as a comment with lines of at most [`WIDTH`] characters.
fn write_comment(out: &mut String, text: &str) {
    for paragraph in text.split("\n\n") {
        let mut line = String::from("#");
        for word in paragraph.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(out, "{line}");
                line.replace_range(1.., "");
            }
            line.push(' ');
            line.push_str(word);
        }
        let _ = writeln!(out, "{line}");
    }
}
