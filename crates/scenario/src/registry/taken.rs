//! Entries of a registry, or built in, that a file names. They are taken out of the tree before the file is read,
//! because the types of the file do not know their names, and put into the scenario afterwards.

use std::sync::Arc;

use driftway_base::Entry;
use driftway_base::options::{OptionInfo, OptionValue};

use super::{Registry, built_in_models, built_in_protocols, control_names, protocol_names};
use crate::adhoc::{Mobility, Routing};
use crate::aid::{Aid, AidName, ListedAid, aid_names};
use crate::error::{Diagnostic, unknown_word};
use crate::growth::Growth;
use crate::options::OptionsVisitor;
use crate::reader::read_at;
use crate::registered::Registered;
use crate::tree::{self, Node, Value};
use crate::{Network, Scenario, Tcp};

/// The entries, built in or of a registry, that a file names.
#[derive(Default)]
pub(crate) struct Taken(Vec<TakenItem>);

/// One of it.
struct TakenItem {
    /// Its place in the tree, and its value there.
    path: Vec<String>,
    value: Value,
    item: Item,
}

enum Item {
    Aid(Aid),
    Growth(Growth),
    Routing(Box<Routing>),
    Mobility(Mobility),
}

/// The paths of the keys at which `tree` may name an entry.
fn paths(tree: &Node) -> Vec<Vec<String>> {
    let list = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(Value::Array(elements)) => Some(elements.len()),
        _ => None,
    };
    let air = tree.get("network").and_then(|network| network.get("air"));
    let networks = match (air, list(air)) {
        (None, _) => vec!["network".to_owned()],
        (Some(_), None) => vec!["network.air".to_owned()],
        (Some(_), Some(airs)) => (0..airs).map(|air| format!("network.air.{air}")).collect(),
    };
    let numbered = |name: &'static str| {
        let count = list(tree.get(name)).unwrap_or(0);
        (0..count).map(move |number| format!("{name}.{number}")).collect()
    };
    let legs = ["wireless", "wired"].map(|leg| format!("network.gateway.{leg}")).into();
    let tables: [(Vec<String>, &[&str]); 4] = [
        (legs, &["aid", "tcp.growth"]),
        (numbered("flow"), &["aid", "receiver_aid", "tcp.growth"]),
        (numbered("traffic"), &["aid", "tcp.growth"]),
        (networks, &["routing", "mobility"]),
    ];
    let mut paths = Vec::new();
    for (tables, keys) in tables {
        for path in
            tables.iter().flat_map(|table| keys.iter().map(move |key| format!("{table}.{key}")))
        {
            paths.push(path.split('.').map(str::to_owned).collect());
        }
    }
    paths
}

impl Registry {
    /// Takes the entries that `tree` names out of it.
    pub(crate) fn take(&self, tree: &mut Node) -> Result<Taken, Diagnostic> {
        let mut taken = Taken::default();
        for path in paths(tree) {
            let Some(node) = tree.at_mut(&path) else { continue };
            // What stands in its place for reading the file.
            let (item, placeholder) = match path.last().map(String::as_str) {
                Some("routing") => (self.read_routing(node)?, "{ protocol = \"static\" }"),
                Some("mobility") => (self.read_mobility(node)?, "{ chain = \"1 m\" }"),
                Some("growth") => (self.read_growth(node)?, "\"reno\""),
                _ => (self.read_aid(node)?, "\"none\""),
            };
            if let Some(item) = item {
                let placeholder = Node::parse_value(placeholder)?.value;
                let value = std::mem::replace(&mut node.value, placeholder);
                taken.0.push(TakenItem { path, value, item });
            }
        }
        Ok(taken)
    }

    /// The registered aid that a value names; `None` if it names a built-in one, or none at all.
    fn read_aid(&self, node: &Node) -> Result<Option<Item>, Diagnostic> {
        let built_in = aid_names();
        let names = self.aids.iter().map(|entry| entry.name);
        let Some(at) = named(node, "name", &built_in, names)? else { return Ok(None) };
        let entry = &self.aids[at];
        let given = options(node, "name", entry.options())?;
        let name = AidName(Some(ListedAid::Registered(Arc::clone(entry))));
        Ok(Some(Item::Aid(Aid::with_options(name, &given))))
    }

    /// The registered congestion control that a value names, as [`Registry::read_aid`] does.
    fn read_growth(&self, node: &Node) -> Result<Option<Item>, Diagnostic> {
        let names = self.controls.iter().map(|entry| entry.name);
        let Some(at) = named(node, "name", &control_names(), names)? else { return Ok(None) };
        let entry = &self.controls[at];
        let given = options(node, "name", entry.options())?;
        let control = Registered::new(entry, "name", &given, false);
        Ok(Some(Item::Growth(Growth::Registered(control))))
    }

    fn read_routing(&self, node: &mut Node) -> Result<Option<Item>, Diagnostic> {
        // A name alone is a protocol without further keys.
        if let Value::String(_) = node.value {
            let name = std::mem::replace(&mut node.value, Value::Table(Vec::new()));
            let name = Node { value: name, origin: node.origin };
            let entry = tree::Entry { key: "protocol".to_owned(), origin: node.origin, node: name };
            node.value = Value::Table(vec![entry]);
        }
        let built_in = built_in_protocols();
        let item = read_entry(node, "protocol", &protocol_names(), built_in, &self.routing)?;
        Ok(item.map(|item| Item::Routing(Box::new(Routing::Registered(item)))))
    }

    fn read_mobility(&self, node: &Node) -> Result<Option<Item>, Diagnostic> {
        let item = read_entry(node, "model", Mobility::WORDS, built_in_models(), &self.mobility)?;
        Ok(item.map(|item| Item::Mobility(Mobility::Registered(item))))
    }
}

/// The entry that a table names by its key `tag`, with its options; `None` if it names one of `read`, which the types
/// of the file read, or none at all.
fn read_entry<P, T>(
    node: &Node,
    tag: &'static str,
    read: &[&str],
    built_in: &[Arc<Entry<P, T>>],
    registered: &[Arc<Entry<P, T>>],
) -> Result<Option<Registered<P, T>>, Diagnostic> {
    if !matches!(node.value, Value::Table(_)) {
        return Ok(None);
    }
    let entries: Vec<_> = built_in.iter().chain(registered).collect();
    let names = entries.iter().map(|entry| entry.name);
    let Some(at) = named(node, tag, read, names)? else { return Ok(None) };
    let given = options(node, tag, entries[at].options())?;
    Ok(Some(Registered::new(entries[at], tag, &given, at < built_in.len())))
}

/// The index among `entries` of the name that a value gives, itself or by its key `tag`; `None` if the name is one of
/// `read` or the value is no text, which reading the file reports. Another name is an error, unless there are none to
/// add to what reading the file reports.
fn named(
    node: &Node,
    tag: &str,
    read: &[&str],
    entries: impl Iterator<Item = &'static str>,
) -> Result<Option<usize>, Diagnostic> {
    let name = match &node.value {
        Value::Table(_) => node.get(tag),
        _ => Some(node),
    };
    let Some(Node { value: Value::String(name), origin }) = name else { return Ok(None) };
    let entries: Vec<&str> = entries.collect();
    if entries.is_empty() || read.contains(&name.as_str()) {
        return Ok(None);
    }
    match entries.iter().position(|entry| entry == name) {
        Some(at) => Ok(Some(at)),
        None => {
            let known = [read, &entries].concat();
            Err(Diagnostic::new(&unknown_word(name, &known)).at(*origin))
        }
    }
}

/// The options in a table besides its key `tag`; none in a value that is only a name.
fn options(
    node: &Node,
    tag: &str,
    infos: &'static [OptionInfo],
) -> Result<Vec<(&'static str, OptionValue<'static>)>, Diagnostic> {
    match &node.value {
        Value::Table(_) => read_at(&node.without(tag), OptionsVisitor(infos)),
        _ => Ok(Vec::new()),
    }
}

impl Taken {
    /// Puts what was taken into the scenario that was read without it, and its values back into the tree.
    pub(crate) fn put(self, scenario: &mut Scenario, tree: &mut Node) {
        for TakenItem { path, value, item } in self.0 {
            if let Some(node) = tree.at_mut(&path) {
                node.value = value;
            }
            put(scenario, &path, item);
        }
    }
}

/// Puts an item at its place, if the scenario has it.
fn put(scenario: &mut Scenario, path: &[String], item: Item) -> Option<()> {
    let number = path.iter().find_map(|key| key.parse().ok()).unwrap_or(0);
    match item {
        Item::Routing(routing) => {
            scenario.network.radio_networks_mut().nth(number)?.routing = *routing
        }
        Item::Mobility(mobility) => {
            scenario.network.radio_networks_mut().nth(number)?.mobility = mobility
        }
        Item::Growth(growth) => tcp_and_aid(scenario, path, number)?.0.as_mut()?.growth = growth,
        Item::Aid(aid) if path.last()? == "receiver_aid" => {
            scenario.flows.get_mut(number)?.receiver_aid = Some(aid);
        }
        Item::Aid(aid) => *tcp_and_aid(scenario, path, number)?.1 = aid,
    }
    Some(())
}

/// The TCP and the aid of the flow, the traffic or the gateway's leg with a key of this path.
fn tcp_and_aid<'a>(
    scenario: &'a mut Scenario,
    path: &[String],
    number: usize,
) -> Option<(&'a mut Option<Tcp>, &'a mut Aid)> {
    match path.first()?.as_str() {
        "flow" => scenario.flows.get_mut(number).map(|flow| (&mut flow.tcp, &mut flow.aid)),
        "traffic" => scenario.traffic.get_mut(number).map(|of| (&mut of.tcp, &mut of.aid)),
        _ => {
            let Network::Mixed(mixed) = &mut scenario.network else { return None };
            let gateway = mixed.gateway.as_mut()?;
            let is_wireless = path.iter().any(|key| key == "wireless");
            let leg = if is_wireless { &mut gateway.wireless } else { &mut gateway.wired };
            Some((&mut leg.tcp, &mut leg.aid))
        }
    }
}
