//! Validation beyond the types: ranges, and combinations of keys. Each error refers to the key
//! whose value is invalid.

mod adhoc;
mod fault;
mod flow;
mod link;

use crate::error::{Diagnostic as Wrong, quoted};
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
    pub fn locate(self, tree: &Node) -> Wrong {
        Wrong::new(&self.message).at(tree.origin_of(&self.key))
    }
}

type CheckResult = Result<(), Problem>;

/// Each flow has its own port, from 1024 on.
const MAX_FLOWS: u64 = 60_000;

/// Returns an error for `key` unless `right` holds.
fn require(right: bool, key: impl Into<String>, message: impl FnOnce() -> String) -> CheckResult {
    if right { Ok(()) } else { Err(Problem { key: key.into(), message: message() }) }
}

fn require_range(key: String, what: &str, found: u64, low: u64, high: u64) -> CheckResult {
    require((low..=high).contains(&found), key, || {
        format!("{what} {found} out of range {low}–{high}")
    })
}

fn require_probability(key: String, found: f64) -> CheckResult {
    require((0.0..=1.0).contains(&found), key, || {
        format!("{found} is not a probability\nprobabilities are from 0 to 1")
    })
}

fn require_positive(key: String, Time(found): Time) -> CheckResult {
    require(!found.is_zero(), key, || "this must be longer than 0 s".into())
}

/// Returns the first error in `scenario`.
pub(crate) fn check(scenario: &Scenario) -> CheckResult {
    require(!scenario.name.trim().is_empty(), "name", || "the name is empty".into())?;
    require_positive("duration".into(), scenario.duration)?;
    match &scenario.network {
        Network::Path(path) => {
            self::check_path(path)?;
            for (i, fault) in path.faults.iter().enumerate() {
                fault::check(&format!("network.fault.{i}"), fault, path, scenario.duration)?;
            }
        }
        Network::Adhoc(adhoc) => adhoc::check(adhoc)?,
    }
    require(!scenario.flows.is_empty(), "flow", || {
        "no flow, so there is nothing to measure\nadd a [[flow]] with from, to and application"
            .into()
    })?;
    let mut count = 0;
    for (i, flow) in scenario.flows.iter().enumerate() {
        let copies = u64::from(flow.copies);
        require_range(format!("flow.{i}.copies"), "the number of copies", copies, 1, MAX_FLOWS)?;
        count += copies;
    }
    require_range("flow".into(), "the number of flows", count, 1, MAX_FLOWS)?;
    for (i, flow) in scenario.flows.iter().enumerate() {
        flow::check(&format!("flow.{i}"), flow, &scenario.network, scenario.duration)?;
    }
    for (i, reference) in scenario.references.iter().enumerate() {
        self::check_reference(&format!("reference.{i}"), reference)?;
    }
    Ok(())
}

fn check_path(path: &Path) -> CheckResult {
    require_range("network.hops".into(), "the number of hops", path.hops.into(), 1, 64)?;
    if let Some(routers) = path.routers {
        require_positive("network.routers.rfn_lifetime".into(), routers.rfn_lifetime)?;
        if let Some(buffer) = routers.buffer {
            let key = "network.routers.buffer.packets".into();
            require_range(key, "the number of packets", buffer.packets.into(), 1, 1_000_000)?;
        }
    }
    link::check_link("network.link", &path.link)?;
    for (i, change) in path.overrides.iter().enumerate() {
        let key = format!("network.override.{i}");
        check_hop(format!("{key}.hop"), change.hop, path)?;
        link::check_override(&key, &change.link)?;
    }
    for (i, route) in path.parallel.iter().enumerate() {
        let key = format!("network.parallel.{i}");
        check_path_node(format!("{key}.from"), route.from, path.hops)?;
        check_path_node(format!("{key}.to"), route.to, path.hops)?;
        require(route.from < route.to, format!("{key}.to"), || {
            format!(
                "this route goes from node {} to node {}\n`from` comes before `to`",
                route.from, route.to
            )
        })?;
        require_range(format!("{key}.hops"), "the number of hops", route.hops.into(), 1, 64)?;
        link::check_override(&key, &route.link)?;
    }
    Ok(())
}

fn check_hop(key: String, found: u32, path: &Path) -> CheckResult {
    let hops = path.hops;
    require((1..=hops).contains(&found), key, || {
        format!("hop {found} out of range 1–{hops}\nhop 1 joins node 0 and node 1")
    })
}

fn check_node(key: String, found: u32, network: &Network) -> CheckResult {
    let nodes = match network {
        Network::Path(path) => return check_path_node(key, found, path.hops),
        Network::Adhoc(adhoc) => adhoc.nodes(),
    };
    require(found < nodes, key, || {
        let last = nodes.saturating_sub(1);
        format!("node {found} out of range 0–{last}\nthe {nodes} nodes are numbered from 0")
    })
}

fn check_path_node(key: String, found: u32, hops: u32) -> CheckResult {
    require(found <= hops, key, || {
        format!("node {found} out of range 0–{hops}\na path of {hops} hops ends at node {hops}")
    })
}

fn check_reference(key: &str, reference: &Reference) -> CheckResult {
    require(!reference.points.is_empty(), format!("{key}.points"), || {
        "there are no points".into()
    })?;
    for (i, (x, _)) in reference.points.iter().enumerate() {
        require(x.value().is_some(), format!("{key}.points.{i}.0"), || {
            let found = match x {
                Coordinate::Number(number) => number.to_string(),
                Coordinate::Quantity(text) => format!("`{}`", quoted(text)),
            };
            format!("{found} is not a quantity\na valid value is, for example, \"10 ms\"")
        })?;
    }
    Ok(())
}
