//! Overrides, `--set key=value`, which a command line applies to a file before it is deserialized.

use crate::error::{Diagnostic, Origin, quoted};
use crate::preset;
use crate::tree::{Entry, Node, Value};

/// Sets the dotted `key` of `tree` to `value`, which is TOML or else plain text:
/// `network.link.rate`, `flow.0.tcp.recovery`, or `flow.*.aid` for all flows. Missing tables are
/// created, missing array elements are not. `flow=3` keeps the first three flows.
pub(crate) fn apply_override(
    tree: &mut Node,
    number: usize,
    key: &str,
    value: &str,
) -> Result<(), Diagnostic> {
    let origin = Origin::Override(number);
    let parts: Vec<&str> = key.split('.').map(str::trim).collect();
    if parts.len() > 8 || parts.iter().any(|part| part.is_empty()) {
        let message = "this is not a key\nkeys look like network.link.rate or flow.0.aid";
        return Err(Diagnostic::new(message).at(origin));
    }
    let value = Node::parse_override(value, number)?;
    set_value(tree, &parts, &value, origin).map_err(|fault| fault.at(origin))
}

fn set_value(
    node: &mut Node,
    key: &[&str],
    value: &Node,
    origin: Origin,
) -> Result<(), Diagnostic> {
    let Some((first, rest)) = key.split_first() else {
        if let (Value::Array(nodes), Value::Integer(keep)) = (&mut node.value, &value.value) {
            return truncate_array(nodes, *keep);
        }
        *node = value.clone();
        return Ok(());
    };
    match &mut node.value {
        Value::Array(nodes) => {
            if *first == "*" {
                // What only TCP has leaves flows of UDP alone.
                let of_tcp =
                    ["tcp", "aid", "receiver_aid"].iter().any(|key| rest.first() == Some(key));
                let is_set = |node: &&mut Node| !of_tcp || !uses_udp(node);
                let mut nodes = nodes.iter_mut().filter(is_set);
                return nodes.try_for_each(|node| set_value(node, rest, value, origin));
            }
            let count = nodes.len();
            match first.parse::<usize>().ok().and_then(|i| nodes.get_mut(i)) {
                Some(node) => set_value(node, rest, value, origin),
                None => Err(Diagnostic::new(&format!(
                    "there is no element `{}`\nthe file has {count}, counted from 0; `*` selects all",
                    quoted(first)
                ))),
            }
        }
        Value::Table(entries) => {
            let place = match entries.iter().position(|entry| entry.key == *first) {
                Some(place) => place,
                None => {
                    let node = Node { origin, value: Value::Table(Vec::new()) };
                    entries.push(Entry { key: (*first).to_owned(), origin, node });
                    entries.len() - 1
                }
            };
            let inner = &mut entries[place].node;
            // `aid = "atcp"` is short for `aid = { name = "atcp" }`, as is the `growth` of a registry, `tcp = "linux"`
            // for `tcp = { preset = "linux" }`.
            let short_for = match *first {
                "aid" | "receiver_aid" | "growth" => Some("name"),
                "tcp" => Some(preset::PRESET_KEY),
                _ => None,
            };
            if let (Value::String(_), Some(key), [_, ..]) = (&inner.value, short_for, rest) {
                inner.expand_to_table(key);
            }
            set_value(inner, rest, value, origin)
        }
        _ => Err(Diagnostic::new(&format!(
            "there is no `{}` in a value that is not a table",
            quoted(first)
        ))),
    }
}

/// Returns whether a table is of UDP.
fn uses_udp(flow: &Node) -> bool {
    let transport = flow.get("transport").map(|transport| &transport.value);
    matches!(transport, Some(Value::String(name)) if name == "udp")
}

/// Keeps the first `keep` elements of an array, so that the number of flows can be varied.
fn truncate_array(nodes: &mut Vec<Node>, keep: i128) -> Result<(), Diagnostic> {
    match usize::try_from(keep).ok().filter(|keep| (1..=nodes.len()).contains(keep)) {
        Some(keep) => {
            nodes.truncate(keep);
            Ok(())
        }
        None => Err(Diagnostic::new(&format!(
            "cannot keep the first {keep} elements\nthe file has {}, and at least one must be kept",
            nodes.len()
        ))),
    }
}
