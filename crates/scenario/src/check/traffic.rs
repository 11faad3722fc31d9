//! Validation of the traffic between drawn pairs.

use super::numbers::check_node;
use crate::problem::{CheckResult, require};
use crate::rules::Table;
use crate::traffic::FIRST_SEED;
use crate::{Network, Time, Traffic, TrafficNodes, TrafficStart, UniformStart};

pub(super) fn check(
    number: usize,
    traffic: &Traffic,
    network: &Network,
    duration: Time,
) -> CheckResult {
    let key = |name: &str| format!("traffic.{number}.{name}");
    require(!matches!(network, Network::Mixed(_)), format!("traffic.{number}"), || {
        "`[[traffic]]` in a mixed network\nuse [[flow]]; pairs are drawn in networks of kind path and \
         adhoc"
            .into()
    })?;
    traffic.check_ranges(&format!("traffic.{number}"))?;
    for (name, nodes) in [("from", &traffic.from), ("to", &traffic.to)] {
        if let TrafficNodes::Listed(nodes) = nodes {
            for (at, node) in nodes.iter().enumerate() {
                check_node(format!("{}.{at}", key(name)), *node, network)?;
            }
        }
    }
    if let TrafficStart::Uniform(UniformStart { uniform: (low, high) }) = traffic.start {
        require(low <= high, key("start"), || {
            format!("the start is between {low} and {high}\nthe first is not above the second")
        })?;
        require(high < duration, key("start"), || {
            format!("flows start until {high}, but the run ends at {duration}")
        })?;
    }
    let drawn = traffic.draw(number, network.end_nodes(), FIRST_SEED);
    require(drawn.is_some(), key("pairs"), || {
        let pairs = traffic.pairs;
        format!("there are no {pairs} different pairs of two nodes\nuse fewer, or more nodes")
    })
}
