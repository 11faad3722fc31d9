//! Names of nodes in a movement file: in the tree of a file, before it is deserialized, they are replaced by the numbers
//! of the nodes.

use driftway_radio::movement::Movement;

use crate::error::{Diagnostic, nearest, quoted};
use crate::node_names::{MAX_LISTED, elements, is_mixed};
use crate::tree::{Node, Value};
use crate::{Mobility, MovementFile, reader};

/// Returns the movement file of the network of `tree`, if a name refers to one of its nodes.
///
/// # Errors
/// A name in files of which each seed has its own; an invalid table `mobility`.
pub(crate) fn file_if_used(tree: &mut Node) -> Result<Option<MovementFile>, Diagnostic> {
    let first = match is_mixed(tree) {
        true => None,
        false => names(tree).next().map(|name| name.origin),
    };
    let mobility = tree.get("network").and_then(|network| network.get("mobility"));
    let (Some(first), Some(mobility)) =
        (first, mobility.filter(|mobility| mobility.get("file").is_some()))
    else {
        return Ok(None);
    };
    let Mobility::File(named) = reader::read(mobility)? else { return Ok(None) };
    if named.is_seeded() {
        let message = "the name of a node in movement files of which each seed has its own\nits number: \
                       a name can be another node in each file";
        return Err(Diagnostic::new(message).at(first));
    }
    Ok(Some(named))
}

/// Replaces the names of nodes in `tree` by their numbers in `movement`.
///
/// # Errors
/// A name that no node has, or several.
pub(crate) fn resolve(tree: &mut Node, movement: &Movement) -> Result<(), Diagnostic> {
    for node in names(tree) {
        if let Value::String(name) = &node.value {
            let number = number_of(name, movement.names());
            let number = number.map_err(|message| Diagnostic::new(&message).at(node.origin))?;
            node.value = Value::Integer(number as i128);
        }
    }
    Ok(())
}

/// The names in the place of numbers of nodes: as ends of flows and of traffic, and in faults.
fn names(tree: &mut Node) -> impl Iterator<Item = &mut Node> {
    references(tree).into_iter().filter(|node| matches!(node.value, Value::String(_)))
}

fn references(tree: &mut Node) -> Vec<&mut Node> {
    let Value::Table(entries) = &mut tree.value else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries {
        match entry.key.as_str() {
            "flow" => found.extend(values_of(Some(&mut entry.node), &["from", "to"])),
            "traffic" => {
                let lists = values_of(Some(&mut entry.node), &["from", "to"]);
                found.extend(lists.flat_map(|list| elements(Some(list))));
            }
            "network" => found.extend(values_of(entry.node.get_mut("fault"), &["node"])),
            _ => {}
        }
    }
    found
}

/// The values of these keys in an array of tables.
fn values_of<'a>(
    tables: Option<&'a mut Node>,
    keys: &'static [&str],
) -> impl Iterator<Item = &'a mut Node> {
    let entries = elements(tables).iter_mut().flat_map(|table| match &mut table.value {
        Value::Table(entries) => entries.as_mut_slice(),
        _ => &mut [],
    });
    entries.filter(|entry| keys.contains(&entry.key.as_str())).map(|entry| &mut entry.node)
}

/// The number of the only node of this name.
fn number_of(name: &str, names: &[String]) -> Result<usize, String> {
    let mut of_name =
        (0..).zip(names).filter(|(_, other)| *other == name).map(|(number, _)| number);
    match (of_name.next(), of_name.next()) {
        (Some(number), None) => Ok(number),
        (Some(first), Some(second)) => Err(format!(
            "nodes {first} and {second} of the movement file are called `{}`\nthe number of one of them",
            quoted(name)
        )),
        (None, _) => Err(unknown(name, names)),
    }
}

fn unknown(name: &str, names: &[String]) -> String {
    let message = format!("the movement file has no node `{}`", quoted(name));
    if names.is_empty() {
        return format!("{message}\nits nodes have no names: a number");
    }
    let near = nearest(name, names.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("did you mean `{}`? ", quoted(near)));
    let listed = names.iter().take(MAX_LISTED).map(|name| quoted(name));
    let listed = listed.collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{message}\n{near}the nodes are {listed}{more}")
}
