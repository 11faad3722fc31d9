//! Validation beyond the types: ranges, and combinations of keys. Each error refers to the key
//! whose value is invalid.

mod adhoc;
mod fault;
mod flow;
mod link;

use crate::error::{Fault as Wrong, quoted};
use crate::tree::Node;
use crate::{Coordinate, Network, Path, Reference, Scenario, Time};

/// An invalid value.
pub(crate) struct Problem {
    /// Dotted key.
    key: String,
    /// Message, and a hint after a line break.
    message: String,
}

impl Problem {
    /// Adds the location of the key in `tree`.
    pub fn in_tree(self, tree: &Node) -> Wrong {
        Wrong::new(&self.message).at(tree.origin_of(&self.key))
    }
}

type Checked = Result<(), Problem>;

/// Each flow has its own port, from 1024 on.
const MOST_FLOWS: u64 = 60_000;

/// Returns an error for `key` unless `right` holds.
fn must(right: bool, key: impl Into<String>, message: impl FnOnce() -> String) -> Checked {
    if right { Ok(()) } else { Err(Problem { key: key.into(), message: message() }) }
}

fn within(key: String, what: &str, found: u64, low: u64, high: u64) -> Checked {
    must((low..=high).contains(&found), key, || format!("{what} {found} out of range {low}–{high}"))
}

fn probability(key: String, found: f64) -> Checked {
    must((0.0..=1.0).contains(&found), key, || {
        format!("{found} is not a probability\nprobabilities are from 0 to 1")
    })
}

fn positive(key: String, Time(found): Time) -> Checked {
    must(!found.is_zero(), key, || "this must be longer than 0 s".into())
}

/// Returns the first error in `scenario`.
pub(crate) fn check(scenario: &Scenario) -> Checked {
    must(!scenario.name.trim().is_empty(), "name", || "the name is empty".into())?;
    positive("duration".into(), scenario.duration)?;
    match &scenario.network {
        Network::Path(path) => {
            self::path(path)?;
            for (i, fault) in path.faults.iter().enumerate() {
                fault::check(&format!("network.fault.{i}"), fault, path, scenario.duration)?;
            }
        }
        Network::Adhoc(adhoc) => adhoc::check(adhoc)?,
    }
    must(!scenario.flows.is_empty(), "flow", || {
        "no flow, so there is nothing to measure\nadd a [[flow]] with from, to and application"
            .into()
    })?;
    let mut count = 0;
    for (i, flow) in scenario.flows.iter().enumerate() {
        let copies = u64::from(flow.copies);
        within(format!("flow.{i}.copies"), "the number of copies", copies, 1, MOST_FLOWS)?;
        count += copies;
    }
    within("flow".into(), "the number of flows", count, 1, MOST_FLOWS)?;
    for (i, flow) in scenario.flows.iter().enumerate() {
        flow::check(&format!("flow.{i}"), flow, &scenario.network, scenario.duration)?;
    }
    for (i, reference) in scenario.references.iter().enumerate() {
        self::reference(&format!("reference.{i}"), reference)?;
    }
    Ok(())
}

fn path(path: &Path) -> Checked {
    within("network.hops".into(), "the number of hops", path.hops.into(), 1, 64)?;
    if let Some(routers) = path.routers {
        positive("network.routers.believes".into(), routers.believes)?;
        if let Some(buffer) = routers.buffer {
            let key = "network.routers.buffer.packets".into();
            within(key, "the number of packets", buffer.packets.into(), 1, 1_000_000)?;
        }
    }
    link::link("network.link", &path.link)?;
    for (i, change) in path.overrides.iter().enumerate() {
        let key = format!("network.override.{i}");
        hop(format!("{key}.hop"), change.hop, path)?;
        link::change(&key, &change.link)?;
    }
    for (i, route) in path.parallel.iter().enumerate() {
        let key = format!("network.parallel.{i}");
        node_of_path(format!("{key}.from"), route.from, path.hops)?;
        node_of_path(format!("{key}.to"), route.to, path.hops)?;
        must(route.from < route.to, format!("{key}.to"), || {
            format!(
                "this route goes from node {} to node {}\n`from` comes before `to`",
                route.from, route.to
            )
        })?;
        within(format!("{key}.hops"), "the number of hops", route.hops.into(), 1, 64)?;
        link::change(&key, &route.link)?;
    }
    Ok(())
}

fn hop(key: String, found: u32, path: &Path) -> Checked {
    let hops = path.hops;
    must((1..=hops).contains(&found), key, || {
        format!("hop {found} out of range 1–{hops}\nhop 1 joins node 0 and node 1")
    })
}

fn node(key: String, found: u32, network: &Network) -> Checked {
    let nodes = match network {
        Network::Path(path) => return node_of_path(key, found, path.hops),
        Network::Adhoc(adhoc) => adhoc.nodes(),
    };
    must(found < nodes, key, || {
        let last = nodes.saturating_sub(1);
        format!("node {found} out of range 0–{last}\nthe {nodes} nodes are numbered from 0")
    })
}

fn node_of_path(key: String, found: u32, hops: u32) -> Checked {
    must(found <= hops, key, || {
        format!("node {found} out of range 0–{hops}\na path of {hops} hops ends at node {hops}")
    })
}

fn reference(key: &str, reference: &Reference) -> Checked {
    must(!reference.points.is_empty(), format!("{key}.points"), || "there are no points".into())?;
    for (i, (x, _)) in reference.points.iter().enumerate() {
        must(x.value().is_some(), format!("{key}.points.{i}.0"), || {
            let found = match x {
                Coordinate::Number(number) => number.to_string(),
                Coordinate::Quantity(text) => format!("`{}`", quoted(text)),
            };
            format!("{found} is not a quantity\na valid value is, for example, \"10 ms\"")
        })?;
    }
    Ok(())
}
