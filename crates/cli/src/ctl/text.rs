//! The state of an emulation as text.

use std::fmt::Write;

use super::protocol::{LinkState, NodeState, Status};
use crate::text::{count, list, value};

/// Returns the state as lines.
pub fn status(status: &Status) -> String {
    let mut text = line(status);
    let late = &status.lateness;
    let [p50, p99, max] = [late.p50_s, late.p99_s, late.max_s].map(|late| value("_s", late));
    // Writing to a string does not fail.
    let _ = writeln!(text, "lateness: median {p50}, 99th percentile {p99}, maximum {max}");
    text.extend(status.links.iter().map(link));
    text.extend(status.nodes.iter().map(node));
    for change in &status.changes {
        let _ = writeln!(text, "changed at {:.3} s: {}", change.time_s, change.change);
    }
    text
}

/// Returns a line about an emulation.
pub fn line(status: &Status) -> String {
    let Status { pid, scenario, time_s, packets, .. } = status;
    let nodes = count(status.nodes.len() as u64, "node");
    format!("{pid}: {scenario}, {nodes}, at {time_s:.3} s, {}\n", count(*packets, "packet"))
}

fn link(link: &LinkState) -> String {
    let [a, b] = &link.between;
    let [from_a, from_b] = link.queued;
    let state = if link.is_up { "up" } else { "down" };
    format!("link {}: {a} to {b}, {state}, queued {from_a} and {from_b}\n", link.link)
}

fn node(node: &NodeState) -> String {
    let mut parts = vec![if node.has_kernel { "programs" } else { "router" }.to_owned()];
    if let Some((x, y)) = node.position_m {
        parts.push(format!("at {x:.1} m, {y:.1} m"));
    }
    match node.radio_is_on {
        Some(true) => parts.push("radio on".to_owned()),
        Some(false) => parts.push("radio off".to_owned()),
        None => {}
    }
    parts.push(format!("queued {}", node.queued));
    if node.has_kernel {
        parts.push(format!("sent {}", count(node.sent, "packet")));
    }
    let routes: Vec<String> =
        node.routes.iter().map(|route| format!("{} by {}", route.to, route.by)).collect();
    if !routes.is_empty() {
        parts.push(format!("to {}", list(&routes)));
    }
    format!("node {} {} ({}): {}\n", node.node, node.name, node.address, parts.join(", "))
}
