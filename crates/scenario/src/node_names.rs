//! Names of the nodes of mixed networks: in the tree of a file, before it is deserialized, lists of
//! names are expanded, and names are replaced by the numbers of the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::de::Error;

use crate::error::{Diagnostic, nearest, quoted};
use crate::reader;
use crate::tree::{Entry, Node, Value};

/// Name of the only air of a network, if the file gives it none.
pub(crate) const ONLY_AIR: &str = "air";

/// Maximum number of nodes of a mixed network.
pub(crate) const MAX_NODES: usize = 1000;

/// Maximum number of names that an error message lists.
pub(crate) const MAX_LISTED: usize = 12;

/// Returns whether the network of `tree` is mixed.
pub(crate) fn is_mixed(tree: &Node) -> bool {
    let kind = tree.get("network").and_then(|network| network.get("kind"));
    kind.is_some_and(|kind| matches!(&kind.value, Value::String(kind) if kind == "mixed"))
}

/// The tables with the keys of an ad hoc network: those of `network.air` in a mixed network.
pub(crate) fn radio_tables(tree: &mut Node) -> &mut [Node] {
    let mixed = is_mixed(tree);
    let network = tree.get_mut("network");
    if mixed {
        one_or_several(network.and_then(|network| network.get_mut("air")))
    } else {
        network.map_or(&mut [], std::slice::from_mut)
    }
}

/// A table alone, or the tables of an array.
fn one_or_several(node: Option<&mut Node>) -> &mut [Node] {
    match node {
        Some(Node { value: Value::Array(tables), .. }) => tables,
        Some(table) => std::slice::from_mut(table),
        None => &mut [],
    }
}

/// Makes an array of one air a table, and gives the only air a name if it has none.
fn name_only_air(network: &mut Node) {
    let Some(air) = network.get_mut("air") else { return };
    if let Value::Array(airs) = &mut air.value
        && airs.len() == 1
        && let Some(only) = airs.pop()
    {
        *air = only;
    }
    if matches!(air.value, Value::Table(_)) && air.get("name").is_none() {
        let origin = air.origin;
        let node = Node { origin, value: Value::String(ONLY_AIR.to_owned()) };
        if let Value::Table(entries) = &mut air.value {
            entries.push(Entry { key: "name".to_owned(), origin, node });
        }
    }
}

/// Expands and resolves the names in `tree`, if its network is mixed.
pub(crate) fn resolve(tree: &mut Node) -> Result<(), Diagnostic> {
    if !is_mixed(tree) {
        return Ok(());
    }
    let Some(network) = tree.get_mut("network") else { return Ok(()) };
    let names = Names::of_network(network)?;
    for wire in elements(network.get_mut("wire")) {
        elements(wire.get_mut("between")).iter_mut().try_for_each(|node| names.resolve(node))?;
    }
    for route in elements(network.get_mut("route")) {
        names.resolve_key(route, "at")?;
        names.resolve_key(route, "to")?;
    }
    for fault in elements(network.get_mut("fault")) {
        names.resolve_key(fault, "node")?;
    }
    if let Some(gateway) = network.get_mut("gateway") {
        names.resolve_key(gateway, "node")?;
    }
    name_only_air(network);
    for air in one_or_several(network.get_mut("air")) {
        if let Some(radios) = air.get_mut("radios") {
            names.resolve_radios(radios)?;
        }
    }
    for flow in elements(tree.get_mut("flow")) {
        names.resolve_key(flow, "from")?;
        names.resolve_key(flow, "to")?;
    }
    Ok(())
}

/// The elements of an array; none if it is not an array.
pub(crate) fn elements(node: Option<&mut Node>) -> &mut [Node] {
    match node.map(|node| &mut node.value) {
        Some(Value::Array(nodes)) => nodes,
        _ => &mut [],
    }
}

/// The names of all nodes, with their numbers.
struct Names {
    in_order: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Names {
    /// Expands the list `nodes` of `network`.
    fn of_network(network: &mut Node) -> Result<Self, Diagnostic> {
        let origin = network.origin;
        let Some(list) = network.get_mut("nodes") else {
            return Err(Diagnostic::missing_field("nodes").at(origin));
        };
        let patterns: Vec<String> = reader::read(list)?;
        let mut names = Self { in_order: Vec::new(), numbers: BTreeMap::new() };
        let mut expanded = Vec::new();
        for (pattern, node) in patterns.iter().zip(elements(Some(&mut *list))) {
            let here = |message: &str| Diagnostic::new(message).at(node.origin);
            for name in NamePattern::parse(pattern).map_err(|message| here(&message))?.names() {
                let number = names.in_order.len();
                if number == MAX_NODES {
                    return Err(here(&format!(
                        "more than {MAX_NODES} nodes\na mixed network has 2 to {MAX_NODES}"
                    )));
                }
                if names.numbers.insert(name.clone(), number).is_some() {
                    let name = quoted(&name);
                    return Err(here(&format!("two nodes are called `{name}`\nnames are unique")));
                }
                expanded.push(Node { origin: node.origin, value: Value::String(name.clone()) });
                names.in_order.push(name);
            }
        }
        list.value = Value::Array(expanded);
        Ok(names)
    }

    /// Returns the number of the node `name`.
    fn number(&self, name: &str) -> Result<usize, String> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let near = nearest(name, self.in_order.iter().map(String::as_str));
            let near =
                near.map_or(String::new(), |near| format!("did you mean `{}`? ", quoted(near)));
            let listed = self.in_order.iter().take(MAX_LISTED).map(|name| quoted(name));
            let mut listed = listed.collect::<Vec<_>>().join(", ");
            if self.in_order.len() > MAX_LISTED {
                listed += &format!(" and {} more", self.in_order.len() - MAX_LISTED);
            }
            format!("there is no node `{}`\n{near}the nodes are {listed}", quoted(name))
        })
    }

    /// Replaces a name by its number.
    fn resolve(&self, node: &mut Node) -> Result<(), Diagnostic> {
        if let Value::String(name) = &node.value {
            let number = self.number(name);
            let number = number.map_err(|message| Diagnostic::new(&message).at(node.origin))?;
            node.value = Value::Integer(number as i128);
        }
        Ok(())
    }

    /// Replaces the name that is the value of `key` in `table`, if there is one.
    fn resolve_key(&self, table: &mut Node, key: &str) -> Result<(), Diagnostic> {
        table.get_mut(key).map_or(Ok(()), |node| self.resolve(node))
    }

    /// Expands the list of the nodes with a radio, and replaces their names.
    fn resolve_radios(&self, list: &mut Node) -> Result<(), Diagnostic> {
        let mut resolved: Vec<Node> = Vec::new();
        let mut found = BTreeSet::new();
        for node in elements(Some(&mut *list)) {
            let here = |message: &str| Diagnostic::new(message).at(node.origin);
            let mut add = |number: i128| {
                if !found.insert(number) {
                    let name = usize::try_from(number).ok().and_then(|n| self.in_order.get(n));
                    let name = name.map_or_else(|| number.to_string(), |name| quoted(name));
                    let message = format!(
                        "`{name}` has two radios on one air\na node has one at most on each"
                    );
                    return Err(here(&message));
                }
                resolved.push(Node { origin: node.origin, value: Value::Integer(number) });
                Ok(())
            };
            match &node.value {
                Value::String(pattern) => {
                    let pattern = NamePattern::parse(pattern).map_err(|message| here(&message))?;
                    for name in pattern.names() {
                        let number = self.number(&name).map_err(|message| here(&message))?;
                        add(number as i128)?;
                    }
                }
                Value::Integer(number) => add(*number)?,
                // Rejected when the list is deserialized.
                _ => resolved.push(node.clone()),
            }
        }
        if matches!(list.value, Value::Array(_)) {
            list.value = Value::Array(resolved);
        }
        Ok(())
    }
}

/// A name, or several that differ in the number at their end: `n[1-20]`.
struct NamePattern<'a> {
    stem: &'a str,
    numbers: Option<RangeInclusive<u32>>,
}

impl<'a> NamePattern<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let (stem, range) = match text.split_once('[') {
            Some((stem, range)) => (stem, Some(range)),
            None => (text, None),
        };
        let continues = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !stem.starts_with(|c: char| c.is_ascii_alphabetic()) || !stem.chars().all(continues) {
            return Err(format!(
                "`{}` is not the name of a node\nnames begin with a letter and continue with letters, \
                 digits, - and _; n[1-20] stands for n1 to n20",
                quoted(text)
            ));
        }
        let Some(range) = range else { return Ok(Self { stem, numbers: None }) };
        let invalid = || {
            format!(
                "`{}` is not a range of names\na valid one is, for example, n[1-20], which stands for n1 \
                 to n20",
                quoted(text)
            )
        };
        let (first, last) =
            range.strip_suffix(']').and_then(|range| range.split_once('-')).ok_or_else(invalid)?;
        // No sign and no leading zeros, which names would not have.
        let number =
            |digits: &str| digits.parse::<u32>().ok().filter(|number| number.to_string() == digits);
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => {
                Ok(Self { stem, numbers: Some(first..=last) })
            }
            _ => Err(invalid()),
        }
    }

    fn names(self) -> impl Iterator<Item = String> + 'a {
        let Self { stem, numbers } = self;
        let single = numbers.is_none().then(|| stem.to_owned());
        single
            .into_iter()
            .chain(numbers.into_iter().flatten().map(move |number| format!("{stem}{number}")))
    }
}
