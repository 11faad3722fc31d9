//! Defaults that depend on other keys, in the tree of a file.

use crate::error::{Diagnostic, Origin};
use crate::tree::{Entry, Node, Value};

/// Inserts `value` at `keys`, unless a value is written there.
pub(super) fn insert_default(
    node: &mut Node,
    keys: &[&str],
    value: &str,
    origin: Origin,
) -> Result<(), Diagnostic> {
    let (Some((first, rest)), Value::Table(entries)) = (keys.split_first(), &mut node.value) else {
        return Ok(());
    };
    let place = match entries.iter().position(|entry| entry.key == *first) {
        Some(_) if rest.is_empty() => return Ok(()),
        Some(place) => place,
        None => {
            let mut node = match rest {
                [] => Node::parse_value(value)?,
                _ => Node { origin, value: Value::Table(Vec::new()) },
            };
            node.set_origin(origin);
            entries.push(Entry { key: (*first).to_owned(), origin, node });
            entries.len() - 1
        }
    };
    match entries.get_mut(place) {
        Some(entry) if !rest.is_empty() => insert_default(&mut entry.node, rest, value, origin),
        _ => Ok(()),
    }
}
