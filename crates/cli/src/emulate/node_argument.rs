//! A node as an argument of an option.

use driftway_base::NodeId;
use driftway_linux::{end_nodes, node_count};
use driftway_scenario::{Network, Scenario, nearest};

use crate::failure::Failure;

/// Reads the node of an option: its name in a mixed network, its number, or the name of an end.
///
/// # Errors
/// There is no such node.
pub fn read_node(option: &str, text: &str, scenario: &Scenario) -> Result<NodeId, Failure> {
    let [near, far] = end_nodes(scenario);
    let count = node_count(scenario);
    let name = |node: NodeId| scenario.node_name(node.number());
    let nodes = || (0..count).map(NodeId::from);
    let named = nodes().find(|node| name(*node) == text).map(NodeId::index);
    match (named, text, text.parse()) {
        (Some(node), ..) | (None, _, Ok(node)) if node < count => Ok(NodeId::from(node)),
        (_, "near", _) => Ok(near),
        (_, "far", _) => Ok(far),
        _ if matches!(scenario.network, Network::Mixed(_)) => {
            let names: Vec<String> = nodes().map(name).collect();
            let nearest = nearest(text, names.iter().map(String::as_str))
                .map_or(String::new(), |word| format!("; did you mean `{word}`?"));
            Err(Failure::Input(format!(
                "{option} {text}: there is no such node: NODE is a name of `network.nodes`, a number from \
                 0 to {}, near ({}) or far ({}){nearest}",
                count - 1,
                name(near),
                name(far)
            )))
        }
        _ => Err(Failure::Input(format!(
            "{option} {text}: there is no such node: NODE is a number from 0 to {}, near ({near}) or \
             far ({far})",
            count - 1
        ))),
    }
}
