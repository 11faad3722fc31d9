//! Entries of a registry, or built in, that a file names. They are taken out of the tree before the file is read,
//! because the types of the file do not know their names, and put into the scenario afterwards.

use std::sync::Arc;

use driftway_base::Entry;
use driftway_base::options::{OptionInfo, OptionValue};

use super::{Registry, built_in_models, built_in_protocols, control_names, protocol_names};
use crate::adhoc::mobility::MODELS;
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
    key: Key,
    item: Item,
}

/// A key of the file.
#[derive(Clone, Copy)]
enum Key {
    FlowAid(usize),
    ReceiverAid(usize),
    TrafficAid(usize),
    WirelessLegAid,
    WiredLegAid,
    FlowGrowth(usize),
    TrafficGrowth(usize),
    WirelessLegGrowth,
    WiredLegGrowth,
    /// The key `routing` of a radio network, by its number.
    Routing(usize),
    /// The key `mobility` of a radio network, by its number.
    Mobility(usize),
}

enum Item {
    Aid(Aid),
    Growth(Growth),
    Routing(Box<Routing>),
    Mobility(Mobility),
}

/// The keys at which `tree` may name an entry, with their paths.
fn keys(tree: &Node) -> Vec<(Key, Vec<String>)> {
    let list = |node: Option<&Node>| match node.map(|node| &node.value) {
        Some(Value::Array(elements)) => Some(elements.len()),
        _ => None,
    };
    let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let mut keys = vec![
        (Key::WirelessLegAid, path(&["network", "gateway", "wireless", "aid"])),
        (Key::WiredLegAid, path(&["network", "gateway", "wired", "aid"])),
        (Key::WirelessLegGrowth, path(&["network", "gateway", "wireless", "tcp", "growth"])),
        (Key::WiredLegGrowth, path(&["network", "gateway", "wired", "tcp", "growth"])),
    ];
    for flow in 0..list(tree.get("flow")).unwrap_or(0) {
        let number = flow.to_string();
        keys.push((Key::FlowAid(flow), path(&["flow", &number, "aid"])));
        keys.push((Key::ReceiverAid(flow), path(&["flow", &number, "receiver_aid"])));
        keys.push((Key::FlowGrowth(flow), path(&["flow", &number, "tcp", "growth"])));
    }
    for traffic in 0..list(tree.get("traffic")).unwrap_or(0) {
        let number = traffic.to_string();
        keys.push((Key::TrafficAid(traffic), path(&["traffic", &number, "aid"])));
        keys.push((Key::TrafficGrowth(traffic), path(&["traffic", &number, "tcp", "growth"])));
    }
    let air = tree.get("network").and_then(|network| network.get("air"));
    let networks = match (air, list(air)) {
        (None, _) => vec![path(&["network"])],
        (Some(_), None) => vec![path(&["network", "air"])],
        (Some(_), Some(airs)) => {
            (0..airs).map(|air| path(&["network", "air", &air.to_string()])).collect()
        }
    };
    for (number, network) in networks.into_iter().enumerate() {
        keys.push((Key::Routing(number), [network.clone(), path(&["routing"])].concat()));
        keys.push((Key::Mobility(number), [network, path(&["mobility"])].concat()));
    }
    keys
}

impl Registry {
    /// Takes the entries that `tree` names out of it.
    pub(crate) fn take(&self, tree: &mut Node) -> Result<Taken, Diagnostic> {
        let mut taken = Taken::default();
        for (key, path) in keys(tree) {
            let Some(node) = tree.at_mut(&path) else { continue };
            // What stands in its place for reading the file.
            let (item, placeholder) = match key {
                Key::Routing(_) => (self.read_routing(node)?, "{ protocol = \"static\" }"),
                Key::Mobility(_) => (self.read_mobility(node)?, "{ chain = \"1 m\" }"),
                Key::FlowAid(_)
                | Key::ReceiverAid(_)
                | Key::TrafficAid(_)
                | Key::WirelessLegAid
                | Key::WiredLegAid => (self.read_aid(node)?, "\"none\""),
                Key::FlowGrowth(_)
                | Key::TrafficGrowth(_)
                | Key::WirelessLegGrowth
                | Key::WiredLegGrowth => (self.read_growth(node)?, "\"reno\""),
            };
            if let Some(item) = item {
                let placeholder = Node::parse_value(placeholder)?.value;
                let value = std::mem::replace(&mut node.value, placeholder);
                taken.0.push(TakenItem { path, value, key, item });
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
        let item = read_entry(node, "model", &MODELS, built_in_models(), &self.mobility)?;
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
        for TakenItem { path, value, key, item } in self.0 {
            if let Some(node) = tree.at_mut(&path) {
                node.value = value;
            }
            put(scenario, key, item);
        }
    }
}

fn put(scenario: &mut Scenario, key: Key, item: Item) {
    let gateway = match &mut scenario.network {
        Network::Mixed(mixed) => mixed.gateway.as_mut(),
        Network::Path(_) | Network::Adhoc(_) => None,
    };
    match (key, item, gateway) {
        (Key::FlowAid(flow), Item::Aid(aid), _) => {
            if let Some(flow) = scenario.flows.get_mut(flow) {
                flow.aid = aid;
            }
        }
        (Key::ReceiverAid(flow), Item::Aid(aid), _) => {
            if let Some(flow) = scenario.flows.get_mut(flow) {
                flow.receiver_aid = Some(aid);
            }
        }
        (Key::TrafficAid(traffic), Item::Aid(aid), _) => {
            if let Some(traffic) = scenario.traffic.get_mut(traffic) {
                traffic.aid = aid;
            }
        }
        (Key::FlowGrowth(flow), Item::Growth(growth), _) => {
            set_growth(scenario.flows.get_mut(flow).and_then(|flow| flow.tcp.as_mut()), growth);
        }
        (Key::TrafficGrowth(traffic), Item::Growth(growth), _) => {
            let traffic = scenario.traffic.get_mut(traffic);
            set_growth(traffic.and_then(|traffic| traffic.tcp.as_mut()), growth);
        }
        (Key::WirelessLegGrowth, Item::Growth(growth), Some(gateway)) => {
            set_growth(gateway.wireless.tcp.as_mut(), growth);
        }
        (Key::WiredLegGrowth, Item::Growth(growth), Some(gateway)) => {
            set_growth(gateway.wired.tcp.as_mut(), growth);
        }
        (Key::WirelessLegAid, Item::Aid(aid), Some(gateway)) => gateway.wireless.aid = aid,
        (Key::WiredLegAid, Item::Aid(aid), Some(gateway)) => gateway.wired.aid = aid,
        (Key::Routing(number), Item::Routing(routing), _) => {
            if let Some(adhoc) = scenario.network.radio_networks_mut().nth(number) {
                adhoc.routing = *routing;
            }
        }
        (Key::Mobility(number), Item::Mobility(mobility), _) => {
            if let Some(adhoc) = scenario.network.radio_networks_mut().nth(number) {
                adhoc.mobility = mobility;
            }
        }
        _ => {}
    }
}

fn set_growth(tcp: Option<&mut Tcp>, growth: Growth) {
    if let Some(tcp) = tcp {
        tcp.growth = growth;
    }
}
